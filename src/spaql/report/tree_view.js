"use strict";
// The tree that is written in the page: lights the rule in charge, folds, and takes its ends as states to look at.
(() => {
  const { data, d, tree, leaves, leafOf, parent, now } = spaql;
  const root = document.querySelector(".tree"), form = document.querySelector(".tree-controls");
  const elements = new Map([...root.querySelectorAll("[data-node]")].map((element) => [+element.dataset.node, element]));
  const rules = new Map([...document.querySelectorAll("#rules tr[data-node]")].map((row) => [+row.dataset.node, row]));
  form.hidden = false;

  // -- the rule in charge
  let lit = [], inCharge = -1;
  const light = (leaf) => {
    lit.forEach((element) => { element.classList.remove("lit", "on-path"); element.removeAttribute("aria-current"); });
    lit = [];
    for (let node = leaf; node !== -1; node = parent[node]) {
      const element = elements.get(node);
      if (!element) continue;  // not written out
      element.classList.add(lit.length ? "on-path" : "lit");
      if (!lit.length) element.setAttribute("aria-current", "true");
      lit.push(element);
    }
    const row = rules.get(leaf);
    if (row) { row.classList.add("lit"); lit.push(row); }
  };
  const unfold = (leaf) => {
    for (let node = parent[leaf]; node > -1; node = parent[node]) {
      const element = elements.get(node);
      if (element?.tagName === "DETAILS") element.open = true;
    }
  };
  const first = [...root.querySelectorAll("details[open]")];
  spaql.on(({ leaf, moment }) => {
    if (leaf !== inCharge) light(leaf);
    inCharge = leaf;
    if (form.follow.checked || (!moment && now.source !== "start")) unfold(leaf);
  });

  // -- folding
  form.addEventListener("submit", (event) => event.preventDefault());
  const choose = () => {
    root.classList.toggle("only-used", form.used?.checked ?? false);
    if (form.follow.checked) unfold(now.leaf);
  };
  form.addEventListener("change", choose);
  choose();
  form.open.addEventListener("click", () => root.querySelectorAll("details").forEach((one) => { one.open = true; }));
  form.close.addEventListener("click", () => root.querySelectorAll("details").forEach((one) => { one.open = first.includes(one); }));

  // -- a leaf as a state: a recorded one that it rules, else the nearest to the present one
  const stateIn = (leaf) => {
    for (const { observations } of data.episodes) {
      const found = observations.find((x) => leafOf(tree, x) === leaf);
      if (found) return found;
    }
    const low = Array(d).fill(-Infinity), high = Array(d).fill(Infinity);
    for (const [node, above] of spaql.pathTo(leaf)) {
      const tested = tree.feature[node];
      if (tested === d) continue;
      if (above) low[tested] = Math.max(low[tested], tree.cut[node]); else high[tested] = Math.min(high[tested], tree.cut[node]);
    }
    return now.x.map((value, j) => {
      if (value >= low[j] && value < high[j]) return value;
      const size = data.state[j].near[1] - data.state[j].near[0];
      const a = Number.isFinite(low[j]) ? low[j] : high[j] - size / 4, b = Number.isFinite(high[j]) ? high[j] : low[j] + size / 4;
      return a + (b - a) / 2;
    });
  };
  spaql.stateIn = stateIn;
  root.addEventListener("click", (event) => {
    const leaf = event.target.closest("a.leaf");
    if (!leaf) return;
    event.preventDefault();
    spaql.set(stateIn(+leaf.dataset.node), root);
  });
})();
