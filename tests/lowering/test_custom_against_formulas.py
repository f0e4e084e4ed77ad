"""Operators that ONNX does not define, through the whole compiler, against formulas.

The formulas are written out here, element by element, from what PyTorch's operators of the same
names do.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.diag import AtcError
from tests.lowering.custom_nodes import FORCE, KEEP, RELATIVE, near, normal, run

Array = npt.NDArray[Any]

MODES = st.sampled_from([KEEP, FORCE])


# AdaptiveMaxPool2D ------------------------------------------------------------------------------


@given(
    st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.sampled_from([np.float16, np.float32, np.float64]),
    MODES,
)
def test_adaptive_max_pool(
    shape: tuple[int, ...], size: tuple[int, int], dtype: type[Any], mode: str
) -> None:
    x = np.random.default_rng(shape).integers(-9, 9, shape).astype(dtype)  # many are equal
    y = np.empty((*shape[:2], *size), dtype)
    argmax = np.empty(y.shape, np.int32)
    for n, c, i, j in np.ndindex(y.shape):
        rows = range(i * shape[2] // size[0], math.ceil((i + 1) * shape[2] / size[0]))
        columns = range(j * shape[3] // size[1], math.ceil((j + 1) * shape[3] / size[1]))
        places = [row * shape[3] + column for row in rows for column in columns]
        best = max(places, key=lambda place: (x[n, c].reshape(-1)[place], -place))
        y[n, c, i, j], argmax[n, c, i, j] = x[n, c].reshape(-1)[best], best
    found = run("AdaptiveMaxPool2D", {"x": x}, [y, argmax], {"output_size": size}, mode=mode)
    near(found[0], y, 0)
    near(found[1], argmax, 0)


# AdaptiveAvgPool2D ------------------------------------------------------------------------------


@given(
    st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.sampled_from([np.float16, np.float32]),
    MODES,
)
def test_adaptive_avg_pool(
    shape: tuple[int, ...], size: tuple[int, int], dtype: type[Any], mode: str
) -> None:
    x = normal(*shape).astype(dtype)
    y = np.empty((*shape[:2], *size), dtype)
    for i, j in np.ndindex(*size):
        rows = slice(i * shape[2] // size[0], math.ceil((i + 1) * shape[2] / size[0]))
        columns = slice(j * shape[3] // size[1], math.ceil((j + 1) * shape[3] / size[1]))
        y[:, :, i, j] = x[:, :, rows, columns].mean(axis=(2, 3), dtype=np.float64)
    (found,) = run("AdaptiveAvgPool2D", {"x": x}, [y], {"output_size": size}, mode=mode)
    near(found, y, RELATIVE[FORCE if dtype is np.float16 else mode] * 4)  # two sums, a factor


def test_adaptive_avg_pool_spreads_what_is_not_finite_over_rows_and_columns() -> None:
    x = np.ones((1, 1, 4, 4), np.float32)
    x[0, 0, 0, 0] = np.inf
    expected = np.array([[np.inf, np.nan], [np.nan, np.nan]], np.float32)
    y = np.empty((1, 1, 2, 2), np.float32)
    (found,) = run("AdaptiveAvgPool2D", {"x": x}, [y], {"output_size": [2, 2]})
    np.testing.assert_array_equal(found[0, 0], expected)


# Addcmul ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [KEEP, FORCE])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "int8", "uint8"])
@pytest.mark.parametrize(
    "shapes", [((2, 3),) * 3 + ((1,),), ((2, 3), (3,), (2, 1), ()), ((), (4,), (2, 1, 1), (3, 1))]
)
def test_addcmul(mode: str, dtype: str, shapes: Sequence[tuple[int, ...]]) -> None:
    generator = np.random.default_rng(len(dtype))
    low = 0 if dtype[0] == "u" else -30
    data, x1, x2, value = (
        generator.integers(low, 30, shape).astype(dtype)
        if dtype[:5] != "float"
        else generator.standard_normal(shape).astype(dtype)
        for shape in shapes
    )
    wide = np.float64 if dtype[:5] == "float" else np.int64
    terms = [array.astype(wide) for array in (data, x1, x2, value)]
    expected = np.asarray(terms[0] + terms[1] * terms[2] * terms[3]).astype(dtype)
    names = ("input_data", "x1", "x2", "value")
    inputs = dict(zip(names, (data, x1, x2, value), strict=True))
    (found,) = run("Addcmul", inputs, [expected], {}, mode=mode)
    near(found, expected, RELATIVE[FORCE if dtype == "float16" else mode])


# AffineGrid -------------------------------------------------------------------------------------


def place(index: int, extent: int, *, aligned: bool) -> float:
    """Return the position of pixel `index` in [-1, 1]: ends at pixel middles or edges."""
    if aligned:
        return -1 + 2 * index / (extent - 1) if extent > 1 else 0
    return (2 * index + 1) / extent - 1


@given(
    st.integers(1, 3),
    st.lists(st.integers(1, 5), min_size=2, max_size=3),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([np.float16, np.float32]),
    MODES,
    st.booleans(),
)
def test_affine_grid(
    batch: int, extents: list[int], aligned: int | None, dtype: type[Any], mode: str, fed: bool
) -> None:
    rank = len(extents)
    theta = normal(batch, rank, rank + 1).astype(dtype)
    expected = np.empty((batch, *extents, rank), dtype)
    for index in np.ndindex(*extents):
        position = [
            place(i, extent, aligned=bool(aligned))
            for i, extent in zip(index, extents, strict=True)
        ]
        everywhere = (slice(None), *index)
        expected[everywhere] = theta.astype(np.float64) @ [*reversed(position), 1.0]
    inputs = {"theta": theta, "size": np.array([batch, 7, *extents], np.int32)}
    attributes = {} if aligned is None else {"align_corners": aligned}
    constants = () if fed else ("size",)
    (found,) = run("AffineGrid", inputs, [expected], attributes, mode=mode, constants=constants)
    near(found, expected, RELATIVE[FORCE if dtype is np.float16 else mode])


# BatchMatMul ------------------------------------------------------------------------------------


@given(
    st.sampled_from([((), ()), ((2,), (2,)), ((2, 1), (3,)), ((), (2,)), ((1, 2), (3, 1))]),
    st.tuples(*[st.integers(1, 5)] * 3),
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
    st.sampled_from([np.float16, np.float32, np.int32]),
    MODES,
)
def test_batch_mat_mul(
    stacks: tuple[tuple[int, ...], tuple[int, ...]],
    extents: tuple[int, int, int],
    turned: tuple[int, int],
    dtype: type[Any],
    mode: str,
) -> None:
    m, k, n = extents
    x1, x2 = (8 * normal(*stacks[0], m, k)).astype(dtype), normal(*stacks[1], k, n, seed=1)
    x2 = (8 * x2).astype(dtype)
    exact = np.int64 if dtype is np.int32 else np.float64
    expected = np.einsum("...ik,...kj->...ij", x1.astype(exact), x2.astype(exact)).astype(dtype)
    inputs = {
        name: array.swapaxes(-1, -2).copy() if turn else array
        for name, array, turn in (("x1", x1, turned[0]), ("x2", x2, turned[1]))
    }
    attributes = {"adj_x1": turned[0], "adj_x2": turned[1]}
    (found,) = run("BatchMatMul", inputs, [expected], attributes, mode=mode)
    near(found, expected, RELATIVE[FORCE if dtype is np.float16 else mode])


# EmbeddingBag -----------------------------------------------------------------------------------


def reduced(rows: Array, mode: str) -> Array:
    """Return the rows of a bag as one; zeros for none."""
    if len(rows) == 0:
        return np.zeros(rows.shape[1])
    if mode == "max":
        return np.asarray(rows.max(axis=0))
    return np.asarray(rows.sum(axis=0) / (len(rows) if mode == "mean" else 1))


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=4).filter(any),
    st.sampled_from([None, "sum", "mean", "max"]),
    st.sampled_from([None, 0, 1]),
    st.booleans(),
    MODES,
)
def test_embedding_bag_with_offsets(
    counts: list[int], mode: str | None, last: int | None, weighted: bool, precision: str
) -> None:
    weight, total = normal(5, 3), sum(counts)
    indices = np.random.default_rng(counts).integers(0, 5, total).astype(np.int32)
    bounds = np.cumsum([0, *counts]).astype(np.int32)
    rows = weight[indices].astype(np.float64)
    inputs = {"weight": weight, "indices": indices, "offset": bounds if last else bounds[:-1]}
    if weighted and mode == "sum":
        inputs["factors"] = normal(total)
        rows *= inputs["factors"][:, None]
    bags = [reduced(part, mode or "mean") for part in np.split(rows, bounds[1:-1])]
    expected = np.array(bags, np.float32)
    chosen = {"mode": mode, "include_last_offset": last, "scale_grad_by_fraq": 1, "sparse": 0}
    attributes = {name: value for name, value in chosen.items() if value is not None}
    (found,) = run("EmbeddingBag", inputs, [expected], attributes, mode=precision)
    near(found, expected, RELATIVE[KEEP])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_of_a_matrix(mode: str) -> None:
    weight, indices = normal(6, 4), np.array([[0, 5, 5], [1, 2, 3]], np.int32)
    expected = np.array([reduced(weight[bag], mode) for bag in indices], np.float32)
    inputs = {"weight": weight, "indices": indices}
    (found,) = run("EmbeddingBag", inputs, [expected], {"mode": mode})
    near(found, expected, RELATIVE[KEEP])


@pytest.mark.parametrize(
    ("indices", "offsets", "words"),
    [
        ([0, 6], [0, 1], "indices must be in [0, 5], found [0, 6]"),
        ([-1, 0], [0, 1], "indices must be in [0, 5], found [-1, 0]"),
        ([0, 1], [1, 1], "offsets must rise from 0 to at most 2, found [1, 1]"),
        ([0, 1], [0, 3], "offsets must rise from 0 to at most 2, found [0, 3]"),
    ],
)
def test_embedding_bag_that_reads_beyond_stops_the_run(
    indices: list[int], offsets: list[int], words: str
) -> None:
    inputs = {
        "weight": normal(6, 4),
        "indices": np.array(indices, np.int32),
        "offset": np.array(offsets, np.int32),
    }
    with pytest.raises(AtcError) as caught:
        run("EmbeddingBag", inputs, [normal(2, 4)], {"mode": "sum"})
    assert words in caught.value.diagnostics[0].message


# What is refused --------------------------------------------------------------------------------

TABLE, INDICES = normal(6, 4), np.array([0, 1, 2], np.int32)
BOXES, SCORES = np.ones((1, 2, 1, 4), np.float16), np.ones((1, 2, 3), np.float16)
LIMITS = {"score_threshold": 0.5, "iou_threshold": 0.5, "max_size_per_class": 1}


@pytest.mark.parametrize(
    ("op", "inputs", "results", "attributes", "words"),
    [
        (
            "AdaptiveMaxPool2D",
            {"x": normal(1, 1, 4, 4)},
            [normal(1, 1, 3, 2), np.zeros((1, 1, 2, 2), np.int32)],
            {"output_size": [2, 2]},
            "gives float32 1x1x2x2, but the file states float32 1x1x3x2",
        ),
        (
            "Addcmul",
            {"a": normal(2), "b": normal(3), "c": normal(1), "d": normal(1)},
            [normal(3)],
            {},
            "needs shapes that broadcast",
        ),
        (
            "AffineGrid",
            {"theta": normal(1, 3, 3), "size": np.array([1, 2, 4, 4], np.int32)},
            [normal(1, 4, 4, 2)],
            {},
            "needs theta of N x 2 x 3",
        ),
        (
            "BatchMatMul",
            {"x1": normal(2, 3), "x2": normal(2, 3)},
            [normal(2, 3)],
            {},
            "needs equal inner dims, found 3 and 2",
        ),
        (
            "BatchMatMul",
            {"x1": normal(3), "x2": normal(3, 2)},
            [normal(2)],
            {},
            "needs matrices, found [[3], [3, 2]]",
        ),
        (
            "EmbeddingBag",
            {"weight": TABLE, "indices": INDICES},
            [normal(1, 4)],
            {},
            "needs a matrix of indices, or a list of them and offsets",
        ),
        (
            "EmbeddingBag",
            {"weight": TABLE, "indices": INDICES, "offset": INDICES[:1], "factors": normal(3)},
            [normal(1, 4)],
            {"mode": "max"},
            "takes per_sample_weights in mode sum only, found mode max",
        ),
        (
            "RoiExtractor",
            {"map": normal(1, 1, 4, 4), "rois": normal(2, 5)},
            [normal(2, 1, 7, 7)],
            {},
            "needs a spatial_scale for each of 1 maps",
        ),
        (
            "BatchMultiClassNMS",
            {"boxes": BOXES, "scores": SCORES},
            [np.zeros(shape, np.float16) for shape in ((1, 1, 4), (1, 1), (1, 1), (1,))],
            {**LIMITS, "max_total_size": 1, "change_coordinate_frame": 1},
            "needs clip_window with change_coordinate_frame",
        ),
        (
            "BatchMultiClassNMS",
            {"boxes": BOXES, "scores": SCORES[:, :1]},
            [np.zeros(shape, np.float16) for shape in ((1, 1, 4), (1, 1), (1, 1), (1,))],
            {**LIMITS, "max_total_size": 1},
            "needs boxes of [1, 1, 3, 4], found [1, 2, 1, 4]",
        ),
    ],
)
def test_a_node_that_contradicts_itself_is_refused(
    op: str,
    inputs: dict[str, Array],
    results: list[Array],
    attributes: dict[str, Any],
    words: str,
) -> None:
    with pytest.raises(AtcError) as caught:
        run(op, inputs, results, attributes, constants=("size",) if "size" in inputs else ())
    found = [(d.code.name, d.message) for d in caught.value.diagnostics]
    assert any(name == "bad-node" and words in message for name, message in found), found
