// Time: the biggest wins, SoCs side by side, roofline, timeline, memory and every kernel.
const BOUNDS = { cube: "--s0", vector: "--s2", memory: "--s1", "on-chip": "--s3", onchip: "--s3", launch: "--s5", aicpu: "--s4" };
const PIPE_COLORS = { cube: "--s0", vector: "--s2", mte1: "--s3", mte2: "--s1", mte3: "--s4", fixp: "--s5" };
const boundWord = (bound) => t(`b_${bound.replace("-", "")}`);

function renderTime(app) {
  const found = app.model.data.time;
  const host = $("time");
  host.replaceChildren(el("h2", { id: "time-head" }, t("time")));
  if (!found) return [];
  host.append(el("p", { class: "soft" }, t("estimates")));
  wins(host, app);
  fusionTable(host, app);
  if (found.socs.length > 1) socTable(host, app, found);
  found.calibration.forEach((table) => wordTable(host, table));
  const soc = app.model.soc;
  if (!soc || !soc.kernels) return [];
  const parts = [];
  if (soc.gears.some((gear) => gear.rate)) {
    host.append(el("h3", {}, t("batches")));
    parts.push(batchCurve(host, app, soc.gears));
    plainTable(host, t("batches"), [t("batch"), t("time"), t("throughput"), t("memory"), ""], soc.gears.map((gear) => [String(gear.values[0]), gear.time, unitOf(Number(gear.rate.toPrecision(4))), size(gear.memory), gear.best ? t("best") : ""]), [0, 1, 2, 3]);
  } else if (soc.gears.length) {
    host.append(el("h3", {}, t("gears")));
    plainTable(host, t("gears"), [t("gears"), t("time"), t("memory")], soc.gears.map((gear) => [gear.values.join(", "), gear.time, size(gear.memory)]), [1, 2]);
  }
  const used = [...new Set(app.model.kernels.map((kernel) => kernel.bound))];
  host.append(el("h3", {}, `${t("roofline")}: ${soc.soc}`));
  parts.push(roofline(host, app, soc));
  chartKey(host, used.map((bound) => [css(BOUNDS[bound] || "--s5"), `${t("bound")}: ${boundWord(bound)}`]));
  host.append(el("h3", {}, `${t("timeline")}: ${soc.soc}`));
  parts.push(timeline(host, app, soc, found.pipes));
  host.append(el("h3", {}, `${t("over_time")}: ${soc.soc}`));
  parts.push(memoryChart(host, app, soc));
  host.append(el("h3", {}, t("kernels")));
  parts.push(kernelTable(host, app));
  host.append(el("details", { class: "plain" }, el("summary", {}, t("assumes")), el("ul", {}, soc.assumes.map((line) => el("li", {}, said(line))))));
  return parts;
}

// Samples a second by batch; a ring marks the best one.
function batchCurve(host, app, gears) {
  const rows = [...gears].sort((a, b) => a.values[0] - b.values[0]), sizes = rows.map((row) => row.values[0]), most = Math.max(...rows.map((row) => row.rate));
  const x = { title: t("batch"), log: true, low: Math.log10(sizes[0]), high: Math.log10(sizes[sizes.length - 1]), ticks: sizes.map((value) => [value, String(value)]) };
  const chart = new Chart(host, t("batches"), { app, height: 170, x, y: { title: t("throughput"), low: 0, high: most * 1.04, ticks: evenTicks(most).map((value) => [value, unitOf(value)]) } });
  const points = rows.map((row) => ({ x: chart.atX(row.values[0]), y: chart.atY(row.rate), text: () => `${t("batch")} ${row.values[0]}: ${row.time}` }));
  chart.path(points.map(({ x: across, y }, at) => `${at ? "L" : "M"}${across.toFixed(1)} ${y.toFixed(1)}`).join(""), css("--s0"));
  chart.dots(points.map(({ x: across, y }) => [across, y]), css("--s0"));
  points.filter((_, at) => rows[at].best).forEach(({ x: across, y }) => chart.layer.append(svg("circle", { class: "pick", cx: across, cy: y, r: 8 })));
  chart.marks(points, true);
  return chart;
}

function wins(host, app) {
  const rows = app.model.data.wins;
  host.append(el("h3", {}, t("wins")));
  if (!rows.length) { host.append(el("p", { class: "soft" }, t("no_wins"))); return; }
  host.append(el("ol", { class: "wins" }, rows.map(([, text, name]) => {
    const node = app.model.resolve(`k${name}`);
    return el("li", {}, bdi(said(text)), " ", node ? el("button", { type: "button", class: "link", onclick: () => app.select(node, { center: true, scroll: true }) }, t("show_it")) : "");
  })));
}

function socTable(host, app, found) {
  host.append(el("h3", {}, t("socs")));
  const rows = found.socs.map((soc, at) => [
    el("label", {}, el("input", { type: "radio", name: "soc", value: String(at), disabled: !soc.kernels, onchange: () => app.chooseSoc(at), "data-soc": soc.soc, checked: at === app.soc }), ` ${soc.soc}`),
    soc.time ? seconds(soc.time[1]) : "-", soc.time ? `${seconds(soc.time[0])} .. ${seconds(soc.time[2])}` : "-", soc.memory ? size(soc.memory.total) : "-", soc.kernels ? String(soc.kernels.length) : "-", bdi(said(soc.verdict)),
  ]);
  plainTable(host, t("socs"), [t("soc"), t("time"), t("range"), t("memory"), t("kernels"), t("verdict_col")], rows, [1, 2, 3, 4]);
}

// What each pass found, as --why-not tells it.
function fusionTable(host, app) {
  const rows = app.model.data.fusions;
  if (!rows.length) return;
  const box = el("details", { class: "plain" }, el("summary", {}, `${t("fusions")} (${rows.length})`));
  host.append(box);
  plainTable(box, t("fusions"), [t("pass"), t("atc_name"), t("matched"), t("rewritten"), t("near")], rows.map(([name, names, matched, effective, at, why]) => {
    const node = at ? app.model.resolve(`k${at}`) : null;
    const miss = why ? el("span", {}, node ? app.link(node, clip(title(node), 80)) : bdi(clip(at, 80)), language ? "：" : ": ", bdi(said(why))) : "";
    return [name, names, String(matched), String(effective), miss];
  }), [2, 3]);
}

const kernelText = (kernel) => `${kernel.op} ${clip(kernel.name, 80)}\n${seconds(kernel.time)} (${percent(kernel.share)})\n${t("bound")}: ${said(kernel.bounds)}\n${kernel.shapes}`;

function roofline(host, app, soc) {
  const { roofs } = soc;
  const rows = app.model.kernels.map((kernel) => {
    const work = kernel.macs ? 2 * kernel.macs : kernel.elements;
    return { kernel, work, x: work / (kernel.read + kernel.written), y: work / kernel.time };
  }).filter((row) => row.work && Number.isFinite(row.x) && row.time !== 0);
  const span = (values, low, high) => [Math.min(low, ...values.map((value) => Math.floor(Math.log10(value)))), Math.max(high, ...values.map((value) => Math.ceil(Math.log10(value))))];
  const [x0, x1] = span(rows.map((row) => row.x), -1, 3);
  const [y0] = span(rows.map((row) => row.y), 9, 9);
  const y1 = Math.log10(roofs.cube) + 0.25;
  const chart = new Chart(host, t("roofline"), {
    app, height: 280, x: { title: t("intensity"), low: x0, high: x1, log: true, ticks: logTicks(x0, x1).map((power) => [10 ** power, power < 0 ? String(10 ** power) : unitOf(10 ** power)]) },
    y: { title: t("rate"), low: y0, high: y1, log: true, ticks: logTicks(y0, y1, 7).map((power) => [10 ** power, unitOf(10 ** power)]) },
  });
  const name = (text, x, y, anchor) => { const made = svg("text", { class: "title", x, y, "text-anchor": anchor }); made.textContent = text; chart.layer.append(made); };
  const best = roofs.l2 || roofs.memory;
  ["memory", "l2"].filter((key) => roofs[key]).forEach((key) => {
    const start = Math.max(10 ** x0, 10 ** y0 / roofs[key]), end = roofs.cube / roofs[key];
    chart.path(`M${chart.atX(start)} ${chart.atY(start * roofs[key])}L${chart.atX(end)} ${chart.atY(roofs.cube)}`, css("--soft"));
    const middle = 10 ** ((Math.log10(start) + Math.log10(end)) / 2);
    const x = chart.atX(middle), y = chart.atY(middle * roofs[key]);
    const text = `${t(key === "memory" ? "roof_memory" : "roof_l2")} ${size(roofs[key])}/s`;
    if (key !== "memory") name(text, Math.max(x - 10, textWidth(text)), y - 6, "end");
    else if (x + 10 + textWidth(text) < chart.width) name(text, x + 10, y + 12, "start");
    else name(text, chart.width - 4, y + 26, "end");
  });
  for (const key of ["cube", "vector"]) {
    const y = chart.atY(roofs[key]);
    chart.path(`M${chart.atX(roofs[key] / best)} ${y}H${chart.width}`, css("--soft"));
    name(`${t(`roof_${key}`)} ${unitOf(roofs[key])}/s`, chart.width - 4, y - 5, "end");
  }
  const points = rows.map((row) => ({ x: chart.atX(row.x), y: chart.atY(row.y), id: row.kernel.id, bound: row.kernel.bound, text: () => `${kernelText(row.kernel)}\n${number(row.x)} ${t("intensity")}, ${unitOf(row.y)} ${t("rate")}` }));
  for (const bound of new Set(points.map((point) => point.bound))) chart.dots(points.filter((point) => point.bound === bound).map((point) => [point.x, point.y]), css(BOUNDS[bound] || "--s5"));
  chart.marks(points, false);
  return chart;
}

const timeAxis = (host, soc) => {
  const most = soc.time[1] || 1e-9;
  const [unit, scale] = most >= 1 ? ["s", 1] : most >= 1e-3 ? ["ms", 1e3] : ["µs", 1e6];
  return { title: `${t("expected_time")} (${unit})`, low: 0, high: most, ticks: evenTicks(most, room(host, 64)).map((at) => [at, String(Number((at * scale).toPrecision(6)))]) };
};

// Round numbers of bytes, in one unit.
function byteTicks(most) {
  const unit = 1024 ** Math.max(0, Math.min(4, Math.floor(Math.log(most) / Math.log(1024))));
  return evenTicks(most / unit, 5).map((at) => [at * unit, at ? size(at * unit).replace(/\.0 /, " ") : "0"]);
}

function timeline(host, app, soc, pipes) {
  const lanes = [t("kernels"), ...pipes.map((pipe) => t(`p_${pipe}`))];
  const chart = new Chart(host, t("timeline"), { app, lanes, x: timeAxis(host, soc), y: { low: 0, high: 1, ticks: [] } });
  const bar = (lane, start, time) => `M${chart.atX(start).toFixed(2)} ${lane * 24 + 4}h${Math.max(0.4, chart.atX(start + time) - chart.atX(start)).toFixed(2)}v16H${chart.atX(start).toFixed(2)}z`;
  const groups = new Map();
  const add = (color, d) => groups.set(color, (groups.get(color) || "") + d);
  const points = [];
  for (const kernel of app.model.kernels) {
    add(BOUNDS[kernel.bound] || "--s5", bar(0, kernel.start, kernel.time));
    const point = (lane, start, time, text) => points.push({ x: chart.atX(start), x1: chart.atX(start + time), y: lane * 24 + 12, id: kernel.id, text });
    point(0, kernel.start, kernel.time, () => kernelText(kernel));
    pipes.forEach((pipe, at) => {
      const busy = Math.min(kernel.pipes[at], kernel.time - kernel.overhead);
      if (busy <= 0) return;
      add(PIPE_COLORS[pipe], bar(at + 1, kernel.start + kernel.overhead, busy));
      point(at + 1, kernel.start + kernel.overhead, busy, () => `${t(`p_${pipe}`)}: ${seconds(busy)}\n${kernelText(kernel)}`);
    });
  }
  groups.forEach((d, color) => chart.path(d, css("--card"), { fill: css(color), "stroke-width": app.model.kernels.length < 300 ? 0.7 : 0 }));
  chart.marks(points, false);
  return chart;
}

function memoryChart(host, app, soc) {
  const held = soc.memory.results;
  const most = Math.max(1, soc.memory.arena, ...held);
  const chart = new Chart(host, t("over_time"), { app, height: 170, x: timeAxis(host, soc), y: { title: t("bytes"), low: 0, high: most * 1.04, ticks: byteTicks(most) } });
  let d = `M0 ${chart.height}`;
  const points = app.model.kernels.map((kernel, at) => {
    const [x, x1, y] = [chart.atX(kernel.start), chart.atX(kernel.start + kernel.time), chart.atY(held[at] || 0)];
    d += `L${x.toFixed(1)} ${y.toFixed(1)}L${x1.toFixed(1)} ${y.toFixed(1)}`;
    return { x, x1, y, id: kernel.id, text: () => `${size(held[at] || 0)}\n${kernelText(kernel)}` };
  });
  chart.path(`${d}L${chart.width} ${chart.height}z`, css("--s0"), { fill: css("--s0"), "fill-opacity": 0.25 });
  chart.marks(points, false);
  return chart;
}

function kernelTable(host, app) {
  const figure = (key, head, text, hidden) => ({ key, head, number: true, hidden, cell: (row) => text(row[key]), sort: (row) => row[key] });
  return new Table(host, {
    app, name: t("kernels"), rows: app.model.kernels, idOf: (row) => row.id, filter: (row) => `${row.op} ${row.name} ${said(row.bounds)} ${origins(app, row)}`, sorted: "time",
    columns: [
      { key: "op", head: t("kernel"), wide: true, cell: (row) => row.op }, { key: "computes", head: t("computes"), wide: true, cell: (row) => clip(origins(app, row), 300) },
      figure("position", "#", String, true), figure("time", t("time"), seconds), figure("share", t("share"), percent), figure("low", t("low"), seconds, true), figure("high", t("high"), seconds, true),
      { key: "bounds", head: t("bound"), cell: (row) => said(row.bounds) }, figure("use", t("use"), percent), { key: "bytes", head: t("moved"), number: true, cell: (row) => size(row.read + row.written), sort: (row) => row.read + row.written },
      { key: "shapes", head: t("dims"), hidden: true, cell: (row) => row.shapes }, { key: "formats", head: t("storage"), hidden: true, cell: (row) => row.formats }, { key: "engine", head: t("engine"), hidden: true, cell: (row) => engineWord(row.engine) }, { key: "dtype", head: t("dtype"), hidden: true, cell: (row) => row.dtype },
    ],
  });
}

function origins(app, kernel) {
  const names = kernel.positions.map((index) => app.model.nodes.get(`s${index}`)).filter(Boolean).map((node) => title(node));
  return names.join(", ") || kernel.name;
}
