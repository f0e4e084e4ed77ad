"""Slices and elements replaced, elements picked and marked by index on the host: bit for bit the simulator's."""

import numpy as np
import pytest

from atc_py.ir import DenseConst, Engine, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16, F32, I8, I32, I64 = DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.INT32, DType.INT64

UPDATES: list[tuple[Shape, Shape]] = [
    ((1,), (1, 1)),
    ((7, 5), (3, 1)),
    ((7, 5), (23, 2)),
    ((3, 5, 31), (2, 4, 2)),
    ((3, 5, 31), (0, 1)),
    ((3, 5), (4, 0)),
    ((2, 3, 100_003), (2, 2)),
    ((40_009, 3), (211, 1)),
]
"""One element, several updates of one row, none, empty tuples, rows and tensors beyond buffers."""

ELEMENTS: list[tuple[Shape, Shape, int]] = [
    ((1,), (1,), 0),
    ((37,), (23,), 0),
    ((7, 5), (3, 5), 0),
    ((7, 5), (9, 4), 0),
    ((7, 35), (6, 40), -1),
    ((3, 5, 31), (2, 7, 30), 1),
    ((2, 3, 5, 7), (2, 3, 5, 7), 2),
    ((3, 5), (0, 5), 0),
    ((0, 5), (0, 5), 1),
    ((3, 40_009), (2, 40_009), 0),
    ((2, 100_003), (2, 70_001), 1),
]
"""One element, every axis, parts of the other axes, nothing, rows and tensors beyond buffers."""

MARKS: list[tuple[Shape, int, int]] = [
    ((), 1, -1),
    ((31,), 7, -1),
    ((31,), 7, 0),
    ((3, 5, 2), 11, 1),
    ((3, 0), 4, 1),
    ((5, 3), 0, 0),
    ((211,), 1_009, 1),
    ((1_009,), 211, 0),
]
"""One element, every place of the new axis, nothing, results beyond all buffers."""


def test_replaced_slices_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("scatter", Phase.TYPED)
    for dtype, index in ((F16, I32), (DType.BOOL, I64)):
        for x, indices in UPDATES:
            data = TensorType(dtype, x)
            updates = TensorType(dtype, indices[:-1] + x[indices[-1] :])
            types = [data, TensorType(index, indices), updates]
            add_node(graph, "TensorScatterUpdate", types, [data])
    checked = verified(graph)
    assert len(checked) == 2 * len(UPDATES)
    assert wrong(checked) == []


@pytest.mark.parametrize(
    ("dtype", "index"), sampled([(F16, I32)], [(F32, I64), (I8, I64), (I32, I32)])
)
def test_replaced_elements_agree(
    add_node: AddNode, verified: Verified, dtype: DType, index: DType
) -> None:
    graph = Graph("scatter_elements", Phase.TYPED)
    for x, indices, axis in ELEMENTS:
        data = TensorType(dtype, x)
        types = [data, TensorType(index, indices), TensorType(dtype, indices)]
        add_node(graph, "ScatterElements", types, [data], {"axis": axis})
    checked = verified(graph)
    assert len(checked) == len(ELEMENTS)
    assert wrong(checked) == []


@pytest.mark.parametrize(
    ("dtype", "index"), sampled([(I8, I64)], [(F32, I32), (F16, I64), (I64, I64)])
)
def test_picked_elements_agree(
    add_node: AddNode, verified: Verified, dtype: DType, index: DType
) -> None:
    graph = Graph("gather_elements", Phase.TYPED)
    for x, indices, axis in ELEMENTS:
        types = [TensorType(dtype, x), TensorType(index, indices)]
        add_node(graph, "GatherElements", types, [TensorType(dtype, indices)], {"dim": axis})
    checked = verified(graph, "Ascend310P3")
    assert len(checked) == len(ELEMENTS)
    assert wrong(checked) == []


@pytest.mark.parametrize("dtypes", sampled([((F16, I8),)], [((F32, I32),)]))
def test_marked_elements_agree(
    add_node: AddNode, verified: Verified, dtypes: tuple[DType, ...]
) -> None:
    graph = Graph("one_hot", Phase.TYPED)
    for dtype in dtypes:
        for x, depth, axis in MARKS:
            at = axis % (len(x) + 1)
            value = TensorType(dtype, (1,))
            types = [TensorType(I32, x), value, value]
            result = TensorType(dtype, (*x[:at], depth, *x[at:]))
            add_node(graph, "OneHotD", types, [result], {"depth": depth, "axis": axis})
    _add_one_hot(graph, dtypes[-1])
    checked = verified(graph)
    assert len(checked) == 2 * len(MARKS) + 1
    assert wrong(checked) == []


def _add_one_hot(graph: Graph, dtype: DType) -> None:
    """Add a node that reads the size of the new axis."""
    depth = graph.constant("depth", DenseConst(np.array([5])))
    value = TensorType(dtype, (1,))
    inputs = [
        graph.add_input("x", TensorType(I32, (3, 4))),
        depth,
        graph.add_input("on", value),
        graph.add_input("off", value),
    ]
    result = TensorType(dtype, (3, 5, 4))
    node = graph.add_node("OneHot", inputs, [("y", result)], {"axis": 1})
    node.engine = Engine.AICORE
