"use strict";
// Why a law applies this action: what policy.why says of the share of each variable, of bounds, and of the next law.
spaql.lawWhy = (() => {
  const { data, tree, leaves, leafOf, actionAt, actionWords, number, unit, measured, placeWords, make } = spaql;
  const { laws } = tree;
  if (!laws) return null;
  const { score, apply, isConstant, stepsOf } = spaqlLaws, { kind, values } = laws;
  const dot = (row, x) => row.reduce((sum, weight, j) => sum + weight * x[j], 0);

  // -- the scores
  const named = (k) => {
    if (kind === "clip") return { name: data.action[k].name, unit: data.action[k].unit };
    return { name: kind === "scores" ? actionWords([values[k]]) : data.action[0].name, unit: "" };
  };
  const scoresAt = (leaf, x) => {
    if (kind !== "clip" && isConstant(laws, leaf, 0)) return [];
    return laws.offsets[leaf].flatMap((offset, k) => {
      if (kind === "clip" && isConstant(laws, leaf, k)) return [];
      const gains = laws.gains[leaf][k], total = score(gains, offset, x);
      const low = laws.low?.[k] ?? -Infinity, high = laws.high?.[k] ?? Infinity;
      const bound = total < low ? low : total > high ? high : null;
      const excess = bound === null ? 0 : Math.abs(total - bound);
      return [{ ...named(k), shares: gains.map((gain, j) => (gain === 0 ? 0 : gain * x[j])), offset, total, bound, excess }];
    });
  };
  // of finite actions: how far the score is from another one, and from which
  const marginAt = (leaf, scores) => {
    if (kind === "clip" || !scores.length) return null;
    const totals = scores.map(({ total }) => total);
    if (kind === "scores") {
      const best = totals.indexOf(Math.max(...totals)), others = totals.map((total, k) => (k === best ? -Infinity : total));
      const next = Math.max(...others);
      return { score: totals[best] - next, action: values[others.indexOf(next)] };
    }
    const weighted = scores[0].total - scores[0].offset, steps = stepsOf(laws, leaf);
    const below = [...steps.slice(1).map(([, action]) => action), values[0]];  // of each cut: what is applied below it
    const distances = steps.map(([cut]) => Math.abs(weighted - cut)), nearest = distances.indexOf(Math.min(...distances));
    const [cut, action] = steps[nearest];
    return { score: distances[nearest], action: weighted >= cut ? below[nearest] : action };
  };

  // -- along one variable, all others held
  const tests = Object.entries(tree.weights).map(([node, row]) => [row, tree.cut[node]]);
  const choices = kind === "clip" ? [] : [...leaves.keys()].flatMap((leaf) => {  // where laws choose another action
    const gains = laws.gains[leaf], offsets = laws.offsets[leaf];
    if (kind !== "scores") return stepsOf(laws, leaf).map(([cut]) => [gains[0], cut]);
    return gains.flatMap((row, k) => gains.slice(0, k).map((other, i) =>
      [row.map((gain, j) => gain - other[j]), -(offsets[k] - offsets[i])]));
  });
  const crossings = (x, j, withChoices) => {
    const { low, high } = data.state[j], found = new Set();
    tree.feature.forEach((tested, node) => { if (tested === j) found.add(tree.cut[node]); });
    for (const [row, cut] of withChoices ? [...tests, ...choices] : tests)
      if (row[j] !== 0) found.add((cut - (dot(row, x) - row[j] * x[j])) / row[j]);
    const isInside = (place) => Number.isFinite(place) && (low === null || (place > low && place < high));
    return [...found].filter(isInside).sort((a, b) => a - b);
  };
  // crossings in the order in which they are met, each with a state between it and the next one
  const beyond = (x, j, upward, withChoices) => {
    const places = crossings(x, j, withChoices), { low, high } = data.state[j], end = upward ? high : low;
    const met = upward ? places.filter((place) => place >= x[j]) : places.filter((place) => place <= x[j]).reverse();
    return met.map((place, i) => {
      const state = x.slice(), far = end ?? place + (upward ? 1 : -1) * Math.max(1, Math.abs(place));
      state[j] = (place + (met[i + 1] ?? far)) / 2;  // safe from rounding at the crossing
      return { place, state };
    });
  };
  const same = (one, other) => one.every((value, k) => value === other[k]);
  const both = (find) => [false, true].map((upward) => find(upward) ?? null);
  const takeoversAlong = (x, j) => {
    const here = leafOf(tree, x);
    const ahead = (upward) => beyond(x, j, upward, false).map(({ place, state }) => ({ place, leaf: leafOf(tree, state) }));
    return both((upward) => ahead(upward).find(({ leaf }) => leaf !== here));
  };
  // a continuous action changes everywhere: there it is where another law takes over, and what that law applies there
  const changesAlong = (x, j) => both((upward) => {
    const here = leafOf(tree, x), applied = actionAt(x);
    for (const { place, state } of beyond(x, j, upward, true)) {
      const leaf = leafOf(tree, state);
      if (kind === "clip" && leaf !== here) {
        state[j] = place;
        return { place, action: apply(laws, leaf, state) };
      }
      const action = actionAt(state);
      if (kind !== "clip" && !same(action, applied)) return { place, action };
    }
    return null;
  });
  const explain = (leaf, x) => {
    const scores = scoresAt(leaf, x);
    return { law: data.words.law[leaf], scores, margin: marginAt(leaf, scores), takeovers: data.state.map((_, j) => takeoversAlong(x, j)) };
  };

  // -- how it is shown
  const written = (parent, leaf) => {
    const lines = make("span", make("span", parent, { class: "chip law plain" }), { class: "lines" });
    data.words.lines[leaf].forEach((line) => make("span", lines, {}, line));
  };
  const showLaw = (parent, why) => {
    const many = leaves.size > 1;
    make("p", parent, { class: "by" }, many ? `by this one of its ${leaves.size} laws,` : "by its only law");
    written(make("p", parent, { class: "in-charge" }), why.leaf);
    if (many) make("p", parent, { class: "by" }, "which is in charge because");
  };
  // numbers to compare, one below the other, as policy.digits has them
  const column = (all) => {
    const largest = Math.max(...all.map(Math.abs)), spread = Math.max(...all) - Math.min(...all);
    const digits = spread > 0 ? Math.min(Math.max(5, 3 + Math.ceil(Math.log10(largest / spread))), 12) : 5;
    const place = largest > 0 ? Math.floor(Math.log10(largest)) : 0;
    const text = (value) => (place >= -4 && place < 9 ? value.toFixed(Math.max(0, digits - 1 - place)) : value.toExponential(digits - 1));
    return all.map((value) => text(value).replace("-", "−"));
  };
  const showScore = (parent, x, one) => {
    const of = { clip: "", scores: "the score for " }[kind] ?? "the score of ";
    make("h4", parent, {}, `Contributions to ${of}${one.name}`);
    const used = [...one.shares.keys()].filter((j) => one.shares[j] !== 0);
    const rows = used.map((j) => [one.shares[j], `from ${data.state[j].name} = ${measured(x[j], data.state[j])}`]);
    if (one.offset !== 0) rows.push([one.offset, "from the constant"]);
    rows.push([one.total, "together"]);
    const texts = column(rows.map(([value]) => value)), most = Math.max(...rows.map(([value]) => Math.abs(value))) || 1;
    const place = make("table", make("div", parent, { class: "scroll" }), { class: "changes shares" });
    make("caption", place, { class: "hidden" }, `Contributions to ${of}${one.name}`);
    const body = make("tbody", place);
    rows.forEach(([value, from], i) => {
      const row = make("tr", body, i === rows.length - 1 ? { class: "sum" } : {});
      make("th", row, { scope: "row" }, `${texts[i]}${unit(one.unit)}`);
      const bar = make("td", row, { class: "share-bar", "aria-hidden": "true" });
      bar.style.setProperty("--from", Math.min(value, 0) / most);
      bar.style.setProperty("--size", Math.abs(value) / most);
      make("td", row, { class: "words" }, from);
    });
    if (one.bound !== null && kind === "clip") {
      const axis = { unit: one.unit };
      make("p", parent, { class: "saturated" }, `Saturated: held at ${measured(one.bound, axis)}, ${measured(one.excess, axis)} are cut off.`);
    }
  };
  const showShares = (parent, x, { scores, margin }) => {
    scores.forEach((one) => showScore(parent, x, one));
    if (!scores.length) make("p", parent, {}, "No variable has a share in the action: this law is constant.");
    if (margin) make("p", parent, {}, `The score is ${number(margin.score)} away from ${actionWords([margin.action])}.`);
  };
  const showTakeovers = (parent, x, { takeovers }) => {
    if (leaves.size === 1) return;
    make("h4", parent, {}, "Another law would take over, all else equal, at");
    const rows = takeovers.flatMap((pair, j) => pair.filter(Boolean).map((one) => [j, one]));
    if (!rows.length) return void make("p", parent, {}, "no value of any single variable.");
    const place = make("table", make("div", parent, { class: "scroll" }), { class: "changes" });
    make("caption", place, { class: "hidden" }, "Where another law would take over");
    const body = make("tbody", place);
    for (const [j, { place: cut, leaf }] of rows) {
      const row = make("tr", body), axis = data.state[j];
      make("th", row, { scope: "row", class: "words" }, `${axis.name} = ${placeWords(j, cut)}`);
      make("td", row, {}, `${measured(Math.abs(cut - x[j]), axis)} away`);
      written(make("td", row, { class: "words" }), leaf);
    }
  };
  return { explain, changesAlong, showLaw, showShares, showTakeovers, changesEverywhere: kind === "clip" };
})();
