"""Slices picked by index on the host: bit for bit what the simulator picks."""

import pytest

from atc_py.ir import Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16, F32, I8, I32, I64 = DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.INT32, DType.INT64

AXES: list[tuple[Shape, int, Shape]] = [
    ((1,), 0, ()),
    ((31,), 0, (7,)),
    ((97, 31), 0, (5, 3)),
    ((5, 31), 1, (2,)),
    ((3, 5, 7), 1, ()),
    ((3, 5, 7), -1, (4, 1)),
    ((3, 5, 0), 1, (4,)),
    ((3, 5, 7), 0, (0,)),
    ((3, 150_001), 0, (2,)),
    ((2, 70_001), 1, (5_003,)),
]
"""One element, tails, every axis, indices of every rank, nothing picked, rows beyond all buffers."""

TUPLES: list[tuple[Shape, int, Shape]] = [
    ((1,), 0, (1, 1)),
    ((7, 5), 0, (3, 2)),
    ((7, 5, 31), 0, (3, 2)),
    ((7, 5, 31), 0, (2, 3, 1)),
    ((3, 7, 5, 2), 1, (3, 4, 2)),
    ((3, 2, 7), 2, (3, 2, 1)),
    ((3, 7), 0, (4, 0)),
    ((3, 7), 0, (0, 2)),
    ((3, 150_001), 0, (2, 1)),
]
"""Tuples of every length, none among them, with and without batches."""


def _types(dtype: DType, index: DType, x: Shape, indices: Shape) -> list[TensorType]:
    return [TensorType(dtype, x), TensorType(index, indices)]


@pytest.mark.parametrize(("dtype", "index"), sampled([(I8, I64)], [(F16, I32), (I64, I64)]))
def test_slices_along_an_axis_agree(
    add_node: AddNode, verified: Verified, dtype: DType, index: DType
) -> None:
    graph = Graph("gather", Phase.TYPED)
    for x, axis, indices in AXES:
        at = axis % len(x)
        result = TensorType(dtype, (*x[:at], *indices, *x[at + 1 :]))
        for negative in (False, True):
            attributes = {"axis": axis, "negative_index_support": negative}
            types = _types(dtype, index, x, indices)
            add_node(graph, "GatherV2D", types, [result], attributes)
    checked = verified(graph)
    assert len(checked) == 2 * len(AXES)
    assert wrong(checked) == []


@pytest.mark.parametrize(("dtype", "index"), sampled([(F32, I32)], [(I8, I64)]))
def test_slices_at_tuples_agree(
    add_node: AddNode, verified: Verified, dtype: DType, index: DType
) -> None:
    graph = Graph("gather_nd", Phase.TYPED)
    for x, batch, indices in TUPLES:
        result = TensorType(dtype, indices[:-1] + x[batch + indices[-1] :])
        for negative in (False, True):
            attributes = {"batch_dims": batch, "negative_index_support": negative}
            types = _types(dtype, index, x, indices)
            add_node(graph, "GatherNd", types, [result], attributes)
    checked = verified(graph)
    assert len(checked) == 2 * len(TUPLES)
    assert wrong(checked) == []
