// Elements and numbers as text. Text of a model becomes a text node, never markup.
const $ = (id) => document.getElementById(id);

function el(tag, options, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(options || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value") made.value = value;
    else if (key === "style") made.style.cssText = value; // attributes are refused by the page's policy
    else made.setAttribute(key, value === true ? "" : value);
  }
  if (options && options.checked) made.checked = true;
  for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== "") made.append(child);
  return made;
}

const bdi = (text) => el("bdi", {}, text);

function clip(text, most) {
  if (text.length <= most) return text;
  const end = Math.floor(most / 2);
  return `${text.slice(0, most - end - 1)}…${text.slice(-end)}`;
}

function seconds(value) {
  if (value >= 1) return `${value.toFixed(2)} s`;
  return value >= 1e-3 ? `${(value * 1e3).toFixed(2)} ms` : `${(value * 1e6).toFixed(1)} µs`;
}

function size(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (count >= 1024 && at < 4) { count /= 1024; at += 1; }
  return at ? `${count.toFixed(1)} ${units[at]}` : `${count} B`;
}

function number(value) {
  if (value === null || value === undefined) return "NaN";
  if (typeof value === "string") return value;
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

const percent = (share) => `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)}%`;
const cosine = (value) => (typeof value === "number" ? value.toFixed(6) : number(value));
const shape = (dims) => (dims ? `[${dims.map((dim) => (dim === null ? "?" : dim)).join(", ")}]` : "");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function count(value) {
  if (value >= 1e9) return `${(value / 1e9).toFixed(2)} G`;
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)} M`;
  return value >= 1e4 ? `${(value / 1e3).toFixed(1)} k` : String(value);
}

function copier(text) {
  const button = el("button", { type: "button" }, t("copy"));
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = el("textarea", { class: "unseen", value: text, "aria-hidden": "true" });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = t("copied");
  });
  return button;
}
