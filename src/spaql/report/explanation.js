"use strict";
// The controller itself, the state all views look at, and how both are put into words. The other scripts show it.
const spaql = (() => {
  const data = JSON.parse(document.getElementById("explanation-data").textContent);
  const d = data.state.length;

  // -- trees
  const unpack = (packed) => ({
    feature: Int32Array.from(packed.feature), low: Int32Array.from(packed.low), high: Int32Array.from(packed.high),
    cut: Float64Array.from(packed.cut, (place) => packed.cuts[place]),
    weights: packed.weights, action: Int32Array.from(packed.action), actions: packed.actions, laws: packed.laws,
  });
  const leafOf = ({ feature, cut, low, high, weights }, x) => {
    let here = 0, tested = feature[0];
    while (tested >= 0) {
      let value;
      if (tested < d) value = x[tested];
      else {
        value = 0;
        const row = weights[here];
        for (let j = 0; j < d; j++) value += row[j] * x[j];
      }
      here = value >= cut[here] ? high[here] : low[here];
      tested = feature[here];
    }
    return here;
  };
  const tree = unpack(data.tree);
  const parent = new Int32Array(tree.feature.length).fill(-1);
  tree.feature.forEach((tested, node) => { if (tested >= 0) parent[tree.low[node]] = parent[tree.high[node]] = node; });
  const pathTo = (node) => {
    const path = [];
    for (; node !== 0; node = parent[node]) path.push([parent[node], tree.high[parent[node]] === node]);
    return path.reverse();
  };
  const leaves = new Map();  // by node
  data.leaves.node.forEach((node, i) =>
    leaves.set(node, {
      number: i + 1, share: data.leaves.share[i], time: data.leaves.time[i], visits: data.leaves.visits && data.leaves.visits[i],
    }));
  let table = null;
  if (data.table) {
    const { node, q, visits, runner_up, runner_up_q } = data.table;
    const cells = new Map(node.map((at, i) => [at, { q: q[i], visits: visits[i], runnerUp: runner_up[i], runnerUpQ: runner_up_q[i] }]));
    table = { tree: unpack(data.table.tree), cells };
  }
  const actionIn = (leaf, x) => (tree.laws ? spaqlLaws.apply(tree.laws, leaf, x) : tree.actions[tree.action[leaf]]);
  const actionAt = (x) => actionIn(leafOf(tree, x), x);

  // -- words: those of policy.words. Cuts, sums, actions and shares of time come as Python writes them; other numbers are written here
  const minus = (text) => text.replace(/(?<![\w.)-])-(?=[\d.])/g, "−");
  const plain = (value, count = 4) => {
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
    if (value === 0) return "0";
    let [digits, power] = value.toExponential(count - 1).split("e");
    const exact = value.toExponential(25);
    // halves go to the even digit, as in Python
    const [, kept, rest] = exact.match(new RegExp(`^(-?\\d\\.\\d{${count - 1}})(\\d+)e`));
    if (/^50*$/.test(rest) && kept.at(-1) % 2 === 0) [digits, power] = [kept, exact.split("e")[1]];
    const short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text), most = Math.max(count, 6);
    if (power >= -4 && power < most) return short(Number(`${digits}e${power}`).toPrecision(most));
    return `${short(digits)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  };
  const number = (value) => minus(plain(value));
  // with as many digits as it takes to tell each value from the next
  const toldApart = (values) => {
    const order = [...new Set(values)].sort((a, b) => a - b);
    return values.map((value) => {
      const i = order.indexOf(value), near = [order[i - 1], order[i + 1]].filter((other) => other !== undefined);
      let count = 4;
      while (count < 17 && near.some((other) => plain(other, count) === plain(value, count))) count += 1;
      return minus(plain(value, count));
    });
  };
  const unit = (text) => (text ? ` ${text}` : "");
  const measured = (value, axis) => `${number(value)}${unit(axis.unit)}`;
  const cutWords = data.state.map(() => new Map());  // by variable: how its cuts are written
  tree.feature.forEach((tested, node) => { if (tested >= 0 && tested < d) cutWords[tested].set(tree.cut[node], minus(data.words.cut[node])); });
  const placeWords = (j, value) => `${cutWords[j].get(value) ?? number(value)}${unit(data.state[j].unit)}`;
  const testWords = (node, high) => {
    const tested = tree.feature[node], sign = high ? "≥" : "<";
    if (tested < d) return `${data.state[tested].name} ${sign} ${placeWords(tested, tree.cut[node])}`;
    return minus(`${data.words.sum[node]} ${sign} ${data.words.cut[node]}`);
  };
  const ruleWords = (leaf) => {
    const bounds = [], sums = [], low = Array(d).fill(-Infinity), high = Array(d).fill(Infinity);
    for (const [node, above] of pathTo(leaf)) {
      const tested = tree.feature[node], cut = tree.cut[node];
      if (tested === d) sums.push(testWords(node, above));
      else if (above) low[tested] = Math.max(low[tested], cut);
      else high[tested] = Math.min(high[tested], cut);
    }
    data.state.forEach(({ name }, j) => {
      const [a, b] = [low[j], high[j]];
      if (Number.isFinite(a) && Number.isFinite(b)) bounds.push(`${cutWords[j].get(a)} ≤ ${name} < ${placeWords(j, b)}`);
      else if (Number.isFinite(a)) bounds.push(`${name} ≥ ${placeWords(j, a)}`);
      else if (Number.isFinite(b)) bounds.push(`${name} < ${placeWords(j, b)}`);
    });
    return [...bounds, ...sums];
  };
  const saidActions = new Map(tree.actions.map((action, i) => [String(action), minus(data.words.action[i])]));
  const saidValues = new Map(data.words.values);  // of laws
  const valueWords = (value, axis) => `${saidValues.get(value) ?? number(value)}${unit(axis.unit)}`;
  const actionWords = (action) =>
    saidActions.get(String(action)) ?? data.action.map((axis, k) => `${axis.name} = ${valueWords(action[k], axis)}`).join(", ");

  // -- colours of actions
  const hex = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const onScale = (stops, part) => {
    const place = Math.min(Math.max(part, 0), 1) * (stops.length - 1), i = Math.min(Math.floor(place), stops.length - 2);
    return stops[i].map((from, channel) => Math.round(from + (place - i) * (stops[i + 1][channel] - from)));
  };
  const actionColour = (action, k = 0) => {
    const { named, values, scale } = data.colours;
    if (named) return values.includes(action[0]) ? hex(named[values.indexOf(action[0])]) : [0, 0, 0];
    const { low, high } = data.action[k];
    return onScale(scale, high > low ? (action[k] - low) / (high - low) : 0.5);
  };
  const css = (rgb) => `rgb(${rgb.join(" ")})`;

  // -- coordinates people think in: the variables, and the angle where only its cosine and sine are observed
  // features follow from them: whoever changes a variable computes these again
  const formulas = [...data.state.entries()].filter(([, { formula }]) => formula);
  const signs = {
    "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b,
    "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
  };
  const valueOf = (part, x) => {
    if (typeof part === "number") return part;
    const [sign, ...rest] = part;
    if (sign === "x") return x[rest[0]];
    if (sign === "if") return valueOf(rest[valueOf(rest[0], x) ? 1 : 2], x);
    return (signs[sign] ?? Math[sign])(...rest.map((inner) => valueOf(inner, x)));
  };
  const complete = (x) => formulas.forEach(([j, { formula }]) => { x[j] = valueOf(formula, x); });
  const coordinates = data.state.map((axis, j) => ({
    ...axis, uses: [j], get: (x) => x[j], put: (x, value) => { x[j] = value; complete(x); },
  })).filter(({ formula }) => !formula);
  if (data.angle) {
    const { cos, sin } = data.angle, range = [-Math.PI, Math.PI];
    coordinates.unshift({
      ...data.angle, near: range, far: range, uses: [cos, sin], get: (x) => Math.atan2(x[sin], x[cos]),
      put: (x, value) => { x[cos] = Math.cos(value); x[sin] = Math.sin(value); complete(x); },
    });
  }

  // -- the state everything shows; `moment`: where in which episode, null if somebody chose the state
  const listeners = [], now = { x: data.start.slice(), leaf: 0, moment: null, source: "start" };
  const set = (x, source, moment = null) => {
    Object.assign(now, { x: x.slice(), leaf: leafOf(tree, x), moment, source });
    listeners.forEach((listener) => listener(now));
  };
  const on = (listener) => { listeners.push(listener); listener(now); };
  now.leaf = leafOf(tree, now.x);

  // -- small tools
  const make = (name, parent, attributes = {}, text) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent?.append(element);
    return element;
  };
  const svg = (name, parent, attributes = {}, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent?.append(element);
    return element;
  };
  const chip = (parent, action) => {
    const element = make("span", parent, { class: "chip" }, actionWords(action));
    element.style.setProperty("--colour", css(actionColour(action)));
    return element;
  };
  const ticks = (low, high, count) => {
    const raw = (high - low) / count, size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((x) => x * size).find((x) => x >= raw * 0.999), found = [];
    for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-6; x += step) found.push(Math.abs(x) < step / 1e6 ? 0 : x);
    return found;
  };

  document.querySelectorAll(".guide, .bench, .strip").forEach((part) => { part.hidden = false; });
  return {
    data, d, tree, table, leaves, leafOf, pathTo, parent, actionAt, actionIn, number, plain, toldApart, unit, measured, placeWords, testWords, ruleWords, actionWords,
    hex, actionColour, onScale, css, coordinates, now, set, on, make, svg, chip, ticks,
  };
})();
