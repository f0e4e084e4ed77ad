"""Triangles of matrices on the host: bit for bit the simulator's."""

import numpy as np

from atc_py.ir import DenseConst, Engine, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.families.conftest import Verified, wrong

SHAPES: list[Shape] = [
    (1, 1), (3, 3), (5, 31), (31, 5), (2, 3, 7, 4), (0, 3), (3, 0), (67, 1_009), (2, 40_009),
]  # fmt: skip
"""One element, both sides of a square, stacks, nothing, rows that are cut and not."""

DIAGONALS = (None, 0, -2, 3, -(2**40), 2**40)


def test_triangles_agree(verified: Verified) -> None:
    graph = Graph("triangles", Phase.TYPED)
    for dtype, upper in ((DType.FLOAT16, 1), (DType.INT8, 0), (DType.INT64, 1), (DType.FLOAT32, 0)):
        for number, shape in enumerate(SHAPES):
            kind, k = TensorType(dtype, shape), DIAGONALS[number % len(DIAGONALS)]
            inputs = [graph.add_input("x", kind)]
            if k is not None:
                inputs.append(graph.constant("k", DenseConst(np.array(k, np.int64))))
            node = graph.add_node("Trilu", inputs, [("y", kind)], {"upper": upper})
            node.engine = Engine.AICORE
    checked = verified(graph, "Ascend310P3")
    assert len(checked) == 4 * len(SHAPES)
    assert wrong(checked) == []
