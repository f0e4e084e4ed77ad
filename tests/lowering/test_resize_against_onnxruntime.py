"""Resize in every form of opsets 10 to 18 against onnxruntime, or against ONNX's own words."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

from atc_py.diag import AtcError
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.lowering.reference import MODES, run_in_mode
from tests.sampling import examples

Array = NDArray[Any]

COORDINATES = [
    "half_pixel",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
SCALES = [0.4, 0.5, 0.6, 0.75, 0.9, 1.0, 1.3, 1.4, 1.5, 1.9, 2.0, 2.3, 2.5, 3.0, 4.0]
NOTHING = np.array([], np.float32)

EXTENT = st.integers(2, 7)
SCALE = st.sampled_from(SCALES)


def agree(x: Array, opset: int, constants: dict[str, Array], **attributes: Any) -> None:
    """Check that both modes give what onnxruntime does; `x` is on float16's grid.

    Taken elements are equal. An interpolated one is off by a few roundings of what it is
    between, which the range of `x` bounds.
    """
    order = ["x", *constants]
    model = one_node_model(
        "Resize", {"x": x}, opset, constants=constants, order=order, **attributes
    )
    (expected,) = run_with_onnxruntime(model, {"x": x}).values()
    for mode in MODES:
        found = run_in_mode(model, {"x": x}, mode)
        assert found.shape == expected.shape
        if attributes["mode"] == "nearest":
            np.testing.assert_array_equal(found, expected)
        else:
            share = 2e-5 if mode == MODES[0] else 2.0**-11
            reach = float(np.abs(x).max())
            np.testing.assert_allclose(found, expected, rtol=0, atol=share * reach)


def picture(*shape: int) -> Array:
    """Return numbers on float16's grid."""
    generator = np.random.default_rng(list(shape))
    return generator.standard_normal(shape).astype(np.float16).astype(np.float32)


@st.composite
def targets(draw: st.DrawFn, shape: tuple[int, ...]) -> dict[str, Array]:
    """Return scales or sizes for the last axes of `shape`, and the roi that goes before them."""
    kept = len(shape) - 2
    if draw(st.booleans()):
        scales = [1.0] * kept + [draw(SCALE) for _ in range(2)]
        numbers = {"scales": np.array(scales, np.float32)}
    else:
        sizes = [*shape[:kept], *(draw(st.integers(1, 12)) for _ in range(2))]
        numbers = {"scales": NOTHING, "sizes": np.array(sizes, np.int64)}
    return {"roi": NOTHING, **numbers}


@pytest.mark.parametrize("coordinates", COORDINATES)
@given(st.tuples(EXTENT, EXTENT), st.sampled_from([11, 12]), st.data())
@examples(20)
def test_nearest(
    coordinates: str, extents: tuple[int, int], opset: int, data: st.DataObject
) -> None:
    shape = (*data.draw(st.sampled_from([(), (2,), (1, 2), (1, 2, 2)])), *extents)
    constants = data.draw(targets(shape))
    if coordinates == "tf_crop_and_resize":
        constants["roi"] = data.draw(rois(shape, constants))
    agree(
        picture(*shape), opset, constants, mode="nearest",
        coordinate_transformation_mode=coordinates,
        nearest_mode=data.draw(st.sampled_from(ROUNDINGS)),
        extrapolation_value=data.draw(st.sampled_from([0.0, 10.0])),
    )  # fmt: skip


@pytest.mark.parametrize("coordinates", COORDINATES)
@given(st.tuples(EXTENT, EXTENT), st.sampled_from([11, 12]), st.data())
@examples(20)
def test_linear(
    coordinates: str, extents: tuple[int, int], opset: int, data: st.DataObject
) -> None:
    shape = (*data.draw(st.sampled_from([(), (1, 2), (3, 1)])), *extents)
    constants = data.draw(targets(shape))
    if coordinates == "tf_crop_and_resize":
        constants["roi"] = data.draw(rois(shape, constants))
    agree(
        picture(*shape), opset, constants, mode="linear",
        coordinate_transformation_mode=coordinates,
        extrapolation_value=data.draw(st.sampled_from([0.0, 10.0])),
    )  # fmt: skip


@st.composite
def rois(draw: st.DrawFn, shape: tuple[int, ...], constants: dict[str, Array]) -> Array:
    """Return starts and ends: all of the first axes, part of the last two, or more than all.

    onnxruntime leaves an axis of scale 1 alone, whatever the roi says.
    """
    ratios = constants["sizes"] / shape if "sizes" in constants else constants["scales"]
    assume(not (ratios[-2:] == 1).any())
    rank = len(shape)
    share = st.sampled_from([-0.25, 0.0, 0.2, 0.4])
    kept = rank - 2
    starts = [0.0] * kept + [draw(share) for _ in range(2)]
    ends = [1.0] * kept + [1 - draw(share) for _ in range(2)]
    return np.array(starts + ends, np.float32)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(
    ("extent", "scale", "result"), [(5, 1.4, 7), (10, 1.3, 13), (10, 0.9, 9), (20, 1.9, 38)]
)
def test_dims_are_products_of_float32(
    extent: int, scale: float, result: int, coordinates: str
) -> None:
    """Check that 10 * 1.3 is 13: in double, with 1.3 as float32 holds it, it would be less."""
    x = picture(1, 1, 1, extent)
    roi = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.float32)
    constants = {"roi": roi, "scales": np.array([1, 1, 1, scale], np.float32)}
    attributes: dict[str, Any] = {
        "mode": "linear", "coordinate_transformation_mode": coordinates
    }  # fmt: skip
    agree(x, 11, constants, **attributes)
    model = one_node_model("Resize", {"x": x}, 11, constants=constants, **attributes)
    assert run_in_mode(model, {"x": x}, MODES[0]).shape == (1, 1, 1, result)


# Three readings of tf_crop_and_resize -------------------------------------------------------------


def cropped(scale: float, roi: tuple[float, float]) -> tuple[list[float], list[float], list[float]]:
    """Return the crops of [0, 10, 20, 30] by the device, onnxruntime and ONNX's reference."""
    x = 10 * np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4)
    whole = [0.0, 0.0, 0.0, roi[0], 1.0, 1.0, 1.0, roi[1]]
    constants = {
        "roi": np.array(whole, np.float32),
        "scales": np.array([1, 1, 1, scale], np.float32),
    }
    model = one_node_model(
        "Resize", {"x": x}, 11, constants=constants, mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
    )  # fmt: skip
    ours = run_in_mode(model, {"x": x}, MODES[0])
    (theirs,) = run_with_onnxruntime(model, {"x": x}).values()
    (reference,) = ReferenceEvaluator(model).run(None, {"x": x})
    one, other, third = (
        np.asarray(each).reshape(-1).round(2).tolist() for each in (ours, theirs, reference)
    )
    return one, other, third


def test_length_of_a_crop_is_that_of_the_result() -> None:
    """Check length_resized as ONNX defines it; its reference takes 4 * 1.3 = 5.2 for it."""
    ours, theirs, reference = cropped(1.3, (0.0, 1.0))
    assert ours == theirs == [0, 7.5, 15, 22.5, 30]
    np.testing.assert_allclose(reference, [0, 7.14, 14.29, 21.43, 28.57], rtol=1e-6)


def test_crop_of_one_result_is_its_middle() -> None:
    """Check ONNX's rule for a length_resized of 1; the reference takes 4 * 0.3 = 1.2 for it."""
    ours, theirs, reference = cropped(0.3, (0.25, 0.75))
    assert ours == theirs == [15]
    assert reference == [7.5]


@pytest.mark.parametrize("scale", [1.0, 1.1])
def test_axis_that_keeps_its_length_is_cropped(scale: float) -> None:
    """Check ONNX's formula, which has no exception for it; onnxruntime leaves the axis alone."""
    ours, theirs, reference = cropped(scale, (0.25, 0.75))
    assert ours == [7.5, 12.5, 17.5, 22.5]
    assert theirs == [0, 10, 20, 30]
    assert scale != 1.0 or reference == ours


def test_region_does_not_count_for_the_dims() -> None:
    """Check that nobody multiplies by end - start as ONNX's text does, nor its own inference."""
    ours, theirs, reference = cropped(2.0, (0.25, 0.75))
    assert len(ours) == len(theirs) == len(reference) == 8


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@given(st.tuples(EXTENT, EXTENT), SCALE, SCALE)
@examples(30)
def test_at_opset_10(mode: str, extents: tuple[int, int], first: float, second: float) -> None:
    scales = np.array([1, 1, first, second], np.float32)
    agree(picture(1, 2, *extents), 10, {"scales": scales}, mode=mode)


def test_five_axes_are_interpolated_as_onnxruntime_does() -> None:
    scales = np.array([1, 1, 2, 0.5, 1.5], np.float32)
    constants = {"roi": NOTHING, "scales": scales}
    agree(picture(1, 2, 3, 4, 4), 11, constants, mode="linear")


def test_every_axis_can_be_interpolated() -> None:
    """Check both axes of a stack of vectors, unlike in onnxruntime, which knows images alone."""
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    constants: dict[str, Array] = {
        "roi": NOTHING,
        "scales": NOTHING,
        "sizes": np.array([1, 3, 5], np.int64),
    }
    model = one_node_model(
        "Resize", {"x": x}, 11, constants=constants, mode="linear",
        coordinate_transformation_mode="align_corners",
    )  # fmt: skip
    expected = 3 * np.linspace(0, 1, 3)[:, None] + np.linspace(0, 2, 5)
    for mode in MODES:
        np.testing.assert_allclose(run_in_mode(model, {"x": x}, mode)[0], expected)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_nearest_rounds_halves_as_its_mode_says(rounding: str) -> None:
    x = np.arange(6, dtype=np.float32)
    constants = {"roi": NOTHING, "scales": np.array([0.5], np.float32)}
    model = one_node_model("Resize", {"x": x}, 11, constants=constants, nearest_mode=rounding)
    expected = [0, 2, 4] if rounding in {"round_prefer_floor", "floor"} else [1, 3, 5]
    for mode in MODES:  # coordinates are 0.5, 2.5, 4.5
        assert run_in_mode(model, {"x": x}, mode).tolist() == expected


def test_a_region_is_taken_of_an_axis_that_keeps_its_length() -> None:
    x = np.arange(4, dtype=np.float32)
    roi, sizes = np.array([1.0, 0.0], np.float32), np.array([4], np.int64)
    model = one_node_model(
        "Resize", {"x": x}, 11, constants={"roi": roi, "scales": NOTHING, "sizes": sizes},
        coordinate_transformation_mode="tf_crop_and_resize",
    )  # fmt: skip
    for mode in MODES:
        assert run_in_mode(model, {"x": x}, mode).tolist() == [3, 2, 1, 0]


def test_what_is_outside_is_extrapolated() -> None:
    x = np.arange(4, dtype=np.float32)
    roi = np.array([-1 / 3, 4 / 3], np.float32)
    sizes = np.array([6], np.int64)
    model = one_node_model(
        "Resize", {"x": x}, 11, constants={"roi": roi, "scales": NOTHING, "sizes": sizes},
        coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=-7.0,
    )  # fmt: skip
    for mode in MODES:
        assert run_in_mode(model, {"x": x}, mode).tolist() == [-7, 0, 1, 2, 3, -7]


def test_a_region_given_at_run_time_keeps_its_precision() -> None:
    """Check that a share of 1/4096 more would move the third coordinate beyond the half."""
    x = np.arange(4, dtype=np.float32)
    roi = np.array([0.0, 1.25 / 1.5 + 2**-11], np.float32)
    sizes = np.array([3], np.int64)
    feeds = {"x": x, "roi": roi}
    model = one_node_model(
        "Resize", feeds, 11, constants={"scales": NOTHING, "sizes": sizes},
        coordinate_transformation_mode="tf_crop_and_resize",
    )  # fmt: skip
    for mode in MODES:
        assert run_in_mode(model, feeds, mode).tolist() == [0, 1, 3]


def test_exclude_outside_changes_nothing_between_two_elements() -> None:
    x = picture(1, 1, 4, 4)
    constants = {"roi": NOTHING, "scales": np.array([1, 1, 3, 3], np.float32)}
    given_: dict[str, Any] = {"constants": constants, "mode": "linear"}
    plain = one_node_model("Resize", {"x": x}, 11, **given_)
    excluding = one_node_model("Resize", {"x": x}, 11, exclude_outside=1, **given_)
    for mode in MODES:
        first, second = (run_in_mode(model, {"x": x}, mode) for model in (plain, excluding))
        np.testing.assert_array_equal(first, second)


# What the newer list has beside the base one ----------------------------------------------------


def listed(x: Array, opset: int, constants: dict[str, Array], folder: Path, **named: Any) -> Array:
    """Return the result of a node of the newer list, with nothing narrowed."""
    order = ["x", *constants] if opset < 13 else ["x", "", *constants]
    model = one_node_model("Resize", {"x": x}, opset, constants=constants, order=order, **named)
    options = {"precision_mode": MODES[0], "operator_list": "cann-9.0"}
    (found,) = run_with_atc_py(model, {"x": x}, folder, **options).values()
    return found


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float64"])
def test_dtypes_of_opset_10(dtype: str, tmp_path: Path) -> None:
    x = np.random.default_rng(2).integers(0 if dtype[0] == "u" else -99, 99, (1, 2, 3, 5))
    x = x.astype(dtype)
    scales = {"scales": np.array([1, 1, 2, 2.5], np.float32)}
    nearest = listed(x, 10, scales, tmp_path, mode="nearest")
    columns = (np.arange(12) / np.float32(2.5)).astype(np.int64)
    np.testing.assert_array_equal(nearest, x[:, :, np.arange(6) // 2][:, :, :, columns])
    linear = listed(x, 10, scales, tmp_path, mode="linear")
    wide = listed(x.astype(np.float32), 10, scales, tmp_path, mode="linear")
    assert linear.dtype == dtype
    if dtype == "float64":
        np.testing.assert_allclose(linear, wide, rtol=0, atol=1e-4)
    else:
        near = np.abs(wide - np.rint(wide)) < 1e-3
        np.testing.assert_array_equal(linear[~near], np.trunc(wide[~near]).astype(dtype))
        assert np.abs(linear - wide)[near].max(initial=0) < 1.001


@pytest.mark.parametrize("opset", [13, 14, 16, 17, 18])
def test_later_opsets_leave_out_what_they_do_not_use(opset: int, tmp_path: Path) -> None:
    x, scales = picture(1, 2, 5, 6), {"scales": np.array([1, 1, 1.5, 2], np.float32)}
    for mode in ("nearest", "linear"):
        named: dict[str, Any] = {"mode": mode, "nearest_mode": "round_prefer_ceil"}
        model = one_node_model(
            "Resize", {"x": x}, opset, constants=scales, order=["x", "", "scales"], **named
        )
        (expected,) = run_with_onnxruntime(model, {"x": x}).values()
        np.testing.assert_allclose(
            listed(x, opset, scales, tmp_path, **named), expected, rtol=0, atol=1e-5
        )


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"mode": "nearest"}, "must not have rank 5, when mode is one of"),
        ({"mode": "linear"}, "must not have rank 5, when"),
        (
            {"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
            "must not have rank 5",
        ),
        ({"mode": "linear", "coordinate_transformation_mode": "align_corners"}, None),
        ({"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, None),
    ],
)
def test_five_axes_of_the_newer_list(
    named: dict[str, Any], words: str | None, tmp_path: Path
) -> None:
    x, scales = picture(1, 2, 3, 4, 5), {"scales": np.array([1, 1, 2, 2, 2], np.float32)}
    if words is not None:
        with pytest.raises(AtcError, match=words):
            listed(x, 14, scales, tmp_path, **named)
        return
    model = one_node_model(
        "Resize", {"x": x}, 14, constants=scales, order=["x", "", "scales"], **named
    )
    (expected,) = run_with_onnxruntime(model, {"x": x}).values()
    np.testing.assert_allclose(
        listed(x, 14, scales, tmp_path, **named), expected, rtol=0, atol=1e-5
    )


@pytest.mark.parametrize(
    "named", [{"antialias": 1}, {"axes": [2, 3]}, {"keep_aspect_ratio_policy": "not_larger"}]
)
def test_what_opset_18_adds_is_refused(named: dict[str, Any], tmp_path: Path) -> None:
    x, scales = picture(1, 2, 5, 6), {"scales": np.array([1, 1, 1.5, 2], np.float32)}
    if "axes" in named:
        scales["scales"] = scales["scales"][2:]
    with pytest.raises(AtcError, match=f"{next(iter(named))} of Resize"):
        listed(x, 18, scales, tmp_path, mode="linear", **named)
