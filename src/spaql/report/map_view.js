"use strict";
// The controller as a map: a plane through the present state. Colours are pixels; axes, episodes and marks are drawn over them.
(() => {
  const { data, tree, table, leaves, leafOf, actionIn, hex, actionColour, actionWords, onScale, css, number, measured } = spaql;
  const { coordinates, make, svg, ticks, now } = spaql;
  const box = document.querySelector(".map"), canvas = box.querySelector("canvas"), legend = document.querySelector(".scale");
  const form = document.querySelector(".map-controls"), hint = document.getElementById("map-hint");
  const VALUES = [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];  // viridis
  const SLOW = 16;  // ms: above it, moving pictures are drawn coarser
  const PALE = 70;

  // -- what is chosen
  const isFlat = coordinates.length === 1;
  const first = data.angle ? [0, coordinates.length - 1] : data.axes;
  coordinates.forEach((axis, place) => {
    for (const [select, chosen] of [[form.across, first[0]], [form.up, first[1] ?? 0]])
      make("option", select, { value: place, ...(place === chosen && { selected: "" }) }, axis.name);
  });
  form.up.closest("label").hidden = isFlat;
  form.far.closest("label").hidden = data.state.every(({ near, far }) => near[0] === far[0] && near[1] === far[1]);
  data.action.forEach(({ name }, k) => make("option", form.colour, { value: k }, name.startsWith("action") ? name : `action: ${name}`));
  if (tree.laws && leaves.size > 1) make("option", form.colour, { value: "rule" }, "law in charge");
  if (table) {
    make("option", form.colour, { value: "q" }, "value (Q)");
    make("option", form.colour, { value: "visits" }, "visits in training");
  }
  spaql.rangeOf = (axis) => (form.far.checked ? axis.far : axis.near);
  const across = () => coordinates[form.across.value], up = () => (isFlat ? null : coordinates[form.up.value]);
  const overlap = (one, other) => one.uses.some((j) => other.uses.includes(j));
  let before = [];
  const untangle = (changed) => {  // two axes cannot move the same variable: the other one takes what this one showed
    const other = changed === form.up ? form.across : form.up, chosen = coordinates[changed.value];
    if (!isFlat && overlap(chosen, coordinates[other.value])) {
      const candidates = [before[changed === form.up ? 1 : 0] ?? 0, ...coordinates.keys()];
      other.value = candidates.find((place) => !overlap(coordinates[place], chosen));
    }
    before = [form.across.value, form.up.value];
  };

  // -- colours by node, or by the action where leaves are laws
  const range = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  const seen = table ? [...table.cells.values()].filter((cell) => cell.visits > 0) : [];
  const qs = seen.map((cell) => cell.q).filter((q) => q !== null);
  const valueRange = qs.length ? range(qs) : [0, 1], visitRange = [1, Math.max(2, ...seen.map((cell) => cell.visits))];
  const part = (value, [low, high]) => (high > low ? (value - low) / (high - low) : 0.5);
  const palettes = {}, packed = (bytes) => new Uint32Array(Uint8ClampedArray.from(bytes).buffer);
  const paletteOf = (mode) => {
    if (palettes[mode]) return palettes[mode];
    const of = mode === "q" || mode === "visits" ? table.tree : tree, colours = new Uint8ClampedArray(4 * of.feature.length);
    of.feature.forEach((tested, node) => {
      if (tested >= 0) return;
      if (of === tree) {
        const { number: place, share } = leaves.get(node), alpha = share === 0 ? PALE : 255;
        const own = mode === "rule" ? hex(data.colours.rules[place - 1]) : actionColour(tree.actions[tree.action[node]], +mode);
        colours.set([...own, alpha], 4 * node);
        return;
      }
      const { q, visits } = table.cells.get(node);
      if (visits === 0 || (mode === "q" && q === null)) return;  // stays transparent
      const along = mode === "q" ? part(q, valueRange) : part(Math.log(visits), visitRange.map(Math.log));
      colours.set([...onScale(VALUES, along), 255], 4 * node);
    });
    const edges = colours.map((value, at) => (at % 4 === 3 ? Math.min(255, value + 30) : 0.82 * value));
    return (palettes[mode] = [packed(colours), packed(edges)]);
  };
  // laws: the colours of the finite actions, or of places on the scale; then the same for laws that were never used
  const STEPS = 1023;
  const rampOf = (k) => {
    if (palettes[k]) return palettes[k];
    const { named, values } = data.colours, { low, high } = data.action[k];
    const known = named ? values.map((value) => [value]) : Array.from({ length: STEPS + 1 }, (_, i) => ({ [k]: low + (i / STEPS) * (high - low) }));
    const colours = known.map((action) => actionColour(action, k));
    return (palettes[k] = [255, PALE].map((alpha) => packed(colours.flatMap((colour) => [...colour, alpha]))));
  };
  const paintLaws = (out, k) => {
    const { nodes, applied } = grid, count = data.action.length, [full, pale] = rampOf(k), { low, high } = data.action[k];
    const { named, values } = data.colours, place = new Map(values.map((value, i) => [value, i]));
    for (let at = 0; at < nodes.length; at++) {
      const value = applied[at * count + k], ramp = leaves.get(nodes[at]).share === 0 ? pale : full;
      out[at] = ramp[named ? place.get(value) : Math.round(STEPS * part(value, [low, high]))];
    }
    const bytes = new Uint8ClampedArray(1), dim = (value) => { bytes[0] = 0.6 * value; return bytes[0]; };
    return (at) => (out[at] & 0xff000000) | (dim((out[at] >> 16) & 255) << 16) | (dim((out[at] >> 8) & 255) << 8) | dim(out[at] & 255);
  };

  // -- pixels
  let frame = null, cost = 0, grid = null, settled = 0;
  const evaluate = (of, cols, rows) => {
    const x = Float64Array.from(now.x), found = new Int32Array(cols * rows), ax = across(), ay = up(), count = data.action.length;
    const applied = of.laws ? new Float64Array(cols * rows * count) : null;
    const [left, right] = spaql.rangeOf(ax), [bottom, top] = ay ? spaql.rangeOf(ay) : [0, 1];
    for (let i = 0; i < cols; i++) {
      ax.put(x, left + ((i + 0.5) / cols) * (right - left));
      for (let j = 0; j < rows; j++) {
        if (ay) ay.put(x, top - ((j + 0.5) / rows) * (top - bottom));
        found[j * cols + i] = leafOf(of, x);
        if (applied) applied.set(actionIn(found[j * cols + i], x), (j * cols + i) * count);
      }
    }
    return { nodes: found, applied };
  };
  const outline = (nodes, edge, out, cols, rows, rim) => {
    const text = getComputedStyle(box).color.match(/\d+/g).slice(0, 3), here = now.leaf, [ink] = packed([...text, 255]);
    for (let j = 0, at = 0; j < rows; j++) {
      for (let i = 0; i < cols; i++, at++) {
        const node = nodes[at];
        if (node !== here) {
          if ((i > 0 && nodes[at - 1] !== node) || (j > 0 && nodes[at - cols] !== node)) out[at] = edge(at);
        } else if (i < rim || i + rim >= cols || j < rim || j + rim >= rows || nodes[at - rim] !== node || nodes[at + rim] !== node
          || nodes[at - rim * cols] !== node || nodes[at + rim * cols] !== node) out[at] = ink;
      }
    }
  };
  const paint = (coarse) => {
    const mode = form.colour.value, of = mode === "q" || mode === "visits" ? table.tree : tree;
    const finest = Math.min(devicePixelRatio || 1, 1.5), scale = coarse ? 0.5 : finest;
    const cols = Math.max(1, Math.round(frame.width * scale)), rows = Math.max(1, Math.round(frame.height * scale));
    const begin = performance.now();
    const fixed = now.x.filter((_, j) => !data.state[j].formula && ![across(), up()].some((axis) => axis?.uses.includes(j)));
    const key = JSON.stringify([cols, rows, form.across.value, form.up.value, form.far.checked, of === tree, fixed]);
    const isNew = grid?.key !== key;
    if (isNew) grid = { key, ...evaluate(of, cols, rows) };
    const { nodes } = grid, image = new ImageData(cols, rows), out = new Uint32Array(image.data.buffer);
    let edge;
    if (of.laws && mode !== "rule") edge = paintLaws(out, +mode);
    else {
      const [colours, edges] = paletteOf(mode);
      for (let at = 0; at < nodes.length; at++) out[at] = colours[nodes[at]];
      edge = (at) => edges[nodes[at]];
    }
    if (of === tree) outline(nodes, edge, out, cols, rows, Math.max(1, Math.round(2 * scale)));
    Object.assign(canvas, { width: cols, height: rows });
    canvas.getContext("2d").putImageData(image, 0, 0);
    if (isNew && !coarse) cost = performance.now() - begin;
  };

  // -- what is drawn over them
  let drawing, marks;
  const place = (axis, value, from, to) => { const [a, b] = spaql.rangeOf(axis); return from + ((value - a) / (b - a)) * (to - from); };
  const xAt = (x) => place(across(), across().get(x), frame.left, frame.left + frame.width);
  const yAt = (x) => (up() ? place(up(), up().get(x), frame.top + frame.height, frame.top) : frame.top + frame.height / 2);
  const named = (axis) => axis.name + (axis.unit ? ` (${axis.unit})` : "");
  const layOut = () => {
    const width = box.clientWidth;
    if (!width) return;
    const ay = up(), yTicks = ay ? ticks(...spaql.rangeOf(ay), 6) : [];
    const wide = Math.max(0, ...yTicks.map((tick) => number(tick).length));
    frame = { left: ay ? 30 + 7.5 * wide : 14, top: 10, bottom: 46, right: 14 };
    frame.width = Math.floor(width - frame.left - frame.right);
    frame.height = isFlat ? 90 : Math.round(Math.min(430, Math.max(240, frame.width * 0.74)));
    const height = frame.top + frame.height + frame.bottom;
    Object.assign(canvas.style, { left: `${frame.left}px`, top: `${frame.top}px`, width: `${frame.width}px`, height: `${frame.height}px` });
    drawing?.remove();
    drawing = svg("svg", box, { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
    const base = frame.top + frame.height;
    const clip = svg("clipPath", svg("defs", drawing), { id: "map-clip" });
    svg("rect", clip, { x: frame.left, y: frame.top, width: frame.width, height: frame.height });
    svg("rect", drawing, { class: "border", x: frame.left, y: frame.top, width: frame.width, height: frame.height });
    for (const tick of ticks(...spaql.rangeOf(across()), Math.max(3, Math.floor(frame.width / 80)))) {
      const x = place(across(), tick, frame.left, frame.left + frame.width);
      svg("line", drawing, { class: "tick", x1: x, x2: x, y1: base, y2: base + 5 });
      svg("text", drawing, { x, y: base + 19, "text-anchor": "middle" }, number(tick));
    }
    svg("text", drawing, { class: "name", x: frame.left + frame.width / 2, y: base + 39, "text-anchor": "middle" }, named(across()));
    for (const tick of yTicks) {
      const y = place(ay, tick, base, frame.top);
      svg("line", drawing, { class: "tick", x1: frame.left - 5, x2: frame.left, y1: y, y2: y });
      svg("text", drawing, { x: frame.left - 8, y: y + 4, "text-anchor": "end" }, number(tick));
    }
    const turned = `translate(14 ${frame.top + frame.height / 2}) rotate(-90)`;
    if (ay) svg("text", drawing, { class: "name", transform: turned, "text-anchor": "middle" }, named(ay));
    const inside = svg("g", drawing, { "clip-path": "url(#map-clip)" });
    for (const end of across().limits ?? []) {
      const x = place(across(), end, frame.left, frame.left + frame.width);
      svg("line", inside, { class: "limit", x1: x, x2: x, y1: frame.top, y2: base });
    }
    for (const end of ay?.limits ?? []) {
      const y = place(ay, end, base, frame.top);
      svg("line", inside, { class: "limit", x1: frame.left, x2: frame.left + frame.width, y1: y, y2: y });
    }
    if (form.paths?.checked) data.episodes.forEach((episode, i) => drawPath(inside, episode, i === spaql.episode));
    marks = svg("g", inside);
  };
  const drawPath = (parent, { observations }, isPlayed) => {
    let path = "", before = null;
    for (const x of observations) {
      const at = [xAt(x), yAt(x)];
      // an angle that comes in again on the other side is no line across the map
      const jumps = before && (Math.abs(at[0] - before[0]) > frame.width / 2 || Math.abs(at[1] - before[1]) > frame.height / 2);
      path += `${before && !jumps ? "L" : "M"}${at[0].toFixed(1)} ${at[1].toFixed(1)}`;
      before = at;
    }
    const kind = isPlayed ? "path played-path" : "path";
    svg("path", parent, { class: `${kind} halo`, d: path });
    svg("path", parent, { class: kind, d: path });
  };
  const mark = () => {
    marks.replaceChildren();
    const [x, y] = [xAt(now.x), yAt(now.x)];
    const { left, top, width, height } = frame;
    svg("path", marks, { class: "cross", d: `M${x} ${top}V${top + height}M${left} ${y}H${left + width}` });
    svg("circle", marks, { class: "dot", cx: x, cy: y, r: 6.5 });
  };
  const showLegend = () => {
    const mode = form.colour.value;
    legend.replaceChildren();
    const swatch = (colour, text) => make("span", legend, { class: "chip" }, text).style.setProperty("--colour", css(colour));
    const note = (text) => make("span", legend, { class: "said" }, text);
    const ramp = (stops, low, high, label) => {
      const row = make("span", legend, { class: "ramp" });
      make("span", row, {}, low);
      const bar = make("span", row, { class: "bar", role: "img", "aria-label": `${label} from ${low} to ${high}` });
      bar.style.background = `linear-gradient(to right, ${stops.map(css).join(", ")})`;
      make("span", row, {}, high);
      make("span", row, { class: "said" }, label);
    };
    const axis = data.action[mode], counted = (value) => value.toLocaleString("en-GB");
    if (mode === "rule") data.words.rules.forEach((text, i) => swatch(hex(data.colours.rules[i]), text));
    else if (mode === "q") ramp(VALUES, ...valueRange.map(number), "learned value of the best action");
    else if (mode === "visits") ramp(VALUES, ...visitRange.map(counted), "training steps in the cell (logarithmic)");
    else if (data.colours.named) {
      const { values } = data.colours, few = tree.laws?.kind === "threshold" ? [values[0], values.at(-1)] : values;  // a threshold knows two
      [...new Set(few)].forEach((value) => spaql.chip(legend, [value]));
    }
    else ramp(data.colours.scale, measured(axis.low, axis), measured(axis.high, axis), axis.name);
    if (mode === "q" || mode === "visits") note("blank: never visited in training");
    else if ([...leaves.values()].some((leaf) => leaf.share === 0)) note("faint: a rule the closed loop never used");
  };

  // -- when
  const refresh = (all) => {
    if (all || !frame) layOut();
    if (!frame) return;
    const moving = cost > SLOW;
    paint(moving);
    mark();
    clearTimeout(settled);
    if (moving) settled = setTimeout(() => paint(false), 160);
  };
  let waiting = null;
  const request = (all) => {
    if (waiting) { waiting.all ||= all; return; }
    waiting = { all };
    requestAnimationFrame(() => { const wanted = waiting; waiting = null; refresh(wanted.all); });
  };
  spaql.redrawMap = () => request(true);
  form.addEventListener("submit", (event) => event.preventDefault());
  const choose = (event) => {
    if (event.target === form.across || event.target === form.up) untangle(event.target);
    showLegend();
    spaql.showState();
    tellHow();
    request(true);
  };
  [...form.elements].forEach((element) => element.addEventListener("change", choose));
  new ResizeObserver(() => request(true)).observe(box);
  document.getElementById("theme").addEventListener("click", () => request(true));

  // -- pointing and moving with the keys
  const stateAt = (event) => {
    const area = canvas.getBoundingClientRect(), x = now.x.slice();
    const along = (event.clientX - area.left) / area.width, above = 1 - (event.clientY - area.top) / area.height;
    if (along < 0 || along > 1 || above < 0 || above > 1) return null;
    const at = (axis, share) => { const [a, b] = spaql.rangeOf(axis); axis.put(x, a + share * (b - a)); };
    at(across(), along);
    if (up()) at(up(), above);
    return x;
  };
  const tellHow = (x) => {
    const shown = [across(), up()].filter(Boolean);
    const others = coordinates.filter((axis) => !shown.some((one) => overlap(one, axis)));
    const at = x && shown.map((axis) => `${axis.name} ${measured(axis.get(x), axis)}`).join(", ");
    const slide = others.length ? ` The map is a cut through it: slide ${others.map((axis) => axis.name).join(", ")} to see others.` : "";
    hint.textContent = x ? `${at}: ${actionWords(spaql.actionAt(x))}` : `Click, or use the arrow keys, to choose a state.${slide}`;
  };
  box.addEventListener("pointerdown", (event) => { const x = stateAt(event); if (x && event.button === 0) spaql.set(x, box); });
  box.addEventListener("pointermove", (event) => {
    const x = stateAt(event);
    if (x && event.pointerType === "mouse" && event.buttons & 1) spaql.set(x, box);
    tellHow(x);
  });
  box.addEventListener("pointerleave", () => tellHow());
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const x = now.x.slice(), size = event.shiftKey ? 0.1 : 0.01;
    [across(), up()].forEach((axis, i) => {
      if (!axis || !step[i]) return;
      const [a, b] = spaql.rangeOf(axis);
      axis.put(x, Math.min(Math.max(axis.get(x) + step[i] * size * (b - a), a), b));
    });
    spaql.set(x, box);
  });
  untangle(form.across);
  showLegend();
  tellHow();
  spaql.on(() => { spaql.showState(); request(false); });
})();
