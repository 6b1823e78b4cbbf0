"use strict";
// Learning curves: drawn anew at every choice, read off with the pointer or the arrow keys.
(() => {
  const source = document.getElementById("curve-data"), root = document.getElementById("curves");
  if (!source || !root) return;
  const problems = JSON.parse(source.textContent);
  const form = root.querySelector("form"), plot = root.querySelector(".plot"), list = root.querySelector(".legend");
  const readout = root.querySelector(".readout"), said = root.querySelector(".said");

  const NAMES = {
    best_seen: "best average return seen", evaluation: "average return of each evaluation", arms: "arms",
    iterations: "training episodes", train: "training samples", all: "training and evaluation samples",
  };
  const off = new Set();  // by name, so that a choice outlives a change of the problem
  const log = { iterations: false, train: false, all: true, best_seen: false, evaluation: false, arms: true };
  let problem, axis, metric, rows, frame, cursor = null;  // cursor: place in the plot, 0 to 1; null if nobody points

  // -- small tools
  const svg = (name, attributes, parent, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent?.append(element);
    return element;
  };
  const html = (name, parent, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    parent?.append(element);
    return element;
  };
  const number = (value, digits) =>
    value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
  const shown = (value, half) => {
    const digits = metric === "arms" ? 0 : Math.abs(value) < 100 ? 2 : 1;
    return number(value, digits) + (half == null ? "" : ` ± ${number(half, digits)}`);
  };
  const short = (value) => {
    const size = Math.abs(value);
    if (size >= 1e6) return `${+(value / 1e6).toPrecision(4)} M`;
    return (size >= 1 ? value.toLocaleString("en-GB") : String(+value.toPrecision(3))).replace("-", "−");
  };
  const scale = (low, high, from, to, isLog) => {
    const f = isLog ? Math.log10 : (x) => x, inverse = isLog ? (x) => 10 ** x : (x) => x;
    const a = f(low), b = f(high);
    return { at: (x) => from + ((f(x) - a) / (b - a)) * (to - from), back: (share) => inverse(a + share * (b - a)) };
  };
  const ticks = (low, high, count, isLog) => {
    if (isLog && Math.log10(high / low) > 0.7) {
      const found = [], first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
      const steps = last - first <= 2 ? [1, 2, 5] : [1], stride = Math.max(1, Math.round((last - first) / count));
      for (let power = first; power <= last; power += stride) found.push(...steps.map((step) => step * 10 ** power));
      return found.filter((x) => x >= low * 0.999 && x <= high * 1.001);
    }
    const raw = (high - low) / count, size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((x) => x * size).find((x) => x >= raw * 0.999);
    const found = [];
    for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-6; x += step) found.push(Math.abs(x) < step / 1e6 ? 0 : x);
    return found;
  };

  // -- what there is to draw under the present choice
  const why = (series) =>
    series.level ? (metric === "arms" ? "no arms" : "")
      : !series.curves[axis] ? "over samples only" : !series.curves[axis][metric] ? "no arms" : "";
  const isShown = (series) => !off.has(series.label) && !why(series);
  const told = (series) => (form.paper.checked && !form.paper.disabled ? series.paper?.[metric] : undefined);
  const linesOf = (series) => series.lines && (series.lines[metric] ?? series.lines[metric === "evaluation" ? "best_seen" : ""]);

  // the last point at or before x: what was known by then
  const valueAt = (series, x) => {
    if (series.level) return series.level;
    const { x: at, [metric]: [mean, half] } = series.curves[axis];
    if (x < at[0] || x > at.at(-1) * 1.0001) return null;
    let low = 0, high = at.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (at[middle] <= x * 1.0001) low = middle; else high = middle - 1;
    }
    return mean[low] === null ? null : [mean[low], half && half[low]];
  };

  const draw = (width = plot.clientWidth) => {
    if (!width) return;
    const visible = problem.series.filter(isShown), curved = visible.filter((series) => !series.level);
    const height = Math.round(Math.min(440, Math.max(270, width * 0.52)));
    const box = { left: 58, right: width - 14, top: 26, bottom: height - 44 };
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "curves-title" });
    const caption = `${problem.title}: ${NAMES[metric]} over ${NAMES[axis]}`;
    svg("title", { id: "curves-title" }, picture, caption);

    // extent of what is visible
    form.paper.disabled = axis !== "iterations" || !problem.series.some((series) => series.paper?.[metric]);
    const xs = curved.flatMap((series) => [series.curves[axis].x[0], series.curves[axis].x.at(-1)]);
    const ys = [], edges = [];
    for (const series of visible) {
      const [mean, half] = series.level ? series.level.map((x) => [x]) : series.curves[axis][metric];
      mean.forEach((value, i) => value !== null && (ys.push(value), edges.push(value - (half?.[i] ?? 0), value + (half?.[i] ?? 0))));
      if (told(series)) edges.push(told(series)[0] - told(series)[1], told(series)[0] + told(series)[1]);
      if (form.lines.checked && series.lines) {
        for (const line of linesOf(series)) ys.push(...line.filter((value) => value !== null));
        for (const line of series.lines[axis]) xs.push(line[0], line.at(-1));
      }
    }
    const canLog = ys.length > 0 && Math.min(...ys) > 0;
    form.logy.disabled = !canLog;
    form.logy.checked = canLog && log[metric];
    form.logx.checked = log[axis];
    const known = xs.filter((x) => x > 0);
    let [left, right] = known.length ? [Math.min(...known), Math.max(...known)] : [1, 100];
    if (!log[axis]) left = 0;
    if (right <= left) right = left + 1;
    // an interval may reach below zero, where a logarithmic axis has no place for it: it is cut off
    const lowest = form.logy.checked ? ys : [...ys, ...edges];
    let [low, high] = ys.length ? [Math.min(...lowest), Math.max(...ys, ...edges)] : [0, 1];
    if (high - low < 1e-9) { low -= 1; high += 1; }
    if (form.logy.checked) { low /= 1.2; high *= 1.2; } else { const room = (high - low) * 0.04; low -= room; high += room; }
    const across = scale(left, right, box.left, box.right, log[axis]), up = scale(low, high, box.bottom, box.top, form.logy.checked);

    // axes
    const grid = svg("g", { class: "grid" }, picture);
    for (const y of ticks(low, high, 6, form.logy.checked)) {
      svg("line", { x1: box.left, x2: box.right, y1: up.at(y), y2: up.at(y) }, grid);
      svg("text", { x: box.left - 8, y: up.at(y) + 4, "text-anchor": "end" }, grid, short(y));
    }
    for (const x of ticks(left, right, Math.max(2, Math.floor(width / 110)), log[axis])) {
      svg("line", { x1: across.at(x), x2: across.at(x), y1: box.bottom, y2: box.bottom + 5, class: "tick" }, grid);
      svg("text", { x: across.at(x), y: box.bottom + 20, "text-anchor": across.at(x) > box.right - 20 ? "end" : "middle" }, grid, short(x));
    }
    svg("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, class: "tick" }, grid);
    svg("text", { x: 0, y: 14, class: "name" }, grid, NAMES[metric]);
    svg("text", { x: box.right, y: height - 6, "text-anchor": "end", class: "name" }, grid, NAMES[axis]);
    if (!visible.length) svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, grid, "Nothing is switched on.");

    // bands below, then single agents, then means
    const path = (x, y) => {
      let pen = "M";
      return x.map((at, i) => {
        if (y[i] === null || (log[axis] && at <= 0)) { pen = "M"; return ""; }
        const step = `${pen}${across.at(at).toFixed(1)},${up.at(y[i]).toFixed(1)}`;
        pen = "L";
        return step;
      }).join("");
    };
    const layers = ["band", "agent", "mean", "told"].map((name) => svg("g", { class: name }, picture));
    for (const series of visible) {
      const look = { stroke: series.colour, "data-series": series.label };
      const x = series.level ? [left, right] : series.curves[axis].x;
      const [mean, half] = series.level ? series.level.map((value) => (value === null ? null : [value, value])) : series.curves[axis][metric];
      if (half) {
        const known = mean.flatMap((value, i) => (value === null || half[i] === null ? [] : [i]));
        const floor = form.logy.checked ? low : -Infinity;
        const edge = (sign) => known.map((i) => Math.max(floor, mean[i] + sign * half[i]));
        const at = known.map((i) => x[i]);
        const outline = path(at, edge(1)) + path([...at].reverse(), edge(-1).reverse()).replace("M", "L");
        if (known.length > 1) svg("path", { d: `${outline}Z`, fill: series.colour, "data-series": series.label }, layers[0]);
      }
      if (form.lines.checked) (linesOf(series) ?? []).forEach((line, i) => {
        const at = series.lines[axis];
        svg("path", { d: path(at[at.length > 1 ? i : 0], line), ...look }, layers[1]);
      });
      svg("path", { d: path(x, mean), "stroke-dasharray": series.dashes || "none", ...look }, layers[2]);
    }
    const marked = visible.filter(told);
    marked.forEach((series, i) => {
      const [value, half] = told(series), x = box.right - 3 - 9 * (marked.length - 1 - i), y = up.at(value);
      const mark = svg("g", { stroke: series.colour, fill: series.colour, "data-series": series.label }, layers[3]);
      svg("line", { x1: x, x2: x, y1: up.at(Math.max(low, value - half)), y2: up.at(value + half) }, mark);
      svg("path", { d: `M${x},${y - 5}L${x + 5},${y}L${x},${y + 5}L${x - 5},${y}Z` }, mark);
      svg("title", {}, mark, `${series.label} in the paper: ${shown(value, half)}`);
    });

    frame = { box, across, up, width, picture, hand: svg("g", { class: "hand" }, picture) };
    plot.replaceChildren(picture);
    said.textContent = `${caption}. Line: mean over the agents; band: its 95 % interval.` +
      (marked.length ? " ◆ the paper’s value at the end, with its interval." : "") +
      (visible.some((series) => series.level) ? " Random learns nothing and is drawn as a level, its fresh return." : "") +
      (axis !== "iterations" && curved.length ? " A mean ends where its first agent ends." : "");
    read();
  };

  // -- reading off: at the cursor, or at the end
  const read = () => {
    const { box, across, up, hand } = frame;
    hand.replaceChildren();
    const pointing = cursor !== null, share = pointing ? cursor : 1;
    let x = across.back(share);
    if (axis === "iterations" || x >= 10) x = Math.round(x);
    readout.textContent = pointing ? `At ${short(x)} ${NAMES[axis]}` : "At the end of training";
    if (pointing) svg("line", { x1: across.at(x), x2: across.at(x), y1: box.top, y2: box.bottom }, hand);
    const words = [];
    rows.forEach(({ series, value, row, input }) => {
      const reason = why(series);
      row.classList.toggle("off", !isShown(series));
      input.disabled = reason !== "";
      let found = null;
      if (isShown(series)) found = valueAt(series, pointing || series.level ? x : series.curves[axis].x.at(-1));
      value.textContent = reason || (found ? shown(...found) : isShown(series) ? "no value here" : "");
      if (!found) return;
      words.push(`${series.label} ${value.textContent}`);
      if (pointing) svg("circle", { cx: across.at(x), cy: up.at(found[0]), r: 4, fill: series.colour }, hand);
    });
    plot.setAttribute("aria-valuenow", Math.round(100 * share));
    plot.setAttribute("aria-valuetext", `${readout.textContent}: ${words.join("; ") || "nothing"}`);
  };
  const point = (share) => { cursor = share === null ? null : Math.min(1, Math.max(0, share)); read(); };
  const follow = (event) => {
    const edge = frame.picture.getBoundingClientRect(), { box, width } = frame;
    const at = ((event.clientX - edge.left) / edge.width) * width;
    point((at - box.left) / (box.right - box.left));
  };
  plot.addEventListener("pointermove", follow);
  plot.addEventListener("pointerdown", follow);
  plot.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && point(null));
  plot.addEventListener("blur", () => point(null));
  plot.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: -0.01, ArrowDown: -0.01, ArrowRight: 0.01, ArrowUp: 0.01, PageDown: -0.1, PageUp: 0.1, Home: -1, End: 1 };
    if (event.key === "Escape") point(null);
    if (!(event.key in moves) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    point((cursor ?? (moves[event.key] > 0 ? 0 : 1)) + moves[event.key]);
  });

  // -- choosing
  const enter = () => {
    problem = problems.find((one) => one.name === form.problem.value) ?? problems[0];
    list.replaceChildren();
    rows = problem.series.map((series) => {
      const row = html("li", list), label = html("label", row), input = html("input", label);
      input.type = "checkbox";
      input.checked = !off.has(series.label);
      input.addEventListener("change", () => {
        if (input.checked) off.delete(series.label); else off.add(series.label);
        draw();
      });
      const key = svg("svg", { viewBox: "0 0 34 8", width: 34, height: 8, "aria-hidden": "true" }, label);
      svg("line", { x1: 0, x2: 34, y1: 4, y2: 4, stroke: series.colour, "stroke-width": 3, "stroke-dasharray": series.dashes || "none" }, key);
      const who = html("span", label, series.label);
      html("small", who, `${series.agents} agent${series.agents === 1 ? "" : "s"}`);
      return { series, row, input, value: html("output", row) };
    });
  };
  const choose = (event) => {
    axis = form.axis.value;
    metric = form.metric.value;
    if (event?.target === form.logx) log[axis] = form.logx.checked;
    if (event?.target === form.logy) log[metric] = form.logy.checked;
    if (!event || event.target === form.problem) enter();
    cursor = null;
    draw();
  };
  form.addEventListener("change", choose);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.paper.checked = true;
  root.hidden = false;
  choose();
  let last = plot.clientWidth;
  new ResizeObserver(() => {
    if (plot.clientWidth && plot.clientWidth !== last) { last = plot.clientWidth; draw(); }
  }).observe(plot);
  addEventListener("beforeprint", () => { cursor = null; draw(700); });
  addEventListener("afterprint", () => draw());
})();
