// A board beside the simulator: the verdict, what was noticed, and tables.
const FEW_ROWS = 12;

function renderBoard(app) {
  const { board } = app.model.data;
  const host = $("board");
  host.replaceChildren(el("h2", { id: "board-head" }, t("board")));
  if (!board) return [];
  host.append(el("p", {}, board.is_off ? badge("fails", t("on_board")) : "", " ", bdi(said(board.title))), factList(board.summary.map(([name, value]) => [said(name), said(value)])));
  for (const found of board.findings) {
    host.append(el("p", {}, el("span", { class: "code" }, found.code), " ", bdi(said(found.message)), found.place ? ` (${found.place})` : "", " ", el("span", { class: "soft" }, bdi(said(found.help)))));
  }
  const nodes = new Map([...app.model.nodes.values()].filter((node) => node.side === "s").map((node) => [node.name, node.id]));
  return board.tables.map((table) => boardTable(host, app, table, nodes)).filter(Boolean);
}

// A table; a long one is closed at first, sorts and filters. Rows of layers lead to the node in the graph.
function boardTable(host, app, table, nodes) {
  const name = said(table.title);
  const heads = table.head.map(said);
  const isLong = table.rows.length > FEW_ROWS;
  const box = el("details", { class: "plain", open: !isLong }, el("summary", {}, isLong ? `${name} (${t("rows_of", table.rows.length)})` : name));
  host.append(box);
  if (!isLong && !table.nodes.length) {
    const scroll = el("div", { class: "scroll" });
    box.append(scroll);
    plainTable(scroll, name, heads, table.rows.map((row) => row.map(said)), table.numbers);
    return null;
  }
  const rows = table.rows.map((row, at) => ({ cells: row.map(said), id: nodes.get(table.nodes[at]) || "" }));
  const value = (text) => (text === "" || Number.isNaN(Number(text)) ? text : Number(text));
  const columns = heads.map((head, at) => ({ key: String(at), head, number: table.numbers.includes(at), cell: (row) => row.cells[at], sort: (row) => value(row.cells[at]) }));
  return new Table(box, { app, name, columns, rows, idOf: (row) => row.id, filter: (row) => row.cells.join(" ") });
}
