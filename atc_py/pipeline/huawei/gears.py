"""Gears of real models: one graph for each, which an op Case runs [names from GE's source].

The main graph has the inputs in their largest dims, one more with the numbers of the gear, and the
Case; attributes of that have the numbers of each gear.
"""

from atc_py.options.gears import FEWEST_GEARS, MOST_GEARS, SHAPE_DATA, GearKind, Gears
from atc_py.package.ge.graph import GeGraph, GeOp
from atc_py.package.ge.interface import GEAR_WORDS
from atc_py.package.ge.model import HuaweiModel
from atc_py.package.ge.pictures import data_inputs
from atc_py.pipeline.huawei.scopes import operand_edges, parameters
from atc_py.pipeline.huawei.tensors import NotModeledError
from atc_py.tensor.shapes import Dims
from atc_py.text import Text

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
