"""Loops and Scans as recurrences, and the recurrent layer that takes their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.fix.parts.bodies import body_of, trace
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.recurrence import FUNCTIONS, Reader, Rows, Taken
from atc_py.fix.parts.sequences import elements_of
from atc_py.fix.parts.steps import FIRST_STATE, MOST_COUNTED, MOST_STEPS, loop_steps, starts_true
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.fix.parts.recurrent_layers import CellLayer
    from atc_py.fix.parts.vectors import Vector
    from atc_py.fix.site import Site
    from atc_py.frontend.rewriting.graph_body import GraphBody

__all__ = ["Recurrence", "read_recurrence", "write_layer"]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A Loop or Scan.

    Attributes:
        steps: how often the body runs.
        first: position of the first state among the inputs of the node.
        before: position of the first state among the outputs of the body.
        count: number of states.
        body: the body.
        reader: its values as vectors.
        decided: values of the body that constants decide, for every step, by name.
    """

    steps: int
    first: int
    before: int
    count: int
    body: GraphBody
    reader: Reader
    decided: Mapping[str, list[NDArray[Any]]]

    @property
    def updates(self) -> dict[int, Vector]:
        """The states that are read after a step, by position."""
        found = {at: self.result(at) for at in range(self.count)}
        return {at: each.vector for at, each in found.items() if each is not None}

    @property
    def names(self) -> dict[int, str]:
        """Kinds of the atoms of the states, by position."""
        return {at: f"state {at}" for at in range(self.count)}

    @property
    def slices(self) -> list[tuple[str, int]]:
        """Kinds of the atoms of slices, with their number of elements."""
        sizes = {
            each.vector.single.kind: each.vector.size
            for each in self.reader.rows.values()
            if each.vector.single is not None
        }
        return [(kind, sizes[kind]) for kind in self.reader.taken if kind in sizes]

    def result(self, at: int) -> Rows | None:
        """Return an output of the body, counted from the first state; None if it is not read."""
        return self.reader.rows.get(self.body.outputs[self.before + at])


def read_recurrence(site: Site) -> Recurrence:
    """Read the node.

    Raises:
        UnfitError: its steps are not known, or it has no gates.
    """
    found = {node.op_type for node in body_of(site, "body").nodes}
    require(found >= FUNCTIONS, "the body has gates", "循环体含门")
    return _read_loop(site) if site.node.op_type == "Loop" else _read_scan(site)


def _read_loop(site: Site) -> Recurrence:
    """Read a Loop."""
    body, steps = body_of(site, "body"), loop_steps(site, MOST_COUNTED)
    require(0 < steps <= MOST_COUNTED, f"1 to {MOST_COUNTED} steps", f"1 至 {MOST_COUNTED} 步")
    count = len(site.node.inputs) - FIRST_STATE
    decided = _decided(site, body, steps)
    reader = _reader(site, body, decided)
    for at in range(count):
        given = site.input(FIRST_STATE + at)
        name = body.inputs[FIRST_STATE + at]
        if name not in decided and given.dtype in FLOATS and not given.is_open:
            reader.state(name, f"state {at}", given.shape)
    reader.read(body.nodes)
    return Recurrence(steps, FIRST_STATE, 1, count, body, reader, decided)


def _read_scan(site: Site) -> Recurrence:
    """Read a Scan."""
    require(site.node.opset >= 9, "the opset is 9 or more", "opset 不低于 9")  # noqa: PLR2004
    body, scanned = body_of(site, "body"), site.integer("num_scan_inputs", 0)
    count = len(site.node.inputs) - scanned
    axes = site.integers("scan_input_axes", [0] * scanned)
    backward = site.integers("scan_input_directions", [0] * scanned)
    reader = _reader(site, body, {})
    for at in range(count):
        reader.state(body.inputs[at], f"state {at}", site.shape(at))
    steps = 0
    for at, axis in enumerate(axes):
        dims = site.shape(count + at)
        axis %= len(dims)  # noqa: PLW2901  (negative axes count from the end)
        steps = dims[axis]
        places = range(steps)[::-1] if backward[at] else range(steps)
        kind = f"slice {at}"
        reader.taken[kind] = Taken(site.name(count + at), axis, tuple(places))
        reader.state(body.inputs[count + at], kind, (*dims[:axis], *dims[axis + 1 :]))
    require(steps > 0, "there are steps", "至少一步")
    reader.read(body.nodes)
    return Recurrence(steps, 0, 0, count, body, reader, {})


def _reader(site: Site, body: GraphBody, decided: Mapping[str, list[NDArray[Any]]]) -> Reader:
    """Return a reader that knows the constants of a body."""
    around = site.around
    constants: dict[str, NDArray[Any]] = {**body.constants}
    for node in body.nodes:
        if node.value is not None:
            constants[node.outputs[0]] = node.value
        for name in node.inputs:
            value = None if around is None or name in body.inputs else around.known(name)
            if value is not None:
                constants.setdefault(name, value)
    for name, values in decided.items():
        if all(np.array_equal(each, values[0]) for each in values):
            constants.setdefault(name, values[0])
    graph = None if around is None else around.graph
    return Reader(constants, decided, lambda name: graph.static_shape(name) if graph else None)


def _decided(site: Site, body: GraphBody, steps: int) -> dict[str, list[NDArray[Any]]]:
    """Return the values of a Loop's body that constants and the step decide."""
    work, around = site.work, site.around
    if work is None or around is None:
        return {}
    known = {name for name in work.captured if name in around.graph.consts}
    known |= {*body.constants, *body.inputs[:FIRST_STATE]}
    known |= {node.outputs[0] for node in body.nodes if node.value is not None}
    states = list(zip(body.inputs[FIRST_STATE:], body.outputs[1:], strict=False))
    fixed = [
        pair
        for at, pair in enumerate(states)
        if (given := site.tensor(FIRST_STATE + at)) is not None and given.const is not None
    ]
    while True:
        made = _reached(body, known | {name for name, _ in fixed})
        still = [(name, update) for name, update in fixed if update in made]
        if still == fixed:
            break
        fixed = still
    wanted = sorted(made - known)
    found = trace(site, steps - 1, going=starts_true(site), first=FIRST_STATE, wanted=wanted)
    seen = {} if found is None else {name: list(each) for name, each in found.seen.items()}
    return {**seen, body.inputs[0]: [np.array(step) for step in range(steps)]}


def _reached(body: GraphBody, known: set[str]) -> set[str]:
    """Return the names of a body that depend on known ones alone."""
    made = set(known)
    for node in body.nodes:
        if not node.domain and made.issuperset(filter(None, node.inputs)):
            made.update(node.outputs)
    return made


def write_layer(site: Site, loop: Recurrence, layer: CellLayer, x: str) -> list[str]:
    """Write the layer that a Loop or Scan is; return the outputs of the node.

    Args:
        site: the node.
        loop: the node as a recurrence.
        layer: the layer.
        x: kind of the atom of the slice.

    Raises:
        UnfitError: an output is another function of the states.
    """
    element = site.input(loop.first + layer.states[0]).dtype
    require(element in FLOATS, "the states are floats", "状态为浮点数")
    hidden = loop.result(layer.states[0])
    rows = 0 if hidden is None else hidden.rows
    starts = [
        site.reshape(site.name(loop.first + at), [1, rows, layer.size]) for at in layer.states
    ]
    sequence = _sequence(site, loop, x, rows)
    weights = [site.const(each, element, "weights") for each in (layer.w, layer.r, layer.b)]
    found = site.ops(
        layer.op_type, [sequence, *weights, "", *starts], 1 + len(starts),
        hidden_size=layer.size, **layer.attributes,
    )  # fmt: skip
    outputs = [_last(site, loop, layer, found, at) for at in range(loop.count)]
    scanned = range(loop.count, len(loop.body.outputs) - loop.before)
    return [*outputs, *(_stacked(site, loop, layer, found[0], at) for at in scanned)]


def _sequence(site: Site, loop: Recurrence, x: str, rows: int) -> str:
    """Write the slices of all steps as [steps, rows, elements]."""
    taken = loop.reader.taken[x]
    graph = None if site.around is None else site.around.graph
    dims = None if graph is None else graph.static_shape(taken.sequence)
    require(dims is not None, "the dims of the sequence are known", "序列形状已知")
    dims = dims or ()
    name = taken.sequence
    if taken.places != tuple(range(dims[taken.axis])):
        name = site.op("Gather", [name, site.const(taken.places)], axis=taken.axis)
    order = [taken.axis, *(at for at in range(len(dims)) if at != taken.axis)]
    size = int(np.prod(dims, dtype=np.int64)) // dims[taken.axis] // rows
    return site.reshape(site.transpose(name, order), [loop.steps, rows, size])


def _last(site: Site, loop: Recurrence, layer: CellLayer, found: Sequence[str], at: int) -> str:
    """Return what a state of the node is after the last step."""
    if site.output(at) is None:
        return ""
    name = loop.body.outputs[loop.before + at]
    if name in loop.decided:
        value = loop.decided[name][-1]
        return site.const(value, site.input(loop.first + at).dtype, "state")
    if site.input(loop.first + at).dtype is None:
        return _gathered(site, loop, layer, found[0], at)
    result = loop.result(at)
    require(result is not None, "every output is a state of the layer", "各输出均为该层的状态")
    for position, state in enumerate(layer.states):
        same = loop.result(state)
        if result is not None and same is not None and result.vector.key == same.vector.key:
            return site.reshape(found[1 + position], result.dims)
    own = None if result is None else result.vector.single
    kept = own is not None and own.kind == loop.names[at]
    require(kept, "every output is a state of the layer", "各输出均为该层的状态")
    return site.name(loop.first + at)


def _gathered(site: Site, loop: Recurrence, layer: CellLayer, y: str, at: int) -> str:
    """Return a sequence to which each step appends the state of the layer."""
    own, name = loop.body.inputs[loop.first + at], loop.body.outputs[loop.before + at]
    maker = next((each for each in loop.body.nodes if name in each.outputs), None)
    inserts = maker is not None and maker.op_type == "SequenceInsert"
    en, zh = "what is appended is the state of the layer", "追加的是该层的状态"
    require(inserts and not elements_of(site, site.name(loop.first + at)), en, zh)
    require(loop.steps <= MOST_STEPS, f"at most {MOST_STEPS} steps", f"不超过 {MOST_STEPS} 步")
    inputs = () if maker is None else tuple(filter(None, maker.inputs))
    added = loop.reader.rows.get(inputs[1]) if len(inputs) == len((own, name)) else None
    same = loop.result(layer.states[0])
    alike = added is not None and same is not None and added.vector.key == same.vector.key
    require(alike and inputs[0] == own, en, zh)
    stacked = site.reshape(y, [loop.steps, *(() if added is None else added.dims)])
    return site.op("SplitToSequence", [stacked], axis=0, keepdims=0)


def _stacked(site: Site, loop: Recurrence, layer: CellLayer, y: str, at: int) -> str:
    """Return a scanned output, which is the state of each step."""
    if site.output(at) is None:
        return ""
    result, same = loop.result(at), loop.result(layer.states[0])
    alike = result is not None and same is not None and result.vector.key == same.vector.key
    require(alike, "what is scanned is the state of the layer", "扫描输出为该层的状态")
    dims = () if result is None else result.dims
    stacked = site.reshape(y, [loop.steps, *dims])
    if site.node.op_type == "Loop":
        return stacked
    position = at - loop.count
    count = len(loop.body.outputs) - loop.count
    into = site.integers("scan_output_axes", [0] * count)[position] % (len(dims) + 1)
    if site.integers("scan_output_directions", [0] * count)[position]:
        back = site.const(range(loop.steps)[::-1])
        stacked = site.op("Gather", [stacked, back], axis=0)
    order = list(range(1, len(dims) + 1))
    order.insert(into, 0)
    return site.transpose(stacked, order)
