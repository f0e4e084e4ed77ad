// Precision: the error along the network, outputs with their verdicts, and every layer.
function renderPrecision(app) {
  const found = app.model.data.precision;
  const host = $("precision");
  host.replaceChildren(el("h2", { id: "precision-head" }, t("precision")));
  if (!found) {
    app.model.data.not_compared.forEach((each) => host.append(el("p", {}, badge("error", each.code), ` ${t("not_compared")}: `, bdi(said(each.message)), " ", el("span", { class: "soft" }, bdi(said(each.help))))));
    return [];
  }
  for (const line of found.verdict) host.append(el("p", {}, bdi(said(line))));
  host.append(el("p", { class: "soft" }, bdi(found.cost.map(said).join(" · "))));
  host.append(el("h3", {}, t("along")));
  const parts = [errorChart(host, app, found)];
  host.append(el("h3", {}, t("outputs_head")));
  outputTable(host, app, found);
  if (found.spreads) spreadTable(host, app, found);
  if (found.suggestion) suggestionPart(host, found.suggestion);
  app.model.data.semantics.forEach((table) => wordTable(host, table));
  host.append(el("h3", {}, t("layers_head")));
  parts.push(layerTable(host, app));
  if (found.alone.length) {
    const box = el("details", { class: "plain" }, el("summary", {}, `${t("alone")} (${found.alone.length})`));
    host.append(box);
    plainTable(box, t("alone"), [t("node"), t("side"), t("operator"), t("reason")], found.alone.map(([side, name, op, reason]) => [clip(name, 300), t(side), op, said(reason)]));
  }
  return parts;
}

function errorChart(host, app, found) {
  const { layers } = app.model;
  const finite = layers.map((layer) => layer.value).filter((value) => value > 0 && Number.isFinite(value));
  const low = Math.max(-9, Math.min(-4, Math.floor(Math.log10(Math.min(...finite, 1e-3))))), high = Math.max(0, Math.ceil(Math.log10(Math.max(...finite, 0.1))));
  const ticks = logTicks(low, high).map((power) => [10 ** power, `1e${power}`]);
  const along = evenTicks(layers.length - 1, room(host, 60)).filter(Number.isInteger).map((at) => [at, String(at)]);
  const chart = new Chart(host, t("along"), {
    app, x: { title: t("layer"), low: -0.5, high: Math.max(layers.length - 0.5, 0.5), ticks: along }, y: { title: t("rel_error"), low, high, log: true, ticks },
  });
  const limit = chart.atY(found.limit);
  chart.path(`M0 ${limit}H${chart.width}`, css("--s4"), { "stroke-dasharray": "6 4" });
  const word = svg("text", { x: 5, y: limit - 5, "text-anchor": "start" });
  word.textContent = t("limit", found.limit);
  chart.layer.append(word);
  const height = (layer) => (layer.value === Infinity ? 0 : Number.isNaN(layer.value) ? chart.height : chart.atY(layer.value));
  const points = layers.map((layer, at) => ({
    x: chart.atX(at), y: height(layer), id: layer.id,
    text: () => [`${at}: ${clip(layer.name, 80)}`, `${layer.op} ${layer.dtype}`, `${t("rel_error")}: ${number(layer.error)}`, clip(said(layer.words), 200), ...layer.faults.map(said)].join("\n"),
  }));
  chart.path(points.map((point, at) => `${at ? "L" : "M"}${point.x.toFixed(1)} ${point.y.toFixed(1)}`).join(""), css("--s0"));
  const chosen = (test) => points.filter((_, at) => test(layers[at])).map((point) => [point.x, point.y]);
  if (layers.length < 400) chart.dots(points.map((point) => [point.x, point.y]), css("--s0"), 4);
  chart.dots(chosen((layer) => layer.origin === "born"), css("--s1"));
  chart.dots(chosen((layer) => layer.underflow > 0), css("--s3"), 6);
  chart.dots(chosen((layer) => layer.overflow > 0), css("--s2"), 9);
  chart.dots(chosen((layer) => layer.faults.length > 0), css("--s4"), 7);
  chart.marks(points, true);
  const has = { k_born: (layer) => layer.origin === "born", k_failing: (layer) => layer.faults.length, k_over: (layer) => layer.overflow > 0, k_under: (layer) => layer.underflow > 0 };
  const keys = [["--s1", "k_born"], ["--s4", "k_failing"], ["--s2", "k_over"], ["--s3", "k_under"]].filter(([, key]) => layers.some(has[key]));
  chartKey(host, [["--s0", "k_ok"], ...keys].map(([color, key]) => [css(color), t(key)]));
  return chart;
}

function outputTable(host, app, found) {
  const goals = Object.entries(found.targets).map(([name, least]) => `${name} ≥ ${least}`).join(", ");
  host.append(el("p", { class: "soft" }, goals ? `${t("targets")}: ${goals}` : t("no_target")));
  const rows = found.outputs.map((output) => {
    const layer = output.layer === null ? null : app.model.layers[output.layer];
    const verdict = said(output.verdict) ? badge(output.verdict[0] === "passes" ? "passes" : "fails", said(output.verdict)) : layer && layer.faults.length ? badge("fails", t("fails")) : layer ? badge("passes", t("passes")) : "";
    return [clip(output.name, 200), verdict, layer ? cosine(layer.cosine) : "-", layer ? number(layer.error) : "-", layer ? number(layer.snr) : "-", layer ? number(layer.maxAbs) : "-",
      output.classes || "-", said(output.reason) ? `${t("not_compared")}: ${said(output.reason)}` : layer ? said(layer.words) : ""];
  });
  plainTable(host, t("outputs_head"), [t("output"), t("verdict_col"), t("cosine"), t("rel_error"), t("snr"), t("max_abs"), t("classes"), t("from")], rows, [2, 3, 4, 5, 6]);
}

// The figures that are shown sample by sample: what reads them, and how they are written.
const SPREAD = [["cosine", cosine], ["distance", number], ["snr", number]];
const spreadHead = (found) => [t("mean"), t("worst"), ...found.spreads.shares.map((share) => `${share * 100}%`)];
const spreadWord = (figure) => t(figure === "distance" ? "rel_error" : figure);

function spreadNote(found) {
  if (!found.spreads.shares.length) return "";
  const shares = found.spreads.shares.map((share) => `${share * 100}%`).join(language ? "、" : ", ");
  return el("p", { class: "soft" }, [t("samples_note", shares), found.spreads.exact ? "" : t("samples_about")].filter(Boolean).join(" "));
}

// The outputs sample by sample: mean, worst, quantiles and the worst sample of each figure.
function spreadTable(host, app, found) {
  const rows = found.outputs.filter((output) => output.layer !== null && app.model.layers[output.layer].spread).flatMap((output) => {
    const { spread } = app.model.layers[output.layer];
    return SPREAD.map(([figure, text]) => [clip(output.name, 200), spreadWord(figure), ...[spread[figure].mean, spread[figure].worst, ...spread[figure].quantiles].map(text), clip(said(spread[figure].sample), 300)]);
  });
  if (!rows.length) return;
  const name = t("samples_head", found.samples);
  host.append(el("h3", {}, name), spreadNote(found));
  plainTable(host, name, [t("output"), t("figure"), ...spreadHead(found), t("worst_sample")], rows, [2, 3, ...found.spreads.shares.map((_, at) => at + 4)]);
}

function suggestionPart(host, found) {
  host.append(el("h3", {}, t("suggestion")), ...found.lines.map((line) => el("p", {}, bdi(said(line)))));
  if (found.outputs) wordTable(host, found.outputs);
  if (!found.kept.length) return;
  plainTable(host, t("suggestion"), [t("line"), t("operator"), t("nodes"), t("engine")], found.kept.map(([line, op, nodes, engine]) => [clip(line, 300), op, String(nodes), engineWord(engine)]), [2]);
}

function layerTable(host, app) {
  const figure = (key, head, hidden) => ({ key, head, number: true, hidden, cell: (row) => number(row[key]), sort: (row) => (row[key] === null ? NaN : typeof row[key] === "string" ? Infinity : row[key]) });
  const share = (key, head, hidden) => ({ key, head, number: true, hidden, cell: (row) => (row[key] ? percent(row[key]) : "-"), sort: (row) => row[key] || 0 });
  return new Table(host, {
    app, name: t("layers_head"), rows: app.model.layers, idOf: (row) => row.id, failing: (row) => row.faults.length > 0, filter: (row) => `${row.name} ${row.op} ${row.dtype}`, sorted: "error",
    columns: [
      { key: "name", head: t("layer"), wide: true, cell: (row) => clip(row.name, 300) }, { key: "op", head: t("operator"), cell: (row) => row.op },
      { key: "position", head: "#", number: true, cell: (row) => String(row.position), sort: (row) => row.position },
      { key: "dtype", head: t("dtype"), cell: (row) => row.dtype }, { key: "dims", head: t("dims"), hidden: true, cell: (row) => shape(row.dims) },
      { key: "error", head: t("rel_error"), number: true, cell: (row) => number(row.error), sort: (row) => row.value }, { ...figure("cosine", t("cosine")), cell: (row) => cosine(row.cosine) }, figure("snr", t("snr")),
      figure("maxAbs", t("max_abs")), figure("maxRel", t("max_rel"), true), share("lost", t("lost"), true), share("overflow", t("overflow")), share("underflow", t("underflow"), true),
      figure("lowest", t("lowest"), true), figure("highest", t("highest"), true),
      { key: "words", head: t("from"), wide: true, cell: (row) => [clip(said(row.words), 300), ...row.faults.map(said)].join(language ? "；" : "; ") },
    ],
  });
}
