"use strict";
// Recorded episodes: the plant as it moves, all variables over time, and the buttons that move it.
(() => {
  const { data, tree, leafOf, svg, make, now, number, measured, actionAt } = spaql;
  const bar = document.querySelector(".transport"), choice = document.getElementById("episode");
  spaql.episode = 0;
  if (!bar) return;
  const button = (name) => bar.querySelector(`[name=${name}]`);
  const play = button("play"), at = button("at"), speed = button("speed"), clock = bar.querySelector(".clock");
  const plots = document.querySelector(".series"), stage = document.querySelector(".plant");
  // steps per second at normal speed: as in reality, where one can watch that
  const RATE = Math.min(Math.max(data.step_time ? 1 / data.step_time : 20, 5), 100);
  const seconds = (steps) => {
    let digits = 0;
    while (digits < 4 && Math.abs(data.step_time * 10 ** digits - Math.round(data.step_time * 10 ** digits)) > 1e-9) digits += 1;
    return (steps * data.step_time).toFixed(digits);
  };
  const episode = () => data.episodes[spaql.episode];
  const last = () => episode().observations.length - 1;

  // -- the plant
  const pendulum = (parent) => {
    const picture = svg("svg", parent, { viewBox: "-160 -130 320 260", role: "img", "aria-label": "The pendulum" });
    svg("circle", picture, { class: "orbit", r: 100 });
    svg("path", picture, { class: "goal", d: "M0 -122V-108" });
    const rod = svg("line", picture, { class: "rod" }), bob = svg("circle", picture, { class: "bob", r: 13 });
    svg("circle", picture, { class: "pivot", r: 5 });
    const push = svg("path", picture, { class: "push" }), head = svg("path", picture, { class: "push-head" });
    const most = Math.max(...data.action.map(({ low, high }) => Math.max(Math.abs(low), Math.abs(high)))) || 1;
    return (x, action) => {
      const [cos, sin] = x, tip = { x: -100 * sin, y: -100 * cos };  // positive angles are counterclockwise
      Object.entries({ x2: tip.x, y2: tip.y }).forEach(([key, value]) => rod.setAttribute(key, value));
      bob.setAttribute("cx", tip.x); bob.setAttribute("cy", tip.y);
      const part = action[0] / most, turn = part * 2.4, r = 34, from = Math.atan2(tip.y, tip.x), to = from - turn;
      const point = (angle, radius = r) => `${(radius * Math.cos(angle)).toFixed(1)} ${(radius * Math.sin(angle)).toFixed(1)}`;
      const visible = Math.abs(part) > 0.02;
      push.setAttribute("d", visible ? `M${point(from)}A${r} ${r} 0 0 ${turn > 0 ? 0 : 1} ${point(to)}` : "");
      const ahead = to - Math.sign(turn) * 0.32;
      head.setAttribute("d", visible ? `M${point(to, r - 8)}L${point(to, r + 8)}L${point(ahead)}Z` : "");
      [push, head].forEach((one) => one.style.setProperty("--colour", spaql.css(spaql.actionColour(action))));
    };
  };
  const cartpole = (parent) => {
    const picture = svg("svg", parent, { viewBox: "-270 -170 540 230", role: "img", "aria-label": "Cart and pole" }), scale = 100;
    svg("line", picture, { class: "track", x1: -260, x2: 260, y1: 22, y2: 22 });
    for (const end of [-2.4, -1.2, 0, 1.2, 2.4]) {
      const isLimit = Math.abs(end) === 2.4, x = end * scale;
      svg("line", picture, { class: isLimit ? "limit" : "track", x1: x, x2: x, y1: isLimit ? -20 : 22, y2: 30 });
      svg("text", picture, { x: end * scale, y: 48, "text-anchor": "middle" }, `${number(end)} m`);
    }
    const cart = svg("g", picture);
    svg("rect", cart, { class: "cart", x: -28, y: -14, width: 56, height: 28, rx: 4 });
    svg("circle", cart, { class: "wheel", cx: -15, cy: 16, r: 6 });
    svg("circle", cart, { class: "wheel", cx: 15, cy: 16, r: 6 });
    const rod = svg("line", cart, { class: "rod", y1: -14 });
    svg("circle", cart, { class: "pivot", cy: -14, r: 4 });
    const push = svg("path", cart, { class: "push" }), head = svg("path", cart, { class: "push-head" });
    return (x, action) => {
      const right = action[0] > 0.5 ? 1 : -1;
      cart.setAttribute("transform", `translate(${x[0] * scale} 0)`);
      rod.setAttribute("x2", 125 * Math.sin(x[2])); rod.setAttribute("y2", -14 - 125 * Math.cos(x[2]));
      push.setAttribute("d", `M${-right * 68} 0H${-right * 42}`);
      head.setAttribute("d", `M${-right * 44} -8L${-right * 44} 8L${-right * 31} 0Z`);
      [push, head].forEach((one) => one.style.setProperty("--colour", spaql.css(spaql.actionColour(action))));
    };
  };
  const swingUp = (parent) => {
    const picture = svg("svg", parent, { viewBox: "-270 -110 540 220", role: "img", "aria-label": "Cart and pole" }), scale = 120;
    svg("line", picture, { class: "track", x1: -260, x2: 260, y1: 22, y2: 22 });
    for (const at of [-2, -1, 0, 1, 2]) {
      svg("line", picture, { class: "track", x1: at * scale, x2: at * scale, y1: 22, y2: 30 });
      svg("text", picture, { x: at * scale, y: 100, "text-anchor": "middle" }, `${number(at)} m`);
    }
    svg("path", picture, { class: "goal", d: "M0 -86V-72" });  // where the tip shall be, half a metre above the pivot
    const cart = svg("g", picture);
    svg("rect", cart, { class: "cart", x: -28, y: -14, width: 56, height: 28, rx: 4 });
    svg("circle", cart, { class: "wheel", cx: -15, cy: 16, r: 6 });
    svg("circle", cart, { class: "wheel", cx: 15, cy: 16, r: 6 });
    const rod = svg("line", cart, { class: "rod", y1: 0 });
    svg("circle", cart, { class: "pivot", r: 4 });
    const push = svg("path", cart, { class: "push" }), head = svg("path", cart, { class: "push-head" });
    return (x, action) => {
      const part = action[0] / data.action[0].high, side = Math.sign(part), long = 60 * Math.abs(part);
      cart.setAttribute("transform", `translate(${x[0] * scale} 0)`);
      rod.setAttribute("x2", 70 * x[2]); rod.setAttribute("y2", 70 * x[3]);  // cos = 1 hangs
      const visible = long > 1;
      push.setAttribute("d", visible ? `M${-side * (42 + long)} 0H${-side * 42}` : "");
      head.setAttribute("d", visible ? `M${-side * 44} -8L${-side * 44} 8L${-side * 31} 0Z` : "");
      [push, head].forEach((one) => one.style.setProperty("--colour", spaql.css(spaql.actionColour(action))));
    };
  };
  const draw = { pendulum, cartpole, "swing-up": swingUp }[data.drawing]?.(stage);
  stage.hidden = !draw;

  // -- everything over time
  let cursor, frame;
  const range = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  const stepped = (values, xAt, yAt) =>
    values.map((value, step) => `${step ? "L" : "M"}${xAt(step).toFixed(1)} ${yAt(value).toFixed(1)}H${xAt(step + 1).toFixed(1)}`).join("");
  const valuesOf = ({ values, seen, action }) =>
    values ?? (seen === null ? episode().observations.slice(0, -1).map((x) => actionAt(x)[action]) : episode().observations.map((x) => x[seen]));
  const titleOf = ({ name, unit, followed, asked, limits }, room) => {
    const marks = [followed && `dotted: ${followed}`, asked && "dotted: asked for", limits.length && "dashed: limit"].filter(Boolean);
    const short = name + (unit ? ` (${unit})` : ""), full = [short, ...marks].join(", ");
    return full.length < room ? full : short;
  };
  const drawSeries = () => {
    const width = plots.clientWidth, { rows } = episode(), steps = last();
    if (!width) return;
    const tall = rows.length > 6 ? 40 : data.drawing ? 58 : 100, gap = 20;
    frame = { left: 0, width: width - 1 };
    const height = rows.length * (tall + gap) + 38;
    plots.replaceChildren();
    const picture = svg("svg", plots, { viewBox: `0 0 ${width} ${height}`, width, height });
    const xAt = (step) => frame.left + (steps ? step / steps : 0) * frame.width;
    rows.forEach((row, place) => {
      const { action: k, ends, limits, reference, asked } = row, values = valuesOf(row);
      const top = place * (tall + gap) + gap, base = top + tall - 4;
      let [low, high] = range([...(ends ?? values), ...(reference ?? []), ...limits]);
      if (!(high > low)) { low -= 1; high += 1; }
      const yAt = (value) => base - ((value - low) / (high - low)) * (tall - 8);
      const reach = `${number(low)} … ${number(high)}`;
      svg("text", picture, { x: 0, y: top - 5, class: "name" }, titleOf(row, width / 7 - reach.length));
      svg("text", picture, { x: width, y: top - 5, "text-anchor": "end" }, reach);
      svg("rect", picture, { class: "ground", x: 0, y: top, width, height: tall });
      if (low < 0 && high > 0) svg("line", picture, { class: "zero", x1: 0, x2: width, y1: yAt(0), y2: yAt(0) });
      // actions stand still until they change: one bar for each stretch
      for (let from = 0, to; k !== null && from < values.length; from = to) {
        for (to = from + 1; to < values.length && values[to] === values[from]; to++);
        const y = yAt(values[from]), zero = yAt(low < 0 && high > 0 ? 0 : low), colour = spaql.css(spaql.actionColour({ [k]: values[from] }, k));
        const tallest = data.colours.named && { y: top, height: tall };  // choices have no size
        const box = { y: Math.min(y, zero) - 1, height: Math.abs(y - zero) + 2, ...tallest };
        svg("rect", picture, { x: xAt(from), width: Math.max(0.6, xAt(to) - xAt(from)), ...box, fill: colour });
      }
      if (k === null) {
        const points = values.map((value, step) => `${xAt(step).toFixed(1)} ${yAt(value).toFixed(1)}`);
        svg("path", picture, { class: "line", d: ends ? stepped(values, xAt, yAt) : `M${points.join("L")}` });
      }
      if (reference) svg("path", picture, { class: "reference", d: stepped(reference.slice(0, steps), xAt, yAt) });
      if (asked) svg("path", picture, { class: "asked", d: stepped(valuesOf({ ...row, values: null }), xAt, yAt) });
      for (const end of limits) svg("line", picture, { class: "limit", x1: 0, x2: width, y1: yAt(end), y2: yAt(end) });
    });
    const tick = data.step_time ?? 1;
    for (const time of spaql.ticks(0, steps * tick, Math.max(2, Math.floor(width / 90)))) {
      const x = xAt(time / tick), anchor = x < 12 ? "start" : x > width - 12 ? "end" : "middle";
      svg("text", picture, { x, y: height - 22, "text-anchor": anchor }, number(time));
    }
    svg("text", picture, { class: "name", x: width / 2, y: height - 5, "text-anchor": "middle" }, data.step_time ? "time (s)" : "step");
    cursor = svg("line", picture, { class: "cursor", y1: gap, y2: height - 36 });
  };
  plots.addEventListener("pointerdown", (event) => scrub(event));
  plots.addEventListener("pointermove", (event) => { if (event.buttons & 1) scrub(event); });
  const scrub = (event) => {
    const box = plots.getBoundingClientRect();
    stop();
    go(Math.round(Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1) * last()));
  };

  // -- moving
  let timer = null, since = 0, owed = 0, step = 0;
  const go = (to) => {
    step = Math.min(Math.max(to, 0), last());
    spaql.set(episode().observations[step], at, { episode: spaql.episode, step });
  };
  const stop = () => {
    if (timer) cancelAnimationFrame(timer);
    timer = null;
    play.textContent = "Play";
  };
  const tick = (time) => {
    owed += Math.min((time - since) / 1000, 0.25) * RATE * speed.value;
    since = time;
    const whole = Math.floor(owed);
    if (whole) { owed -= whole; go(step + whole); }
    if (step >= last()) stop(); else timer = requestAnimationFrame(tick);
  };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (step >= last()) go(0); else go(step);
    since = performance.now();
    owed = 0;
    play.textContent = "Pause";
    timer = requestAnimationFrame(tick);
  });
  button("back").addEventListener("click", () => { stop(); go(step - 1); });
  button("forward").addEventListener("click", () => { stop(); go(step + 1); });
  at.addEventListener("input", () => { stop(); go(+at.value); });
  const choose = () => {
    stop();
    spaql.episode = +choice.value;
    at.max = last();
    drawSeries();
    spaql.redrawMap();
    go(0);
  };
  choice.addEventListener("change", choose);
  spaql.on(({ x, moment }) => {
    if (!moment && now.source !== "start") stop();  // somebody looks at another state
    draw?.(x, actionAt(x));
    stage.classList.toggle("chosen", !moment);
    plots.classList.toggle("chosen", !moment);
    if (!moment) { if (now.source !== "start") clock.textContent = "a chosen state"; return; }
    const { returns, steps, observations, rows } = episode();
    at.value = step;
    const when = data.step_time ? `${seconds(step)} s` : `step ${step}`;
    const other = rows.filter(({ asked, values, action }) => asked && step < values.length && values[step] !== actionAt(x)[action]);
    const applied = other.map((row) => `; applied: ${row.name} = ${measured(row.values[step], row)}`).join("");
    clock.textContent = `${when}, return ${number(step ? returns[step - 1] : 0)}${applied}`;
    at.setAttribute("aria-valuetext", `${when} of ${steps} steps, rule ${spaql.leaves.get(leafOf(tree, x)).number}`);
    const x1 = frame ? frame.left + (last() ? step / last() : 0) * frame.width : 0;
    cursor?.setAttribute("x1", x1); cursor?.setAttribute("x2", x1);
    if (step === last() && observations.length <= steps) clock.textContent += ` (first ${last()} of ${steps} steps)`;
  });
  new ResizeObserver(() => { drawSeries(); if (now.moment) go(step); }).observe(plots);
  choice.value = 0;
  choose();
})();
