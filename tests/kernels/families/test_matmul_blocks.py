"""Products of matrices in FRACTAL_NZ on the host: what the simulator computes, zeros in the padding."""

import numpy as np
import pytest

from atc_py.ir import AttrValue, Graph, Node, Phase, TensorType
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import Storage
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import SANITIZED, addressed, matrix, sampled, stored
from tests.kernels.families.conftest import Verified, wrong
from tests.kernels.families.test_links import launches

F16, F32, I8, I32 = DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.INT32
COLUMNS = {"float16": (F16, F16), "float32": (F32, F32), "int8": (I8, I32), "sums": (F16, F32)}
"""Dtypes of operands and of the result, which the bias has too."""

SIZES = [(1, 1, 1), (16, 16, 16), (33, 70, 17), (5, 37, 3), (64, 96, 48), (0, 5, 3), (130, 33, 257)]
"""m, k, n: one element, whole fractals, tails, primes, nothing, several tiles."""


def product(
    add_node: AddNode, graph: Graph, name: str, sizes: tuple[int, int, int],
    turned: tuple[bool, bool] = (False, False), **places: bool,
) -> Node:  # fmt: skip
    """Return a product; tensors are stored row by row where `left`, `right` or `result` is False.

    `fractal_z` puts the right one in FRACTAL_Z.
    """
    m, k, n = sizes
    dtype, wide = COLUMNS[name]
    left: Shape = (k, m) if turned[0] else (m, k)
    right: Shape = (n, k) if turned[1] else (k, n)
    types = [matrix(dtype, *left), matrix(dtype, *right), TensorType(wide, (n,))]
    result = matrix(wide, m, n)
    if places.get("fractal_z", False):
        types[1] = stored(dtype, right, "FRACTAL_Z")
    for at, place in enumerate(("left", "right")):
        if not places.get(place, True):
            types[at] = types[at].with_storage(None)
    if not places.get("result", True):
        result = result.with_storage(None)
    named: dict[str, AttrValue] = {"transpose_x1": turned[0], "transpose_x2": turned[1]}
    bias = types if places.get("bias", True) else types[:2]
    return add_node(graph, "MatMulV2", bias, [result], named)


@pytest.mark.parametrize("name", sampled("float16", "int8", "float32", "sums"))
def test_products_of_blocks_agree(add_node: AddNode, verified: Verified, name: str) -> None:
    graph = Graph("blocks", Phase.TYPED)
    for sizes in SIZES:
        for turned in ((False, False), (True, True), (True, False), (False, True)):
            product(add_node, graph, name, sizes, turned)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}
    assert len(checked) == 4 * len(SIZES)


@pytest.mark.parametrize("name", sampled("int8", "float16"))
def test_right_operands_in_fractal_z_agree(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    """Check what CANN's products of int8 take: x2 in FRACTAL_Z, whose fractals have k innermost."""
    graph = Graph("weights", Phase.TYPED)
    for sizes in SIZES:
        for turned in ((False, False), (True, True), (True, False), (False, True)):
            product(add_node, graph, name, sizes, turned, fractal_z=True)
    checked = verified(graph, "Ascend310P3")
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}
    assert len(checked) == 4 * len(SIZES)


def test_constants_in_blocks_of_eight_agree(add_node: AddNode, verified: Verified) -> None:
    """Check float32 on a cube that multiplies it: rows on the left, C0 of 8 on the right."""
    graph = Graph("eight", Phase.TYPED)
    for turned in ((False, False), (False, True)):
        node = product(add_node, graph, "float32", (35, 50, 19), turned, left=False, result=False)
        right = node.present_inputs[1]
        right.type = right.type.with_storage(Storage(Format.FRACTAL_NZ, c0=8))
    checked = verified(graph, "Ascend910B1")
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_split_cores_address_products_of_int8_by_rows(
    add_node: AddNode, verified: Verified
) -> None:
    graph = Graph("split8", Phase.TYPED)
    for turned in ((False, False), (False, True)):
        product(add_node, graph, "int8", (35, 50, 19), turned, fractal_z=True)
    checked = verified(graph, "Ascend910B1")
    assert wrong(checked) == []
    assert addressed(checked) == {"origin"}


@pytest.mark.parametrize("soc", ["sim", "Ascend910B1"])
def test_rows_and_blocks_go_together(add_node: AddNode, verified: Verified, soc: str) -> None:
    """Check results row by row on split cores; there constants alone are in blocks."""
    graph = Graph("mixed", Phase.TYPED)
    for turned in ((False, False), (True, True)):
        for places in ({"left": False}, {"right": False}, {"right": False, "left": False}):
            shared = {"result": False} if soc != "sim" else {"bias": False}
            if places.get("right") is False and places.get("left") is False and soc != "sim":
                continue
            product(add_node, graph, "float16", (35, 50, 19), turned, **places, **shared)
    checked = verified(graph, soc)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_results_of_split_cores_are_addressed_by_rows(
    add_node: AddNode, verified: Verified
) -> None:
    graph = Graph("split", Phase.TYPED)
    product(add_node, graph, "float16", (35, 50, 19))
    checked = verified(graph, "Ascend910B1")
    assert wrong(checked) == []
    assert addressed(checked) == {"origin"}


@pytest.mark.parametrize("sanitize", SANITIZED)
def test_stacks_of_blocks_are_broadcast(
    add_node: AddNode, verified: Verified, sanitize: bool
) -> None:
    graph = Graph("stacks", Phase.TYPED)
    for one, other in (((), (2,)), ((3,), (3,)), ((2, 1), (1, 3)), ((2, 1, 3), (5, 1))):
        types = [matrix(F16, *one, 18, 35), matrix(F16, *other, 35, 7)]
        stack = np.broadcast_shapes(one, other)
        add_node(graph, "BatchMatMulV2", types, [matrix(F16, *stack, 18, 7)])
    checked = verified(graph, sanitize=sanitize)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_functions_after_products_leave_zeros(add_node: AddNode, verified: Verified) -> None:
    """Check a residual in blocks, single values, and functions that make more of zero."""
    graph = Graph("links", Phase.TYPED)
    for m, n in ((1, 1), (37, 53), (130, 300)):
        head = product(add_node, graph, "float16", (m, 70, n))
        head.scope = 1 + max(node.scope for node in graph.nodes)
        value = head.outputs[0]
        residual = graph.add_input("residual", matrix(F16, m, n))
        single = graph.add_input("single", TensorType(F16, ()))
        for op, others in (("Add", [residual]), ("Sub", [single]), ("Sigmoid", []), ("Exp", [])):
            node = graph.add_node(op, [value, *others], [("out", value.type)])
            node.engine, node.scope = head.engine, head.scope
            value = node.outputs[0]
    assert {*launches(graph)} == {"MatMulV2+Add+Sub+Sigmoid+Exp"}
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


@pytest.mark.parametrize("name", sampled("int8", "float16", "float32"))
def test_products_of_blocks_larger_than_all_buffers_are_cut(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    graph = Graph("large", Phase.TYPED)
    product(add_node, graph, name, (300, 2801, 290), (True, False))
    product(add_node, graph, name, (300, 2801, 290), (False, True))
    checked = verified(graph, "sim" if name == "float32" else "Hi3796CV300CS")
    for each in checked:
        tiling = each.kernel["rows"][0]["tiling"]
        assert min(tiling["m_count"], tiling["n_count"], tiling["l1_count"]) > 1
    assert wrong(checked) == []
