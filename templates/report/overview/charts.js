// Charts as inline SVG: axes with labels, few elements for many marks, and the mark nearest to the pointer.
const SVG = "http://www.w3.org/2000/svg";

function svg(tag, options, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(options || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function logTicks(low, high, most = 9) {
  const from = Math.ceil(low - 1e-9), to = Math.floor(high + 1e-9);
  const step = Math.max(1, Math.ceil((to - from + 1) / most));
  const found = [];
  for (let power = from; power <= to; power += step) found.push(power);
  return found;
}

// How many labels of a width an axis across the page has room for.
const room = (host, wide) => Math.max(2, Math.min(8, Math.floor(((host.getBoundingClientRect().width || 900) - 100) / wide)));

function evenTicks(high, most = 6) {
  if (!(high > 0)) return [0];
  const rough = high / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const found = [];
  for (let at = 0; at <= high * 1.0001; at += step) found.push(at);
  return found;
}

const unitOf = (value) => {
  for (const [unit, power] of [["P", 15], ["T", 12], ["G", 9], ["M", 6], ["k", 3]]) if (value >= 10 ** power) return `${Number((value / 10 ** power).toPrecision(3))} ${unit}`;
  return String(value);
};

const middle = (point) => (point.x1 === undefined ? point.x : (point.x + point.x1) / 2);

/* A chart: `x` and `y` say {title, low, high, log, ticks: [[value, text]]}, `lanes` labels rows instead of y.
   It returns `at(value)` for both axes, a layer to draw into, and `marks(points)` which makes points answer. */
class Chart {
  constructor(host, name, { x, y, height = 240, lanes = null, app }) {
    this.app = app;
    this.box = el("div", { class: "chart" });
    host.append(this.box);
    const wide = Math.max(300, Math.min(1700, host.getBoundingClientRect().width || 900));
    this.left = lanes ? 96 : 78;
    this.width = wide - this.left - 16;
    this.height = lanes ? lanes.length * 24 : height;
    this.x = x;
    this.y = y;
    const whole = this.height + 48;
    this.svg = svg("svg", { viewBox: `${-this.left} -10 ${wide} ${whole}`, width: wide, height: whole, role: "img", tabindex: 0, "aria-label": name });
    this.under = svg("g");
    this.layer = svg("g");
    this.over = svg("g");
    this.svg.append(this.under, this.layer, this.over);
    this.box.append(this.svg);
    this.axes(lanes);
    this.points = [];
  }

  place(axis, length, value) {
    const [low, high] = [axis.low, axis.high];
    const at = axis.log ? (value > 0 ? Math.log10(value) : low) : value;
    return length * Math.max(0, Math.min(1, (at - low) / (high - low || 1)));
  }

  atX(value) { return this.place(this.x, this.width, value); }

  atY(value) { return this.height - this.place(this.y, this.height, value); }

  axes(lanes) {
    for (const [value, text] of this.x.ticks) {
      const at = this.atX(value);
      this.under.append(svg("line", { class: "grid", x1: at, x2: at, y1: 0, y2: this.height }));
      const label = svg("text", { x: at, y: this.height + 16, "text-anchor": "middle" });
      label.textContent = text;
      this.under.append(label);
    }
    const name = svg("text", { class: "title", x: this.width / 2, y: this.height + 34, "text-anchor": "middle" });
    name.textContent = this.x.title;
    this.under.append(name);
    (lanes || []).forEach((text, at) => {
      const label = svg("text", { x: -8, y: at * 24 + 16, "text-anchor": "end" });
      label.textContent = text;
      this.under.append(label, svg("line", { class: "grid", x1: 0, x2: this.width, y1: at * 24 + 24, y2: at * 24 + 24 }));
    });
    for (const [value, text] of lanes ? [] : this.y.ticks) {
      const at = this.atY(value);
      const label = svg("text", { x: -7, y: at + 4, "text-anchor": "end" });
      label.textContent = text;
      this.under.append(svg("line", { class: "grid", x1: 0, x2: this.width, y1: at, y2: at }), label);
    }
    if (!lanes) {
      const name2 = svg("text", { class: "title", transform: `translate(${-this.left + 12},${this.height / 2}) rotate(-90)`, "text-anchor": "middle" });
      name2.textContent = this.y.title;
      this.under.append(name2);
    }
    this.under.append(svg("line", { class: "axis", x1: 0, x2: this.width, y1: this.height, y2: this.height }));
    if (!lanes) this.under.append(svg("line", { class: "axis", x1: 0, x2: 0, y1: 0, y2: this.height }));
  }

  path(d, color, options = {}) {
    const made = svg("path", { d, fill: "none", stroke: color, "stroke-width": 1.5, ...options });
    this.layer.append(made);
    return made;
  }

  dots(places, color, width = 7) {
    if (places.length) this.path(places.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join(""), color, { "stroke-width": width, "stroke-linecap": "round" });
  }

  /* Points are {x, y, text, id} in pixels; the nearest answers to pointer and click. */
  marks(points, alongOnly) {
    this.points = points;
    const hit = svg("rect", { class: "hit", x: 0, y: 0, width: this.width, height: this.height });
    const cursor = svg("g");
    this.over.append(cursor, hit);
    const nearest = (event) => {
      const area = this.svg.getBoundingClientRect();
      const ratio = area.width / Number(this.svg.getAttribute("width"));
      const px = (event.clientX - area.left) / ratio - this.left, py = (event.clientY - area.top) / ratio - 10;
      let best = null, least = Infinity;
      for (const point of points) {
        if (point.x1 !== undefined && (px < point.x - 1 || px > point.x1 + 1)) continue;
        const gap = point.x1 !== undefined ? Math.abs(point.y - py) : alongOnly ? Math.abs(point.x - px) : Math.hypot(point.x - px, point.y - py);
        if (gap < least) { least = gap; best = point; }
      }
      return best;
    };
    const hide = () => { cursor.replaceChildren(); tip(null); };
    const point = (found, event) => {
      cursor.replaceChildren();
      if (found) cursor.append(svg("circle", { class: "pick", cx: middle(found), cy: found.y, r: 5 }));
      tip(found && found.text(), event);
    };
    const choose = (found) => { if (found && found.id) this.app.select(this.app.model.resolve(found.id), { center: true }); };
    hit.addEventListener("pointermove", (event) => point(nearest(event), event));
    hit.addEventListener("pointerleave", hide);
    hit.addEventListener("click", (event) => choose(nearest(event)));
    this.keys(points, point, choose, hide);
    this.chosen = svg("g");
    this.over.append(this.chosen);
    this.choose();
  }

  // Arrows go from mark to mark, Enter selects: what the pointer does, with keys.
  keys(points, point, choose, hide) {
    const along = [...points].sort((a, b) => a.x - b.x);
    let at = -1;
    this.svg.addEventListener("blur", hide);
    this.svg.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: along.length - 1 }[event.key];
      if (to !== undefined && along.length) {
        event.preventDefault();
        at = Math.max(0, Math.min(along.length - 1, to));
        const area = this.svg.getBoundingClientRect(), ratio = area.width / Number(this.svg.getAttribute("width"));
        point(along[at], { clientX: area.left + (middle(along[at]) + this.left) * ratio, clientY: area.top + (along[at].y + 10) * ratio });
      } else if (event.key === "Enter" && at >= 0) choose(along[at]);
      else if (event.key === "Escape") hide();
    });
  }

  choose() {
    if (!this.chosen) return;
    this.chosen.replaceChildren();
    const node = this.app.selected;
    if (!node) return;
    const ids = new Set([node.id, ...node.links.map((each) => each.id)]);
    this.points.filter((point) => ids.has(point.id)).slice(0, 40).forEach((point) => {
      const x = middle(point);
      this.chosen.append(svg("line", { class: "cursor", x1: x, x2: x, y1: 0, y2: this.height }), svg("circle", { class: "pick", cx: x, cy: point.y, r: 5 }));
    });
  }
}

function chartKey(host, rows) {
  host.append(el("div", { class: "legend" }, rows.map(([color, text]) => el("span", {}, el("span", { class: "key", style: `background:${color}` }), text))));
}
