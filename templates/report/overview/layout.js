// Layout: the graph is cut where all that follows depends on one node, dagre lays out each piece (equal
// pieces once), and pieces are stacked in columns, so that a deep network is seen whole.
const GAP_X = 14, GAP_Y = 22, COLUMN_GAP = 90, WHOLE = 1200;

// Producers first; what reads nothing stands right before its first reader, which keeps pieces small.
function order(count, edges) {
  const before = Array.from({ length: count }, () => []);
  const isRead = new Array(count).fill(false);
  edges.forEach(([a, b]) => { before[b].push(a); isRead[a] = true; });
  const state = new Uint8Array(count); // 1: waits for others, 2: placed
  const found = [];
  const visit = (start) => {
    const stack = [start];
    while (stack.length) {
      const box = stack[stack.length - 1];
      if (state[box] === 2) { stack.pop(); continue; }
      const open = state[box] === 1 ? [] : before[box].filter((each) => state[each] === 0);
      state[box] = 1;
      if (open.length) stack.push(...open.reverse());
      else { state[box] = 2; found.push(box); stack.pop(); }
    }
  };
  for (let box = 0; box < count; box += 1) if (before[box].length || !isRead[box]) visit(box);
  return found;
}

function pieces(sorted, edges) {
  const position = new Array(sorted.length);
  sorted.forEach((box, at) => { position[box] = at; });
  const lastUse = new Array(sorted.length).fill(-1);
  edges.forEach(([a, b]) => { lastUse[position[a]] = Math.max(lastUse[position[a]], position[b]); });
  const ends = Array.from({ length: sorted.length }, () => 0);
  const found = [];
  let open = 0, start = 0;
  for (let at = 0; at < sorted.length; at += 1) {
    open -= ends[at];
    if (lastUse[at] > at) { open += 1; ends[lastUse[at]] += 1; }
    if (open === 0 || (open === 1 && lastUse[at] > at)) { found.push([start, at + 1, open === 1]); start = at + 1; }
  }
  if (start < sorted.length) found.push([start, sorted.length, false]);
  return { found, position };
}

function dagreOf(widths, heights, edges, hasStart) {
  const graph = new dagre.graphlib.Graph({ multigraph: false });
  graph.setGraph({ nodesep: GAP_X, ranksep: GAP_Y, ranker: "longest-path", marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  widths.forEach((width, at) => graph.setNode(String(at), { width: hasStart && at === 0 ? 2 : width, height: hasStart && at === 0 ? 2 : heights[at] }));
  edges.forEach(([a, b]) => graph.setEdge(String(a), String(b)));
  dagre.layout(graph);
  const places = widths.map((_, at) => graph.node(String(at)));
  return {
    width: graph.graph().width || 0, height: graph.graph().height || 0, xs: places.map((place) => place.x), ys: places.map((place) => place.y),
    lines: edges.map(([a, b]) => graph.edge(String(a), String(b)).points.map((point) => [point.x, point.y])),
  };
}

// A piece too large for dagre: rows by depth, straight lines.
function rowsOf(widths, heights, edges) {
  const depth = new Array(widths.length).fill(0);
  edges.forEach(([a, b]) => { depth[b] = Math.max(depth[b], depth[a] + 1); });
  const used = [];
  const xs = [], ys = [];
  let wide = 0;
  widths.forEach((width, at) => {
    const x = used[depth[at]] || 0;
    used[depth[at]] = x + width + GAP_X;
    wide = Math.max(wide, x + width);
    xs.push(x + width / 2);
    ys.push(depth[at] * (heights[at] + GAP_Y) + heights[at] / 2);
  });
  const lines = edges.map(([a, b]) => [[xs[a], ys[a]], [xs[b], ys[b]]]);
  return { width: wide, height: Math.max(...depth) * (heights[0] + GAP_Y) + heights[0], xs, ys, lines };
}

// Set x, y, w and h of every box; return the pieces with their lines, and the size of the whole.
function layoutView(view, aspect) {
  const { boxes, edges } = view;
  const sorted = order(boxes.length, edges);
  const { found, position } = pieces(sorted, edges);
  const inner = found.map(() => []);
  const pieceOf = new Array(boxes.length);
  found.forEach(([from, to], at) => { for (let each = from; each < to; each += 1) pieceOf[each] = at; });
  edges.forEach(([a, b]) => inner[pieceOf[position[b]]].push([position[a], position[b]]));
  inner.forEach((rows) => rows.sort((one, two) => one[1] - two[1] || one[0] - two[0]));
  const memo = new Map();
  const made = found.map(([from, to], at) => {
    const rows = inner[at];
    const hasStart = rows.some(([a]) => a < from);
    const shift = hasStart ? 1 : 0;
    const local = sorted.slice(from, to).map((box) => boxes[box]);
    const widths = [...(hasStart ? [2] : []), ...local.map((box) => box.w)];
    const heights = [...(hasStart ? [2] : []), ...local.map((box) => box.h)];
    const links = rows.map(([a, b]) => [a < from ? 0 : a - from + shift, b - from + shift]);
    const key = JSON.stringify([hasStart, widths, heights, links]);
    if (!memo.has(key)) memo.set(key, widths.length > WHOLE ? rowsOf(widths, heights, links) : dagreOf(widths, heights, links, hasStart));
    return { local, hasStart, shape: memo.get(key), source: hasStart ? boxes[sorted[rows.find(([a]) => a < from)[0]]] : null, links, shift };
  });
  return stack(made, aspect);
}

function stack(made, aspect) {
  const total = made.reduce((sum, piece) => sum + piece.shape.height + GAP_Y, 0);
  const wide = made.reduce((most, piece) => Math.max(most, piece.shape.width), 1);
  const columns = Math.max(1, Math.min(60, Math.round(Math.sqrt((total / (wide + COLUMN_GAP)) * aspect))));
  const limit = Math.max(total / columns, 400);
  const groups = [[]];
  let height = 0;
  for (const piece of made) {
    if (height > 0 && height + piece.shape.height > limit * 1.05) { groups.push([]); height = 0; }
    groups[groups.length - 1].push(piece);
    height += piece.shape.height + GAP_Y;
  }
  let left = 0, bottom = 0;
  const placed = [];
  for (const group of groups) {
    const width = Math.max(...group.map((piece) => piece.shape.width), 40);
    let y = 0;
    group.forEach((piece, at) => { placed.push(place(piece, left, width, y, at === 0 && left > 0)); y += piece.shape.height + GAP_Y; });
    bottom = Math.max(bottom, y);
    left += width + COLUMN_GAP;
  }
  return { pieces: placed, width: Math.max(left - COLUMN_GAP, 1), height: Math.max(bottom, 1) };
}

function place(piece, left, width, y, isTop) {
  const { shape, local, hasStart, source, links, shift } = piece;
  let x = left + (width - shape.width) / 2;
  if (hasStart && !isTop) {
    const wanted = source.x - shape.xs[0];
    if (wanted >= left - 1 && wanted + shape.width <= left + width + 1) x = wanted;
  }
  local.forEach((box, at) => { box.x = x + shape.xs[at + shift]; box.y = y + shape.ys[at + shift]; });
  const lines = shape.lines.map((points, at) => ({ points: points.map(([px, py]) => [x + px, y + py]), arrow: links[at][1] >= shift }));
  if (hasStart) {
    const start = [x + shape.xs[0], y + shape.ys[0]];
    const under = source.y + source.h / 2;
    const points = isTop
      ? [[source.x, under], [source.x, under + 16], [left - COLUMN_GAP / 2, under + 16], [left - COLUMN_GAP / 2, y - 14], [start[0], y - 14], start]
      : [[source.x, under], start];
    lines.push({ points, bus: isTop });
  }
  const box = { x0: Math.min(x, ...lines.flatMap((line) => line.points.map((point) => point[0]))), y0: y - 16, x1: x + shape.width, y1: y + shape.height + 10 };
  if (isTop && hasStart) { box.x0 = Math.min(box.x0, source.x); box.y1 = Math.max(box.y1, source.y + source.h); }
  return { boxes: local, lines, ...box };
}
