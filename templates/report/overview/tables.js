// Tables: sorted by a click on a heading, filtered, some rows at first and more on demand; columns can be chosen.
class Table {
  /* `columns` are {key, head, number, hidden, cell(row), sort(row)}; `idOf` links a row with a node. */
  constructor(host, { name, columns, rows, idOf, failing, filter, sorted, app }) {
    Object.assign(this, { name, columns, rows, idOf, failing, filter, app, sorted: sorted || null, sign: -1, shown: 60, only: false, text: "" });
    this.visible = new Set(columns.filter((column) => !column.hidden).map((column) => column.key));
    this.tools = el("div", { class: "tools" });
    this.scroll = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name });
    this.after = el("p", { class: "more" });
    host.append(this.tools, this.scroll, this.after);
    this.controls();
    this.render();
  }

  controls() {
    if (this.filter) {
      const search = el("input", { type: "search", autocomplete: "off", oninput: () => { this.text = search.value.toLowerCase(); this.render(); } });
      this.tools.append(el("label", { class: "grow" }, el("span", {}, t("find_in")), search));
    }
    if (this.failing) {
      const only = el("input", { type: "checkbox", onchange: () => { this.only = only.checked; this.render(); } });
      this.tools.append(el("label", {}, only, el("span", {}, t("failing_only"))));
    }
    const boxes = this.columns.map((column) => {
      const box = el("input", { type: "checkbox", onchange: () => { this.visible[box.checked ? "add" : "delete"](column.key); this.render(); } });
      box.checked = this.visible.has(column.key);
      return el("label", {}, box, ` ${column.head}`);
    });
    if (this.columns.length > 5) this.tools.append(el("details", { class: "plain" }, el("summary", {}, t("choose")), el("div", { class: "columns" }, boxes)));
    this.count = el("span", { class: "soft", role: "status" });
    if (this.filter || this.failing) this.tools.append(this.count);
  }

  list() {
    let rows = this.rows;
    if (this.only) rows = rows.filter(this.failing);
    if (this.text) rows = rows.filter((row) => this.filter(row).toLowerCase().includes(this.text));
    const column = this.columns.find((each) => each.key === this.sorted);
    if (!column) return rows;
    const keyed = rows.map((row) => [column.sort ? column.sort(row) : column.cell(row), row]);
    const rank = (value) => (value === Infinity ? 1e300 : typeof value === "number" && Number.isNaN(value) ? -1e300 : value);
    keyed.sort(([a], [b]) => { const [x, y] = [rank(a), rank(b)]; return this.sign * (x < y ? -1 : x > y ? 1 : 0); });
    return keyed.map(([, row]) => row);
  }

  render() {
    const rows = this.list();
    const columns = this.columns.filter((column) => this.visible.has(column.key));
    const head = columns.map((column) => el("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null, "aria-sort": column.key === this.sorted ? (this.sign > 0 ? "ascending" : "descending") : "none" },
      el("button", { type: "button", onclick: () => { this.sign = this.sorted === column.key ? -this.sign : column.number ? -1 : 1; this.sorted = column.key; this.render(); } }, column.head)));
    const few = rows.slice(0, this.shown);
    const chosen = this.app.selected && rows.find((row) => this.isChosen(row));
    if (chosen && !few.includes(chosen)) few.push(chosen);
    const body = few.map((row) => this.row(row, columns));
    this.scroll.replaceChildren(el("table", { class: "rows", role: "table", "aria-label": this.name },
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head)), el("tbody", { role: "rowgroup" }, body)));
    this.count.textContent = t("shown_of", Math.min(rows.length, this.shown), this.rows.length);
    const left = rows.length - this.shown;
    this.after.replaceChildren(...(left > 0 ? [el("button", { type: "button", onclick: () => { this.shown += 400; this.render(); } }, t("more", Math.min(400, left)))] : []));
  }

  row(row, columns) {
    const id = this.idOf ? this.idOf(row) : "";
    const cells = columns.map((column, at) => {
      const value = column.cell(row);
      const text = typeof value === "string" ? bdi(value) : value;
      const inner = at === 0 && id ? el("button", { type: "button", class: "link", onclick: () => this.app.select(this.app.model.resolve(id), { center: true }) }, text) : text;
      return el(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, role: at === 0 ? "rowheader" : "cell", class: column.number ? "number" : column.wide ? "wide" : null, "data-head": column.head }, inner);
    });
    const kinds = [this.failing && this.failing(row) ? "failing" : "", this.isChosen(row) ? "chosen" : ""].filter(Boolean).join(" ");
    return el("tr", { role: "row", class: kinds || null }, cells);
  }

  isChosen(row) {
    const node = this.app.selected;
    if (!node || !this.idOf) return false;
    const id = this.idOf(row);
    return Boolean(id) && (id === node.id || node.links.some((each) => each.id === id));
  }

  choose() { this.render(); }
}

function plainTable(host, name, heads, rows, numbers = []) {
  host.append(el("table", { class: "rows", role: "table", "aria-label": name },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map((head, at) => el("th", { scope: "col", role: "columnheader", class: numbers.includes(at) ? "number" : null }, head)))),
    el("tbody", { role: "rowgroup" }, rows.map((row) => el("tr", { role: "row" }, row.map((cell, at) => el(at ? "td" : "th", {
      role: at ? "cell" : "rowheader", scope: at ? null : "row", class: numbers.includes(at) ? "number" : null, "data-head": heads[at],
    }, typeof cell === "string" ? bdi(cell) : cell)))))));
}

// A table of the document, whose texts are in both languages.
function wordTable(host, table) {
  host.append(el("h3", {}, bdi(said(table.title))));
  plainTable(host, said(table.title), table.head.map(said), table.rows.map((row) => row.map(said)));
}
