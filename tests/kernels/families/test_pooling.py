"""Pools on the host: bit for bit what the simulator computes, for every attribute."""

from typing import Any

import pytest

from atc_py.device.sim.kernel import find_kernel
from atc_py.ir import Graph, Phase, TensorType
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16 = DType.FLOAT16


def window(size: tuple[int, int], stride: tuple[int, int] = (1, 1), **rest: Any) -> dict[str, Any]:
    return {"ksize": (1, 1, *size), "strides": (1, 1, *stride), **rest}


WINDOWS: list[tuple[Shape, dict[str, Any]]] = [
    ((1, 1, 1, 1), window((1, 1))),
    ((2, 3, 7, 31), window((3, 3), (2, 2), pads=(1, 1, 1, 1))),
    ((1, 3, 13, 17), window((2, 5), (1, 3), pads=(0, 1, 3, 2))),
    ((1, 2, 11, 13), window((3, 3), (2, 2), ceil_mode=True)),
    ((1, 2, 11, 13), window((3, 3), (3, 3), pads=(1, 1, 1, 1), ceil_mode=True)),
    ((1, 2, 7, 5), window((10, 120), (10, 120), ceil_mode=True)),
    ((1, 2, 7, 5), window((9, 6), (8, 3), pads=(1, 0, 0, 2), ceil_mode=True)),
    ((1, 2, 11, 14), window((3, 2), (2, 3), padding_mode="SAME")),
    ((1, 2, 12, 13), window((3, 4), (2, 3), padding_mode="SAME")),  # odd pads
    ((1, 2, 11, 14), window((4, 5), (2, 3), padding_mode="VALID")),
    ((5, 3, 7, 7), window((7, 7))),
    ((5, 3, 7, 9), window((1, 1), global_pooling=True)),
    ((0, 3, 7, 9), window((3, 3))),
    ((2, 3, 0, 9), window((3, 3), (2, 1), pads=(2, 2, 1, 1))),
    ((2, 3, 9, 0), window((3, 3), (2, 1), pads=(1, 1, 2, 2))),
    ((1, 1, 3, 5_003), window((3, 3), (1, 2), pads=(1, 1, 1, 1))),
    ((1, 2, 300, 401), window((5, 5), (1, 1), pads=(2, 2, 2, 2))),
    ((1, 1, 257, 311), window((1, 1), global_pooling=True)),
    ((1, 2, 2, 60_013), window((1, 1), global_pooling=True)),
    ((1, 1, 2, 60_013), window((2, 255), (1, 63), pads=(0, 0, 127, 100))),
]
"""One element, tails, pads on one side, overhanging windows, nothing but padding, beyond all buffers,
all of a map.
"""


def result_of(op: str, shape: Shape, attributes: dict[str, Any]) -> Shape:
    """Return the shape that the simulator gives the node."""
    row, kernel = find_operator(op), find_kernel(op)
    assert row is not None
    assert kernel is not None
    merged = {each.name: each.default for each in row.attributes} | attributes
    facts = (TensorFacts(F16, shape),)
    return kernel.types(NodeView(op, op, "aicore", facts, facts, merged))[0].shape


def _add(
    graph: Graph,
    add_node: AddNode,
    op: str,
    shape: Shape,
    attributes: dict[str, Any],
    dtype: DType = F16,
) -> None:
    result = result_of(op, shape, attributes)
    add_node(graph, op, [TensorType(dtype, shape)], [TensorType(dtype, result)], attributes)


@pytest.mark.parametrize(
    ("op", "soc"),
    sampled(
        [("MaxPoolV3", "Ascend310P3"), ("AvgPoolV2", "Ascend910B1")],
        [("MaxPoolV3", "Ascend910B1"), ("AvgPoolV2", "Ascend310P3")],
    ),
)
def test_windows_agree(add_node: AddNode, verified: Verified, op: str, soc: str) -> None:
    graph = Graph("windows", Phase.TYPED)
    for shape, attributes in WINDOWS:
        _add(graph, add_node, op, shape, attributes)
    checked = verified(graph, soc)
    assert len(checked) == len(WINDOWS)
    assert wrong(checked) == []


def test_largest_elements_are_the_same_bits(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("exact", Phase.TYPED)
    for op in ("MaxPoolV3", "AvgPoolV2"):
        _add(graph, add_node, op, (2, 3, 7, 31), window((3, 3), (2, 2), pads=(1, 1, 1, 1)))
    assert [each.verdict.value for each in verified(graph)] == ["equal", "equal"]


def test_largest_elements_of_float32_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("wide", Phase.TYPED)
    for shape, attributes in WINDOWS[1:4]:
        _add(graph, add_node, "MaxPoolV3", shape, attributes, DType.FLOAT32)
    assert {each.verdict.value for each in verified(graph, "Ascend910B1")} == {"equal"}


def test_dilated_windows_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("dilated", Phase.TYPED)
    for dilations, pads in (((2, 3), (0, 0, 0, 0)), ((3, 1), (2, 3, 0, 1)), ((1, 5), (0, 0, 4, 5))):
        attributes = window((3, 3), (2, 1), dilations=(1, 1, *dilations), pads=pads)
        _add(graph, add_node, "MaxPoolV3", (1, 2, 17, 19), attributes)
    assert wrong(verified(graph)) == []


def test_divisors_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("divisors", Phase.TYPED)
    for rest in (
        {"exclusive": False},
        {"exclusive": False, "ceil_mode": True},
        {"exclusive": True, "ceil_mode": True},
        {"divisor_override": 7},
    ):
        for pads in ((0, 0, 0, 0), (1, 0, 2, 1)):
            attributes = window((3, 4), (2, 3), pads=pads, **rest)
            _add(graph, add_node, "AvgPoolV2", (2, 2, 12, 15), attributes)
    checked = verified(graph)
    assert len(checked) == 8
    assert wrong(checked) == []
