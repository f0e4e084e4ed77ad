// The table of a sweep: what is chosen on each axis, which reason, and the rows that have both.
Object.assign(WORDS, {
  model_name: ["Model", "模型"],
  table_of: ["Table of the rows", "各行的表格"],
  skip_rows: ["Skip to the rows", "跳到各行"], sweep: ["Sweep", "批量检查"], summary: ["Summary", "概要"], rows: ["Rows", "各行"],
  soc: ["SoC", "SoC"], mode: ["Precision mode", "精度模式"], list: ["Operator list", "算子清单"], standing: ["Check", "检查"],
  all: ["all", "全部"], reasons: ["Reasons by code", "各诊断码"], message: ["First reason", "首要原因"], fixed: ["Fixed", "已改写"],
  file: ["Offline model", "离线模型"], memory: ["Device memory", "设备内存"], seconds: ["Estimated time", "预估时间"], output: ["Worst output", "最差输出"],
  proposed: ["Proposed dims", "建议的维度"], report: ["Report", "报告"], open: ["Open", "打开"], yes: ["yes", "是"], no: ["no", "否"],
  n_models: ["models", "个模型"], n_rows: ["rows", "行"], n_compiles: ["compile", "可编译"], n_refused: ["do not compile", "不可编译"], n_failed: ["did not end", "未完成"],
  "compiles_": ["compiles", "可编译"], "does not compile": ["does not compile", "不可编译"], "cannot be read": ["cannot be read", "无法读取"],
  crashed: ["crashed", "崩溃"], "timed out": ["timed out", "超时"], "out of memory": ["out of memory", "内存不足"], failed: ["failed", "失败"],
  shown_of: ["%1 of %2 rows", "%2 行中的 %1 行"],
});

class SweepApp {
  constructor() {
    this.document = JSON.parse($("document").textContent);
    language = this.document.lang === "zh" ? 1 : 0;
    this.selected = null; // rows are not linked with a graph
    this.chosen = { soc: "", mode: "", list: "", verdict: "", code: "" };
    document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    $("language").addEventListener("click", () => { language = 1 - language; this.render(); });
    $("theme").addEventListener("click", () => {
      const root = document.documentElement;
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      this.renderHead();
    });
    this.render();
    this.ready = true;
  }

  render() {
    this.renderHead();
    this.renderSummary();
    this.renderAxes();
    this.renderTable();
  }

  renderHead() {
    document.documentElement.lang = language ? "zh-CN" : "en";
    document.querySelectorAll("[data-t]").forEach((each) => { each.textContent = t(each.dataset.t); });
    document.querySelectorAll("[data-label]").forEach((each) => { each.setAttribute("aria-label", t(each.dataset.label)); });
    $("language").textContent = language ? "English" : "中文";
    $("language").lang = language ? "en" : "zh-CN";
    $("theme").textContent = document.documentElement.dataset.theme === "dark" ? t("light") : t("dark");
    $("parts").replaceChildren(...["summary", "rows"].map((id) => el("a", { href: `#${id}` }, t(id))));
    $("foot").textContent = this.document.tool;
  }

  renderSummary() {
    const { rows, models, compiles, failed, reasons } = this.document;
    const refused = rows.length - compiles - failed;
    const tile = (count, text) => el("div", { class: "tile" }, el("b", {}, String(count)), el("span", {}, t(text)));
    $("tiles").replaceChildren(tile(models, "n_models"), tile(rows.length, "n_rows"), tile(compiles, "n_compiles"), tile(refused, "n_refused"), tile(failed, "n_failed"));
    const parts = [["good", compiles], ["warn", refused], ["bad", failed]].filter(([, count]) => count);
    $("bar").replaceChildren(...parts.map(([level, count]) => el("span", { class: level, style: `flex: ${count}` })));
    const chip = ([code, text, count]) => el("button", {
      type: "button", "aria-pressed": String(this.chosen.code === code),
      onclick: () => { this.chosen.code = this.chosen.code === code ? "" : code; this.renderSummary(); this.renderTable(); },
    }, `${text} · ${count}`);
    $("reasons").replaceChildren(...(reasons.length ? [el("h3", {}, t("reasons")), el("div", { class: "chips" }, reasons.map(chip))] : []));
  }

  renderAxes() {
    const choice = (key, head, text) => {
      const values = [...new Set(this.document.rows.map((row) => row[key]))];
      if (values.length < 2) return null;
      const select = el("select", { onchange: () => { this.chosen[key] = select.value; this.renderTable(); } },
        el("option", { value: "" }, t("all")), values.map((value) => el("option", { value }, text ? text(value) : value)));
      select.value = this.chosen[key];
      return el("label", {}, el("span", {}, t(head)), select);
    };
    $("axes").replaceChildren(...[choice("soc", "soc"), choice("mode", "mode"), choice("list", "list"), choice("verdict", "verdict_col", verdictText)].filter(Boolean));
  }

  renderTable() {
    const { soc, mode, list, verdict, code } = this.chosen;
    const fits = (row) => (!soc || row.soc === soc) && (!mode || row.mode === mode) && (!list || row.list === list)
      && (!verdict || row.verdict === verdict) && (!code || (row.reasons && code in row.reasons));
    const rows = this.document.rows.filter(fits);
    const before = this.table;
    const has = (key) => this.document.rows.some((row) => row[key] !== undefined);
    const columns = [
      { key: "model", head: t("model_name"), cell: (row) => row.model },
      { key: "verdict", head: t("verdict_col"), cell: (row) => el("span", { class: `badge ${row.level}` }, verdictText(row.verdict)), sort: (row) => row.verdict },
      { key: "report", head: t("report"), cell: (row) => (row.report ? el("a", { href: row.report }, t("open")) : ""), sort: (row) => row.report || "" },
      { key: "soc", head: t("soc"), cell: (row) => row.soc },
      { key: "mode", head: t("mode"), cell: (row) => row.mode },
      { key: "list", head: t("list"), hidden: true, cell: (row) => row.list },
      { key: "standing", head: t("standing"), hidden: true, cell: (row) => row.standing || "" },
      { key: "fixed", head: t("fixed"), cell: (row) => (row.fixed === undefined ? "" : t(row.fixed ? "yes" : "no")) },
      { key: "seconds", head: t("seconds"), number: true, cell: (row) => (row.seconds === undefined ? "" : seconds(row.seconds)), sort: (row) => missing(row.seconds) },
      { key: "memory", head: t("memory"), number: true, cell: (row) => (row.memory === undefined ? "" : size(row.memory)), sort: (row) => missing(row.memory) },
      { key: "file", head: t("file"), number: true, hidden: true, cell: (row) => (row.file === undefined ? "" : size(row.file)), sort: (row) => missing(row.file) },
      { key: "fits", head: t("fits"), hidden: true, cell: (row) => (row.fits === undefined ? "" : t(row.fits ? "yes" : "no")) },
      { key: "cosine", head: t("cosine"), number: true, cell: (row) => (row.cosine === undefined ? "" : row.cosine.toFixed(6)), sort: (row) => missing(row.cosine) },
      { key: "distance", head: t("distance"), number: true, cell: (row) => (row.distance === undefined ? "" : number(row.distance)), sort: (row) => missing(row.distance) },
      { key: "proposed", head: t("proposed"), cell: (row) => row.proposed || "" },
      { key: "output", head: t("output"), hidden: true, cell: (row) => row.output || "" },
      { key: "message", head: t("message"), wide: true, cell: (row) => reasonText(row) },
    ].filter((column) => column.key === "message" || ["model", "verdict", "soc", "mode", "list"].includes(column.key) || has(column.key));
    if (before) columns.forEach((column) => { column.hidden = !before.visible.has(column.key); });
    $("table").replaceChildren();
    this.table = new Table($("table"), {
      name: t("table_of"), columns, rows, app: this, sorted: before ? before.sorted : null,
      failing: (row) => row.level !== "good", filter: (row) => `${row.model} ${row.soc} ${row.mode} ${row.list} ${verdictText(row.verdict)} ${reasonText(row)}`,
    });
    if (before) { this.table.sign = before.sign; this.table.render(); }
  }
}

const missing = (value) => (value === undefined ? NaN : value);
const verdictText = (verdict) => t(verdict === "compiles" ? "compiles_" : verdict);

function reasonText(row) {
  const codes = Object.entries(row.reasons || {}).map(([code, count]) => (count > 1 ? `${code} ×${count}` : code)).join(" ");
  return [codes, row.message ? clip(said(row.message), 200) : ""].filter(Boolean).join(": ");
}

window.atcSweep = new SweepApp();
