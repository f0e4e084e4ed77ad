// Findings of the check, by rule, and the operators with their verdicts.
function renderFindings(app) {
  const { check } = app.model.data;
  const host = $("findings");
  host.replaceChildren(el("h2", { id: "findings-head" }, t("findings")));
  if (!check) return;
  const word = (level) => (check.levels[level] ? said(check.levels[level]) : level);
  const groups = new Map();
  check.findings.forEach((found) => {
    const key = [found.level, said(found.certainty || ""), found.rule || found.code, found.op, said(found.when)].join("|");
    groups.set(key, [...(groups.get(key) || []), found]);
  });
  const rank = (rows) => LEVELS.indexOf(rows[0].level);
  const sorted = [...groups.values()].sort((a, b) => rank(a) - rank(b) || b.length - a.length);
  const list = el("div", {});
  const state = { level: "", text: "" };
  const fill = () => {
    const rows = sorted.filter((found) => !state.level || found[0].level === state.level)
      .filter((found) => !state.text || found.some((each) => JSON.stringify([said(each.message), each.node_name, each.op, each.code]).toLowerCase().includes(state.text)));
    list.replaceChildren(...rows.map((found, at) => findingGroup(app, found, word, at < 4 && found[0].level === "error")));
    if (!rows.length) list.append(el("p", { class: "soft" }, t("no_findings")));
  };
  if (sorted.length > 1) {
    const levels = el("select", { onchange: () => { state.level = levels.value; fill(); } }, el("option", { value: "" }, t("all")), LEVELS.filter((level) => check.counts[level]).map((level) => el("option", { value: level }, `${word(level)} (${check.counts[level]})`)));
    const text = el("input", { type: "search", autocomplete: "off", oninput: () => { state.text = text.value.toLowerCase(); fill(); } });
    host.append(el("div", { class: "tools" }, el("label", {}, el("span", {}, t("level")), levels), el("label", { class: "grow" }, el("span", {}, t("find_in")), text)));
  }
  host.append(list);
  fill();
  if (!check.operators.length) return;
  const box = el("details", { class: "plain" }, el("summary", {}, `${t("op_table")} (${check.operators.length})`));
  host.append(box);
  plainTable(box, t("op_table"), [t("operator"), t("nodes"), t("verdict_col")], check.operators.map(([op, listed, nodes, counts]) => [
    op + (listed ? "" : ` (${t("not_listed")})`), String(nodes), Object.entries(counts).map(([level, number]) => `${word(level)} ${number}`).join(", "),
  ]), [1]);
}

// The operator stands in front of the message, so a message that begins with it begins after it.
const withoutName = (message, op) => (op && message.startsWith(`${op} `) ? message.slice(op.length + 1) : message);

function findingGroup(app, rows, word, isOpen) {
  const [first] = rows;
  const nodes = rows.slice(0, 200).map((found) => {
    const node = app.model.nodes.get(`s${found.node}`);
    const name = found.node_name || (found.node === null ? "" : `${found.op} #${found.node}`);
    const where = [found.scope, found.field].filter(Boolean).join(", ");
    const seen = said(found.observed);
    return el("li", {}, node ? app.link(node, clip(name, 200)) : bdi(clip(name, 200)), where ? ` (${where})` : "", seen ? el("span", { class: "soft" }, " ", bdi(seen)) : "", found.known ? el("span", { class: "badge" }, t("known")) : "");
  });
  const facts = factList([
    [t("first"), said(first.help)], [t("rule"), [first.rule, first.source].filter(Boolean).join(" · ")], [t("fixed_by"), first.fixed_by ? el("code", {}, bdi(`${first.fix_call} (${first.fixed_by.join(", ")})`)) : ""], [t("taken_by"), (first.taken_by || []).join(", ")], [t("grounds"), first.certainty ? said(first.certainty) : ""],
  ]);
  return el("details", { class: "group", open: isOpen }, el("summary", {}, badge(first.level, word(first.level)), " ", first.op ? el("b", {}, bdi(first.op)) : "", " ", bdi(withoutName(said(first.message), first.op)), " ", el("span", { class: "code" }, first.code), " ", rows.length > 1 ? el("span", { class: "badge" }, `${rows.length} ×`) : ""),
    el("div", {}, facts, el("ul", {}, nodes), rows.length > 200 ? el("p", { class: "soft" }, "…") : ""));
}
