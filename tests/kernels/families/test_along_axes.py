"""Reductions and normalizations on the host: what the simulator computes, along any axes."""

import numpy as np
import pytest

from atc_py.ir import AttrValue, DenseConst, Engine, Graph, Phase, TensorType
from atc_py.kernels.reduction import folded
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import SANITIZED
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

F16, F32 = DType.FLOAT16, DType.FLOAT32
AXES: list[tuple[Shape, tuple[int, ...]]] = [
    ((1,), (0,)),
    ((31,), (0,)),
    ((4, 7), (1,)),
    ((4, 7), (0,)),
    ((3, 5, 7), (1,)),
    ((3, 5, 7), (0, 2)),
    ((2, 3, 5, 7), (1, 3)),
    ((2, 3, 5, 7), (0, 2)),
    ((2, 3, 5, 7), (0, 1, 2, 3)),
    ((0, 5), (1,)),
    ((3, 40_009), (1,)),
    ((5, 40_009), (0,)),
    ((1, 7, 1), (0, 2)),
]
"""One element, primes, axes apart, all of them, nothing, rows and lanes beyond all buffers."""

SUMS = ("ReduceSumD", "ReduceMeanD", "ReduceMaxD", "ReduceMinD", "ReduceProdD")


def _kept(shape: Shape, axes: tuple[int, ...]) -> Shape:
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def _one(
    graph: Graph,
    add_node: AddNode,
    op: str,
    types: list[TensorType],
    result: TensorType,
    **attributes: AttrValue,
) -> None:
    """Add a node whose operands and attributes are given."""
    add_node(graph, op, types, [result], attributes)


@pytest.mark.parametrize("op", sampled(["ReduceSumD"], ["ReduceMaxD"]))
def test_reductions_agree_along_any_axes(add_node: AddNode, verified: Verified, op: str) -> None:
    graph = Graph("reduce", Phase.TYPED)
    for shape, axes in AXES:
        y = TensorType(F16, _kept(shape, axes))
        _one(graph, add_node, op, [TensorType(F16, shape)], y, axes=axes)
    checked = verified(graph)
    assert len(checked) == len(AXES)
    assert wrong(checked) == []


def test_every_reduction_agrees(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("reductions", Phase.TYPED)
    for dtype in (F16, F32):
        x, y = TensorType(dtype, (3, 5, 31)), TensorType(dtype, (3, 31))
        for op in SUMS:
            _one(graph, add_node, op, [x], y, axes=(1,))
        _one(graph, add_node, "SquareSumV1", [x], y, axis=(1,))
        for p in (1, 2):
            _one(graph, add_node, "LpNorm", [x], y, axes=(1,), p=p)
        for op in ("ArgMaxD", "ArgMinD"):
            for axis in (0, 1, 2):
                places = TensorType(DType.INT32, _kept(x.shape, (axis,)))
                _one(graph, add_node, op, [x], places, dimension=axis, dtype=DType.INT32)
    for op in ("ArgMaxD", "ArgMinD"):
        for axis in (1, 2):
            x = TensorType(DType.INT32, (3, 5, 31))
            places = TensorType(DType.INT32, _kept(x.shape, (axis,)))
            _one(graph, add_node, op, [x], places, dimension=axis, dtype=DType.INT32)
    for dtype in (DType.INT8, DType.UINT8, DType.BOOL, DType.INT32):
        for op in ("ReduceMaxD", "ReduceMinD") if dtype is not DType.BOOL else ("ReduceMaxD",):
            x, y = TensorType(dtype, (3, 5, 31)), TensorType(dtype, (3, 31))
            _one(graph, add_node, op, [x], y, axes=(1,))
            _one(graph, add_node, op, [x], TensorType(dtype, (3, 5)), axes=(2,))
    assert wrong(verified(graph)) == []


@pytest.mark.parametrize("op", ["SoftmaxV2", "LogSoftmaxV2", "MVNV2"])
def test_normalizations_agree_along_any_axes(
    add_node: AddNode, verified: Verified, op: str
) -> None:
    graph = Graph("normalize", Phase.TYPED)
    for shape, axes in AXES:
        _one(graph, add_node, op, [TensorType(F16, shape)], TensorType(F16, shape), axes=axes)
    assert wrong(verified(graph)) == []


@pytest.mark.parametrize("sanitize", SANITIZED)
def test_normalizations_with_parameters_agree(
    add_node: AddNode, verified: Verified, *, sanitize: bool
) -> None:
    graph = Graph("parameters", Phase.TYPED)
    for dtype in (F16, F32):
        for shape, first in (((3, 5, 31), 2), ((3, 5, 31), 1), ((2, 40_009), 1), ((0, 7), 1)):
            x, p = TensorType(dtype, shape), TensorType(dtype, shape[first:])
            _one(
                graph, add_node, "LayerNorm", [x, p, p], x,
                begin_norm_axis=first, begin_params_axis=first,
            )  # fmt: skip
            _one(graph, add_node, "RmsNorm", [x, p], x)
        for p_ in (1, 2):
            x = TensorType(dtype, (3, 5, 31))
            _one(graph, add_node, "LpNormalize", [x], x, p=p_, axis=1)
    wide = TensorType(F32, (3, 5))
    _one(graph, add_node, "SoftmaxV2", [TensorType(F16, (3, 5))], wide, half_to_float=True)
    checked = verified(graph, sanitize=sanitize)
    assert len(checked) == 21
    assert wrong(checked) == []


def test_layer_norm_with_its_statistics_agrees(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("statistics", Phase.TYPED)
    for dtype, wide in ((F16, F16), (F32, F32), (F16, F32)):
        for shape, first in (((3, 5, 31), 2), ((3, 5, 31), 1), ((2, 40_009), 1), ((3, 5, 1), 2)):
            x, p = TensorType(dtype, shape), TensorType(wide, shape[first:])
            row = TensorType(wide, shape[:first] + (1,) * (len(shape) - first))
            place = {"begin_norm_axis": first, "begin_params_axis": first}
            for outputs in ([x, row, row], [x])[: 1 + (dtype is not wide)]:
                add_node(graph, "LayerNorm", [x, p, p], outputs, place)
    checked = verified(graph)
    assert len(checked) == 16
    assert wrong(checked) == []


def test_operators_of_channels_agree_whatever_dims_are_one(
    add_node: AddNode, verified: Verified
) -> None:
    graph = Graph("channels", Phase.TYPED)
    shapes: list[Shape] = [
        (2, 3, 5, 7), (1, 2, 3, 4, 5), (3, 5, 1, 1), (2, 3, 7, 1), (1, 1, 1, 40_009), (2, 0, 3, 4),
    ]  # fmt: skip
    for dtype in (F16, F32):
        for shape in (*shapes, (2, 3, 9), (2, 3)):
            x, p = TensorType(dtype, shape), TensorType(dtype, shape[1:2])
            _one(graph, add_node, "InstanceNorm", [x, p, p], x, data_format="NCHW")
        for shape, groups in (
            ((2, 6, 5, 7), 3),
            ((3, 4, 1), 2),
            ((1, 2, 20_011), 1),
            ((2, 4, 9), 4),
        ):
            x, p = TensorType(dtype, shape), TensorType(dtype, shape[1:2])
            _one(graph, add_node, "GroupNorm", [x, p, p], x, num_groups=groups)
        for shape in shapes:
            x, y = TensorType(dtype, shape), TensorType(dtype, shape[:2] + (1,) * (len(shape) - 2))
            for power in (1.0, 3.0) if dtype is F16 else (2.0,):
                _one(graph, add_node, "GlobalLpPool", [x], y, p=power)
    checked = verified(graph)
    assert len(checked) == 2 * (8 + 4) + 6 * 3
    assert wrong(checked) == []


def test_logarithm_of_a_sum_of_exponentials_has_a_kernel_for_each_choice_of_axes(
    verified: Verified,
) -> None:
    graph = Graph("exponentials", Phase.TYPED)
    forms: list[tuple[Shape, tuple[int, ...]]] = [
        ((3, 3, 3), (0,)),
        ((3, 3, 3), (1,)),
        ((3, 3, 3), (2,)),
        ((3, 3, 3), (0, 2)),
    ]
    forms += [((2, 40_009), (1,)), ((5, 40_009), (0,)), ((4, 1), (1,)), ((7, 3), (0, 1))]
    for dtype in (F16, F32):
        for shape, axes in forms if dtype is F16 else forms[:1]:
            x = graph.add_input("x", TensorType(dtype, shape))
            where = graph.constant("axes", DenseConst(np.array(axes, np.int64)))
            types = [("y", TensorType(dtype, _kept(shape, axes)))]
            node = graph.add_node("ReduceLogSumExp", [x, where], types, {"keep_dims": False})
            node.engine = Engine.AICORE
    checked = verified(graph)
    assert len({each.kernel["name"] for each in checked}) == 5 + 1
    assert len(checked) == len(forms) + 1
    assert wrong(checked) == []


def test_neighboring_axes_of_one_kind_are_merged() -> None:
    found = folded((2, 3, 1, 5, 7), (1, 3))
    assert (found.kept, found.run, found.lanes, found.length) == (
        ((2, 105),), ((15, 7),), 7, 1,
    )  # fmt: skip
    assert found.count == 15
