// Folding: nodes with one key share a box as long as the boxes do not depend on each other in a circle.
function prefixOf(name, depth) {
  const parts = name.split(/[/.]/).filter(Boolean);
  return parts.length > depth ? parts.slice(0, depth).join("/") : "";
}

// Nodes that a view shows well; larger graphs open folded.
const READABLE = 80;
const LONGEST_CHAIN = 8;
const LARGEST_BLOCK = 40;

// Parts of a graph between which one value passes: blocks with branches, and runs of single nodes.
// Values that are read far away (masks, skip connections) do not hold blocks together.
function partsOf(nodes) {
  const at = new Map(nodes.map((node, place) => [node, place]));
  const reach = Math.max(LARGEST_BLOCK, nodes.length / 5);
  const ends = new Array(nodes.length).fill(0);
  let open = 0;
  const parts = [];
  let part = [];
  nodes.forEach((node, place) => {
    const last = Math.max(-1, ...node.to.map((each) => (at.has(each) ? at.get(each) : -1)));
    open -= ends[place];
    if (last > place && last - place <= reach) { open += 1; ends[last] += 1; }
    part.push(node);
    if (open <= 1) { parts.push(part); part = []; }
  });
  if (part.length) parts.push(part);
  return parts;
}

// `Conv2D ×3 Relu ×2 Add`: operators of a block, in their order.
function blockName(nodes) {
  const counts = new Map();
  for (const node of nodes) counts.set(node.op, (counts.get(node.op) || 0) + 1);
  return [...counts].map(([op, count]) => (count > 1 ? `${op} ×${count}` : op)).join(" ");
}

// Keys by block: blocks with branches are boxes, and so are the chains between them.
function blocksOf(graph, keys) {
  let chain = [];
  let number = 0;
  const close = (nodes) => {
    number += 1;
    if (nodes.length > 1) nodes.forEach((node) => keys.set(node, `${number}: ${blockName(nodes)}`));
  };
  const closeChain = () => { if (chain.length) close(chain); chain = []; };
  for (const part of partsOf(graph.nodes.filter((node) => !node.end))) {
    if (part.length > LARGEST_BLOCK) {
      closeChain();
      chainsOf(part).forEach(close);
      continue;
    }
    if (part.length > 1) { closeChain(); close(part); continue; }
    chain.push(part[0]);
    if (chain.length === LONGEST_CHAIN) closeChain();
  }
  closeChain();
  return keys;
}

// Runs of nodes of which each is the only reader of the one before.
function chainsOf(nodes) {
  const own = new Set(nodes);
  const chainOf = new Map();
  const chains = [];
  for (const node of nodes) {
    const [before, ...others] = node.from.filter((each) => own.has(each));
    const joins = before && !others.length && before.to.length === 1 && chainOf.get(before).length < LONGEST_CHAIN;
    const chain = joins ? chainOf.get(before) : [];
    if (!joins) chains.push(chain);
    chain.push(node);
    chainOf.set(node, chain);
  }
  return chains;
}

// Keys of nodes: boxes gather nodes of equal keys; nodes without a key stand alone.
function keysOf(graph, mode) {
  const keys = new Map();
  if (mode === "blocks") return blocksOf(graph, keys);
  const launchOf = (node) => node && (node.launch ? `launch ${node.launch}` : node.side === "c" ? "" : node.name);
  for (const node of graph.nodes) {
    if (node.end || mode === "none") continue;
    if (mode !== "launch") keys.set(node, prefixOf(node.name, Number(mode)));
    else if (node.side === "c") keys.set(node, launchOf(node));
    else if (node.links.length) keys.set(node, node.links[0].launch ? launchOf(node.links[0]) : node.links[0].name);
  }
  if (mode !== "launch" || graph.side === "c") return keys;
  // What was computed at compile time goes with what reads it.
  for (const node of [...graph.nodes].reverse()) {
    if (!keys.has(node) && !node.end && node.to.length) keys.set(node, keys.get(node.to[0]) || "");
  }
  return keys;
}

// Return boxes, producers first, and edges between them; `open` has keys of boxes that are shown unfolded.
function foldGraph(graph, mode, open) {
  const boxes = [];
  const boxOf = new Map();
  const last = new Map();
  const stretch = new Map();
  const keys = keysOf(graph, mode);
  for (const node of graph.nodes) {
    const key = keys.get(node) || "";
    const before = new Set(node.from.map((each) => boxOf.get(each)).filter(Boolean));
    let box = key && last.get(key);
    if (box && circles(box, before)) box = null;
    if (!box) {
      box = { at: boxes.length, key: "", name: key, nodes: [], before: new Set(), first: boxes.length };
      if (key) {
        const turn = (stretch.get(key) || 0) + 1;
        stretch.set(key, turn);
        box.key = `${key}#${turn}`;
        last.set(key, box);
      }
      boxes.push(box);
    }
    box.nodes.push(node);
    boxOf.set(node, box);
    before.forEach((each) => { if (each !== box) box.before.add(each); });
  }
  return unfolded(boxes, open);
}

// True if a box of `before` other than `box` depends on `box`: then `box` cannot take what reads it.
function circles(box, before) {
  const seen = new Set();
  const queue = [...before].filter((each) => each !== box);
  while (queue.length) {
    const next = queue.pop();
    if (seen.has(next)) continue;
    seen.add(next);
    if (seen.size > 400) return true;
    for (const each of next.before) {
      if (each === box) return true;
      queue.push(each);
    }
  }
  return false;
}

function unfolded(boxes, open) {
  const shown = [];
  const boxOf = new Map();
  const add = (nodes, box) => {
    const made = { nodes, name: box.name, key: nodes.length > 1 ? box.key : "", at: shown.length, parent: box.key };
    nodes.forEach((node) => boxOf.set(node, made));
    shown.push(made);
  };
  for (const box of boxes) {
    if (box.nodes.length > 1 && open.has(box.key)) box.nodes.forEach((node) => add([node], box));
    else add(box.nodes, box);
  }
  const edges = new Map();
  for (const box of shown) {
    for (const node of box.nodes) {
      for (const from of node.from) {
        const start = boxOf.get(from);
        if (start !== box) edges.set(start.at * shown.length + box.at, [start.at, box.at]);
      }
    }
  }
  return { boxes: shown, edges: [...edges.values()], boxOf };
}

// The folding that a graph opens with: names where they have levels, else launches, else nothing.
function firstFold(graph, modes) {
  if (graph.count <= READABLE) return "none";
  if (graph.count <= 450) return foldGraph(graph, "blocks", new Set()).boxes.length < graph.count * 0.6 ? "blocks" : "none";
  const named = modes.filter((mode) => mode > 0).reverse();
  for (const mode of named) {
    const boxes = foldGraph(graph, mode, new Set()).boxes.length;
    if (boxes <= 450 && boxes < graph.count * 0.6) return mode;
  }
  return modes.includes("launch") && foldGraph(graph, "launch", new Set()).boxes.length < graph.count * 0.6 ? "launch" : "none";
}

function foldModes(graph, hasLaunches) {
  const modes = ["none", "blocks"];
  if (hasLaunches) modes.push("launch");
  for (let depth = 1; depth <= 4; depth += 1) {
    if (graph.nodes.some((node) => prefixOf(node.name, depth))) modes.push(String(depth));
  }
  return modes;
}
