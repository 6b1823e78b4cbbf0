"use strict";
// What every page has: the theme button, tables to sort, commands to copy. Without this script all is still there to read.
(() => {
  const make = (name, text, parent) => {
    const element = document.createElement(name);
    element.textContent = text;
    parent?.append(element);
    return element;
  };

  // -- theme
  const root = document.documentElement, button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "Light page" : "Dark page"; };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("spaql-theme", root.dataset.theme); } catch { /* no storage: the choice holds for this visit */ }
    name();
  });
  system.addEventListener("change", name);
  button.hidden = false;
  name();

  // -- sorting: numbers by value, words by the alphabet, what is missing last
  const valueOf = (row, column) => {
    const text = row.cells[column].textContent.trim().replaceAll(",", "").replace("−", "-");
    const number = parseFloat(text);
    return text === "–" ? null : Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const text = head.textContent;
      head.textContent = "";
      const sorter = make("button", text, head);
      sorter.type = "button";
      sorter.addEventListener("click", () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, column), row]);
        rows.sort(([a], [b]) => (a === null) - (b === null) || sign * compare(a, b));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }

  // -- commands to copy: only where the browser lets a page do so
  for (const box of navigator.clipboard ? document.querySelectorAll(".command") : []) {
    const copy = make("button", "Copy", box);
    copy.type = "button";
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(box.querySelector("code").textContent);
        copy.textContent = "Copied";
      } catch { copy.textContent = "Not allowed"; }
      setTimeout(() => { copy.textContent = "Copy"; }, 1500);
    });
  }

  // -- boxes that scroll are stops of the Tab key only while there is something to scroll
  const watch = new ResizeObserver((boxes) => boxes.forEach(({ target }) => {
    if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0; else target.removeAttribute("tabindex");
  }));
  document.querySelectorAll(".scroll").forEach((box) => watch.observe(box));

  // -- paper cannot be opened: whatever is closed is opened for the printer
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((one) => { one.open = false; }));
})();
