"""Graphs of a real model that ops run: what they pass on, and which of them are gears.

A graph that an op runs reads the op's operands by its Data, and gives the op's results by its
NetOutput; both say by `_parent_node_index` which. Such graphs become part of the one that runs them.

An op Case runs the graph of a gear [names from GE's source]. The main graph has the inputs in their
largest dims, one more with the numbers of the gear, and the Case; attributes of that have the
numbers of each gear.
"""

from collections.abc import Iterator

from atc_py.ir import Value
from atc_py.options.gears import FEWEST_GEARS, MOST_GEARS, SHAPE_DATA, GearKind, Gears
from atc_py.package.ge.graph import CONTROL, GeEdge, GeGraph, GeOp
from atc_py.package.ge.interface import GEAR_WORDS
from atc_py.package.ge.model import INPUT_OPS, OUTPUT_OPS, HuaweiModel
from atc_py.package.ge.pictures import data_inputs
from atc_py.pipeline.huawei.tensors import NotModeledError
from atc_py.tensor.shapes import Dims
from atc_py.text import Text

_PARENT = "_parent_node_index"
_MOST_STEPS = 1000
"""Graphs that a value may be passed through; more are those of a file that is damaged."""


class NeededError(NotModeledError):
    """An op needs the result of one that is missing itself."""


class GraphScope:
    """A graph of the file.

    Attributes:
        values: results of its ops.
        absent: the ops that nothing computes.
    """

    def __init__(self, graph: GeGraph) -> None:
        self.graph = graph
        self.values: dict[GeEdge, Value] = {}
        self.absent: set[str] = set()
        self._passed: dict[GeEdge, tuple[GraphScope, GeEdge]] = {}

    def origin_of(self, edge: GeEdge) -> tuple["GraphScope", GeEdge]:
        """The graph whose op computes a value, and the value there."""
        scope = self
        for _ in range(_MOST_STEPS):
            passed = scope._passed.get(edge)
            if passed is None:
                return scope, edge
            scope, edge = passed
        raise NotModeledError(Text("its graphs pass a value around in a cycle"))

    def called(self, op: GeOp, graph: GeGraph, first: int) -> "GraphScope":
        """The scope of a graph that an op of this one runs.

        `first` is the operand that is the graph's first one.
        """
        inner = GraphScope(graph)
        edges = operand_edges(op)
        for at, data in parameters(graph):
            if 0 <= at + first < len(edges) and (edge := edges[at + first]) is not None:
                inner._passed[GeEdge(data.name, 0)] = self, edge
        for output in graph.ops:
            if output.type in OUTPUT_OPS:
                for position, operand in enumerate(output.operands()):
                    if operand.edge is not None:
                        at = operand.desc.attributes.number(_PARENT, position)
                        self._passed[GeEdge(op.name, at)] = inner, operand.edge
        return inner


def operand_edges(op: GeOp) -> list[GeEdge | None]:
    """The inputs of an op that carry tensors, by position."""
    return [edge for edge in op.edges if edge is None or edge.output != CONTROL]


def parameters(graph: GeGraph) -> Iterator[tuple[int, GeOp]]:
    """The inputs of a graph that an op runs, with their positions among those of the op."""
    for op in graph.ops:
        if op.type in INPUT_OPS:
            yield op.attributes.number(_PARENT, op.attributes.number("index")), op


FIRST_BRANCH_OPERAND = 1
"""The first operand of the Case chooses; the others are those of its graphs."""

_PREFIX = "ascend_mbatch_"
_SUFFIX = "_ascend_mbatch_batch_"
_KINDS = dict(zip(GEAR_WORDS.values(), GearKind, strict=True))


def chooses_gear(op: GeOp) -> bool:
    """True if an op has a part in the choice of the gear alone."""
    return op.name.startswith(_PREFIX)


def plain_name(name: str) -> str:
    """The name that a node has in the network; nodes of a gear's graph are called after it."""
    return name.partition(_SUFFIX)[0]


def graph_of_gear(model: HuaweiModel, case: GeOp, gear: int) -> GeGraph:
    names = case.subgraphs
    graph = next(
        (each for each in model.graphs[1:] if names[gear : gear + 1] == (each.name,)), None
    )
    if graph is None:
        raise NotModeledError(Text("gear {gear} has no graph", gear=gear))
    return graph


def inputs_of_gear(model: HuaweiModel, case: GeOp, gear: int) -> dict[str, GeOp]:
    """The Data of a gear's graph by the names of the model's inputs that they stand for."""
    edges = operand_edges(case)
    found = {}
    for at, data in parameters(graph_of_gear(model, case, gear)):
        operand = at + FIRST_BRANCH_OPERAND
        edge = edges[operand] if 0 <= operand < len(edges) else None
        if edge is not None and data.outputs:
            found[edge.producer] = data
    return found


def model_gears(model: HuaweiModel) -> Gears | None:
    """The gears of a model; None of one that has none.

    Raises:
        NotModeledError: they are not such as atc-py has, or do not agree with the graphs.
    """
    case = model.gear_case
    if case is None:
        return None
    count = len(case.subgraphs)
    if not FEWEST_GEARS <= count <= MOST_GEARS:
        raise NotModeledError(Text("it has {count} gears", count=count))
    branches = [inputs_of_gear(model, case, gear) for gear in range(count)]
    word, numbers = next(iter(model.gear_numbers().items()), ("", ()))
    shapes = {
        op.name: _open_dims(op, [each[op.name] for each in branches if op.name in each])
        for op in data_inputs(model)
        if op.name != SHAPE_DATA and op.outputs
    }
    gears = Gears(_KINDS.get(word, GearKind.DIMS), shapes, numbers)
    if len(numbers) != count or not all(map(len, numbers)):
        raise NotModeledError(Text("it has {count} gears", count=len(numbers)))
    for gear, branch in enumerate(branches):
        own = _shapes_of(gears, gear)
        if any(own.get(name) != data.outputs[0].origin_dims for name, data in branch.items()):
            raise NotModeledError(
                Text("the numbers of gear {gear} do not match its dims", gear=gear)
            )
    return gears


def _shapes_of(gears: Gears, gear: int) -> dict[str, tuple[int, ...]]:
    try:
        return gears.shapes_of(gear)
    except LookupError as error:
        text = Text("the numbers of gear {gear} do not match its dims", gear=gear)
        raise NotModeledError(text) from error


def _open_dims(op: GeOp, branches: list[GeOp]) -> Dims:
    """The dims of an input, None where gears decide: as the op says, or else where they differ."""
    stated = op.attributes.numbers("_mbatch_origin_input_dims")
    every = {data.outputs[0].origin_dims for data in branches}
    largest = op.outputs[0].origin_dims
    if len(stated) == len(largest):
        return tuple(None if dim < 0 else dim for dim in stated)
    if {len(dims) for dims in every} != {len(largest)}:
        return largest
    columns = zip(*every, strict=True)
    return tuple(column[0] if len(set(column)) == 1 else None for column in columns)
