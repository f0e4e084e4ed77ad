"""Convolutions on the host: what the simulator computes, on awkward shapes."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16, F32, I8, I32 = DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.INT32
COLUMNS = {
    "float16": (F16, F16, F16),
    "float32": (F32, F32, F32),
    "int8": (I8, I32, I32),
    "float32-sums": (F16, F32, F32),
}
"""Dtypes of operands, bias and result."""


@dataclass(frozen=True)
class Case:
    """A convolution of `x` by windows of `window` into `filters` channels.

    Pads are [top, bottom, left, right]; `extra` is the output padding of a transposed one.
    """

    x: Shape
    filters: int
    window: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilations: tuple[int, int] = (1, 1)
    groups: int = 1
    extra: tuple[int, int] = (0, 0)

    def attributes(self) -> dict[str, AttrValue]:
        return {
            "strides": (1, 1, *self.strides),
            "pads": self.pads,
            "dilations": (1, 1, *self.dilations),
        }

    def reach(self, axis: int) -> int:
        return self.dilations[axis] * (self.window[axis] - 1) + 1

    def outputs(self) -> Shape:
        sums = self.pads[0] + self.pads[1], self.pads[2] + self.pads[3]
        return tuple(
            (self.x[2 + axis] + sums[axis] - self.reach(axis)) // self.strides[axis] + 1
            for axis in (0, 1)
        )

    def spread(self) -> Shape:
        sums = self.pads[0] + self.pads[1], self.pads[2] + self.pads[3]
        return tuple(
            (self.x[2 + axis] - 1) * self.strides[axis]
            + self.reach(axis)
            - sums[axis]
            + self.extra[axis]
            for axis in (0, 1)
        )


CASES = [
    Case((1, 1, 1, 1), 1, (1, 1)),
    Case((1, 3, 7, 5), 2, (3, 3), pads=(1, 1, 1, 1)),
    Case((2, 17, 9, 11), 19, (3, 2), (2, 3), (2, 0, 1, 3)),
    Case((1, 33, 13, 29), 31, (1, 1)),
    Case((1, 4, 12, 10), 6, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2), groups=2),
    Case((1, 3, 5, 5), 5, (5, 5), (1, 1), (4, 4, 4, 4)),
    Case((1, 2, 2, 41), 3, (1, 7), (1, 5), (0, 0, 3, 3), (1, 3)),
    Case((1, 1, 3, 700), 2, (2, 3), (1, 1), (1, 0, 0, 1)),
    Case((0, 3, 7, 5), 2),
]
TRANSPOSED = [
    Case((1, 1, 1, 1), 1, (1, 1)),
    Case((1, 3, 4, 5), 2, (3, 3), (2, 2), (1, 1, 1, 1), extra=(1, 0)),
    Case((2, 17, 5, 3), 19, (2, 2), (2, 2)),
    Case((1, 4, 6, 5), 6, (3, 2), (3, 1), (1, 0, 0, 1), (2, 2), groups=2),
    Case((1, 2, 3, 300), 33, (1, 5), (1, 2), (0, 0, 2, 2)),
    Case((1, 2, 2, 3), 3, (64, 64), (32, 32), (16, 16, 16, 16)),
    Case((0, 3, 7, 5), 2),
]


def _map(dtype: DType, shape: Shape) -> TensorType:
    return TensorType(dtype, shape, Format.NCHW)


def _add(
    add_node: AddNode,
    graph: Graph,
    case: Case,
    column: tuple[DType, DType, DType],
    offset: TensorType | None = None,
    **attributes: AttrValue,
) -> None:
    """Add a Conv2D with a bias."""
    weights = (case.filters, case.x[1] // case.groups, *case.window)
    inputs = [_map(column[0], case.x), _map(column[0], weights)]
    inputs += [TensorType(column[1], (case.filters,)), *([offset] if offset else [])]
    result = _map(column[2], (case.x[0], case.filters, *case.outputs()))
    named = {**case.attributes(), "groups": case.groups, **attributes}
    add_node(graph, "Conv2D", inputs, [result], named)


def _add_transposed(
    add_node: AddNode,
    graph: Graph,
    case: Case,
    column: tuple[DType, DType, DType],
    offset: TensorType | None = None,
    **attributes: AttrValue,
) -> None:
    """Add a Conv2DTransposeD with a bias."""
    weights = (case.x[1], case.filters // case.groups, *case.window)
    result = (case.x[0], case.filters, *case.spread())
    inputs = [_map(column[0], case.x), _map(column[0], weights)]
    inputs += [TensorType(column[1], (case.filters,)), *([offset] if offset else [])]
    named: dict[str, AttrValue] = {
        **case.attributes(),
        "groups": case.groups,
        "input_size": result,
        "output_padding": (0, 0, *case.extra),
        **attributes,
    }
    add_node(graph, "Conv2DTransposeD", inputs, [_map(column[2], result)], named)


@pytest.mark.parametrize("name", sampled(["float16", "float32"], ["int8", "float32-sums"]))
def test_convolutions_of_awkward_shapes_agree(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    graph = Graph("convolutions", Phase.TYPED)
    for case in CASES:
        _add(add_node, graph, case, COLUMNS[name])
    checked = verified(graph)
    assert len(checked) == len(CASES)
    assert wrong(checked) == []


@pytest.mark.parametrize("name", sampled(["float32-sums"], ["float16", "float32", "int8"]))
def test_transposed_convolutions_of_awkward_shapes_agree(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    graph = Graph("transposed", Phase.TYPED)
    for case in TRANSPOSED:
        _add_transposed(add_node, graph, case, COLUMNS[name])
    checked = verified(graph)
    assert len(checked) == len(TRANSPOSED)
    assert wrong(checked) == []


def test_every_channel_of_a_depthwise_convolution_has_its_filters(
    add_node: AddNode, verified: Verified
) -> None:
    graph = Graph("depthwise", Phase.TYPED)
    for column in (COLUMNS["float16"], COLUMNS["int8"]):
        for times in (1, 3):
            types = [
                _map(column[0], (2, 5, 9, 7)),
                _map(column[0], (5 * times, 1, 3, 3)),
                TensorType(column[1], (5 * times,)),
            ]
            named: dict[str, AttrValue] = {"strides": (1, 1, 2, 1), "pads": (1, 1, 0, 2)}
            result = _map(column[2], (2, 5 * times, 5, 7))
            add_node(graph, "DepthwiseConv2D", types, [result], named)
    assert wrong(verified(graph)) == []


@pytest.mark.parametrize("adding", sampled([_add], [_add_transposed]))
def test_padding_counts_as_the_zero_of_int8_data(
    add_node: AddNode, verified: Verified, adding: Callable[..., None]
) -> None:
    graph = Graph("zero", Phase.TYPED)
    for zero in (-128, 127):
        adding(add_node, graph, CASES[1], COLUMNS["int8"], offset_x=zero)
        adding(add_node, graph, TRANSPOSED[3], COLUMNS["int8"], offset_x=zero)
    assert wrong(verified(graph)) == []


@pytest.mark.parametrize("adding", sampled([_add_transposed], [_add]))
def test_offsets_of_filters_agree(
    add_node: AddNode, verified: Verified, adding: Callable[..., None]
) -> None:
    graph = Graph("offsets", Phase.TYPED)
    for case in (CASES[1], TRANSPOSED[3]):
        for width in (1, case.filters):
            adding(
                add_node, graph, case, COLUMNS["int8"], offset_x=5, offset=TensorType(I8, (width,))
            )
    assert wrong(verified(graph)) == []


def test_bfloat16_agrees_where_the_cube_has_it(add_node: AddNode, verified: Verified) -> None:
    column = (DType.BFLOAT16,) * 3
    graph = Graph("bfloat16", Phase.TYPED)
    _add(add_node, graph, CASES[2], column)
    _add_transposed(add_node, graph, TRANSPOSED[1], column)
    assert wrong(verified(graph, "Ascend310B1")) == []


@pytest.mark.parametrize("name", sampled(["int8"], ["float16", "float32", "float32-sums"]))
def test_rows_agree_on_split_cores(add_node: AddNode, verified: Verified, name: str) -> None:
    graph = Graph("split", Phase.TYPED)
    for case in (CASES[1], CASES[4], CASES[8]):
        _add(add_node, graph, case, COLUMNS[name])
    for case in (TRANSPOSED[1], TRANSPOSED[3]):
        _add_transposed(add_node, graph, case, COLUMNS[name])
    if name == "int8":
        for adding in (_add, _add_transposed):
            offset = TensorType(I8, (CASES[1].filters,))
            adding(add_node, graph, CASES[1], COLUMNS[name], offset, offset_x=5)
    assert wrong(verified(graph, "Ascend910B1")) == []


@pytest.mark.parametrize("name", sampled(["int8"], ["float16", "float32"]))
def test_convolutions_larger_than_all_buffers_are_cut_along_every_dim(
    add_node: AddNode, verified: Verified, name: str
) -> None:
    """Check channels, positions and the sum over L1 tiles, on the SoC with the smallest buffers."""
    graph = Graph("large", Phase.TYPED)
    _add(add_node, graph, Case((1, 900, 23, 19), 300, pads=(1, 1, 1, 1)), COLUMNS[name])
    _add_transposed(add_node, graph, Case((1, 900, 9, 11), 300, strides=(2, 2)), COLUMNS[name])
    soc = "sim" if name == "float32" else "Hi3796CV300CS"
    checked = verified(graph, soc, sanitize=False)
    for each in checked:
        tiling = each.kernel["rows"][0]["tiling"]
        assert min(tiling["m_count"], tiling["n_count"], tiling["l1_count"]) > 1
    assert wrong(checked) == []
