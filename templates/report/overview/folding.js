// Folding: nodes with one key share a box as long as the boxes do not depend on each other in a circle.
function prefixOf(name, depth) {
  const parts = name.split(/[/.]/).filter(Boolean);
  return parts.length > depth ? parts.slice(0, depth).join("/") : "";
}

// Keys of nodes: boxes gather nodes of equal keys; nodes without a key stand alone.
function keysOf(graph, mode) {
  const keys = new Map();
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
  if (graph.count <= 450) return "none";
  const named = modes.filter((mode) => mode > 0).reverse();
  for (const mode of named) {
    const boxes = foldGraph(graph, mode, new Set()).boxes.length;
    if (boxes <= 450 && boxes < graph.count * 0.6) return mode;
  }
  return modes.includes("launch") && foldGraph(graph, "launch", new Set()).boxes.length < graph.count * 0.6 ? "launch" : "none";
}

function foldModes(graph, hasLaunches) {
  const modes = ["none"];
  if (hasLaunches) modes.push("launch");
  for (let depth = 1; depth <= 4; depth += 1) {
    if (graph.nodes.some((node) => prefixOf(node.name, depth))) modes.push(String(depth));
  }
  return modes;
}
