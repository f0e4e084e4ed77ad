// The panel: everything known about the node that is selected.
const factList = (rows) => el("dl", { class: "facts" }, rows.filter(([, value]) => value !== "" && value !== null && value !== undefined)
  .map(([name, value]) => [el("dt", {}, name), el("dd", {}, typeof value === "string" ? bdi(value) : value)]));

const PLACES = { chip: "on_chip", run: "run_time" };

class Panel {
  constructor(app) { this.app = app; this.host = $("panel"); }

  show(node, box) {
    const { host } = this;
    host.scrollTop = 0;
    this.box = box;
    if (!node) {
      host.replaceChildren(el("h3", { id: "panel-head" }, t("node")), el("p", { class: "soft" }, t("pick")), ...this.summary());
      return;
    }
    const graph = node.side === "s" ? this.app.model.source : this.app.model.compiled;
    host.replaceChildren(
      el("h3", { id: "panel-head" }, bdi(clip(title(node), 160))),
      box && box.key ? this.folded(box) : "",
      factList([
        [t("name"), title(node).length > 160 ? el("div", { class: "long" }, bdi(title(node))) : ""],
        [t("operator"), opOf(node)], [t("position"), node.index >= 0 ? String(node.index) : ""],
        [t("engine"), engineWord(node.engine)], [t("kernel"), node.kernel || ""], [t("dtype_reason"), said(node.reason)],
        [t("graph"), node.side === "s" ? t("source") : t("compiled")],
      ]),
      ...this.findings(node), ...this.errors(node), ...this.estimates(node), ...this.links(node), ...this.values(node, graph),
      ...this.attributes(node), ...this.stub(node),
      el("p", {}, el("button", { type: "button", onclick: () => this.app.select(null) }, t("clear"))),
    );
  }

  // Without a node: the operators of the graph that is shown, most first; a click searches one.
  summary() {
    const [side] = this.app.shown();
    const graph = side && (side === "s" ? this.app.model.source : this.app.model.compiled);
    if (!graph) return [];
    const groups = new Map();
    for (const node of graph.nodes) {
      if (node.end) continue;
      const group = groups.get(node.op) || { count: 0, share: 0, kernels: new Set() };
      group.count += 1;
      (node.kernels || []).forEach((kernel) => { if (!group.kernels.has(kernel)) { group.kernels.add(kernel); group.share += kernel.share; } });
      groups.set(node.op, group);
    }
    const rows = [...groups].sort((a, b) => b[1].count - a[1].count).slice(0, 30);
    const most = Math.max(1, ...rows.map(([, group]) => group.count));
    return this.part("op_table", el("ul", { class: "ops" }, rows.map(([op, group]) => el("li", {},
      el("button", { type: "button", class: "link", onclick: () => { $("search").value = op; this.app.search(op); } }, bdi(clip(op, 60))),
      el("span", { class: "meter", "aria-hidden": "true" }, el("span", { style: `width:${(group.count / most) * 100}%` })),
      el("span", { class: "number" }, String(group.count))))));
  }

  folded(box) {
    const side = box.nodes[0].side;
    return el("p", {}, el("span", { class: "badge" }, t("group", box.nodes.length)), " ",
      el("button", { type: "button", onclick: () => this.app.views[side].unfold(box) }, t("open")));
  }

  part(key, ...children) { return [el("h4", {}, t(key)), ...children]; }

  findings(node) {
    const found = [...node.findings, ...this.app.model.data.refusals.filter((each) => node.side === "s" && each.node === node.index)];
    if (!found.length) return [];
    return this.part("findings", ...found.map((each) => el("div", {}, badge(each.level || "error", levelWord(each.level || "error")), ` ${each.code}: `, bdi(said(each.message)),
      el("p", { class: "soft" }, bdi(said(each.help))), each.fixed_by ? el("p", {}, `${t("fixed_by")}: ${each.fixed_by.join(", ")}`) : "")));
  }

  errors(node) {
    if (!node.layers.length) return [];
    const layer = node.layers.reduce((worst, each) => (each.value > worst.value ? each : worst));
    const root = layer.root === null ? null : this.app.model.layers[layer.root];
    const made = this.part("errors", factList([
      [t("rel_error"), number(layer.error)], [t("cosine"), cosine(layer.cosine)], [t("snr"), number(layer.snr)], [t("max_abs"), number(layer.maxAbs)],
      [t("lost"), layer.lost ? percent(layer.lost) : ""], [t("overflow"), layer.overflow ? percent(layer.overflow) : ""],
      [t("underflow"), layer.underflow ? percent(layer.underflow) : ""], [t("range"), `${number(layer.lowest)} .. ${number(layer.highest)}`], [t("from"), said(layer.words)],
      [t("why"), layer.faults.map(said).join("; ")],
    ]));
    if (root && root !== layer) made.push(this.app.link(this.app.model.resolve(root.id), root.name));
    if (layer.spread) made.push(...this.samples(layer.spread));
    const histogram = this.app.model.data.precision.histograms.find(([at]) => node.layers.some((each) => each.position === at));
    if (histogram) made.push(...this.part("histogram", this.histogram(histogram[1])));
    return made;
  }

  // A layer sample by sample: a row for the mean, the worst and each quantile.
  samples(spread) {
    const found = this.app.model.data.precision;
    const box = el("div", {}, spreadNote(found));
    const name = t("samples_head", found.samples);
    const rows = spreadHead(found).map((head, at) => [head, ...SPREAD.map(([figure, text]) => text([spread[figure].mean, spread[figure].worst, ...spread[figure].quantiles][at]))]);
    plainTable(box, name, [t("figure"), ...SPREAD.map(([figure]) => spreadWord(figure))], rows, [1, 2, 3]);
    const worst = new Map(SPREAD.map(([figure]) => [said(spread[figure].sample), figure]));
    box.append(factList([...worst].map(([sample, figure]) => [worst.size > 1 ? `${t("worst_sample")} (${spreadWord(figure)})` : t("worst_sample"), clip(sample, 300)])));
    return [el("h4", {}, name), box];
  }

  histogram(found) {
    const most = Math.max(...found.original, ...found.device, 1e-9), wide = 300, high = 90, step = wide / found.original.length;
    const at = (power) => ((power - found.low) / (found.high - found.low || 1)) * wide;
    const bars = (shares) => shares.map((share, index) => `M${(index * step).toFixed(1)} ${high}v${(-share / most * high).toFixed(1)}h${step.toFixed(1)}V${high}`).join("");
    const made = svg("svg", { viewBox: `-4 -14 ${wide + 8} ${high + 36}`, role: "img", "aria-label": t("histogram") });
    made.append(svg("path", { d: bars(found.original), fill: css("--s0"), "fill-opacity": 0.55 }), svg("path", { d: bars(found.device), fill: "none", stroke: css("--s1"), "stroke-width": 1.5 }));
    for (const [name, power] of Object.entries(found.limits)) {
      const text = svg("text", { x: at(power), y: -3, "text-anchor": "middle" });
      text.textContent = t(name);
      made.append(svg("line", { class: "cursor", x1: at(power), x2: at(power), y1: 0, y2: high }), text);
    }
    for (const [power, anchor] of [[found.low, "start"], [found.high, "end"]]) {
      const text = svg("text", { x: at(power), y: high + 15, "text-anchor": anchor });
      text.textContent = (2 ** power).toExponential(1);
      made.append(text);
    }
    const box = el("div", { class: "chart" });
    box.append(made);
    chartKey(box, [[css("--s0"), t("original")], [css("--s1"), t("device")]]);
    return box;
  }

  estimates(node) {
    if (!node.kernels || !node.kernels.length) return [];
    return this.part("estimate", ...node.kernels.slice(0, 4).map((kernel) => el("div", {}, factList([
      [t("computes"), kernel.op], [t("time"), `${seconds(kernel.time)} (${seconds(kernel.low)} .. ${seconds(kernel.high)})`], [t("share"), percent(kernel.share)],
      [t("bound"), said(kernel.bounds)], [t("use"), percent(kernel.use)], [t("read"), size(kernel.read)], [t("written"), size(kernel.written)], [t("storage"), kernel.formats],
    ]))));
  }

  links(node) {
    if (!this.app.model.source || !this.app.model.compiled || node.end) return [];
    const list = node.links.slice(0, 30).map((each) => el("li", {}, this.app.link(each, `${opOf(each)} ${clip(title(each), 80)}`)));
    return this.part(node.side === "s" ? "became" : "origin", list.length ? el("ul", {}, list) : el("p", { class: "soft" }, t("none_linked")));
  }

  values(node, graph) {
    const row = (position) => {
      const value = graph.values[position];
      const maker = graph.maker.get(position);
      const place = typeof value.place === "number" ? `@${value.place}` : PLACES[value.place] ? t(PLACES[value.place]) : "";
      const facts = [value.dtype, shape(value.dims), value.constant ? t("constant") : "", value.storage || (value.format && value.format !== "ND" ? value.format : ""), place].filter(Boolean).join(" ");
      return el("li", {}, maker && maker !== node ? this.app.link(maker, clip(value.name, 120)) : bdi(clip(value.name, 300)), " ", el("span", { class: "soft" }, facts));
    };
    const made = [];
    if (node.ins.length) made.push(...this.part("reads", el("ul", {}, node.ins.slice(0, 40).map(row))));
    if (node.outs.length) made.push(...this.part("makes", el("ul", {}, node.outs.slice(0, 40).map(row))));
    return made;
  }

  attributes(node) {
    const rows = Object.entries(node.attrs || {});
    return rows.length ? this.part("attributes", factList(rows)) : [];
  }

  stub(node) {
    if (!node.kernel || !this.app.model.data.kernels) return [];
    const text = el("pre", { tabindex: 0 }, "…");
    const shut = el("details", { class: "plain" }, el("summary", {}, t("stub")), text);
    shut.addEventListener("toggle", async () => { if (shut.open) text.textContent = (await stubs(this.app.model.data.kernels))[node.kernel] || t("unknown"); }, { once: true });
    return [shut];
  }
}

async function stubs(packed) {
  if (stubs.packed !== packed) {
    const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    stubs.texts = JSON.parse(await new Response(stream).text());
    stubs.packed = packed;
  }
  return stubs.texts;
}
