// The verdict: whether it compiles, what to do first, the figures, and the facts of the model.
function badge(level, text) {
  const kind = { error: "bad", unknown: "warn", compiles: "good", refused: "bad", undecided: "warn", supported: "good", passes: "good", fails: "bad" }[level] || "warn";
  return el("span", { class: `badge ${kind}` }, text || level);
}

const command = (text) => el("div", { class: "command" }, el("code", {}, bdi(text)), copier(text));

function renderVerdict(app) {
  const { data } = app.model;
  const host = $("verdict");
  const check = data.check;
  const list = check && check.list ? t("by_list", check.list) : "";
  host.replaceChildren(
    el("h2", { id: "verdict-head", class: "headline" }, badge(data.state, t(data.state)), bdi(clip(data.facts.file, 200)), data.gear ? el("span", { class: "soft" }, `${t("gear")} ${data.gear}`) : "", outputsBadge(data)),
    el("p", {}, check ? bdi(said(check.headline)) : "", list ? el("span", { class: "soft" }, ` · ${list}`) : ""),
    sideBySide(app),
    check ? nodeBar(check) : "",
    el("div", { class: "tiles" }, tiles(app)),
    el("div", { class: "split" },
      el("div", {}, el("h3", {}, t("first")), actions(app), ...remarks(data)),
      el("div", {}, el("h3", {}, t("facts")), facts(app))),
  );
}

// Whether the outputs hold against the original, beside whether the model compiles.
function outputsBadge(data) {
  const found = data.outputs;
  if (!found) return "";
  if (found.stopped) return badge("fails", t("device_stopped"));
  const goal = data.precision ? Object.entries(data.precision.targets).map(([name, least]) => `--fail-under ${name}=${least}`).join(" ") : "";
  if (found.failing.length) return badge("fails", found.targets ? t("outputs_miss", found.failing.length, found.count, goal) : t("outputs_fail", found.failing.length, found.count));
  return found.count ? badge("passes", goal ? `${t("outputs_pass")}: ${goal}` : t("outputs_pass")) : "";
}

// A row for each model or gear of the page; the chosen one is shown below.
function sideBySide(app) {
  const { models } = app.document;
  if (models.length < 2) return "";
  const isGears = models.every((each) => each.gear);
  const name = t(isGears ? "gears_side" : "models_side");
  const rows = models.map((each, at) => {
    const soc = each.time ? each.time.socs.find((one) => one.time) : null;
    const errors = each.check && each.check.counts.error ? String(each.check.counts.error) : "0";
    const choose = el("button", { type: "button", class: "link", "aria-current": at === app.at ? "true" : null, onclick: () => { app.open(at); app.keep(); } }, bdi(clip(isGears ? each.gear : each.path, 120)));
    return [choose, el("span", {}, badge(each.state, t(each.state)), " ", outputsBadge(each)), each.check ? errors : "-", soc ? seconds(soc.time[1]) : "-", soc && soc.memory ? size(soc.memory.total) : "-", worstOutput(each)];
  });
  const box = el("div", { class: "scroll side" });
  plainTable(box, name, [t(isGears ? "gear" : "model"), t("verdict"), t("unsupported"), t("est_time"), t("memory"), t("worst_output")], rows, [2, 3, 4, 5]);
  box.querySelectorAll("tbody tr")[app.at].classList.add("chosen");
  return el("div", {}, el("h3", {}, name), box);
}

// The largest error of the outputs of one model's document.
function worstOutput(data) {
  const found = data.precision;
  const errors = found ? found.outputs.filter((each) => each.layer !== null).map((each) => found.layers[each.layer][7]) : [];
  if (!errors.length) return "-";
  const value = (error) => (typeof error === "string" ? Infinity : error === null ? NaN : error);
  return number(errors.reduce((most, each) => (value(each) > value(most) ? each : most)));
}

function nodeBar(check) {
  const colors = { supported: "--good", accuracy: "--s5", aicpu: "--s3", rewrite: "--s0", parser: "--warn", list: "--warn", unknown: "--warn", error: "--bad" };
  const all = Object.values(check.node_counts).reduce((sum, each) => sum + each, 0);
  if (!all) return "";
  const parts = Object.keys(colors).filter((level) => check.node_counts[level]);
  const word = (level) => (check.levels[level] ? said(check.levels[level]) : level);
  return el("div", {}, el("div", { class: "bar", role: "img", "aria-label": parts.map((level) => `${word(level)}: ${check.node_counts[level]}`).join(", ") },
    parts.map((level) => el("span", { style: `flex:${check.node_counts[level]};background:var(${colors[level]})` }))),
    el("div", { class: "legend" }, parts.map((level) => el("span", {}, el("span", { class: "key", style: `background:var(${colors[level]})` }), `${word(level)}: ${check.node_counts[level]}`))));
}

function tiles(app) {
  const { data, soc } = app.model;
  const made = [];
  const tile = (name, value, note) => made.push(el("div", { class: "tile" }, el("span", {}, name), el("b", {}, value), note ? el("span", {}, note) : ""));
  const known = data.facts;
  if (known.compiled_bytes) tile(t("size"), size(known.compiled_bytes), known.weight_bytes ? t("weights", size(known.weight_bytes)) : "");
  else if (known.bytes) tile(t("file_size"), size(known.bytes), known.weight_bytes ? t("weights", size(known.weight_bytes)) : "");
  if (soc && soc.time) tile(t("est_time"), seconds(soc.time[1]), `${soc.soc}: ${t("between", seconds(soc.time[0]), seconds(soc.time[2]))}`);
  if (data.precision) {
    const rows = data.precision.outputs.filter((each) => each.layer !== null).map((each) => app.model.layers[each.layer]);
    const worst = rows.length ? rows.reduce((most, each) => (each.value > most.value ? each : most)) : null;
    const failing = app.model.layers.filter((each) => each.faults.length).length;
    tile(t("worst_output"), worst ? number(worst.error) : "-", failing ? t("layers_fail", failing, app.model.layers.length) : t("no_output_fails"));
  }
  if (soc && soc.memory) tile(t("memory"), size(soc.memory.total), soc.memory.device ? `${soc.soc}: ${size(soc.memory.device)}` : said(soc.verdict));
  const nodes = data.check ? Object.values(data.check.node_counts).reduce((sum, each) => sum + each, 0) : known.nodes;
  if (known.launches) tile(t("launches"), String(known.launches), nodes ? t("nodes_of", nodes) : "");
  else if (nodes) tile(t("nodes"), String(nodes), "");
  if (known.parameters) tile(t("parameters"), count(known.parameters), "");
  return made;
}

function actions(app) {
  const rows = app.model.data.actions;
  if (!rows.length) return el("p", { class: "soft" }, t("nothing"));
  return el("ol", { class: "actions" }, rows.map((row) => {
    const node = row.node ? app.model.resolve(row.node) : null;
    return el("li", {}, bdi(said(row.text)), " ", node ? el("button", { type: "button", class: "link", onclick: () => app.select(node, { center: true, scroll: true }) }, t("show_it")) : "",
      row.command ? command(row.command) : "");
  }));
}

function remarks(data) {
  const made = [];
  const check = data.check;
  for (const found of data.refusals) made.push(el("p", {}, badge("error", found.code), " ", bdi(said(found.message)), " ", el("span", { class: "soft" }, bdi(said(found.help)))));
  for (const found of data.missed) made.push(el("p", {}, badge("error", found.code), " ", bdi(said(found.message))));
  if (!check) return made;
  for (const text of [check.lists, check.hint, check.baseline, check.soc_note, check.biases, ...check.notes]) {
    if (text && said(text)) made.push(el("p", { class: "soft" }, bdi(said(text))));
    if (text && text === check.hint && check.shape_option) made.push(command(check.shape_option));
  }
  return made;
}

function facts(app) {
  const { data } = app.model;
  const known = data.facts;
  const ends = (kind) => {
    const graph = app.model.source || app.model.compiled;
    if (!graph) return "";
    const nodes = graph.nodes.filter((node) => node.end === kind);
    return nodes.length ? el("span", {}, nodes.slice(0, 12).map((node) => {
      const value = graph.values[kind === "in" ? node.outs[0] : node.ins[0]];
      return el("span", { style: "display:block" }, bdi(clip(value.name, 120)), ` ${value.dtype} ${shape(value.dims)}`);
    }), nodes.length > 12 ? "…" : "") : "";
  };
  return factList([
    [t("file"), data.path], [t("producer"), known.producer], [t("opsets"), known.opsets ? Object.entries(known.opsets).map(([name, version]) => `${name} ${version}`).join(", ") : ""],
    [t("soc"), known.soc || known.check_soc], [t("mode"), known.mode || known.check_mode], [t("cann"), data.check ? String(data.check.cann) : ""], [t("gear"), data.gear ? `${data.gear} (${data.shape})` : ""], [t("inputs"), ends("in")], [t("outputs"), ends("out")],
    [t("parameters"), known.parameters ? `${known.parameters.toLocaleString("en")} (${size(known.weight_bytes)})` : ""],
    [t("options"), data.options.join(" ").trim()],
    [t("digest"), known.sha256 ? el("span", { class: "mono" }, known.sha256) : ""], [t("made"), `${app.document.made}, ${app.document.tool}`],
  ]);
}
