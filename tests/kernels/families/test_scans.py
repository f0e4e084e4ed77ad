"""Running sums and marks at the largest element on the host: bit for bit the simulator's."""

import pytest

from atc_py.ir import Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong

ALONG = [
    ((3, 7, 5), 1), ((3, 7, 5), -1), ((3, 7, 5), 0), ((11,), 0), ((1, 30_011), 1), ((3, 30_011), 0),
    ((0, 4), 1), ((2, 1, 9), 1),
]  # fmt: skip
"""Every place of an axis, rows and lanes beyond a buffer, nothing, one element."""

DTYPES = [
    DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16, DType.INT32, DType.INT8, DType.UINT8,
]  # fmt: skip


@pytest.mark.parametrize(
    "turn", [0, *(pytest.param(at, marks=pytest.mark.sweep) for at in range(1, 4))]
)
def test_running_sums(add_node: AddNode, verified: Verified, turn: int) -> None:
    graph = Graph("sums", Phase.TYPED)
    for number, dtype in enumerate(DTYPES if turn else (DTYPES[0], DTYPES[3], DTYPES[4])):
        kind = (number + turn) % 4
        for shape, axis in ALONG:
            x = TensorType(dtype, shape)
            attributes = {"axis": axis, "exclusive": kind % 2 == 1, "reverse": kind > 1}
            add_node(graph, "CumsumD", [x], [x], attributes)
    assert wrong(verified(graph)) == []


def test_marks_and_integers(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("marks", Phase.TYPED)
    for dtype in DTYPES[:3]:
        for shape, axis in ALONG:
            x = TensorType(dtype, shape)
            add_node(graph, "HardMax", [x], [x], {"axis": axis})
    for op in ("ArgMaxD", "ArgMinD"):
        for shape, axis in ALONG:
            kept = tuple(dim for at, dim in enumerate(shape) if at != axis % len(shape))
            x, y = TensorType(DType.INT64, shape), TensorType(DType.INT32, kept)
            if shape[axis]:
                add_node(graph, op, [x], [y], {"dimension": axis, "dtype": DType.INT32})
    for dtype in (DType.INT8, DType.UINT8):
        for shape, axis in ALONG:
            kept = tuple(dim for at, dim in enumerate(shape) if at != axis % len(shape))
            x, y = TensorType(dtype, shape), TensorType(dtype, kept)
            add_node(graph, "ReduceProdD", [x], [y], {"axes": (axis,)})
    assert {each.verdict.value for each in verified(graph)} == {"equal"}
