"""Elementwise kernels on the host: what the simulator computes, on awkward shapes."""

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.kernels.registry import FAMILIES
from atc_py.target import Column, find_operator, find_soc
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

NAMES = ("unary", "activation", "binary", "compare", "test", "select")
OPERATORS = sorted(
    {op for each in FAMILIES.all().values() if each.name in NAMES for op in each.operators}
)
SCALARS = {"ClipByValue": (1, 2)}
"""Positions of operands that are single values."""

EXTRA: dict[str, dict[str, AttrValue]] = {
    "Muls": {"value": 0.3},
    "AccumulateNV2": {"N": 3},
    "Swish": {"scale": 0.7},
}
AWKWARD: list[Shape] = [
    (), (1,), (7,), (31,), (33,), (0, 4), (3, 5, 31), (2, 1, 97), (300_007,),
]  # fmt: skip
"""One element, primes, tails of 1 and 31 bytes, nothing, more than all buffers of one core."""

BROADCAST: list[tuple[Shape, Shape]] = [
    ((4, 3, 5, 7), (4, 3, 5, 7)),
    ((4, 3, 5, 7), (1, 3, 5, 7)),
    ((4, 3, 5, 7), (4, 1, 5, 7)),
    ((4, 3, 5, 7), (4, 3, 1, 7)),
    ((4, 3, 5, 7), (4, 3, 5, 1)),
    ((4, 1, 5, 1), (1, 3, 1, 7)),
    ((4, 3, 5, 7), (7,)),
    ((4, 3, 5, 7), ()),
    ((1, 257), (129, 1)),
    ((3, 1), (3, 40_009)),
    ((0, 5), (1, 5)),
]


def _column(op: str, column: Column, shapes: list[Shape]) -> tuple[list[TensorType], TensorType]:
    """Return types of the operands of `op` in a dtype column, and of its result."""
    count = 3 if op == "AccumulateNV2" else len(column.inputs)
    dtypes = [column.inputs[min(at, len(column.inputs) - 1)] for at in range(count)]
    given = [*shapes, *[shapes[0]] * count][:count]
    inputs = [
        TensorType(dtype, () if at in SCALARS.get(op, ()) else shape)
        for at, (dtype, shape) in enumerate(zip(dtypes, given, strict=True))
    ]
    return inputs, TensorType(column.outputs[0], shapes[0])


def _graph_of(add_node: AddNode, ops: list[str], pick: int) -> Graph:
    """Return a node for each operator in one of its dtype columns, in a shape of three dims."""
    graph = Graph(f"columns{pick}", Phase.TYPED)
    for op in ops:
        row = find_operator(op)
        assert row is not None
        if pick < len(row.columns) and row.columns[pick].inputs[0] is not DType.INT4:
            shape: Shape = (3, 5, 31)
            inputs, result = _column(op, row.columns[pick], [shape])
            if op == "PRelu":
                inputs[1] = TensorType(inputs[1].dtype, (5,))
            add_node(graph, op, inputs, [result], EXTRA.get(op))
    return graph


def test_every_operator_of_these_families_is_here() -> None:
    assert len(OPERATORS) >= 55


@pytest.mark.parametrize("part", range(4))
def test_first_column_of_every_operator_agrees(
    add_node: AddNode, verified: Verified, part: int
) -> None:
    checked = verified(_graph_of(add_node, OPERATORS[part::4], 0))
    assert len(checked) == len(OPERATORS[part::4])
    assert wrong(checked) == []


@pytest.mark.parametrize("pick", sampled([1], range(2, 9)))
def test_other_columns_agree(add_node: AddNode, verified: Verified, pick: int) -> None:
    """Check a third of the operators in each of the columns."""
    checked = verified(_graph_of(add_node, OPERATORS[pick % 3 :: 3], pick))
    assert wrong(checked) == []


def test_awkward_shapes_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("awkward", Phase.TYPED)
    for op in ("Neg", "Sigmoid"):
        for dtype in (DType.FLOAT16, DType.FLOAT32):
            for shape in AWKWARD:
                add_node(graph, op, [TensorType(dtype, shape)], [TensorType(dtype, shape)])
    for shape in AWKWARD:
        add_node(graph, "Neg", [TensorType(DType.INT8, shape)], [TensorType(DType.INT8, shape)])
    checked = verified(graph)
    assert len(checked) == 5 * len(AWKWARD)
    assert wrong(checked) == []


def _result(one: Shape, other: Shape) -> Shape:
    rank = max(len(one), len(other))
    pairs = zip((1,) * (rank - len(one)) + one, (1,) * (rank - len(other)) + other, strict=True)
    return tuple(b if a == 1 else a for a, b in pairs)


@pytest.mark.parametrize("soc", sampled(["Ascend910B1"], ["sim"]))
def test_broadcasting_along_every_axis_agrees(
    add_node: AddNode, verified: Verified, soc: str
) -> None:
    graph = Graph("broadcast", Phase.TYPED)
    for one, other in BROADCAST:
        for left, right in ((one, other), (other, one)):
            y = _result(one, other)
            for op, dtype, to in (
                ("Sub", DType.FLOAT16, DType.FLOAT16),
                ("Less", DType.FLOAT16, DType.BOOL),
                ("Mul", DType.INT8, DType.INT8),
            ):
                types = [TensorType(dtype, left), TensorType(dtype, right)]
                add_node(graph, op, types, [TensorType(to, y)])
    checked = verified(graph, soc)
    assert len(checked) >= 3 * 2 * (len(BROADCAST) - 1)
    assert wrong(checked) == []


def test_choice_broadcasts_all_three_operands(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("choice", Phase.TYPED)
    for condition, yes, no in (
        ((2, 1, 5), (3, 1), (1,)), ((1,), (2, 3, 5), (2, 3, 5)), ((2, 3, 5), (1,), (5,)),
    ):  # fmt: skip
        types = [
            TensorType(DType.BOOL, condition),
            TensorType(DType.FLOAT16, yes),
            TensorType(DType.FLOAT16, no),
        ]
        add_node(graph, "SelectV2", types, [TensorType(DType.FLOAT16, (2, 3, 5))])
    assert wrong(verified(graph)) == []


def test_sums_of_one_and_of_many_tensors_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("sums", Phase.TYPED)
    type_ = TensorType(DType.FLOAT16, (5, 67))
    for count in (1, 2, 16):
        add_node(graph, "AccumulateNV2", [type_] * count, [type_], {"N": count})
    assert wrong(verified(graph)) == []


def test_more_summands_than_buffers_are_left_to_write(
    add_node: AddNode, verified: Verified
) -> None:
    graph = Graph("many", Phase.TYPED)
    type_ = TensorType(DType.FLOAT16, (5,))
    add_node(graph, "AccumulateNV2", [type_] * 17, [type_], {"N": 17})
    assert [each.verdict.value for each in verified(graph)] == ["skeleton"]


def test_kernels_are_clean_under_both_sanitizers(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("sanitized", Phase.TYPED)
    for shape in ((3, 5, 31), (0, 4, 1), (1, 1, 40_009)):
        for op, dtype in (("Sigmoid", DType.FLOAT16), ("Mul", DType.INT8), ("Add", DType.INT32)):
            count = 1 if op == "Sigmoid" else 2
            add_node(graph, op, [TensorType(dtype, shape)] * count, [TensorType(dtype, shape)])
    assert wrong(verified(graph, sanitize=True)) == []


def test_both_forms_of_gelu_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("gelu", Phase.TYPED)
    for form in ("none", "tanh"):
        for dtype in (DType.FLOAT16, DType.FLOAT32):
            kind = TensorType(dtype, (97, 31))
            add_node(graph, "GeluV2", [kind], [kind], {"approximate": form})
    checked = verified(graph)
    assert len(checked) == 4
    assert wrong(checked) == []


def test_newer_functions_agree_in_every_column(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("newer", Phase.TYPED)
    attributes: dict[str, dict[str, AttrValue]] = {"Shrink": {"lambd": 0.7, "bias": 0.3}}
    soc = "Ascend910B1"
    for op in (
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "Invert",
        "IsInf",
        "IsNan",
        "Shrink",
        "Tan",
    ):
        row = find_operator(op)
        assert row is not None
        for column in row.columns_on(find_soc(soc)):
            shapes: list[Shape] = [(3, 5, 31), (5, 1)]
            inputs, result = _column(op, column, shapes)
            add_node(graph, op, inputs, [result], attributes.get(op))
    assert wrong(verified(graph, soc)) == []
