"""Convolutions of blocks of channels on the host: what the simulator computes, zeros in the padding."""

import pytest

from atc_py.ir import AttrValue, Graph, Node, Phase, TensorType
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import SANITIZED, addressed, image, sampled, stored
from tests.kernels.families.conftest import Verified, wrong
from tests.kernels.families.test_convolution import CASES, COLUMNS, TRANSPOSED, Case
from tests.kernels.families.test_links import launches

F16, I8 = DType.FLOAT16, DType.INT8

GROUPED = [
    Case((1, 32, 6, 5), 64, (3, 3), pads=(1, 1, 1, 1), groups=2),
    Case((2, 12, 5, 7), 18, (3, 2), groups=6),
    Case((1, 128, 4, 4), 128, (3, 3), pads=(1, 1, 1, 1), groups=32),
    Case((1, 6, 9, 4), 3, (1, 1), groups=3),
]
"""Diagonals that are full, one alone for all groups, several of them, tails."""


def convolution(
    add_node: AddNode, graph: Graph, case: Case, name: str, **attributes: AttrValue
) -> Node:
    """Return a Conv2D with a bias whose images and filter are in blocks."""
    dtype, wide, result = COLUMNS[name]
    weights = (case.filters, case.x[1] // case.groups, *case.window)
    inputs = [
        image(dtype, *case.x),
        stored(dtype, weights, "FRACTAL_Z", case.groups),
        TensorType(wide, (case.filters,)),
    ]
    y = image(result, case.x[0], case.filters, *case.outputs())
    named = {**case.attributes(), "groups": case.groups, **attributes}
    return add_node(graph, "Conv2D", inputs, [y], named)


SPREAD = [
    *(case for case in TRANSPOSED if case.window[0] < 64),
    Case((1, 32, 6, 5), 64, (2, 2), (2, 2), groups=2),
    Case((2, 35, 7, 9), 20, (3, 3), (2, 3), (1, 1, 0, 1), (1, 2)),
    Case((1, 20, 9, 70), 33, (4, 4), (2, 2), (1, 1, 1, 1)),
]


def transposed(
    add_node: AddNode, graph: Graph, case: Case, name: str, **attributes: AttrValue
) -> Node:
    """Return a Conv2DTransposeD with a bias whose images and filter are in blocks."""
    dtype, wide, result = COLUMNS[name]
    weights = (case.x[1], case.filters // case.groups, *case.window)
    y = (case.x[0], case.filters, *case.spread())
    inputs = [
        image(dtype, *case.x),
        stored(dtype, weights, "FRACTAL_Z", case.groups),
        TensorType(wide, (case.filters,)),
    ]
    named: dict[str, AttrValue] = {
        **case.attributes(),
        "groups": case.groups,
        "input_size": y,
        "output_padding": (0, 0, *case.extra),
        **attributes,
    }
    return add_node(graph, "Conv2DTransposeD", inputs, [image(result, *y)], named)


@pytest.mark.parametrize("name", sampled("float16", "int8", "float32", "float32-sums"))
def test_transposed_convolutions_of_blocks_agree(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    graph = Graph("transposed", Phase.TYPED)
    for case in SPREAD:
        if name != "int8" or case.groups == 1:
            transposed(add_node, graph, case, name)
    if name == "int8":
        transposed(add_node, graph, SPREAD[1], name, offset_x=-7)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


@pytest.mark.parametrize("name", sampled("float16", "int8", "float32", "float32-sums"))
def test_convolutions_of_blocks_agree(add_node: AddNode, verified: Verified, name: str) -> None:
    graph = Graph("convolutions", Phase.TYPED)
    for case in (*CASES, *GROUPED):
        convolution(add_node, graph, case, name)
    if name == "int8":
        convolution(add_node, graph, CASES[2], name, offset_x=-7)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


@pytest.mark.parametrize("name", sampled("float32-sums", "float16", "int8"))
def test_results_leave_split_cores_in_blocks(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    """Check Fixpipe, with the bias from the table, and padding that is filled in in L1."""
    graph = Graph("split", Phase.TYPED)
    for case in (*CASES[:7], GROUPED[0]):
        convolution(add_node, graph, case, name)
    for case in (SPREAD[0], SPREAD[1], SPREAD[-1]):
        transposed(add_node, graph, case, name)
    if name == "int8":
        convolution(add_node, graph, CASES[2], name, offset_x=-7)
        transposed(add_node, graph, SPREAD[1], name, offset_x=-7)
    checked = verified(graph, "Ascend910B1")
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def depthwise(add_node: AddNode, graph: Graph, name: str, channels: int, times: int) -> None:
    """Add a DepthwiseConv2D with a bias; its filter is stored as the name of the graph says."""
    dtype, wide, result = COLUMNS[name]
    filters = channels * times
    types = [
        image(dtype, 2, channels, 9, 7),
        stored(dtype, (filters, 1, 3, 3), graph.name, channels),
        TensorType(wide, (filters,)),
    ]
    named: dict[str, AttrValue] = {"strides": (1, 1, 2, 1), "pads": (1, 1, 0, 2)}
    add_node(graph, "DepthwiseConv2D", types, [image(result, 2, filters, 5, 7)], named)


def test_depthwise_convolutions_of_blocks_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("C1HWNCoC0", Phase.TYPED)
    for name in ("float16", "int8", "float32"):
        for channels, times in ((5, 1), (16, 1), (70, 1), (5, 3)):
            depthwise(add_node, graph, name, channels, times)
    checked = verified(graph)
    assert wrong(checked) == []
    by_rows = {each.row: each for each in checked if each.kernel["addresses"] == "origin"}
    assert len(checked) - 3 * len(by_rows) == 9  # several filters a channel are taken by rows
    assert addressed(checked) == {"storage", "origin"}


@pytest.mark.parametrize("soc", sampled("Ascend310P3", "Ascend910B1"))
def test_depthwise_filters_in_fractals_agree(
    add_node: AddNode, verified: Verified, soc: str
) -> None:
    """Check tails of channels, several diagonals, and several filters a channel, all in blocks."""
    graph = Graph("FRACTAL_Z", Phase.TYPED)
    for name in ("float16", "int8"):
        for channels, times in ((5, 1), (16, 1), (70, 1), (5, 3), (40, 2)):
            depthwise(add_node, graph, name, channels, times)
    checked = verified(graph, soc)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


HALF_FULL = [
    Case((1, 24, 5, 5), 24, groups=6),
    Case((2, 72, 5, 4), 48, (3, 2), pads=(1, 0, 0, 1), groups=3),
    Case((1, 40, 4, 6), 20, (1, 1), groups=5),
]
"""Groups that leave the last diagonal half empty: its blocks end after those of the image."""


@pytest.mark.parametrize("soc", sampled("Ascend310P3", "Ascend910B1"))
def test_groups_that_leave_a_diagonal_half_empty_agree(
    add_node: AddNode, verified: Verified, soc: str
) -> None:
    graph = Graph("diagonals", Phase.TYPED)
    for case in HALF_FULL:
        convolution(add_node, graph, case, "float16")
        convolution(add_node, graph, case, "int8", offset_x=-7)
    checked = verified(graph, soc)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


@pytest.mark.parametrize("sanitize", SANITIZED)
def test_functions_after_convolutions_leave_zeros(
    add_node: AddNode, verified: Verified, sanitize: bool
) -> None:
    graph = Graph("links", Phase.TYPED)
    for case in (CASES[1], CASES[2], Case((1, 20, 19, 23), 33, pads=(1, 1, 1, 1))):
        head = convolution(add_node, graph, case, "float16")
        head.scope = 1 + max(node.scope for node in graph.nodes)
        value = head.outputs[0]
        residual = graph.add_input("residual", value.type)
        single = graph.add_input("single", TensorType(F16, ()))
        for op, others in (("Add", [residual]), ("Sub", [single]), ("Sigmoid", [])):
            node = graph.add_node(op, [value, *others], [("out", value.type)])
            node.engine, node.scope = head.engine, head.scope
            value = node.outputs[0]
    assert {*launches(graph)} == {"Conv2D+Add+Sub+Sigmoid"}
    checked = verified(graph, sanitize=sanitize)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


@pytest.mark.parametrize("name", sampled("int8", "float16", "float32"))
def test_convolutions_larger_than_all_buffers_are_cut_along_every_dim(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    graph = Graph("large", Phase.TYPED)
    convolution(add_node, graph, Case((1, 900, 23, 19), 300, pads=(1, 1, 1, 1)), name)
    convolution(add_node, graph, Case((1, 3, 3, 700), 2, (2, 3), pads=(1, 0, 0, 1)), name)
    checked = verified(graph, "sim" if name == "float32" else "Hi3796CV300CS")
    tilings = [each.kernel["rows"][each.row]["tiling"] for each in checked]
    assert any(min(t["m_count"], t["n_count"], t["l1_count"]) > 1 for t in tilings)
    assert any(t["column_count"] > 1 for t in tilings)
    assert wrong(checked) == []


def in_eights(node: Node) -> None:
    """Store the images and the filter of a convolution in blocks of eight."""
    for value in (*node.present_inputs[:2], *node.outputs):
        storage = value.type.storage
        assert storage is not None
        value.type = value.type.with_storage(replace(storage, c0=8))


@pytest.mark.parametrize(("soc", "place"), [("Ascend910B1", "storage"), ("Ascend310B1", "origin")])
def test_convolutions_of_blocks_of_eight_agree(
    add_node: AddNode, verified: Verified, soc: str, place: str
) -> None:
    """Check float32 of a float32 cube: the fix pipe of split cores makes blocks of eight."""
    graph = Graph("eight", Phase.TYPED)
    for case in (*CASES[:7], *GROUPED[:3], HALF_FULL[1]):
        in_eights(convolution(add_node, graph, case, "float32"))
    for case in SPREAD[-3:] if place == "origin" else ():
        in_eights(transposed(add_node, graph, case, "float32"))
    checked = verified(graph, soc)
    assert wrong(checked) == []
    assert addressed(checked) == {place}


def test_what_blocks_do_not_cover_is_addressed_by_rows(
    add_node: AddNode, verified: Verified
) -> None:
    """Check turned filters whose groups leave a diagonal half empty, or begin inside a block."""
    graph = Graph("rows", Phase.TYPED)
    transposed(add_node, graph, Case((1, 32, 6, 5), 64, (2, 2), (2, 2), groups=2), "int8")
    transposed(add_node, graph, Case((1, 24, 5, 5), 24, groups=6), "float16")
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"origin"}
