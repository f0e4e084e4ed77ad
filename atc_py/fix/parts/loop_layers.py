"""Loops and Scans as recurrences, and the LSTM or GRU that takes their place.

ONNX, LSTM: C = f . C' + i . c, H = o . tanh(C); GRU: H = (1 - z) . h + z . H', where C' and H' are the
states before the step, `.` is the elementwise product, i, o, f, z, r are Sigmoid and c, h Tanh of sums
of products with W (of the slice) and R (of H'). Weights are put in ONNX's order of gates.

Over 400 lines because both layers are found, and written, in the same recurrences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.context import RuleContext
from atc_py.fix.facts import FLOATS
from atc_py.fix.parts.bodies import (
    FIRST_STATE,
    MOST_COUNTED,
    MOST_STEPS,
    body_of,
    elements_of,
    loop_steps,
    starts_true,
    trace,
)
from atc_py.fix.parts.recurrence import FUNCTIONS, Atom, Reader, Rows, Taken, Vector, is_number
from atc_py.fix.unfit import require, skip_unless
from atc_py.onnx_graph.graph import OnnxGraph

_PAIR = 2


@dataclass(frozen=True, slots=True)
class CellLayer:
    """A recurrent layer."""

    op_type: str  # LSTM or GRU
    size: int  # elements of its state
    w: NDArray[np.float64]  # weights of the slice, [1, gates * size, elements of the slice]
    r: NDArray[np.float64]  # weights of the state, [1, gates * size, size]
    b: NDArray[np.float64]  # biases of both, [1, 2 * gates * size]
    states: tuple[int, ...]  # positions of its states among those of the loop
    attributes: Mapping[str, Any]  # of the node, apart from the size


class _Gate(NamedTuple):
    """The argument of a gate: factors of the slice and of the state, and constants of both."""

    w: NDArray[np.float64]
    r: NDArray[np.float64]
    wb: NDArray[np.float64]
    rb: NDArray[np.float64]


def lstm_of(
    updates: Mapping[int, Vector], h: int, c: int, x: tuple[str, int], names: Mapping[int, str]
) -> CellLayer | None:
    """The LSTM whose state is `h`, its cell `c`, by position; None if it is none.

    `updates` are what the states become, `x` is the kind of the atom of the slice with its number
    of elements, `names` are the kinds of the atoms of the states.
    """
    cell, out = _products(updates[c]), _products(updates[h])
    if cell is None or out is None or (len(cell), len(out)) != (_PAIR, 1):
        return None
    kept = next((term for term in cell if _find_atom(term, names[c])), None)
    added = next((term for term in cell if term is not kept), None)
    if kept is None or added is None:
        return None
    forget, gate = _find_atom(kept, "Sigmoid"), _find_atom(added, "Sigmoid")
    new, shown, tanh = (
        _find_atom(added, "Tanh"),
        _find_atom(out[0], "Sigmoid"),
        _find_atom(out[0], "Tanh"),
    )
    if tanh is None or tanh.of is None or tanh.of.key != updates[c].key:
        return None
    atoms = (gate, shown, forget, new)
    gates = [_gate(atom, x, (names[h], updates[h].size)) for atom in atoms]
    return _layer("LSTM", gates, (h, c), {})


def gru_of(
    updates: Mapping[int, Vector], h: int, x: tuple[str, int], names: Mapping[int, str]
) -> CellLayer | None:
    """The GRU whose state is `h`; None if it is none."""
    update = updates[h]
    new = next((a for m in update.terms for a in m if a.kind == "Tanh"), None)
    z = next((a for m in update.terms for a in m if a.kind == "Sigmoid"), None)
    state = next((a for m in update.terms for a in m if a.kind == names[h]), None)
    if new is None or z is None or state is None or update.constant.any():
        return None
    results = {frozenset(monomial): factor for monomial, factor in update.terms.items()}
    signs = {
        1.0: {frozenset({new}): 1.0, frozenset({z, new}): -1.0, frozenset({z, state}): 1.0},
        -1.0: {frozenset({state}): 1.0, frozenset({z, state}): -1.0, frozenset({z, new}): 1.0},
    }
    # A gate with its roles exchanged is the Sigmoid of the negative.
    sign = next((sign for sign, wanted in signs.items() if wanted == results), None)
    if sign is None:
        return None
    own = names[h], update.size
    last, reset, linear = _new_gate(new, x, own)
    first, second = _gate(z, x, own), _gate(reset, x, own)
    if first is not None:
        first = _Gate(*(sign * each for each in first))
    attributes = {"linear_before_reset": int(linear)}
    return _layer("GRU", [first, second, last], (h,), attributes)


def _new_gate(
    atom: Atom, x: tuple[str, int], h: tuple[str, int]
) -> tuple[_Gate | None, Atom | None, bool]:
    """The gate of the new state of a GRU, its reset gate, and if that comes after the product."""
    vector = atom.of
    pairs = [term for term in (vector.terms if vector else {}) if len(term) == _PAIR]
    if vector is None or len(pairs) != 1 or len(vector.terms) > _PAIR:
        return None, None, False
    (pair,) = pairs
    reset = _find_atom(pair, "Sigmoid")
    rest = next((part for part in pair if part is not reset), None)
    w = tables.zeros((x[1], vector.size))
    for monomial, factor in vector.terms.items():
        if monomial is not pair:
            if monomial[0].kind != x[0]:
                return None, None, False
            w = _matrix(factor, x[1])
    bias, factor = vector.whole_constant, vector.terms[pair]
    if rest is None:
        return None, None, False
    if rest.kind == h[0]:
        return _Gate(w, _matrix(factor, h[1]), bias, np.zeros_like(bias)), reset, False
    inner = None if rest.kind != "linear" else _gate(rest, x, h)
    if inner is None or inner.w.any() or not is_number(factor, 1.0):
        return None, None, False
    return _Gate(w, inner.r, bias, inner.wb), reset, True


def _products(vector: Vector) -> list[tuple[Atom, ...]] | None:
    """The products of two atoms that a vector is the sum of; None if it is another sum."""
    plain = all(
        len(term) == _PAIR and is_number(factor, 1.0) for term, factor in vector.terms.items()
    )
    return list(vector.terms) if plain and not vector.constant.any() else None


def _find_atom(monomial: Sequence[Atom], kind: str) -> Atom | None:
    return next((atom for atom in monomial if atom.kind == kind), None)


def _gate(atom: Atom | None, x: tuple[str, int], h: tuple[str, int]) -> _Gate | None:
    """The argument of an atom; None if it has more than the slice and the state."""
    if atom is None or atom.of is None:
        return None
    known = {kind: tables.zeros((size, atom.size)) for kind, size in (x, h)}
    for monomial, factor in atom.of.terms.items():
        if len(monomial) != 1 or monomial[0].kind not in known:
            return None
        known[monomial[0].kind] = _matrix(factor, monomial[0].size)
    bias = atom.of.whole_constant
    return _Gate(known[x[0]], known[h[0]], bias, np.zeros_like(bias))


def _matrix(factor: float | NDArray[np.float64], size: int) -> NDArray[np.float64]:
    return factor * tables.eye(size) if isinstance(factor, float) else factor


def _layer(
    op_type: str,
    gates: Sequence[_Gate | None],
    states: tuple[int, ...],
    attributes: Mapping[str, Any],
) -> CellLayer | None:
    """A layer, given its gates in ONNX's order; None if one is missing."""
    known = [gate for gate in gates if gate is not None]
    if len(known) < len(gates):
        return None
    size = known[0].r.shape[0]
    if any(row.r.shape != (size, size) for row in known):
        return None
    w = np.concatenate([row.w.T for row in known])[None]
    r = np.concatenate([row.r.T for row in known])[None]
    biases = [row.wb for row in known] + [row.rb for row in known]
    return CellLayer(op_type, size, w, r, np.concatenate(biases)[None], states, attributes)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A Loop or Scan."""

    steps: int  # how often the body runs
    first: int  # position of the first state among the inputs of the node
    before: int  # position of the first state among the outputs of the body
    count: int  # number of states
    body: OnnxGraph
    reader: Reader  # its values as vectors
    # values of the body that constants decide, for every step, by name
    decided: Mapping[str, list[NDArray[Any]]]

    @property
    def updates(self) -> dict[int, Vector]:
        """The states that are read after a step, by position."""
        results = {at: self.result(at) for at in range(self.count)}
        return {at: item.vector for at, item in results.items() if item is not None}

    @property
    def names(self) -> dict[int, str]:
        """Kinds of the atoms of the states, by position."""
        return {at: f"state {at}" for at in range(self.count)}

    @property
    def slices(self) -> list[tuple[str, int]]:
        """Kinds of the atoms of slices, with their number of elements."""
        sizes = {
            row.vector.single.kind: row.vector.size
            for row in self.reader.rows.values()
            if row.vector.single is not None
        }
        return [(kind, sizes[kind]) for kind in self.reader.taken if kind in sizes]

    def result(self, at: int) -> Rows | None:
        """An output of the body, counted from the first state; None if it is not read."""
        return self.reader.rows.get(self.body.outputs[self.before + at])


def read_recurrence(ctx: RuleContext) -> Recurrence:
    operators = {node.op_type for node in body_of(ctx, "body").nodes}
    skip_unless(operators >= FUNCTIONS)
    return _read_loop(ctx) if ctx.node.op_type == "Loop" else _read_scan(ctx)


def _read_loop(ctx: RuleContext) -> Recurrence:
    body, steps = body_of(ctx, "body"), loop_steps(ctx, MOST_COUNTED)
    require(0 < steps <= MOST_COUNTED, "1 to {most_counted} steps", most_counted=MOST_COUNTED)
    count = len(ctx.node.inputs) - FIRST_STATE
    decided = _decided(ctx, body, steps)
    reader = _reader(ctx, body, decided)
    for at in range(count):
        given = ctx.input(FIRST_STATE + at)
        name = [*body.inputs][FIRST_STATE + at]
        if name not in decided and given.dtype in FLOATS and not given.is_open:
            reader.state(name, f"state {at}", given.shape)
    reader.read(body.nodes)
    return Recurrence(steps, FIRST_STATE, 1, count, body, reader, decided)


def _read_scan(ctx: RuleContext) -> Recurrence:
    require(ctx.node.opset >= 9, "the opset is 9 or more")  # noqa: PLR2004
    body, scanned = body_of(ctx, "body"), ctx.integer("num_scan_inputs", 0)
    inputs = [*body.inputs]
    require(0 <= scanned <= len(ctx.node.inputs), "it scans inputs that it has")
    count = len(ctx.node.inputs) - scanned
    axes = ctx.integers("scan_input_axes", [0] * scanned)
    backward = ctx.integers("scan_input_directions", [0] * scanned)
    reader = _reader(ctx, body, {})
    for at in range(count):
        reader.state(inputs[at], f"state {at}", ctx.shape(at))
    steps = 0
    for at, axis in enumerate(axes):
        dims = ctx.shape(count + at)
        axis %= len(dims)  # noqa: PLW2901  (negative axes count from the end)
        steps = dims[axis]
        places = range(steps)[::-1] if backward[at] else range(steps)
        kind = f"slice {at}"
        reader.taken[kind] = Taken(ctx.name(count + at), axis, tuple(places))
        reader.state(inputs[count + at], kind, (*dims[:axis], *dims[axis + 1 :]))
    require(steps > 0, "there are steps")
    reader.read(body.nodes)
    return Recurrence(steps, 0, 0, count, body, reader, {})


def _reader(ctx: RuleContext, body: OnnxGraph, decided: Mapping[str, list[NDArray[Any]]]) -> Reader:
    around = ctx.around
    constants = {name: const.numpy() for name, const in body.consts.items()}
    for node in body.nodes:
        for name in node.input_names:
            value = None if name in body.inputs else around.known(name)
            if value is not None:
                constants.setdefault(name, value)
    for name, values in decided.items():
        if all(np.array_equal(value, values[0]) for value in values):
            constants.setdefault(name, values[0])
    return Reader(constants, decided, around.graph.static_shape)


def _decided(ctx: RuleContext, body: OnnxGraph, steps: int) -> dict[str, list[NDArray[Any]]]:
    known = {name for name in ctx.node.captured if name in ctx.around.graph.consts}
    inputs = [*body.inputs]
    known |= {*body.consts, *inputs[:FIRST_STATE]}
    states = list(zip(inputs[FIRST_STATE:], body.outputs[1:], strict=False))
    fixed = [
        pair
        for at, pair in enumerate(states)
        if (given := ctx.tensor(FIRST_STATE + at)) is not None and given.const is not None
    ]
    while True:
        made = _reached(body, known | {name for name, _ in fixed})
        still = [(name, update) for name, update in fixed if update in made]
        if still == fixed:
            break
        fixed = still
    wanted = sorted(made - known)
    traced = trace(ctx, steps - 1, going=starts_true(ctx), first=FIRST_STATE, wanted=wanted)
    seen = {} if traced is None else {name: list(each) for name, each in traced.seen.items()}
    return {**seen, inputs[0]: [np.array(step) for step in range(steps)]}


def _reached(body: OnnxGraph, known: set[str]) -> set[str]:
    made = set(known)
    for node in body.nodes:
        if not node.domain and made.issuperset(filter(None, node.input_names)):
            made.update(node.output_names)
    return made


def write_layer(ctx: RuleContext, loop: Recurrence, layer: CellLayer, x: str) -> list[str]:
    """Write the layer that a Loop or Scan is; return the outputs of the node.

    `x` is the kind of the atom of the slice.
    """
    element = ctx.input(loop.first + layer.states[0]).dtype
    require(element in FLOATS, "the states are floats")
    hidden = loop.result(layer.states[0])
    rows = 0 if hidden is None else hidden.rows
    starts = [ctx.reshape(ctx.name(loop.first + at), [1, rows, layer.size]) for at in layer.states]
    sequence = _sequence(ctx, loop, x, rows)
    weights = [ctx.const(value, element, "weights") for value in (layer.w, layer.r, layer.b)]
    results = ctx.ops(
        layer.op_type, sequence, *weights, "", *starts, count=1 + len(starts),
        hidden_size=layer.size, **layer.attributes,
    )  # fmt: skip
    outputs = [_last(ctx, loop, layer, results, at) for at in range(loop.count)]
    scanned = range(loop.count, len(loop.body.outputs) - loop.before)
    return [*outputs, *(_stacked(ctx, loop, layer, results[0], at) for at in scanned)]


def _sequence(ctx: RuleContext, loop: Recurrence, x: str, rows: int) -> str:
    taken = loop.reader.taken[x]
    dims = ctx.around.graph.static_shape(taken.sequence)
    require(dims is not None, "the dims of the sequence are known")
    dims = dims or ()
    name = taken.sequence
    if taken.places != tuple(range(dims[taken.axis])):
        name = ctx.op("Gather", name, ctx.const(taken.places), axis=taken.axis)
    order = [taken.axis, *(at for at in range(len(dims)) if at != taken.axis)]
    size = int(np.prod(dims, dtype=np.int64)) // dims[taken.axis] // rows
    return ctx.reshape(ctx.transpose(name, order), [loop.steps, rows, size])


def _last(
    ctx: RuleContext, loop: Recurrence, layer: CellLayer, results: Sequence[str], at: int
) -> str:
    if ctx.output(at) is None:
        return ""
    name = loop.body.outputs[loop.before + at]
    if name in loop.decided:
        value = loop.decided[name][-1]
        return ctx.const(value, ctx.input(loop.first + at).dtype, "state")
    if ctx.input(loop.first + at).dtype is None:
        return _gathered(ctx, loop, layer, results[0], at)
    result = loop.result(at)
    require(result is not None, "every output is a state of the layer")
    for position, state in enumerate(layer.states):
        same = loop.result(state)
        if result is not None and same is not None and result.vector.key == same.vector.key:
            return ctx.reshape(results[1 + position], result.dims)
    own = None if result is None else result.vector.single
    require(own is not None and own.kind == loop.names[at], "every output is a state of the layer")
    return ctx.name(loop.first + at)


def _gathered(ctx: RuleContext, loop: Recurrence, layer: CellLayer, y: str, at: int) -> str:
    own, name = [*loop.body.inputs][loop.first + at], loop.body.outputs[loop.before + at]
    maker = loop.body.producer(name)
    inserts = maker is not None and maker.op_type == "SequenceInsert"
    appended = "what is appended is the state of the layer"
    require(inserts and not elements_of(ctx, ctx.name(loop.first + at)), appended)
    require(
        loop.steps <= MOST_STEPS,
        "at most {most_steps} steps",
        found=loop.steps,
        most_steps=MOST_STEPS,
    )
    inputs = () if maker is None else tuple(filter(None, maker.input_names))
    added = loop.reader.rows.get(inputs[1]) if len(inputs) == len((own, name)) else None
    same = loop.result(layer.states[0])
    alike = added is not None and same is not None and added.vector.key == same.vector.key
    require(alike and inputs[0] == own, appended)
    stacked = ctx.reshape(y, [loop.steps, *(() if added is None else added.dims)])
    return ctx.op("SplitToSequence", stacked, axis=0, keepdims=0)


def _stacked(ctx: RuleContext, loop: Recurrence, layer: CellLayer, y: str, at: int) -> str:
    if ctx.output(at) is None:
        return ""
    result, same = loop.result(at), loop.result(layer.states[0])
    alike = result is not None and same is not None and result.vector.key == same.vector.key
    require(alike, "what is scanned is the state of the layer")
    dims = () if result is None else result.dims
    stacked = ctx.reshape(y, [loop.steps, *dims])
    if ctx.node.op_type == "Loop":
        return stacked
    position = at - loop.count
    count = len(loop.body.outputs) - loop.count
    into = ctx.integers("scan_output_axes", [0] * count)[position] % (len(dims) + 1)
    if ctx.integers("scan_output_directions", [0] * count)[position]:
        back = ctx.const(range(loop.steps)[::-1])
        stacked = ctx.op("Gather", stacked, back, axis=0)
    order = list(range(1, len(dims) + 1))
    order.insert(into, 0)
    return ctx.transpose(stacked, order)
