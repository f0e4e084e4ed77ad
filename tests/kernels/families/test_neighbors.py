"""Local response normalization on the host."""

import pytest

from atc_py.ir import Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

SHAPES = ((2, 7, 3, 5), (1, 1, 4, 4), (1, 3, 1, 40_009), (3, 20), (0, 3, 4, 4), (2, 4, 3, 2, 9))
"""Tails, one channel, beyond a buffer, no map, nothing, volumes."""


RADII = ((0, 0.5), (1, 0.75), (4, 1.0))


@pytest.mark.parametrize("turn", sampled([0], [1, 2]))
def test_windows_over_channels(add_node: AddNode, verified: Verified, turn: int) -> None:
    graph = Graph("windows", Phase.TYPED)
    for number, dtype in enumerate((DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16)):
        radius, beta = RADII[(number + turn + 1) % 3]
        for shape in SHAPES:
            x = TensorType(dtype, shape)
            attributes = {"depth_radius": radius, "alpha": 0.3, "beta": beta, "bias": 2.0}
            add_node(graph, "LRN", [x], [x], attributes)
    checked = verified(graph)
    assert len(checked) == 3 * len(SHAPES)
    assert wrong(checked) == []
