"""The softmax of masked scores on the host: what the simulator computes, however the mask is stored."""

import pytest

from atc_py.ir import Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong

BOOL = DType.BOOL
SHAPES: list[tuple[Shape, Shape]] = [
    ((31,), (31,)),
    ((31,), ()),
    ((4, 7), (1,)),
    ((4, 1), (4, 1)),
    ((2, 3, 5, 37), (2, 3, 5, 37)),
    ((2, 3, 5, 37), (2, 1, 5, 37)),
    ((2, 3, 5, 37), (1, 3, 1, 37)),
    ((2, 3, 5, 37), (2, 1, 1, 37)),
    ((2, 3, 5, 37), (3, 5, 1)),
    ((2, 3, 5, 37), (5, 37)),
    ((2, 1, 3, 2, 129), (2, 1, 1, 2, 129)),
    ((3, 40_009), (40_009,)),
    ((3, 40_009), (3, 1)),
    ((0, 5), (1, 5)),
]
"""The same dims, every axis repeated, fewer axes, rows beyond all buffers, nothing."""


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.FLOAT32])
def test_masks_agree_however_they_are_repeated(
    add_node: AddNode, verified: Verified, dtype: DType
) -> None:
    graph = Graph("masked", Phase.TYPED)
    for shape, mask in SHAPES:
        x = TensorType(dtype, shape)
        add_node(graph, "ScaledMaskedSoftmax", [x, TensorType(BOOL, mask)], [x], {"scale": 0.7})
    checked = verified(graph)
    assert len(checked) == len(SHAPES)
    assert wrong(checked) == []


@pytest.mark.sweep
def test_masks_agree_with_sanitizers(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("sanitized", Phase.TYPED)
    for shape, mask in SHAPES[4:7]:
        x = TensorType(DType.FLOAT16, shape)
        add_node(graph, "ScaledMaskedSoftmax", [x, TensorType(BOOL, mask)], [x])
    assert wrong(verified(graph, sanitize=True)) == []


def test_another_mask_is_noticed(
    add_node: AddNode, verified: Verified, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that strides of the mask that are off give other results."""
    from atc_py.kernels.families import along_axes

    monkeypatch.setattr(along_axes, "dense", lambda shape: (1,) * len(shape))
    graph = Graph("spoiled", Phase.TYPED)
    x = TensorType(DType.FLOAT32, (4, 37))
    add_node(graph, "ScaledMaskedSoftmax", [x, TensorType(BOOL, (4, 37))], [x])
    assert len(wrong(verified(graph))) == 1
