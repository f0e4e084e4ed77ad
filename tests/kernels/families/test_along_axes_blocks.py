"""Reductions and normalizations of tensors in blocks on the host."""

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import SANITIZED, addressed, image, matrix, sampled
from tests.kernels.families.conftest import Verified, wrong

F16 = DType.FLOAT16
MATRICES: list[Shape] = [
    (1, 1), (16, 16), (17, 33), (3, 1, 40), (2, 3, 31, 7), (5, 700), (130, 130),
]  # fmt: skip
"""One element, whole blocks, rests, one row, stacks, several groups a core."""


@pytest.mark.parametrize("sanitize", SANITIZED)
def test_reductions_past_the_blocks_agree(
    add_node: AddNode, verified: Verified, sanitize: bool
) -> None:
    graph = Graph("reductions", Phase.TYPED)
    for op in ("ReduceMeanD", "ReduceMaxD", "ReduceSumD", "ReduceMinD"):
        for n, c, h, w in ((1, 1, 1, 1), (2, 35, 7, 5), (1, 32, 1, 9), (2, 16, 14, 14)):
            for axes, result in (
                ((2, 3), (n, c, 1, 1)),
                ((-1,), (n, c, h, 1)),
                ((0,), (1, c, h, w)),
            ):
                named: dict[str, AttrValue] = {"axes": axes, "keep_dims": True}
                add_node(graph, op, [image(F16, n, c, h, w)], [image(F16, *result)], named)
    checked = verified(graph, sanitize=sanitize)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


@pytest.mark.parametrize("name", sampled("float16", "float32"))
def test_normalizations_along_rows_of_blocks_leave_zeros(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    graph, dtype = Graph("normalizations", Phase.TYPED), DType(name)
    for shape in MATRICES:
        kind = matrix(dtype, *shape)
        vector = TensorType(dtype, shape[-1:])
        for op in ("SoftmaxV2", "LogSoftmaxV2"):
            add_node(graph, op, [kind], [kind], {"axes": (-1,)})
        last: dict[str, AttrValue] = {"begin_norm_axis": len(shape) - 1, "begin_params_axis": -1}
        add_node(graph, "LayerNorm", [kind, vector, vector], [kind], last)
        add_node(graph, "RmsNorm", [kind, vector], [kind], {})
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_axes_through_blocks_are_addressed_by_rows(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("through", Phase.TYPED)
    named: dict[str, AttrValue] = {"axes": (1,), "keep_dims": True}
    add_node(graph, "ReduceMaxD", [image(F16, 2, 19, 3, 4)], [image(F16, 2, 1, 3, 4)], named)
    kind = matrix(F16, 2, 19, 21)
    add_node(graph, "SoftmaxV2", [kind], [kind], {"axes": (1,)})
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"origin"}
