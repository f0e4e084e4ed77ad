"""Pools of blocks of channels on the host: bit for bit the simulator's, zeros in the padding."""

from typing import Any

import pytest

from atc_py.ir import Graph, Phase
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import SANITIZED, addressed, image, sampled
from tests.kernels.families.conftest import Verified, wrong
from tests.kernels.families.test_pooling import WINDOWS, result_of, window

F16 = DType.FLOAT16
MORE: list[tuple[Shape, dict[str, Any]]] = [
    ((2, 16, 12, 15), window((3, 4), (2, 3), pads=(1, 0, 2, 1), ceil_mode=True)),
    ((1, 35, 12, 15), window((3, 4), (2, 3), pads=(1, 0, 2, 1), exclusive=False)),
    ((1, 64, 14, 14), window((3, 3), (2, 2), pads=(1, 1, 1, 1))),
]
"""Whole blocks of channels, and a rest."""


@pytest.mark.parametrize("op", sampled("AvgPoolV2", "MaxPoolV3"))
def test_windows_over_blocks_agree(add_node: AddNode, verified: Verified, op: str) -> None:
    graph = Graph("windows", Phase.TYPED)
    cases = [*WINDOWS, *MORE]
    for shape, named in cases:
        attributes = dict(named)
        if op == "MaxPoolV3":
            attributes.pop("exclusive", None)
        result = image(F16, *result_of(op, shape, attributes))
        add_node(graph, op, [image(F16, *shape)], [result], attributes)
    checked = verified(graph, "Ascend310P3")
    assert len(checked) == len(cases)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


def test_largest_elements_of_float32_blocks_agree(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("wide", Phase.TYPED)
    for shape, attributes in MORE:
        named = {name: value for name, value in attributes.items() if name != "exclusive"}
        result = image(DType.FLOAT32, *result_of("MaxPoolV3", shape, named))
        add_node(graph, "MaxPoolV3", [image(DType.FLOAT32, *shape)], [result], named)
    checked = verified(graph, "Ascend910B1")
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


@pytest.mark.parametrize("sanitize", SANITIZED)
def test_dilated_windows_over_blocks_agree(
    add_node: AddNode, verified: Verified, sanitize: bool
) -> None:
    graph = Graph("dilated", Phase.TYPED)
    shape = (1, 18, 17, 19)
    for dilations, pads in (((2, 3), (0, 0, 0, 0)), ((1, 5), (0, 0, 4, 5))):
        attributes = window((3, 3), (2, 1), dilations=(1, 1, *dilations), pads=pads)
        result = image(F16, *result_of("MaxPoolV3", shape, attributes))
        add_node(graph, "MaxPoolV3", [image(F16, *shape)], [result], attributes)
    checked = verified(graph, sanitize=sanitize)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}
