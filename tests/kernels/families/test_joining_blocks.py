"""Tensors in blocks joined and cut apart on the host."""

from collections.abc import Callable, Sequence

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import addressed, image, matrix
from tests.kernels.families.conftest import Verified, wrong


def _add(
    add_node: AddNode,
    graph: Graph,
    kind: Callable[..., TensorType],
    parts: Sequence[Shape],
    axis: int,
) -> None:
    """Add the parts joined along an axis, and cut apart there again."""
    for dtype in (DType.FLOAT16, DType.INT8):
        types = [kind(dtype, *part) for part in parts]
        sizes = tuple(part[axis] for part in parts)
        whole = list(parts[0])
        whole[axis] = sum(sizes)
        result = kind(dtype, *whole)
        count = len(parts)
        add_node(graph, "ConcatD", types, [result], {"concat_dim": axis, "N": count})
        named: dict[str, AttrValue] = {"size_splits": sizes, "split_dim": axis, "num_split": count}
        add_node(graph, "SplitVD", [result], types, named)


def test_whole_blocks_are_joined_and_cut(add_node: AddNode, verified: Verified) -> None:
    """Check images, channels in whole blocks, rows and columns, and stacks of matrices."""
    graph = Graph("joined", Phase.TYPED)
    _add(add_node, graph, image, [(2, 32, 3, 5), (2, 64, 3, 5), (2, 0, 3, 5)], 1)
    _add(add_node, graph, image, [(1, 19, 3, 5), (3, 19, 3, 5)], 0)
    _add(add_node, graph, image, [(2, 19, 3, 5), (2, 19, 7, 5)], 2)
    _add(add_node, graph, image, [(2, 19, 3, 5), (2, 19, 3, 1)], -1)
    _add(add_node, graph, matrix, [(2, 3, 17, 19), (2, 1, 17, 19)], 1)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_few_channels_are_joined_inside_blocks(add_node: AddNode, verified: Verified) -> None:
    """Check an end inside of a block, parts of one block, and like parts of several."""
    graph = Graph("inside", Phase.TYPED)
    for widths in ((13, 3), (4, 1, 2), (8, 8, 8), (2,) * 9, (32, 5), (16, 64, 1)):
        parts = [image(DType.FLOAT16, 2, width, 3, 5) for width in widths]
        result = image(DType.FLOAT16, 2, sum(widths), 3, 5)
        named: dict[str, AttrValue] = {"concat_dim": 1, "N": len(widths)}
        add_node(graph, "ConcatD", parts, [result], named)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_cuts_through_blocks_are_addressed_by_rows(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("through", Phase.TYPED)
    _add(add_node, graph, image, [(2, 35, 3, 5), (2, 3, 3, 5)], 1)
    _add(add_node, graph, matrix, [(3, 17, 19), (3, 4, 19)], 1)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"origin"}
