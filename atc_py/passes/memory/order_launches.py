"""The order of launches: depth first from the inputs, as CANN's graph engine sorts what it compiles."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from atc_py.ir import Graph, Node, Value, launches_in
from atc_py.passes.base import Pass, PassContext
from atc_py.target import Unit, unit_of
from atc_py.tensor.dtypes import DType
from atc_py.tensor.resampling import RESIZES_TO_SIZE

Launch: TypeAlias = "tuple[Node, ...]"
"""Nodes of one launch, or a view."""

_SIZES_ADDED = frozenset({"Resize", *RESIZES_TO_SIZE})
"""Operators that a pass of CANN writes with a constant of its own, the size of the result."""

_WRITTEN = _SIZES_ADDED | {"TransData"}
"""Operators that passes write; so they do launches of several nodes of the network."""

_CONVERTED = frozenset({DType.FLOAT16, DType.BFLOAT16})
"""Dtypes of constants that a conversion made."""

_JOINS = frozenset({"ConcatD"})
"""Operators whose constants are results of nodes that folding replaced, whatever their dtype."""

_FILTER_AND_BIAS = 3
"""Inputs of an operator of the cube: data, filter, bias."""


class OrderLaunchesPass(Pass):
    """The launch whose last operand is there runs next; of several the one whose operand came last.

    Constants are operands, too. Those that conversions make, float16 or filters and biases, are
    there from the start. Others come one by one in the order of their first use, each when nothing
    else can run, and the sizes of Resize after them, as the pass that adds them comes late.
    Launches that read one value run the last reader first, but before them those that passes have
    written, the first of these first: a launch that replaces nodes reads the value as its last
    reader. With these rules, the order of 152 launches of a real network is that of the real
    compiler. The generic device keeps the order of the network.
    """

    def run(self, graph: Graph, _context: PassContext) -> int:
        nodes = [node for launch in _ordered(graph) for node in launch]
        moved = sum(new is not old for new, old in zip(nodes, graph.nodes, strict=True))
        graph.nodes = nodes
        return moved


def _ordered(graph: Graph) -> list[Launch]:
    launches = launches_in(graph.nodes)
    constants = _Constants()
    operands = [dict.fromkeys(_operands(launch, constants)) for launch in launches]
    waits = [len(values) for values in operands]
    readers: dict[Value, list[int]] = {}
    for number in _as_edges(launches):
        for value in operands[number]:
            readers.setdefault(value, []).append(number)
    ready: list[int | Value] = [*reversed(constants.in_turn())]
    ready += [number for number, count in reversed(list(enumerate(waits))) if not count]
    ready += reversed(graph.inputs)
    order = []
    while ready:
        item = ready.pop()
        if isinstance(item, Value):
            given: Sequence[Value] = (item,)
        else:
            order.append(launches[item])
            given = [value for node in launches[item] for value in node.outputs]
        for reader in (reader for value in given for reader in readers.get(value, ())):
            waits[reader] -= 1
            if not waits[reader]:
                ready.append(reader)
    return order


def _as_edges(launches: Sequence[Launch]) -> list[int]:
    """Numbers of launches in the order in which they became readers of what they read."""
    written = [number for number, launch in enumerate(launches) if _is_written(launch)]
    kept = sorted(set(range(len(launches))) - set(written))
    return kept + written[::-1]


def _is_written(launch: Launch) -> bool:
    origins = {origin for node in launch for origin in node.origins}
    return len(origins) != 1 or any(node.op in _WRITTEN for node in launch)


class _Constants:
    """The constants that launches wait for, equal sizes of Resize as one."""

    def __init__(self) -> None:
        self._file: dict[Value, None] = {}
        self._sizes: dict[tuple[DType, bytes], Value] = {}

    def operand(self, node: Node, position: int) -> Value | None:
        """The value that `node` needs at an input; of equal constants the first, None for no wait."""
        value = node.input(position)
        if value is None or value.const is None:
            return value
        dtype = value.type.dtype
        if node.op in _SIZES_ADDED:
            return self._sizes.setdefault((dtype, value.const.numpy().tobytes()), value)
        of_cube = unit_of(node.op) is Unit.CUBE and position < _FILTER_AND_BIAS
        if of_cube or (dtype in _CONVERTED and node.op not in _JOINS):
            return None
        self._file[value] = None
        return value

    def in_turn(self) -> list[Value]:
        return [*self._file, *self._sizes.values()]


def _operands(launch: Launch, constants: _Constants) -> Iterator[Value]:
    """Yield what a launch waits for, possibly several times."""
    inside = {value for node in launch for value in node.outputs}
    for node in launch:
        for position in range(len(node.inputs)):
            value = constants.operand(node, position)
            if value is not None and value not in inside:
                yield value
