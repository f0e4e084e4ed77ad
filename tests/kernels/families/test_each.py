"""Results worked out one by one on the host: places that data or numbers of the run name."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.ir import AttrValue, DenseConst, Engine, Graph, Phase, TensorType, Value
from atc_py.kernels.collect import collect
from atc_py.kernels.family import Launch
from atc_py.kernels.registry import family_of
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.kernels.families.conftest import Verified, wrong
from tests.sampling import sampled

Array = NDArray[Any]

F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16
I8, I32, I64, U8, BOOL = DType.INT8, DType.INT32, DType.INT64, DType.UINT8, DType.BOOL

Typed = tuple[DType, tuple[int, ...]]


def _add(
    graph: Graph,
    op: str,
    inputs: Sequence[Typed | Array | list[int] | None],
    outputs: Sequence[Typed],
    attributes: Mapping[str, AttrValue] | None = None,
) -> None:
    """Add a node; an array is a constant, a list one of int64."""
    values = [None if given is None else _value(graph, given) for given in inputs]
    results = [("out", TensorType(*each)) for each in outputs]
    graph.add_node(op, values, results, dict(attributes or {})).engine = Engine.AICORE


def _value(graph: Graph, given: Typed | Array | list[int]) -> Value:
    """Return an input of the graph, or a constant."""
    if isinstance(given, tuple):
        return graph.add_input("in", TensorType(*given))
    array = np.array(given, np.int64) if isinstance(given, list) else given
    return graph.constant("numbers", DenseConst(array))


def _words(numbers: list[int]) -> Array:
    """Return numbers in int32."""
    return np.array(numbers, np.int32)


def _add_parts_of_sequences_in_reverse(graph: Graph, dtype: DType) -> None:
    """Add nodes of one dtype."""
    for shape, time, batch in (((5, 3, 4), 0, 1), ((2, 9), 1, 0), ((3, 2, 7), -1, 0)):
        inputs: list[Typed] = [(dtype, shape), (I64, (shape[batch],))]
        attributes = {"seq_dim": time, "batch_dim": batch}
        _add(graph, "ReverseSequence", inputs, [(dtype, shape)], attributes)


def _add_numbers_of_the_run(graph: Graph, dtype: DType) -> None:
    """Add nodes of one dtype."""
    for x, times in (((2, 3, 5), [2, 1, 3]), ((7,), [1]), ((2, 3), [0, 2])):
        y = tuple(dim * count for dim, count in zip(x, times, strict=True))
        _add(graph, "Tile", [(dtype, x), times], [(dtype, y)])
    for x, y in (((2, 1, 5), (2, 3, 5)), ((1,), (4,)), ((3, 1), (3, 0))):
        _add(graph, "Expand", [(dtype, x), list(y)], [(dtype, y)])
    for mode in ("constant", "edge", "reflect"):
        for x, pads in (((3, 5), [1, 2, 0, 3]), ((2, 4, 3), [0, 0, 3, 1, 2, 2])):
            for together in (True, False):
                given = pads if together else [*pads[::2], *pads[1::2]]
                sides = zip(x, pads[::2], pads[1::2], strict=True)
                y = tuple(sum(side) for side in sides)
                attributes = {"mode": mode, "paddings_contiguous": together}
                _add(graph, "PadV3", [(dtype, x), given], [(dtype, y)], attributes)
    for axis in (-1, 0, 1):
        classes = [3, 4]
        classes.insert(axis if axis >= 0 else 2, 6)
        inputs: list[Typed | Array | list[int] | None] = [
            (I32, (3, 4)), [6], (dtype, ()), (dtype, ())
        ]  # fmt: skip
        _add(graph, "OneHot", inputs, [(dtype, tuple(classes))], {"axis": axis})


def _add_sums_along_axes_of_the_run(graph: Graph, dtype: DType) -> None:
    """Add nodes of one dtype."""
    for axes, keep, y in (
        ([1], True, (3, 1, 4)),
        ([0, -1], False, (5,)),
        ([], True, (3, 5, 4)),
    ):
        _add(graph, "ReduceSum", [(dtype, (3, 5, 4)), axes], [(dtype, y)], {"keep_dims": keep})
    attributes = {"keep_dims": False, "noop_with_empty_axes": False}
    _add(graph, "ReduceSum", [(dtype, (3, 5)), []], [(dtype, ())], attributes)
    for axis in ([0], [-1]):
        for exclusive, reverse in ((False, False), (True, True), (True, False)):
            directions = {"exclusive": exclusive, "reverse": reverse}
            _add(graph, "Cumsum", [(dtype, (3, 50)), axis], [(dtype, (3, 50))], directions)


def test_what_the_run_knows_alone_is_built(verified: Verified) -> None:
    graph = Graph("late", Phase.TYPED)
    _add(graph, "Merge", [(F16, (3, 7)), (F16, (3, 7))], [(F16, (3, 7))])
    _add(graph, "Shape", [(F16, (3, 7, 2))], [(I64, (3,))])
    for dtype in (F32, I32, I64):
        _add(graph, "Range", [(dtype, ())] * 3, [(dtype, (11,))])
    checked = verified(graph)
    assert [each.verdict.value for each in checked] == ["equal"] * 2 + ["skipped"] * 3


@pytest.mark.parametrize("mode", sampled(["sum"], ["mean", "max"]))
def test_bags_of_rows(verified: Verified, mode: str) -> None:
    graph = Graph("bags", Phase.TYPED)
    table: Typed = (F32, (9, 13))
    attributes: dict[str, AttrValue] = {"mode": mode}
    _add(graph, "EmbeddingBag", [table, (I32, (4, 6))], [(F32, (4, 13))], attributes)
    bags = [table, (I32, (30,)), (I32, (8,))]
    _add(graph, "EmbeddingBag", bags, [(F32, (8, 13))], attributes)
    last = {**attributes, "include_last_offset": True}
    factors = [(F32, (30,))] if mode == "sum" else []
    _add(graph, "EmbeddingBag", [*bags, *factors], [(F32, (7, 13))], last)
    assert wrong(verified(graph)) == []


def _add_regions(graph: Graph, dtype: DType) -> None:
    """Add nodes of one dtype."""
    x: Shape = (2, 3, 11, 14)
    features, rois = (dtype, x), (dtype, (9, 5))
    for mode, samples in (("avg", 2), ("max", 0), ("avg", 0)):
        size = {"pooled_height": 4, "pooled_width": 3}
        y = [(dtype, (9, 3, 4, 3))]
        scales = (0.5, 0.25)
        several: dict[str, AttrValue] = {
            "spatial_scale": scales, "sample_num": samples, "pool_mode": mode, "finest_scale": 6,
            "aligned": samples != 2, "roi_scale_factor": 1.3 if mode == "avg" else 0.0, **size,
        }  # fmt: skip
        _add(graph, "RoiExtractor", [rois, features, (dtype, (2, 3, 6, 7))], y, several)
    scales_of_both = {"spatial_scale_h": 0.5, "spatial_scale_w": 0.25}
    pooled: dict[str, AttrValue] = {"pooled_h": 4, "pooled_w": 3, **scales_of_both}
    _add(graph, "ROIPooling", [features, rois], [(dtype, (9, 3, 4, 3))], pooled)


def _add_windows_that_divide_an_image(graph: Graph, dtype: DType) -> None:
    """Add nodes of one dtype."""
    for x, size in (((2, 3, 7, 10), (3, 4)), ((1, 17, 5, 5), (1, 1)), ((1, 2, 2, 3), (5, 7))):
        shape = (*x[:2], *size)
        results = [(dtype, shape), (I32, shape)]
        _add(graph, "AdaptiveMaxPool2d", [(dtype, x)], results, {"output_size": size})


def _add_sequences_of_different_lengths(graph: Graph, dtype: DType) -> None:
    """Add nodes of one dtype."""
    for first, second in (([3, 0, 4], [2, 5, 1]), ([1], [1]), ([0], [3])):
        rows = sum(one * other for one, other in zip(first, second, strict=True))
        tables: list[Typed] = [(dtype, (sum(each), 13)) for each in (first, second)]
        graph_inputs: list[Typed | Array | list[int] | None] = [
            *tables, _words(first), _words(second)
        ]  # fmt: skip
        _add(graph, "DynSeqOuter", graph_inputs, [(dtype, (rows, 13))])
    for beams, frames, ksize in (([1, 3], [5, 40], 4), ([2, 1], [3, 0], 9), ([1], [7], 1)):
        total = sum(one * other for one, other in zip(beams, frames, strict=True))
        lines = [(dtype, (total,))] * 2
        results = [(dtype, (sum(beams), sum(frames)))]
        inputs: list[Typed | Array | list[int] | None] = [*lines, _words([*beams, *frames])]
        _add(graph, "MovingSumWithSigmoid", inputs, results, {"ksize": ksize})


def _add_rows_in_order(graph: Graph, dtype: DType) -> None:
    """Add nodes of one dtype."""
    ramp: Typed = (F16, (8192,))
    for x, k, largest in (((3, 40), 5, True), ((2, 3, 17), 17, False), ((1, 9_001), 8, True)):
        results = [(dtype, (*x[:-1], k)), (I32, (*x[:-1], k))]
        _add(graph, "TopKD", [(dtype, x), ramp], results, {"k": k, "largest": largest})


TAKEN: dict[Callable[[Graph, DType], None], set[DType]] = {
    _add_parts_of_sequences_in_reverse: {F16, BF16, I64, U8},
    _add_numbers_of_the_run: {F16, I32, I8},
    _add_sums_along_axes_of_the_run: {F16, F32, I32},
    _add_regions: {F16, F32, BF16},
    _add_windows_that_divide_an_image: {F16},
    _add_rows_in_order: {F16, F32, BF16},
    _add_sequences_of_different_lengths: {F16, F32},
}


@pytest.mark.parametrize("dtype", sampled([F16], [F32, BF16, I32, I8, U8, I64]))
def test_results_that_are_worked_out_one_by_one(verified: Verified, dtype: DType) -> None:
    graph = Graph("each", Phase.TYPED)
    for add, dtypes in TAKEN.items():
        if dtype in dtypes:
            add(graph, dtype)
    assert wrong(verified(graph)) == []


@pytest.mark.parametrize(("columns", "tiles", "cores"), [(3, 1, 1), (17, 3, 3), (9000, 8, 8)])
def test_cores_have_tiles_as_far_as_there_are_any(columns: int, tiles: int, cores: int) -> None:
    graph = Graph("each", Phase.TYPED)
    types: list[Typed] = [(F16, (2, columns)), (I64, (columns,))]
    _add(graph, "ReverseSequence", types, types[:1], {"seq_dim": 0, "batch_dim": 1})
    soc = find_soc("sim")
    (kernel,) = collect(graph, soc)
    tiling: Any = family_of(kernel.facts).plan(Launch(kernel.facts, graph.nodes[0], soc)).tiling
    assert (tiling.tile_count, tiling.core_num) == (tiles, cores)
