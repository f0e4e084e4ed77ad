"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const shown = form.querySelector("output");
  const rows = Array.from(document.querySelectorAll(".finding"), (element) => ({
    element,
    level: element.dataset.level,
    op: element.dataset.op,
    known: element.dataset.known === "yes",
    count: Number(element.dataset.count),
    head: element.querySelector("summary").textContent.toLowerCase(),
    items: Array.from(element.querySelectorAll("li"), (item) => ({
      item,
      count: Number(item.dataset.count),
      text: item.textContent.toLowerCase(),
    })),
  }));

  // How many findings of the row are shown; a row that is found by its nodes alone unfolds.
  const show = (row, levels, op, text, old) => {
    if (!levels.has(row.level) || (op && row.op !== op) || (row.known && !old)) return 0;
    if (!text || row.head.includes(text)) {
      for (const { item } of row.items) item.hidden = false;
      return row.count;
    }
    let found = 0;
    for (const { item, count, text: content } of row.items) {
      item.hidden = !content.includes(text);
      if (!item.hidden) found += count;
    }
    if (found) row.element.open = true;
    return found;
  };

  const apply = () => {
    const levels = new Set(Array.from(form.querySelectorAll("[name=level]:checked"), (e) => e.value));
    const op = form.elements.op.value;
    const text = form.elements.text.value.trim().toLowerCase();
    const old = form.elements.known ? form.elements.known.checked : true;
    let visible = 0;
    let total = 0;
    for (const row of rows) {
      const found = show(row, levels, op, text, old);
      row.element.hidden = !found;
      visible += found;
      total += row.count;
    }
    shown.textContent = shown.dataset.pattern.replace("%1", visible).replace("%2", total);
  };

  let timer = 0;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(apply, 100);
  });
  form.hidden = false;
  apply();
})();
