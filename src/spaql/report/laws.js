"use strict";
// What a law applies at a state, to the last bit as trees/laws.py has it.
const spaqlLaws = (() => {
  // summed from left to right, the offset last
  const score = (gains, offset, x) => {
    let total = 0;
    for (let j = 0; j < gains.length; j++) if (gains[j] !== 0) total += gains[j] * x[j];
    return total + offset;
  };
  const held = (value, low, high) => Math.min(Math.max(value, low), high);
  const apply = (laws, leaf, x) => {
    const gains = laws.gains[leaf], offsets = laws.offsets[leaf], { kind, values, low, high } = laws;
    if (kind === "clip") return offsets.map((offset, k) => held(score(gains[k], offset, x), low[k], high[k]));
    const first = score(gains[0], offsets[0], x);
    if (kind === "threshold") return [first >= 0 ? values.at(-1) : values[0]];
    if (kind === "ordered") return [values[Math.trunc(held(first, low[0], high[0]) + 0.5)]];
    let best = first, chosen = 0;
    for (let k = 1; k < values.length; k++) {
      const value = score(gains[k], offsets[k], x);
      if (value > best) [best, chosen] = [value, k];
    }
    return [values[chosen]];
  };
  // whether what a leaf applies along an axis is the same everywhere
  const isConstant = (laws, leaf, axis) => {
    const rows = laws.kind === "scores" ? laws.gains[leaf] : [laws.gains[leaf][axis]];
    return laws.values.length === 1 || rows.every((row) => row.every((gain) => gain === 0));
  };
  // of thresholds and ordered actions: [cut, action from this value of the weighted sum on], the highest first
  const stepsOf = ({ kind, offsets, values }, leaf) => {
    const offset = offsets[leaf][0];
    if (kind === "threshold") return [[0 - offset, values.at(-1)]];
    return values.map((value, k) => [k - 0.5 - offset, value]).slice(1).reverse();
  };
  return { score, apply, isConstant, stepsOf };
})();
