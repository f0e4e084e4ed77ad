"""Elementwise kernels on tensors in blocks: what the simulator computes, and zeros in the padding."""

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import SANITIZED, addressed, image, matrix
from tests.kernels.families.conftest import Verified, wrong
from tests.kernels.families.test_links import launches

F16, F32, I8, I16, I32 = DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32
U64, BOOL = DType.UINT64, DType.BOOL

IMAGES: list[Shape] = [
    (1, 1, 1, 1), (2, 16, 3, 5), (1, 3, 7, 11), (3, 33, 1, 1), (2, 47, 5, 13), (0, 3, 4, 4),
    (1, 20, 67, 71),
]  # fmt: skip
MATRICES: list[Shape] = [
    (1, 1),
    (16, 16),
    (17, 33),
    (3, 1, 40),
    (2, 3, 31, 7),
    (0, 5),
    (197, 130),
]
"""One element, whole blocks, rests of blocks, primes, nothing, several tiles a core."""


@pytest.mark.parametrize("sanitize", SANITIZED)
def test_functions_of_one_tensor_keep_padding_zero(
    add_node: AddNode, verified: Verified, sanitize: bool
) -> None:
    graph = Graph("unary", Phase.TYPED)
    for op in ("Relu", "Exp", "Sigmoid", "Reciprocal"):
        for dtype in (F16, F32):
            for shape in IMAGES:
                add_node(graph, op, [image(dtype, *shape)], [image(dtype, *shape)])
            for shape in MATRICES:
                add_node(graph, op, [matrix(dtype, *shape)], [matrix(dtype, *shape)])
    checked = verified(graph, sanitize=sanitize)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_operands_that_repeat_agree(add_node: AddNode, verified: Verified) -> None:
    """Check channels of pixels, images, rows, columns; rows of matrices, stacks; single values."""
    graph = Graph("repeated", Phase.TYPED)
    whole = image(F16, 2, 35, 5, 7)
    others = [
        TensorType(F16, ()), TensorType(F16, (1, 1)), TensorType(F16, (35, 1, 1)),
        TensorType(F16, (1, 35, 1, 1)), image(F16, 1, 35, 5, 7), image(F16, 2, 35, 1, 1),
        image(F16, 2, 35, 5, 1), image(F16, 2, 35, 1, 7), image(F16, 1, 35, 1, 7), whole,
    ]  # fmt: skip
    for op in ("Add", "Mul", "RealDiv"):
        for other in others:
            add_node(graph, op, [whole, other], [whole])
            add_node(graph, op, [other, whole], [whole])
    stack = matrix(F16, 3, 2, 19, 37)
    for other in [
        TensorType(F16, (37,)), TensorType(F16, (2, 1, 37)), TensorType(F16, (3, 1, 1, 37)),
        matrix(F16, 19, 37), matrix(F16, 3, 1, 19, 37), TensorType(F16, (1,)), stack,
    ]:  # fmt: skip
        add_node(graph, "Sub", [stack, other], [stack])
        add_node(graph, "Maximum", [other, stack], [stack])
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_dtypes_of_other_blocks_are_put_together_and_taken_apart(
    add_node: AddNode, verified: Verified
) -> None:
    """Check that 16 channels of float16 beside 16 others are a block of int8, and back."""
    graph = Graph("casts", Phase.TYPED)
    for shape in [*IMAGES, (1, 32, 3, 3), (1, 49, 70, 67)]:
        for pair in ((F16, I8), (I8, F16), (F16, F32), (F32, F16), (F16, I32), (I8, F32)):
            source, target = (image(dtype, *shape) for dtype in pair)
            add_node(graph, "Cast", [source], [target], {"dst_type": pair[1]})
    for shape in MATRICES:
        for pair in ((F16, I8), (I8, F16)):
            source, target = (matrix(dtype, *shape) for dtype in pair)
            add_node(graph, "Cast", [source], [target], {"dst_type": pair[1]})
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_slopes_of_channels_and_links_agree(add_node: AddNode, verified: Verified) -> None:
    """Check PRelu, and functions after a function, of operands that are stored alike and of channels."""
    graph = Graph("links", Phase.TYPED)
    for shape in ((2, 35, 5, 7), (1, 16, 3, 3)):
        whole, slope = image(F16, *shape), TensorType(F16, (shape[1],))
        add_node(graph, "PRelu", [whole, slope], [whole])
        head = add_node(graph, "Mul", [whole, whole], [whole])
        head.scope = 1 + max(node.scope for node in graph.nodes)
        value = head.outputs[0]
        others = [whole, TensorType(F16, (shape[1], 1, 1)), TensorType(F16, ())]
        for op, kind in zip(("Add", "Sub", "Pow"), others, strict=True):
            other = graph.add_input("other", kind)
            node = graph.add_node(op, [value, other], [("out", whole)], {})
            node.engine, node.scope = head.engine, head.scope
            value = node.outputs[0]
    assert {*launches(graph)} == {"PRelu", "Mul+Add+Sub+Pow"}
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_quantized_tensors_in_blocks_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("quant", Phase.TYPED)
    named: dict[str, AttrValue] = {"scale": 1.7, "offset": 5.0}
    for shape in IMAGES[:-1]:
        vectors = [(shape[1],), (1,)]
        maps = {dtype: image(dtype, *shape) for dtype in (F16, F32, I8, I16, I32)}
        add_node(graph, "AscendQuant", [maps[F16]], [maps[I8]], {**named, "dst_type": I8})
        add_node(graph, "AscendAntiQuant", [maps[I8]], [maps[F16]], {**named, "dtype": F16})
        for vector in vectors:
            scale, words = TensorType(F16, vector), TensorType(U64, vector)
            for factors in (scale, words):
                add_node(graph, "AscendDequant", [maps[I32], factors], [maps[F16]], {"dtype": F16})
            add_node(graph, "AscendRequant", [maps[I32], words], [maps[I8]])
            both: dict[str, AttrValue] = {"dual_output": True}
            add_node(graph, "AscendRequantS16", [maps[I16], words], [maps[I8], maps[I16]], both)
            add_node(graph, "AscendDequantS16", [maps[I32], words], [maps[I16]])
    half: dict[str, AttrValue] = {"dtype": F16}
    bytes_: dict[str, AttrValue] = {**named, "dst_type": I8}
    for shape in MATRICES:
        scale = TensorType(F16, (shape[-1],))
        add_node(graph, "AscendDequant", [matrix(I32, *shape), scale], [matrix(F16, *shape)], half)
        add_node(graph, "AscendQuant", [matrix(F16, *shape)], [matrix(I8, *shape)], bytes_)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_shapes_that_do_not_go_along_with_blocks_are_addressed_by_rows(
    add_node: AddNode, verified: Verified
) -> None:
    """Check factors for the rows of matrices; the kernel says so and is right for rows."""
    graph = Graph("rows", Phase.TYPED)
    sums, result = matrix(I32, 2, 5, 7), matrix(F16, 2, 5, 7)
    add_node(graph, "AscendDequant", [sums, TensorType(F16, (5,))], [result], {"dtype": F16})
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"origin"}
