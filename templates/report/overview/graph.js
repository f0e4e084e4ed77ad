// A graph on a canvas: pan, zoom, overview map, selection. Only what is in sight is drawn.
const COLORS = ["c_kind", "c_engine", "c_time", "c_error", "c_dtype", "c_finding"];
const HUES = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759", "#76b7b2", "#edc948", "#9c755f", "#7f7f7f", "#d37295"];
const NEUTRAL = "#8d99a8";
const KINDS = [
  [/conv|matmul|gemm|cube|fullyconn|linear|einsum/i, 0, "matmul"], [/norm|softmax|reduce|pool|mean|sum|arg/i, 2, "reduce"],
  [/quant/i, 3, "quant"], [/cast|trans|reshape|flatten|squeeze|concat|split|slice|gather|pad|expand|shape|tile|stride/i, 1, "move"],
];
const KIND_WORDS = { matmul: ["products", "矩阵运算"], reduce: ["norms, reductions", "归一与归约"], quant: ["quantization", "量化"], move: ["moves", "数据搬运"], rest: ["other", "其他"] };
const LEVEL_HUES = { error: 4, unknown: 6, parser: 1, list: 7, rewrite: 3, aicpu: 9, accuracy: 5, "": 2 };

function kindOf(op) {
  const found = KINDS.find(([pattern]) => pattern.test(op));
  return found ? [HUES[found[1]], found[2]] : [HUES[5], "rest"];
}

// From quiet to loud, for shares and errors between 0 and 1.
function heat(value) {
  const at = Math.max(0, Math.min(1, value));
  const [low, high] = at < 0.5 ? [[84, 156, 214], [240, 190, 80]] : [[240, 190, 80], [205, 45, 40]];
  const part = at < 0.5 ? at * 2 : at * 2 - 1;
  return `rgb(${low.map((each, channel) => Math.round(each + (high[channel] - each) * part)).join(",")})`;
}

function errorHeat(error) {
  if (error === null || Number.isNaN(error)) return null;
  return error === Infinity ? 1 : error <= 0 ? 0 : Math.max(0, Math.min(1, (Math.log10(error) + 6) / 6));
}

class Painter {
  constructor(model, mode) {
    this.mode = mode;
    this.legend = new Map();
    const dtypes = [...new Set([...model.nodes.values()].map((node) => node.dtype).filter(Boolean))].sort();
    this.dtypes = new Map(dtypes.map((name, at) => [name, HUES[at % HUES.length]]));
    this.most = Math.max(1e-9, ...[...model.nodes.values()].map((node) => node.share));
    this.limit = model.data.precision ? model.data.precision.limit : 0.05;
  }

  // The color of a box, and what it means for the legend.
  of(nodes) {
    const [first] = nodes;
    if (first.end) return NEUTRAL;
    if (this.mode === "c_kind") {
      const [color, word] = kindOf(nodes.map((node) => node.op).find((op) => kindOf(op)[1] === "matmul") || first.op);
      return this.note(color, KIND_WORDS[word][language]);
    }
    if (this.mode === "c_engine") {
      const engine = nodes.some((node) => node.engine === "aicpu") ? "aicpu" : nodes.map((node) => node.engine).find(Boolean);
      return engine ? this.note(engine === "aicpu" ? HUES[4] : HUES[0], engineWord(engine)) : this.note(NEUTRAL, t("no_data"));
    }
    if (this.mode === "c_dtype") return first.dtype ? this.note(this.dtypes.get(first.dtype), first.dtype) : this.note(NEUTRAL, t("unknown"));
    if (this.mode === "c_finding") {
      const level = LEVELS.find((each) => nodes.some((node) => node.level === each)) || "";
      return this.note(HUES[LEVEL_HUES[level]], level ? levelWord(level) : t("supported"));
    }
    if (this.mode === "c_time") {
      const kernels = new Set(nodes.flatMap((node) => node.kernels || []));
      const share = [...kernels].reduce((sum, kernel) => sum + kernel.share, 0);
      return kernels.size ? heat(Math.sqrt(share / this.most)) : NEUTRAL;
    }
    const errors = nodes.map((node) => node.error).filter((error) => error !== null && !Number.isNaN(error));
    return errors.length ? heat(errorHeat(Math.max(...errors))) : NEUTRAL;
  }

  note(color, text) { this.legend.set(text, color); return color; }

  keys() {
    if (this.mode === "c_time") return [[heat(0), "0%"], [heat(0.5), percent(this.most / 4)], [heat(1), percent(this.most)]];
    if (this.mode === "c_error") return [[heat(0), "≤ 1e-6"], [heat(0.5), "1e-3"], [heat(1), "≥ 1"], [NEUTRAL, t("no_data")]];
    return [...this.legend].sort().map(([text, color]) => [color, text]);
  }
}

function textColor(fill) {
  const parts = fill.startsWith("#") ? [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16)) : fill.match(/\d+/g).map(Number);
  return 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2] > 140 ? "#10151c" : "#ffffff";
}

// Width of a text in a box; equal texts are measured once.
function textWidth(text) {
  const known = textWidth.known || (textWidth.known = new Map());
  if (!known.has(text)) {
    const pen = textWidth.pen || (textWidth.pen = document.createElement("canvas").getContext("2d"));
    pen.font = "12px system-ui, sans-serif";
    known.set(text, pen.measureText(text).width);
  }
  return known.get(text);
}

// Where a graph begins so that it fills the sight as far as it can; `wanted` would have a box in the middle.
function shifted(wanted, whole, sight, margin = 40) {
  if (whole <= sight - 2 * margin) return (sight - whole) / 2;
  return Math.max(sight - whole - margin, Math.min(margin, wanted));
}

// The least scale at which a graph opens.
const LEGIBLE = 0.62;

class GraphView {
  constructor(side, app) {
    this.side = side;
    this.app = app;
    this.canvas = el("canvas", { class: "main", tabindex: 0, role: "application" });
    this.map = el("canvas", { class: "map", "aria-hidden": "true" });
    this.caption = el("span", { class: "name" });
    this.host = el("div", { class: "view", "data-side": side }, this.canvas, this.caption, this.map);
    this.open = new Set();
    this.fold = null;
    this.scale = 1;
    this.x = this.y = 0;
    this.pointers = new Map();
    this.frames = [];
    this.listen();
    new ResizeObserver(() => { if (this.layout) this.resized(); }).observe(this.host);
  }

  setModel(model) {
    this.model = model;
    this.graph = this.side === "s" ? model.source : model.compiled;
    this.open.clear();
    this.layout = null;
    this.fold = null;
  }

  // Lay out again; what is selected stays in the middle.
  arrange(keep) {
    if (!this.graph) return;
    const modes = foldModes(this.graph, Boolean(this.model.compiled));
    if (this.fold === null || !modes.includes(this.fold)) this.fold = firstFold(this.graph, modes);
    this.view = foldGraph(this.graph, this.fold, this.open);
    for (const box of this.view.boxes) this.measure(box);
    const area = this.host.getBoundingClientRect();
    this.layout = layoutView(this.view, Math.max(0.5, (area.width || 900) / (area.height || 600)));
    this.paths = this.layout.pieces.map((piece) => this.pathOf(piece));
    this.resized();
    this.paint();
    if (!keep) this.fit(LEGIBLE);
  }

  measure(box) {
    const [first] = box.nodes;
    box.text = box.nodes.length > 1 ? (box.name.startsWith("launch ") ? clip([...new Set(box.nodes.map((node) => node.op))].join(" + "), 34) : clip(box.name.replace(/^\d+: /, ""), 34)) : clip(label(first), 26);
    box.note = box.nodes.length > 1 ? String(box.nodes.length) : "";
    box.w = Math.max(56, Math.ceil((textWidth(box.text) + (box.note ? 34 : 0) + 18) / 10) * 10);
    box.h = 26;
    const [value] = box.nodes.length === 1 ? first.outs : [];
    const dims = value === undefined || first.end === "out" ? null : this.graph.values[value].dims;
    box.dims = dims && dims.length ? dims.map((dim) => (dim === null ? "?" : dim)).join("×") : "";
  }

  pathOf(piece) {
    const path = new Path2D();
    for (const { points, arrow, bus } of piece.lines) {
      path.moveTo(points[0][0], points[0][1]);
      for (let at = 1; at < points.length - 1; at += 1) {
        if (bus) { path.lineTo(points[at][0], points[at][1]); continue; }
        const next = points[at + 1];
        const end = at === points.length - 2 ? next : [(points[at][0] + next[0]) / 2, (points[at][1] + next[1]) / 2];
        path.quadraticCurveTo(points[at][0], points[at][1], end[0], end[1]);
      }
      const last = points[points.length - 1];
      if (points.length === 2 || bus) path.lineTo(last[0], last[1]);
      if (arrow) { path.moveTo(last[0] - 3, last[1] - 5); path.lineTo(last[0], last[1]); path.lineTo(last[0] + 3, last[1] - 5); }
    }
    return path;
  }

  paint() {
    if (!this.layout) return;
    this.painter = new Painter(this.model, this.app.color);
    for (const box of this.view.boxes) { box.fill = this.painter.of(box.nodes); box.ink = textColor(box.fill); }
    this.caption.textContent = this.side === "s" ? t("source") : t("compiled");
    this.canvas.setAttribute("aria-label", t("canvas", this.caption.textContent, this.view.boxes.length, this.graph.count));
    this.paintMap();
    this.redraw();
  }

  resized() {
    const area = this.host.getBoundingClientRect();
    if (!area.width) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.w = area.width;
    this.h = area.height;
    this.canvas.width = Math.round(area.width * ratio);
    this.canvas.height = Math.round(area.height * ratio);
    this.ratio = ratio;
    if (this.pendingFit) this.fit(LEGIBLE);
    this.redraw();
  }

  // The whole graph, or its beginning where the whole would be smaller than `least`.
  fit(least = 0) {
    if (!this.w) { this.pendingFit = true; return; }
    this.pendingFit = false;
    const { width, height } = this.layout;
    this.scale = Math.max(least, Math.min(1.4, (this.w - 40) / width, (this.h - 50) / height));
    const [first] = this.view.boxes;
    this.x = width * this.scale > this.w ? this.w / 2 - first.x * this.scale : (this.w - width * this.scale) / 2;
    this.y = Math.max(36, (this.h - height * this.scale) / 2);
    this.redraw();
  }

  // The whole graph is printed, drawn at once: frames stop while a page is printed.
  onPaper(starts) {
    if (starts) this.onScreen = [this.x, this.y, this.scale];
    this.resized();
    if (starts) this.fit();
    else if (this.onScreen) [this.x, this.y, this.scale] = this.onScreen;
    this.draw();
  }

  zoom(factor, px = this.w / 2, py = this.h / 2) {
    const scale = Math.max(0.01, Math.min(4, this.scale * factor));
    this.x = px - ((px - this.x) * scale) / this.scale;
    this.y = py - ((py - this.y) * scale) / this.scale;
    this.scale = scale;
    this.redraw();
  }

  show(node) {
    if (!this.layout) return;
    let box = this.view.boxOf.get(node);
    if (!box) return;
    const scale = Math.max(this.scale, 0.75);
    this.scale = scale;
    this.x = shifted(this.w / 2 - box.x * scale, this.layout.width * scale, this.w);
    this.y = shifted(this.h / 2 - box.y * scale, this.layout.height * scale, this.h);
    this.redraw();
  }

  redraw() {
    if (this.waiting || !this.layout) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    if (!this.w) return;
    const started = performance.now();
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.w, this.h);
    pen.translate(this.x, this.y);
    pen.scale(this.scale, this.scale);
    const sight = { x0: -this.x / this.scale, y0: -this.y / this.scale };
    sight.x1 = sight.x0 + this.w / this.scale;
    sight.y1 = sight.y0 + this.h / this.scale;
    const outside = (piece) => piece.x1 < sight.x0 || piece.x0 > sight.x1 || piece.y1 < sight.y0 || piece.y0 > sight.y1;
    pen.strokeStyle = css("--edge");
    pen.lineWidth = Math.max(1, 0.6 / this.scale);
    const chosen = this.chosen();
    this.layout.pieces.forEach((piece, at) => { if (!outside(piece)) pen.stroke(this.paths[at]); });
    const words = this.scale > 0.42;
    const named = [];
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (const piece of this.layout.pieces) {
      if (outside(piece)) continue;
      for (const box of piece.boxes) {
        const left = box.x - box.w / 2, top = box.y - box.h / 2;
        if (left > sight.x1 || left + box.w < sight.x0 || top > sight.y1 || top + box.h < sight.y0) continue;
        this.drawBox(pen, box, left, top, words);
        if (box.dims) named.push(box);
      }
    }
    if (this.scale > 0.72) this.drawDims(pen, named);
    this.outline(pen, chosen);
    this.drawMap();
    this.frames.push(performance.now() - started);
    if (this.frames.length > 600) this.frames.shift();
  }

  drawBox(pen, box, left, top, words) {
    pen.fillStyle = box.fill;
    if (box.nodes[0].end || !words) {
      pen.fillRect(left, top, box.w, box.h);
    } else {
      pen.beginPath();
      pen.roundRect(left, top, box.w, box.h, 5);
      pen.fill();
      if (box.key) { pen.strokeStyle = box.ink; pen.lineWidth = 1; pen.setLineDash([3, 2]); pen.strokeRect(left + 2.5, top + 2.5, box.w - 5, box.h - 5); pen.setLineDash([]); }
    }
    const worst = box.nodes.some((node) => node.level === "error");
    if (worst) { pen.strokeStyle = css("--bad"); pen.lineWidth = Math.max(3, 2 / this.scale); pen.strokeRect(left - 2, top - 2, box.w + 4, box.h + 4); }
    if (!words) return;
    pen.fillStyle = box.ink;
    pen.textAlign = box.note ? "left" : "center";
    pen.fillText(box.text, box.note ? left + 9 : box.x, box.y, box.w - (box.note ? 42 : 12));
    if (box.note) { pen.textAlign = "right"; pen.fillText(`×${box.note}`, left + box.w - 8, box.y); }
  }

  // Dims of the results beside the edges that leave their boxes.
  drawDims(pen, boxes) {
    pen.font = "9.5px system-ui, sans-serif";
    pen.textAlign = "left";
    pen.fillStyle = css("--soft");
    for (const box of boxes) pen.fillText(box.dims, box.x + 5, box.y + box.h / 2 + 8);
  }

  chosen() {
    const node = this.app.selected;
    if (!node) return [];
    const nodes = node.side === this.side ? [node] : node.links;
    return [...new Set(nodes.map((each) => this.view.boxOf.get(each)).filter(Boolean))];
  }

  outline(pen, boxes) {
    for (const [color, width] of [["--text", 6], ["--mark", 3]]) { // seen on any color around it
      pen.lineWidth = Math.max(width, width / this.scale);
      pen.strokeStyle = css(color);
      for (const box of boxes) pen.strokeRect(box.x - box.w / 2 - 4, box.y - box.h / 2 - 4, box.w + 8, box.h + 8);
    }
    pen.strokeStyle = css("--mark");
    if (!this.app.found) return;
    pen.lineWidth = Math.max(2, 2 / this.scale);
    for (const node of this.app.found) {
      const box = node.side === this.side && this.view.boxOf.get(node);
      if (box) pen.strokeRect(box.x - box.w / 2 - 2, box.y - box.h / 2 - 2, box.w + 4, box.h + 4);
    }
  }

  paintMap() {
    const { width, height } = this.layout;
    const most = Math.min(190, (this.w || 600) * 0.28);
    const scale = Math.min(most / width, 140 / height);
    this.mapScale = scale;
    this.map.width = Math.max(24, Math.round(width * scale) + 8);
    this.map.height = Math.max(24, Math.round(height * scale) + 8);
    const back = document.createElement("canvas");
    back.width = this.map.width;
    back.height = this.map.height;
    const pen = back.getContext("2d");
    for (const box of this.view.boxes) {
      pen.fillStyle = box.fill;
      pen.fillRect(4 + (box.x - box.w / 2) * scale, 4 + (box.y - box.h / 2) * scale, Math.max(1.5, box.w * scale), Math.max(1, box.h * scale));
    }
    this.back = back;
  }

  drawMap() {
    const whole = this.x >= -1 && this.y >= -1 && this.x + this.layout.width * this.scale <= this.w + 1 && this.y + this.layout.height * this.scale <= this.h + 1;
    this.map.hidden = whole;
    if (whole) return;
    const pen = this.map.getContext("2d");
    pen.clearRect(0, 0, this.map.width, this.map.height);
    pen.drawImage(this.back, 0, 0);
    pen.strokeStyle = css("--text");
    pen.lineWidth = 1.5;
    const k = this.mapScale / this.scale;
    pen.strokeRect(4 - this.x * k, 4 - this.y * k, this.w * k, this.h * k);
    pen.fillStyle = css("--mark");
    for (const box of this.chosen()) pen.fillRect(2 + box.x * this.mapScale, 2 + box.y * this.mapScale, 5, 5);
  }

  boxAt(event) {
    const area = this.canvas.getBoundingClientRect();
    const x = (event.clientX - area.left - this.x) / this.scale, y = (event.clientY - area.top - this.y) / this.scale;
    const slack = 2 / this.scale;
    for (const piece of this.layout.pieces) {
      if (x < piece.x0 - 200 || x > piece.x1 + 200 || y < piece.y0 || y > piece.y1 + 40) continue;
      const box = piece.boxes.find((each) => Math.abs(each.x - x) <= each.w / 2 + slack && Math.abs(each.y - y) <= each.h / 2 + slack);
      if (box) return box;
    }
    return null;
  }

  unfold(box) {
    if (!box || !box.key) return;
    this.open.add(box.key);
    const [first] = box.nodes;
    this.arrange(true);
    this.show(first);
    this.app.select(first);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const area = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), event.clientX - area.left, event.clientY - area.top);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
      this.moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    const end = (event) => {
      const held = this.pointers.delete(event.pointerId);
      if (!held || event.type !== "pointerup" || this.moved > 4 || !this.layout) return;
      const box = this.boxAt(event);
      this.app.select(box ? box.nodes[0] : null, { box });
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => tip(null));
    canvas.addEventListener("dblclick", (event) => this.layout && this.unfold(this.boxAt(event)));
    canvas.addEventListener("keydown", (event) => this.key(event));
    const jump = (event) => {
      if (!event.buttons) return;
      const area = this.map.getBoundingClientRect();
      this.x = this.w / 2 - ((event.clientX - area.left - 4) / this.mapScale) * this.scale;
      this.y = this.h / 2 - ((event.clientY - area.top - 4) / this.mapScale) * this.scale;
      this.redraw();
    };
    this.map.addEventListener("pointerdown", jump);
    this.map.addEventListener("pointermove", jump);
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      const box = this.layout && this.boxAt(event);
      tip(box ? this.hint(box) : null, event);
      return;
    }
    const now = [event.clientX, event.clientY];
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    if (others.length) {
      const gap = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
      const area = this.canvas.getBoundingClientRect();
      this.zoom(gap(now, others[0]) / Math.max(1, gap(before, others[0])), (now[0] + others[0][0]) / 2 - area.left, (now[1] + others[0][1]) / 2 - area.top);
    } else {
      this.x += now[0] - before[0];
      this.y += now[1] - before[1];
    }
    this.moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    this.pointers.set(event.pointerId, now);
    this.redraw();
  }

  hint(box) {
    const [first] = box.nodes;
    if (box.nodes.length > 1) return `${clip(box.name, 120)}\n${t("group", box.nodes.length)}`;
    const lines = [`${opOf(first)} ${clip(title(first), 80)}`];
    if (first.share) lines.push(`${t("time")}: ${percent(first.share)}`);
    if (first.error !== null) lines.push(`${t("error")}: ${number(first.error)}`);
    return lines.join("\n");
  }

  key(event) {
    const node = this.app.selected;
    const own = node && (node.side === this.side ? node : node.links[0]);
    const box = own && this.view.boxOf.get(own);
    const along = {
      ArrowDown: () => box && this.next(box.nodes.flatMap((each) => each.to), box),
      ArrowUp: () => box && this.next(box.nodes.flatMap((each) => each.from), box),
      ArrowRight: () => this.beside(box, 1),
      ArrowLeft: () => this.beside(box, -1),
      Enter: () => (box ? this.unfold(box) : this.beside(null, 1)),
      "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), 0: () => this.fit(),
    }[event.key];
    if (!along || event.ctrlKey || event.metaKey || event.altKey || !this.layout) return;
    event.preventDefault();
    along();
  }

  next(nodes, box) {
    const found = nodes.find((each) => this.view.boxOf.get(each) !== box);
    if (found) this.app.select(found, { center: this.side });
  }

  // The next box in the order of the graph.
  beside(box, step) {
    const { boxes } = this.view;
    const at = box ? Math.max(0, Math.min(boxes.length - 1, box.at + step)) : 0;
    this.app.select(boxes[at].nodes[0], { center: this.side });
  }
}

function tip(text, event) {
  const made = $("tip");
  made.hidden = !text;
  if (!text) return;
  made.textContent = text;
  const wide = made.offsetWidth, high = made.offsetHeight;
  made.style.left = `${Math.max(4, Math.min(event.clientX + 14, document.documentElement.clientWidth - wide - 8))}px`;
  made.style.top = `${Math.max(4, Math.min(event.clientY + 16, window.innerHeight - high - 8))}px`;
}
