// The page: what is chosen, shown everywhere and kept in the address.
class App {
  constructor() {
    this.document = JSON.parse($("document").textContent);
    language = this.document.lang === "zh" ? 1 : 0;
    this.color = "c_kind";
    this.soc = 0;
    this.selected = null;
    this.views = { s: new GraphView("s", this), c: new GraphView("c", this) };
    $("views").append(this.views.s.host, this.views.c.host);
    this.panel = new Panel(this);
    this.charts = [];
    this.listen();
    document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    this.open(this.wanted("model") || 0);
    window.addEventListener("hashchange", () => this.follow());
  }

  wanted(key) {
    const found = new URLSearchParams(location.hash.slice(1)).get(key);
    return key === "model" ? Number(found) : found;
  }

  open(at) {
    this.at = Math.min(at, this.document.models.length - 1);
    this.model = new Model(this.document.models[this.at]);
    this.soc = 0;
    const first = this.model.data.time ? this.model.data.time.socs.findIndex((soc) => soc.kernels) : 0;
    if (first > 0) { this.soc = first; this.model.readTime(first); }
    const [wrong] = this.model.data.state === "refused" ? [...this.model.nodes.values()].filter((node) => node.level === "error") : [];
    this.selected = wrong || null; // why it is refused, and where
    this.found = null;
    const { source, compiled, layers } = this.model;
    const sides = [source && "s", compiled && "c"].filter(Boolean);
    this.which = compiled && !(source && this.model.data.state === "refused") ? "c" : "s";
    this.sides = sides;
    const bad = this.model.data.state !== "compiles";
    this.color = bad ? "c_finding" : layers.some((layer) => layer.faults.length) ? "c_error" : "c_kind";
    this.views.s.setModel(this.model);
    this.views.c.setModel(this.model);
    // The verdict is seen before the rest is made.
    this.renderHead();
    const turn = (this.turn || 0) + 1;
    this.turn = turn;
    const steps = [() => { this.drawGraphs(); this.firstGraph = performance.now(); this.panel.show(this.selected); }, () => this.renderRest(), () => this.follow()];
    const next = () => { if (turn !== this.turn || !steps.length) return; steps.shift()(); later(next); };
    const later = (action) => requestAnimationFrame(() => setTimeout(action, 0));
    later(next);
  }

  render() { this.renderHead(); this.renderRest(); }

  renderHead() {
    const { data } = this.model;
    document.documentElement.lang = language ? "zh-CN" : "en";
    document.querySelector("#models-label span").dataset.t = this.document.models.every((each) => each.gear) ? "gear" : "model";
    document.querySelectorAll("[data-t]").forEach((each) => { each.textContent = t(each.dataset.t); });
    document.querySelectorAll("[data-label]").forEach((each) => { each.setAttribute("aria-label", t(each.dataset.label)); });
    $("language").textContent = language ? "English" : "中文";
    $("language").lang = language ? "en" : "zh-CN";
    $("theme").textContent = document.documentElement.dataset.theme === "dark" ? t("light") : t("dark");
    $("title").textContent = clip(data.facts.file, 120);
    $("foot").textContent = `${this.document.tool} · ${this.document.made}`;
    const many = this.document.models;
    $("models-label").hidden = many.length < 2;
    $("models").replaceChildren(...many.map((each, at) => el("option", { value: String(at) }, clip(each.gear ? `${t("gear")} ${each.gear}` : each.path, 80))));
    $("models").value = String(this.at);
    const parts = { verdict: true, board: Boolean(data.board), graph: this.sides.length > 0, findings: Boolean(data.check), precision: Boolean(data.precision) || data.not_compared.length > 0, time: Boolean(data.time) };
    for (const [id, has] of Object.entries(parts)) $(id).hidden = !has;
    $("parts").replaceChildren(...Object.keys(parts).filter((id) => parts[id]).map((id) => el("a", { href: `#${id}` }, t(id))));
    renderVerdict(this);
    this.tools();
  }

  renderRest() {
    renderFindings(this);
    this.panel.show(this.selected);
    this.drawParts();
    this.ready = true;
  }

  drawParts() { this.charts = [...renderBoard(this), ...renderPrecision(this), ...renderTime(this)]; }

  tools() {
    const fill = (id, rows, chosen) => { $(id).replaceChildren(...rows.map(([value, text]) => el("option", { value }, text))); $(id).value = chosen; };
    fill("which", [["s", t("source")], ["c", t("compiled")], ["both", t("both")]].filter(([value]) => this.sides.includes(value) || (value === "both" && this.sides.length === 2)), this.which);
    const has = { c_kind: true, c_engine: Boolean(this.model.compiled), c_time: this.model.kernels.length > 0, c_error: this.model.layers.length > 0, c_dtype: true, c_finding: Boolean(this.model.data.check) || this.model.data.refusals.length > 0 };
    fill("color", COLORS.filter((key) => has[key]).map((key) => [key, t(key)]), this.color);
    const shown = this.shown();
    if (!shown.length) return;
    const modes = [...new Set(shown.flatMap((side) => foldModes(this.views[side].graph, Boolean(this.model.compiled))))];
    fill("fold", modes.map((mode) => [mode, mode > 0 ? t("fold_prefix", mode) : t(`fold_${mode}`)]), this.views[shown[0]].fold || "none");
  }

  shown() { return this.which === "both" ? ["s", "c"] : this.sides.includes(this.which) ? [this.which] : []; }

  drawGraphs() {
    const shown = this.shown();
    $("views").classList.toggle("two", shown.length > 1);
    for (const side of ["s", "c"]) this.views[side].host.hidden = !shown.includes(side);
    for (const side of shown) if (!this.views[side].layout) this.views[side].arrange(); else this.views[side].paint();
    this.tools();
    this.legend();
  }

  legend() {
    const keys = new Map(this.shown().flatMap((side) => (this.views[side].painter ? this.views[side].painter.keys() : [])).map(([color, text]) => [text, color]));
    $("legend").replaceChildren(...[...keys].map(([text, color]) => el("span", {}, el("span", { class: "key", style: `background:${color}` }), text)));
  }

  link(node, text) {
    return node ? el("button", { type: "button", class: "link", onclick: () => this.select(node, { center: true }) }, bdi(text)) : bdi(text);
  }

  // Select a node, or nothing; `center` brings it into sight, in the graph that has it.
  select(node, { center = false, scroll = false, box = null, quiet = false } = {}) {
    this.selected = node;
    if (node && !this.shown().includes(node.side) && !(this.which !== "both" && node.links.some((each) => this.shown().includes(each.side)) && !center)) {
      this.which = node.side;
      this.drawGraphs();
    }
    for (const side of this.shown()) {
      const view = this.views[side];
      const own = node && (node.side === side ? node : node.links.find((each) => each.side === side));
      if (own && (center || node.side !== side)) view.show(own);
      else view.redraw();
    }
    const shownBox = box || (node && this.views[node.side].view && this.views[node.side].view.boxOf.get(node));
    this.panel.show(node, shownBox);
    this.charts.forEach((chart) => chart.choose());
    $("live").textContent = node ? `${opOf(node)} ${clip(title(node), 200)}` : "";
    if (!quiet) this.keep();
    if (scroll) $("graph").scrollIntoView();
  }

  keep() {
    const rows = new URLSearchParams();
    if (this.document.models.length > 1) rows.set("model", String(this.at));
    if (this.selected) rows.set("node", this.selected.id);
    const text = rows.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  follow() {
    const at = this.wanted("model");
    if (at && at !== this.at && this.document.models[at]) { this.open(at); return; }
    const id = this.wanted("node");
    const node = id ? this.model.resolve(id) : null;
    if (node && node !== this.selected) this.select(node, { center: true, quiet: true });
  }

  search(text) {
    const wanted = text.trim().toLowerCase();
    const list = $("hits");
    this.found = null;
    list.hidden = !wanted;
    if (wanted) {
      const sides = this.shown();
      const nodes = [...this.model.nodes.values()].filter((node) => sides.includes(node.side) && `${node.name} ${opOf(node)} ${node.id}`.toLowerCase().includes(wanted));
      this.found = new Set(nodes);
      list.replaceChildren(el("p", { role: "status" }, nodes.length ? t("hits", nodes.length) : t("no_hits")),
        el("ul", {}, nodes.slice(0, 100).map((node) => el("li", {}, this.link(node, `${opOf(node)} ${clip(title(node), 120)}`)))));
    }
    this.shown().forEach((side) => this.views[side].redraw());
  }

  chooseSoc(at) {
    this.soc = at;
    this.model.readTime(at);
    this.render();
    this.shown().forEach((side) => this.views[side].paint());
    this.legend();
    const chosen = document.querySelector(`input[name=soc][value="${at}"]`);
    if (chosen) chosen.focus();
  }

  listen() {
    $("language").addEventListener("click", () => { language = 1 - language; this.render(); this.shown().forEach((side) => this.views[side].paint()); this.legend(); });
    $("theme").addEventListener("click", () => {
      const root = document.documentElement;
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      this.render();
      this.shown().forEach((side) => this.views[side].redraw());
    });
    $("models").addEventListener("change", () => { this.open(Number($("models").value)); this.keep(); });
    $("which").addEventListener("change", () => { this.which = $("which").value; this.drawGraphs(); this.search($("search").value); });
    $("fold").addEventListener("change", () => { for (const side of this.shown()) { this.views[side].fold = $("fold").value; this.views[side].open.clear(); this.views[side].arrange(); } this.legend(); });
    $("color").addEventListener("change", () => { this.color = $("color").value; this.shown().forEach((side) => this.views[side].paint()); this.legend(); });
    $("search").addEventListener("input", () => this.search($("search").value));
    $("graph-tools").addEventListener("submit", (event) => { event.preventDefault(); const [first] = this.found || []; if (first) this.select(first, { center: true }); });
    const each = (action) => () => this.shown().forEach((side) => action(this.views[side]));
    $("zoom-in").addEventListener("click", each((view) => view.zoom(1.3)));
    $("zoom-out").addEventListener("click", each((view) => view.zoom(1 / 1.3)));
    $("zoom-fit").addEventListener("click", each((view) => view.fit()));
    $("unfold").addEventListener("click", each((view) => { view.open.clear(); view.arrange(); }));
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "/" && !typing) { event.preventDefault(); $("search").focus(); }
      if (event.key === "Escape") { if (event.target.id === "search") { $("search").value = ""; this.search(""); } this.select(null); }
    });
    // Paper is white whatever the screen is.
    matchMedia("print").addEventListener("change", (event) => {
      const root = document.documentElement;
      if (event.matches) this.onScreen = root.dataset.theme;
      root.dataset.theme = event.matches ? "light" : this.onScreen || root.dataset.theme;
      this.drawParts();
      this.shown().forEach((side) => this.views[side].onPaper(event.matches));
    });
    let width = document.documentElement.clientWidth;
    let waiting = 0;
    window.addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { if (document.documentElement.clientWidth !== width) { width = document.documentElement.clientWidth; this.drawParts(); } }, 150);
    });
  }
}

const app = new App();
window.atcReport = app;
