"use strict";
// Why this action: what policy.why says, for the state at hand. Also where the state is typed in.
(() => {
  const { data, d, tree, table, leaves, leafOf, pathTo, actionAt, actionIn, toldApart, unit, measured, placeWords, testWords, ruleWords, actionWords } = spaql;
  const { coordinates, make, chip, now, lawWhy } = spaql;
  const box = document.getElementById("why"), form = document.querySelector(".state");

  // -- the explanation
  const bits = new DataView(new ArrayBuffer(8));
  const justBelow = (value) => {
    if (value === 0) return -Number.MIN_VALUE;
    bits.setFloat64(0, value);
    bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? -1n : 1n));
    return bits.getFloat64(0);
  };
  const cutsAlong = (x, j) => {
    const found = new Set(), { low, high } = data.state[j];
    tree.feature.forEach((tested, node) => {
      if (tested === j) found.add(tree.cut[node]);
      else if (tested === d && tree.weights[node][j] !== 0) {
        const row = tree.weights[node], rest = row.reduce((sum, w, i) => sum + w * x[i], 0) - row[j] * x[j];
        found.add((tree.cut[node] - rest) / row[j]);
      }
    });
    return [...found].filter((cut) => low === null || (cut > low && cut <= high)).sort((a, b) => a - b);
  };
  const isOblique = Object.keys(tree.weights).length > 0;
  const same = (one, other) => one.every((value, k) => value === other[k]);
  const changesAlong = (x, j) => {
    if (lawWhy) return lawWhy.changesAlong(x, j);
    const here = actionAt(x), cuts = cutsAlong(x, j);
    return [false, true].map((upward) => {
      const places = upward ? cuts.filter((cut) => cut > x[j]) : cuts.filter((cut) => cut <= x[j]).reverse();
      for (const cut of places) {
        const beyond = x.slice(), room = 1e-9 * Math.max(Math.abs(cut), 1e-3);
        // where a weighted sum turns over is known up to rounding only
        if (isOblique) beyond[j] = upward ? cut + room : cut - room;
        else beyond[j] = upward ? cut : justBelow(cut);
        const action = actionAt(beyond);
        if (!same(action, here)) return { place: cut, action };
      }
      return null;
    });
  };
  const outside = (x) => data.state.findIndex(({ low, high }, j) => low !== null && !(x[j] >= low && x[j] <= high));
  // a value and a range it is not in, with the digits that show it
  const beside = (x, j, range) => {
    const [here, ...ends] = toldApart([x[j], ...range]), axis = data.state[j];
    return [`${axis.name} = ${here}${unit(axis.unit)}`, ends.join(" … ")];
  };
  const warningOf = (x, visits, share) => {
    const j = outside(x);
    if (j >= 0) {
      const [here, ends] = beside(x, j, [data.state[j].low, data.state[j].high]);
      return `${here} is outside ${ends}: never seen in training`;
    }
    if (visits === 0) return data.unvisited;
    if (share === 0) return "the closed loop never reached this region in its recorded rollouts: the action was never applied there";
    // a closed loop comes ever closer to where it settles
    const near = ([low, high]) => 0.01 * (high - low);
    const beyond = data.state.filter(({ seen }, i) => seen && !(x[i] >= seen[0] - near(seen) && x[i] <= seen[1] + near(seen)));
    if (!beyond.length) return "";
    const told = beyond.map((axis) => {
      const [here, ends] = beside(x, data.state.indexOf(axis), axis.seen);
      return `${here} (it stayed within ${ends})`;
    });
    return `the closed loop was never seen at ${told.join(", ")}`;
  };
  const explain = (x) => {
    const leaf = leafOf(tree, x), facts = leaves.get(leaf), inside = outside(x) < 0;
    const cell = table && inside ? table.cells.get(leafOf(table.tree, x)) : null;
    const visits = facts.visits ?? (cell ? cell.visits : null);
    return {
      leaf, action: actionIn(leaf, x), number: facts.number, path: pathTo(leaf).map(([node, high]) => testWords(node, high)),
      rule: ruleWords(leaf), cell, visits, share: facts.share, time: facts.time, changes: data.state.map((_, j) => changesAlong(x, j)),
      warning: warningOf(x, visits, facts.share), ...lawWhy?.explain(leaf, x),
    };
  };
  spaql.explain = explain;

  // -- how it is shown
  const list = (parent, items, name = "ul") => {
    const element = make(name, parent);
    items.forEach((item) => make("li", element, {}, item));
  };
  const showChanges = (parent, x, changes) => {
    make("h4", parent, {}, "The action would change, all else equal, at");
    const rows = changes.flatMap((pair, j) => pair.filter(Boolean).map((change) => [j, change]));
    if (!rows.length) return void make("p", parent, {}, "no value of any single variable.");
    const scroll = make("div", parent, { class: "scroll" }), place = make("table", scroll, { class: "changes" });
    make("caption", place, { class: "hidden" }, "Where the action would change");
    const body = make("tbody", place);
    for (const [j, { place: cut, action }] of rows) {
      const row = make("tr", body), axis = data.state[j];
      make("th", row, { scope: "row", class: "words" }, `${axis.name} = ${placeWords(j, cut)}`);
      make("td", row, {}, `${measured(Math.abs(cut - x[j]), axis)} away`);
      chip(make("td", row, { class: "words" }), action);
    }
  };
  const showValues = (parent, { cell, action }) => {
    if (!cell || cell.q === null) return;
    make("h4", parent, {}, "Values there (Q)");
    const body = make("tbody", make("table", make("div", parent, { class: "scroll" }), { class: "changes" }));
    const learned = table.tree.actions[table.tree.action[leafOf(table.tree, now.x)]];
    const options = [[learned, cell.q], ...(cell.runnerUp ? [[cell.runnerUp, cell.runnerUpQ]] : [])];
    const values = options.map(([, q]) => q).filter((q) => q !== null), largest = Math.max(...values.map(Math.abs));
    const spread = Math.max(...values) - Math.min(...values);  // five digits, and more where they hardly differ
    const digits = spread > 0 ? Math.min(Math.max(5, 3 + Math.ceil(Math.log10(largest / spread))), 12) : 5;
    options.forEach(([option, q], i) => {
      const row = make("tr", body);
      make("th", row, { scope: "row" }, q === null ? "–" : q.toLocaleString("en-GB", { maximumSignificantDigits: digits }).replace("-", "−"));
      chip(make("td", row, { class: "words" }), option);
      make("td", row, { class: "words" }, i ? "next best" : same(option, action) ? "best, applied" : "best in the table; the tree differs");
    });
    if (options.length === 1) make("p", parent, { class: "said" }, "The learner does not distinguish other actions here.");
  };
  const show = () => {
    const { x } = now, why = explain(x);
    box.replaceChildren();
    const answer = make("div", box, { class: "answer" });
    make("h3", answer, {}, "Why this action?");
    make("p", answer, { class: "at" }, `At ${data.state.map((axis, j) => `${axis.name} = ${measured(x[j], axis)}`).join(", ")}`);
    for (const { said } of data.state.filter((axis) => axis.formula)) make("p", answer, { class: "at" }, `where ${said}`);
    const applied = make("p", answer, { class: "applied" }, "it applies ");
    chip(applied, why.action);
    if (lawWhy) { applied.append(","); lawWhy.showLaw(answer, why); } else applied.append(why.rule.length ? ", because" : ", because it always does.");
    list(answer, why.rule);
    if (why.warning) make("p", answer, { class: "warning" }, `Warning: ${why.warning}.`);
    if (why.path.length > why.rule.length) {
      const more = make("details", answer);
      more.open = show.unfolded === true;
      more.addEventListener("toggle", () => { show.unfolded = more.open; });
      make("summary", more, {}, `after ${why.path.length} tests`);
      list(more, why.path, "ol");
    }
    if (lawWhy) lawWhy.showShares(make("div", box), x, why);
    else showChanges(make("div", box), x, why.changes);
    const known = make("div", box);
    if (lawWhy) lawWhy.showTakeovers(known, x, why);
    if (lawWhy && !lawWhy.changesEverywhere) showChanges(known, x, why.changes);
    showValues(known, why);
    make("h4", known, {}, "Experience");
    const said = [`Rule ${why.number} of ${leaves.size}.`];
    if (why.visits !== null) said.push(`Training steps behind it: ${why.visits.toLocaleString("en-GB")}.`);
    if (why.time) said.push(`Share of time under this rule: ${why.time}.`);
    make("p", known, {}, said.join(" "));
  };
  let waiting = false;
  spaql.on(({ moment }) => {
    box.setAttribute("aria-live", moment ? "off" : "polite");  // nobody can listen to fifty states a second
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; show(); });
  });

  // -- the strip that is always in view
  const strip = document.querySelector(".strip"), told = strip.querySelector(".now-rule"), badge = strip.querySelector(".chip");
  let lit = -1;
  spaql.on(({ leaf, x }) => {
    if (leaf === lit && !lawWhy) return;
    const action = actionIn(leaf, x), { number: place, time: spent } = leaves.get(leaf);
    badge.textContent = actionWords(action);
    badge.style.setProperty("--colour", spaql.css(spaql.actionColour(action)));
    if (leaf === lit) return;
    lit = leaf;
    told.parentElement.title = ruleWords(leaf).join(" and ");
    const time = spent ? ` (time: ${spent})` : "";
    told.textContent = `Rule ${place}${time}: ${ruleWords(leaf).join(" and ") || "always"}${lawWhy ? ` → ${data.words.law[leaf].join("; ")}` : ""}`;
  });

  // -- typing and sliding
  const rows = coordinates.map((axis, place) => {
    const row = make("div", form, { class: "variable" }), id = `state-${place}`;
    make("label", row, { for: id }, axis.name);
    const slider = make("input", row, { type: "range", min: 0, max: 1000, "aria-label": `${axis.name}, slider` });
    const field = make("input", row, { type: "number", id, step: "any", inputmode: "decimal" });
    make("span", row, { class: "unit" }, axis.unit);
    const change = (value, source) => {
      const x = now.x.slice();
      axis.put(x, value);
      spaql.set(x, source);
    };
    slider.addEventListener("input", () => {
      const [low, high] = spaql.rangeOf(axis);
      change(low + (slider.value / 1000) * (high - low), slider);
    });
    field.addEventListener("input", () => {
      const value = parseFloat(field.value);
      if (Math.abs(value) <= 1e300) change(value, field);
    });
    field.addEventListener("blur", () => { field.value = spaql.plain(axis.get(now.x)); });
    return { axis, row, slider, field };
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  spaql.showState = () => {
    for (const { axis, slider, field } of rows) {
      const value = axis.get(now.x), [low, high] = spaql.rangeOf(axis);
      if (now.source !== slider) slider.value = Math.round((1000 * (value - low)) / (high - low));
      if (document.activeElement !== field) field.value = spaql.plain(value);
      slider.setAttribute("aria-valuetext", measured(value, axis));
    }
  };
})();
