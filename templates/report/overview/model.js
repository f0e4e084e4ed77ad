// The document, decoded: nodes of both graphs with their values, links, kernels, layers and findings.
const LEVELS = ["error", "unknown", "parser", "list", "rewrite", "aicpu", "accuracy"];

class Model {
  constructor(data) {
    this.data = data;
    this.nodes = new Map(); // by id: s12 is position 12 in the file, c45 position 45 of the compiled graph
    this.source = data.source ? this.readSource(data.source) : null;
    this.compiled = data.compiled ? this.readCompiled(data.compiled) : null;
    this.link();
    this.readFindings();
    this.readLayers();
    this.readTime(0);
  }

  readSource(found) {
    const nodes = found.nodes.map((row) => this.node({
      id: `s${row[0]}`, side: "s", name: row[1], op: row[2], ins: row[3], outs: row[4], attrs: row[5], index: row[0],
    }));
    const values = found.values.map((row) => ({ name: row[0], dtype: row[1] || "", dims: row[2] || null, constant: row[3] === 1 }));
    return this.graph("s", nodes, values, found.inputs, found.outputs);
  }

  readCompiled(found) {
    const nodes = found.nodes.map((row, at) => this.node({
      id: `c${at}`, side: "c", name: row[0], op: row[1], engine: row[2], ins: row[3].filter((value) => value >= 0), outs: row[4],
      attrs: row[5], kernel: row[6], origins: row[7], launch: row[8], reason: row[9], index: at,
    }));
    const values = found.values.map((row) => ({
      name: row[0], dtype: row[1], dims: row[2], constant: row[3] === 1, format: row[4], storage: row[5], place: row[6],
    }));
    return this.graph("c", nodes, values, found.inputs, found.outputs);
  }

  node(known) {
    const made = { findings: [], layers: [], links: [], from: [], to: [], share: 0, error: null, level: "", ...known };
    this.nodes.set(made.id, made);
    return made;
  }

  // Ends of the graph are nodes, too, so that everything that is drawn can be selected.
  graph(side, nodes, values, inputs, outputs) {
    const maker = new Map();
    nodes.forEach((node) => node.outs.forEach((value) => maker.set(value, node)));
    const ends = (list, kind) => list.filter((value) => kind === "out" || !maker.has(value)).map((value, at) => {
      const end = this.node({ id: `${side}${kind}${at}`, side, end: kind, name: values[value].name, op: kind, ins: [], outs: [], attrs: {}, index: -1 });
      (kind === "in" ? end.outs : end.ins).push(value);
      if (kind === "in") maker.set(value, end);
      return end;
    });
    const first = ends(inputs, "in");
    // Constants are listed where they are read; as boxes they would hide the network.
    const drawn = nodes.filter((node) => !(node.op === "Constant" && !node.ins.length));
    nodes.filter((node) => node.op === "Constant" && !node.ins.length).forEach((node) => node.outs.forEach((value) => { values[value].constant = true; maker.delete(value); }));
    const all = [...first, ...drawn, ...ends(outputs, "out")];
    for (const node of all) {
      for (const value of new Set(node.ins)) {
        const made = maker.get(value);
        if (!made || made === node) continue;
        node.from.push(made);
        made.to.push(node);
      }
      node.dtype = node.outs.length ? values[node.outs[0]].dtype : node.ins.length ? values[node.ins[0]].dtype : "";
    }
    return { side, nodes: all, values, maker, count: drawn.length };
  }

  link() {
    if (!this.compiled) return;
    for (const node of this.compiled.nodes) {
      for (const index of new Set(node.origins || [])) {
        const origin = this.nodes.get(`s${index}`);
        if (!origin) continue;
        node.links.push(origin);
        origin.links.push(node);
        origin.engine ||= node.engine;
      }
    }
  }

  readFindings() {
    const check = this.data.check;
    const worse = (node, level) => {
      if (node && (!node.level || LEVELS.indexOf(level) < LEVELS.indexOf(node.level))) node.level = level;
    };
    (check ? check.findings : []).forEach((found) => {
      const node = this.nodes.get(`s${found.node}`);
      if (node) node.findings.push(found);
      worse(node, found.level);
    });
    (check ? check.verdicts : []).forEach(([index, level]) => worse(this.nodes.get(`s${index}`), level));
    this.data.refusals.forEach((found) => worse(this.nodes.get(`s${found.node}`), "error"));
    (this.compiled ? this.compiled.nodes : []).forEach((node) => node.links.forEach((link) => link.level && worse(node, link.level)));
  }

  readLayers() {
    const names = ["node", "tensor", "at", "name", "op", "dtype", "dims", "error", "cosine", "distance", "snr", "maxAbs", "maxRel",
      "lost", "overflow", "underflow", "lowest", "highest", "origin", "root", "words", "faults"];
    const rows = this.data.precision ? this.data.precision.layers : [];
    const spreads = this.readSpreads();
    this.layers = rows.map((row, at) => {
      const layer = { position: at };
      names.forEach((name, column) => { layer[name] = row[column]; });
      layer.spread = spreads.get(at) || null;
      layer.value = typeof layer.error === "string" ? Infinity : layer.error === null ? NaN : layer.error;
      layer.id = this.nodes.has(`c${layer.node}`) && this.compiled ? `c${layer.node}` : layer.at !== null ? `s${layer.at}` : "";
      for (const id of [`c${layer.node}`, layer.at === null ? "" : `s${layer.at}`]) {
        const node = this.nodes.get(id);
        if (!node) continue;
        node.layers.push(layer);
        if (!(layer.value <= node.error)) node.error = layer.value;
      }
      return layer;
    });
  }

  // Figures sample by sample, by the positions of layers; none where there was one sample.
  readSpreads() {
    const found = this.data.precision ? this.data.precision.spreads : null;
    if (!found) return new Map();
    const figure = ([mean, worst, name, ...quantiles]) => ({ mean, worst, sample: found.names[name], quantiles });
    return new Map(found.layers.map(([at, cosine, distance, snr]) => [at, { cosine: figure(cosine), distance: figure(distance), snr: figure(snr) }]));
  }

  // Kernels of one SoC; nodes take the figures of the first SoC whose graph is drawn.
  readTime(at) {
    const names = ["name", "op", "engine", "dtype", "shapes", "formats", "start", "time", "low", "high", "bound", "bounds", "use", "cores", "macs",
      "elements", "read", "written", "overhead", "pipes", "positions"];
    const soc = this.data.time ? this.data.time.socs[at] : null;
    this.soc = soc;
    this.kernels = [];
    if (!soc || !soc.kernels) return;
    const byName = new Map();
    (this.compiled ? this.compiled.nodes : []).forEach((node) => { if (!node.end) byName.set(node.name, node); });
    this.kernels = soc.kernels.map((row, position) => {
      const kernel = { position };
      names.forEach((name, column) => { kernel[name] = row[column]; });
      kernel.share = soc.time[1] ? kernel.time / soc.time[1] : 0;
      const node = byName.get(kernel.name);
      kernel.id = node ? node.id : kernel.positions.length ? `s${kernel.positions[0]}` : "";
      return kernel;
    });
    this.nodes.forEach((node) => { node.kernels = []; node.share = 0; });
    const launches = new Map();
    (this.compiled ? this.compiled.nodes : []).forEach((node) => {
      if (node.launch) launches.set(node.launch, [...(launches.get(node.launch) || []), node]);
    });
    for (const kernel of this.kernels) {
      const node = byName.get(kernel.name);
      const covered = node ? (node.launch ? launches.get(node.launch) : [node]) : [];
      const origins = kernel.positions.map((index) => this.nodes.get(`s${index}`)).filter(Boolean);
      for (const each of new Set([...covered, ...origins])) { each.kernels.push(kernel); each.share += kernel.share; }
    }
  }

  resolve(id) {
    if (this.nodes.has(id)) return this.nodes.get(id);
    if (id.startsWith("k") && this.compiled) return this.compiled.nodes.find((node) => node.name === id.slice(1)) || null;
    if (id.startsWith("c")) {
      const layer = this.layers.find((each) => `c${each.node}` === id && each.at !== null);
      return layer ? this.nodes.get(`s${layer.at}`) || null : null;
    }
    return null;
  }
}

const opOf = (node) => (node.end ? t(node.end === "in" ? "input" : "output") : node.op);
const label = (node) => node.end ? node.name : node.op;
const title = (node) => node.name || `${node.op} #${node.index}`;
