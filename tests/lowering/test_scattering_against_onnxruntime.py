"""Elements of a tensor replaced by index, against onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.diag import AtcError
from tests.end_to_end import one_node_model, run_with_onnxruntime
from tests.failures import Failures
from tests.lowering.moved import same_elements
from tests.lowering.newer_list import LIST, run_on_newer_list
from tests.lowering.reference import MODES

Array = NDArray[Any]

DTYPES = ("float16", "float32", "int32")

PLACES: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((5,), (3,), 0),
    ((4, 3), (6, 2), 0),
    ((4, 3), (3, 7), -1),
    ((2, 3, 4), (2, 5, 3), 1),
    ((2, 1, 3, 2, 2), (1, 1, 3, 4, 2), -2),
    ((2, 2, 1, 2, 1, 2, 1, 2), (3, 2, 1, 2, 1, 1, 1, 2), 0),
]
"""Data, indices and axis: all ranks, parts of the other axes, more indices than elements."""


def feeds_of(
    data: tuple[int, ...], indices: tuple[int, ...], axis: int, dtype: str, index: str
) -> dict[str, Array]:
    """Return operands on float16's grid with distinct indices, from both ends of the axis."""
    generator = np.random.default_rng(len(data))
    x = generator.integers(-99, 99, data).astype(dtype)
    if x.dtype.kind == "f":
        x.reshape(-1)[:3] = np.nan, np.inf, -0.0
    length = data[axis]
    places = generator.integers(-length, length, indices).astype(index)
    updates = np.arange(1, places.size + 1).reshape(indices).astype(dtype)
    return {"data": x, "indices": places, "updates": updates}


def test_scattered_elements_agree_with_onnxruntime(tmp_path: Path) -> None:
    opsets = (11, 13, 16, 18)
    with Failures() as failures:
        for at, (data, indices, axis) in enumerate(PLACES):
            for dtype in DTYPES:
                opset, index = opsets[at % 4], ("int32", "int64")[at % 2]
                feeds = feeds_of(data, indices, axis, dtype, index)
                model = one_node_model("ScatterElements", feeds, opset, axis=axis)
                with failures.of(f"{data} {indices} {axis} {dtype} {opset}"):
                    wide = {name: feeds[name].astype("float32") for name in ("data", "updates")}
                    oracle = feeds | wide  # which has a kernel at every opset
                    carried = one_node_model("ScatterElements", oracle, opset, axis=axis)
                    (expected,) = run_with_onnxruntime(carried, oracle).values()
                    found = run_on_newer_list(model, feeds, tmp_path, MODES[at % len(MODES)])
                    same_elements(found, expected.astype(dtype))


def test_scatter_is_the_older_name_of_scatter_elements(tmp_path: Path) -> None:
    feeds = feeds_of((4, 3), (6, 2), -2, "float32", "int64")
    model = one_node_model("Scatter", feeds, 10, axis=-2)
    (expected,) = run_with_onnxruntime(model, feeds).values()
    same_elements(run_on_newer_list(model, feeds, tmp_path, MODES[0]), expected)
    ended = one_node_model("Scatter", feeds, 11, axis=-2)  # which onnxruntime refuses
    same_elements(run_on_newer_list(ended, feeds, tmp_path, MODES[0]), expected)


def test_constant_indices_count_from_the_front(tmp_path: Path) -> None:
    feeds = feeds_of((4, 3), (2, 3), 0, "float32", "int64")
    indices = {"indices": np.array([[-1, 0, -4], [-1, 2, 3]])}
    moved = {name: feeds[name] for name in ("data", "updates")}
    order = ["data", "indices", "updates"]
    model = one_node_model("ScatterElements", moved, 13, constants=indices, order=order)
    expected = feeds["data"].copy()
    for places, updates in zip(indices["indices"], feeds["updates"], strict=True):
        expected[places, np.arange(3)] = updates
    same_elements(run_on_newer_list(model, moved, tmp_path, MODES[1]), expected)


@pytest.mark.parametrize(
    ("indices", "options", "message"),
    [
        ([[4, 0]], {}, "has the index 4 into an axis of 4"),
        ([3, 0], {}, "indices of ScatterElements must have the rank of data, found 1"),
        ([[0] * 4], {}, "reaches beyond data"),
        ([[0, 0]], {"axis": 2}, r"axis of ScatterElements must be in \[-r, r - 1\], .* found 2"),
        ([[0, 0]], {"reduction": "add"}, "reduction of ScatterElements must be none, found add"),
    ],
)
def test_a_node_that_makes_no_sense_is_refused(
    tmp_path: Path, indices: list[Any], options: dict[str, Any], message: str
) -> None:
    places = np.array(indices)
    feeds = {"data": np.zeros((4, 3), np.float32), "updates": np.zeros(places.shape, np.float32)}
    order = ["data", "indices", "updates"]
    constants = {"indices": places}
    model = one_node_model(
        "ScatterElements", feeds, 16, constants=constants, order=order, **options
    )
    with pytest.raises(AtcError, match=message):
        run_on_newer_list(model, feeds, tmp_path, MODES[0])


# MaxUnpool ----------------------------------------------------------------------------------------

WINDOWS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((1, 1, 2, 2), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ((2, 3, 4), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
    ((1, 2, 2, 3, 2), {"kernel_shape": [2, 2, 2], "strides": [2, 1, 2]}),
    ((2, 1, 3, 2), {"kernel_shape": [3, 3]}),
]
"""Values and windows: one to three axes, pads, strides left away."""


@pytest.mark.parametrize(("shape", "windows"), WINDOWS)
def test_max_unpool_agrees_with_onnxruntime(
    tmp_path: Path, shape: tuple[int, ...], windows: dict[str, Any]
) -> None:
    generator = np.random.default_rng(3)
    values = generator.integers(-99, 99, shape).astype(np.float32)
    places = generator.permutation(values.size).reshape(shape)
    feeds: dict[str, Array] = {"X": values, "I": places}
    plain = one_node_model("MaxUnpool", feeds, 11, **windows)
    (expected,) = run_with_onnxruntime(plain, feeds).values()
    wider = np.array([dim + (axis > 1) for axis, dim in enumerate(expected.shape)])
    larger = one_node_model("MaxUnpool", feeds, 18, constants={"shape": wider}, **windows)
    computed = one_node_model("MaxUnpool", {**feeds, "shape": wider}, 9, **windows)
    (moved,) = run_with_onnxruntime(larger, feeds).values()
    with Failures() as failures:
        for mode in MODES:
            with failures.of(mode):
                same_elements(run_on_newer_list(plain, feeds, tmp_path, mode), expected)
                same_elements(run_on_newer_list(larger, feeds, tmp_path, mode), moved)
        with failures.of("computed"):
            same_elements(run_on_newer_list(computed, {**feeds, "shape": wider}, tmp_path), moved)
        with failures.of("float16"):
            halves = feeds | {"X": values.astype(np.float16)}
            found = run_on_newer_list(
                one_node_model("MaxUnpool", halves, 13, **windows), halves, tmp_path
            )
            same_elements(found, expected.astype(np.float16))


@pytest.mark.parametrize(
    ("places", "shape", "message"),
    [
        ((1, 1, 1, 2), None, "one position for each of 1x1x2x2 values, found 1x1x1x2"),
        ((1, 1, 2, 2), [1, 1, -4, 4], r"would have the dims \[1, 1, -4, 4\]"),
        ((1, 1, 2, 2), [1, 1, 4], "must have same number of elements"),
        ((1, 1, 2, 2), [1, 1, 1, 2], "index 2 is outside an axis of 2"),
    ],
)
def test_max_unpool_refuses_what_does_not_fit(
    tmp_path: Path, places: tuple[int, ...], shape: list[int] | None, message: str
) -> None:
    feeds: dict[str, Array] = {
        "X": np.ones((1, 1, 2, 2), np.float32),
        "I": np.arange(np.prod(places)).reshape(places),
    }
    constants = {} if shape is None else {"shape": np.array(shape)}
    model = one_node_model("MaxUnpool", feeds, 11, constants=constants, kernel_shape=[2, 2])
    with pytest.raises(AtcError, match=message):
        run_on_newer_list(model, feeds, tmp_path)


# Compress -----------------------------------------------------------------------------------------

SLICES: list[tuple[tuple[int, ...], int | None]] = [
    ((5,), None),
    ((5,), 0),
    ((3, 4), 1),
    ((3, 4), None),
    ((2, 3, 4), -2),
    ((2, 3, 2, 1, 2), 3),
]
"""Data and axis: all axes, none, from the end."""

NUMBERS = ("float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""Dtypes, but for float32."""


def test_compress_takes_slices_where_the_condition_holds(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    whole = [("float32", *each, "some none short") for each in SLICES]
    narrow = [(dtype, *SLICES[at % len(SLICES)], "some") for at, dtype in enumerate(NUMBERS)]
    with Failures() as failures:
        for at, (dtype, shape, axis, names) in enumerate((*whole, *narrow)):
            data = generator.integers(0, 99, shape).astype(dtype)
            held = generator.random(data.size if axis is None else shape[axis]) < 0.5
            conditions = {"some": held, "none": held & False, "short": held[1:] | True}
            options: dict[str, Any] = {} if axis is None else {"axis": axis}
            opset = 11 if (axis or 0) < 0 else (9, 11, 18)[at % 3]
            for name in names.split():
                by, x = {"by": conditions[name]}, {"x": data}
                expected = np.compress(by["by"], data, axis=axis)
                known = one_node_model("Compress", x, opset, constants=by, **options)
                model = one_node_model("Compress", {**x, **by}, opset, **options)
                with failures.of(f"{dtype} {shape} {axis} {name} {opset}"):
                    found = run_on_newer_list(known, x, tmp_path, MODES[at % 2])
                    same_elements(found, expected)
                    found = run_on_newer_list(model, {**x, **by}, tmp_path, MODES[at % 2])
                    same_elements(found, expected)


def test_dims_follow_from_a_constant_condition(tmp_path: Path) -> None:
    x = {"x": np.zeros((2, 4), np.float32)}
    condition = {"by": np.array([True, False, True])}
    model = one_node_model("Compress", x, 10, constants=condition, axis=1)
    onnx.save(model, tmp_path / "m.onnx")
    atc_py.convert(tmp_path / "m.onnx", tmp_path / "m.om", operator_list=LIST)
    with atc_py.load(tmp_path / "m.om") as loaded:
        assert [output.shape for output in loaded.outputs] == [(2, 2)]


@pytest.mark.parametrize("constant", [True, False])
def test_compress_refuses_to_choose_beyond_the_axis(tmp_path: Path, constant: bool) -> None:
    x: dict[str, Array] = {"x": np.zeros((2, 4), np.float32)}
    condition: dict[str, Array] = {"by": np.ones(5, np.bool_)}
    fed, held = (x, condition) if constant else (x | condition, {})
    model = one_node_model("Compress", fed, 11, constants=held, axis=1)
    message = "chooses element 4 of an axis of 4" if constant else "index 4 is outside an axis of 4"
    with pytest.raises(AtcError, match=message):
        run_on_newer_list(model, fed, tmp_path)
