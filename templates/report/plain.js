"use strict";
function startFilters() {
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
}

(() => {
  const shown = document.getElementById("shown");
  const other = document.getElementById("other");
  const language = document.getElementById("language");
  const theme = document.getElementById("theme");
  const root = document.documentElement;

  const label = () => {
    const [dark, light] = shown.dataset.themes.split(" ");
    theme.textContent = root.dataset.theme === "dark" ? light : dark;
    language.textContent = other.dataset.lang === "en" ? "English" : "中文";
    language.lang = other.dataset.lang;
    root.lang = shown.dataset.lang;
    document.title = shown.dataset.title;
  };

  language.addEventListener("click", () => {
    const before = document.createDocumentFragment();
    before.append(...shown.childNodes);
    shown.append(other.content);
    other.content.append(before);
    for (const key of ["lang", "title", "themes"]) {
      [shown.dataset[key], other.dataset[key]] = [other.dataset[key], shown.dataset[key]];
    }
    label();
    startFilters();
  });
  theme.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    label();
  });
  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  language.parentElement.hidden = false;
  label();
  startFilters();
})();
