"""Convolutions of volumes on the host, by rows and in blocks: what the simulator computes."""

from dataclasses import dataclass

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import Storage
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import addressed, sampled
from tests.kernels.families.conftest import Verified, wrong
from tests.kernels.families.test_convolution import COLUMNS


@dataclass(frozen=True)
class Case:
    """A convolution of the volumes `x` by windows of `window` into `filters` channels.

    Pads are front, back, top, bottom, left, right; `extra` is the output padding where it is
    transposed.
    """

    x: Shape
    filters: int
    window: Shape
    strides: Shape = (1, 1, 1)
    pads: Shape = (0, 0, 0, 0, 0, 0)
    dilations: Shape = (1, 1, 1)
    groups: int = 1
    extra: Shape = (0, 0, 0)

    def outputs(self) -> Shape:
        return tuple(
            (self.x[2 + at] + self._pads(at) - self._reach(at)) // self.strides[at] + 1
            for at in range(3)
        )

    def spread(self) -> Shape:
        return tuple(
            (self.x[2 + at] - 1) * self.strides[at]
            + self._reach(at)
            - self._pads(at)
            + self.extra[at]
            for at in range(3)
        )

    def _reach(self, axis: int) -> int:
        return self.dilations[axis] * (self.window[axis] - 1) + 1

    def _pads(self, axis: int) -> int:
        return sum(self.pads[2 * axis : 2 * axis + 2])


CASES = [
    Case((1, 1, 1, 1, 1), 1, (1, 1, 1)),
    Case((1, 3, 4, 5, 7), 2, (3, 3, 3), pads=(1,) * 6),
    Case((2, 17, 5, 4, 6), 19, (2, 3, 2), (2, 1, 3), (1, 0, 2, 0, 1, 2)),
    Case((1, 4, 6, 5, 4), 6, (2, 2, 2), (1, 2, 1), (2, 2, 1, 1, 0, 2), (3, 2, 2), groups=2),
    Case((1, 128, 2, 3, 3), 128, (2, 1, 3), pads=(0, 1, 0, 0, 1, 1), groups=32),
    Case((1, 2, 2, 3, 5), 3, (5, 1, 1), pads=(4, 4, 0, 0, 0, 0)),
    Case((0, 3, 2, 3, 4), 2, (1, 1, 1)),
]
SPREAD = [
    Case((1, 1, 1, 1, 1), 1, (1, 1, 1)),
    Case((1, 3, 2, 4, 3), 2, (3, 3, 3), (2, 2, 2), (1,) * 6, extra=(1, 0, 1)),
    Case((2, 17, 3, 2, 3), 19, (2, 2, 1), (2, 1, 3)),
    Case((1, 4, 3, 4, 3), 6, (2, 2, 2), (3, 1, 1), (1, 0, 0, 1, 0, 0), (2, 1, 2), groups=2),
    Case((1, 32, 2, 3, 2), 64, (2, 2, 2), (2, 2, 2), groups=2),
]
"""One element, odd sizes, rests of blocks, groups, padding deeper than the volume, nothing."""


def _add(
    add_node: AddNode, graph: Graph, case: Case, name: str, op: str, blocks: int | None = 0
) -> None:
    """Add a convolution with a bias: in blocks, 0 for the dtype's own, or row by row for None."""
    dtype, wide, result = COLUMNS[name]
    turned = op == "Conv3DTransposeD"
    outputs = (case.x[0], case.filters, *(case.spread() if turned else case.outputs()))
    channels = case.x[1], case.filters
    first, second = channels if turned else channels[::-1]
    weights = (first, second // case.groups, *case.window)
    attributes: dict[str, AttrValue] = {
        "strides": (1, 1, *case.strides),
        "pads": case.pads,
        "dilations": (1, 1, *case.dilations),
        "groups": case.groups,
    }
    if turned:
        attributes |= {"input_size": outputs, "output_padding": (0, 0, *case.extra)}
    x, filters, y = (
        TensorType(kind, shape, Format.NCDHW)
        for kind, shape in ((dtype, case.x), (dtype, weights), (result, outputs))
    )
    if blocks is not None:
        x, y = (each.with_storage(Storage(Format.NDC1HWC0, c0=blocks)) for each in (x, y))
        filters = filters.with_storage(Storage(Format.FRACTAL_Z_3D, case.groups, blocks))
    add_node(graph, op, [x, filters, TensorType(wide, (case.filters,))], [y], attributes)


@pytest.mark.parametrize("name", sampled("float16", "int8", "float32", "float32-sums"))
def test_convolutions_of_volumes_in_blocks_agree(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    graph = Graph("volumes", Phase.TYPED)
    for case in CASES:
        _add(add_node, graph, case, name, "Conv3D")
    for case in SPREAD if name != "int8" else ():
        _add(add_node, graph, case, name, "Conv3DTransposeD")
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}
    assert {each.kernel["family"] for each in checked} == {"conv"}


@pytest.mark.parametrize(
    ("soc", "name"),
    [
        ("sim", "float16"),
        ("Ascend910B1", "float16"),
        *(
            pytest.param(soc, name, marks=pytest.mark.sweep)
            for soc in ("sim", "Ascend910B1")
            for name in ("int8", "float32-sums")
        ),
    ],
)
def test_convolutions_of_volumes_agree_by_rows_and_on_split_cores(
    add_node: AddNode, verified: Verified, soc: str, name: str
) -> None:
    """Check rows, from which no split core makes fractals, and blocks that leave by Fixpipe."""
    graph = Graph("others", Phase.TYPED)
    split = soc != "sim"
    for case in (CASES[2], CASES[3], CASES[5]):
        _add(add_node, graph, case, name, "Conv3D", 0 if split else None)
    for case in (SPREAD[1], SPREAD[2 if split else 3]) if name != "int8" else ():
        _add(add_node, graph, case, name, "Conv3DTransposeD", 0 if split else None)
    checked = verified(graph, soc)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


@pytest.mark.sweep
def test_blocks_of_eight_leave_split_cores(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("eight", Phase.TYPED)
    for case in CASES[:6]:
        _add(add_node, graph, case, "float32", "Conv3D", 8)
    checked = verified(graph, "Ascend910B1")
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}


VOLUMES: list[Shape] = [(1, 1, 1, 1, 1), (2, 33, 3, 4, 5), (0, 3, 2, 2, 2)]


def _volume(shape: Shape) -> TensorType:
    return TensorType(DType.FLOAT16, shape, Format.NCDHW, Storage(Format.NDC1HWC0))


def test_functions_of_volumes_keep_padding_zero(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("functions", Phase.TYPED)
    for shape in VOLUMES:
        add_node(graph, "Exp", [_volume(shape)], [_volume(shape)])
    whole = _volume((2, 35, 3, 5, 4))
    others = [
        TensorType(DType.FLOAT16, ()), TensorType(DType.FLOAT16, (35, 1, 1, 1)),
        TensorType(DType.FLOAT16, (1, 35, 1, 1, 1)), _volume((1, 35, 3, 5, 4)),
        _volume((2, 35, 1, 1, 1)), _volume((2, 35, 3, 1, 4)), whole,
    ]  # fmt: skip
    for other in others:
        add_node(graph, "Sub", [other, whole], [whole])
    parts = [_volume((2, 32, 3, 2, 3)), _volume((2, 32, 3, 2, 3))]
    for axis, shape in ((1, (2, 64, 3, 2, 3)), (2, (2, 32, 6, 2, 3)), (4, (2, 32, 3, 2, 6))):
        named: dict[str, AttrValue] = {"concat_dim": axis, "N": 2}
        add_node(graph, "ConcatD", parts, [_volume(shape)], named)
    checked = verified(graph)
    assert wrong(checked) == []
    assert addressed(checked) == {"storage"}
