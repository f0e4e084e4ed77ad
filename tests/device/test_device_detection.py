"""Regions and boxes on the device: what type rules refuse, large and odd data."""

from typing import Any

import numpy as np
import pytest

from atc_py.device.sim.primitives import regions
from atc_py.diag import AtcError
from atc_py.diag.codes import DEVICE_MEMORY
from atc_py.system.memory_limit import limited_memory
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, random_array, run_operator
from tests.device.nodes import refusal

F32, I32 = DType.FLOAT32, DType.INT32
X = random_array(1, (2, 3, 6, 7))
ROIS = np.array([[0, 1, 1, 4, 5], [1, 0.5, 0, 6, 3]], np.float32)
ALIGN: dict[str, Any] = {
    "spatial_scale": 0.5, "pooled_height": 2, "pooled_width": 3, "roi_end_mode": 0,
}  # fmt: skip
POOL: dict[str, Any] = {
    "pooled_h": 2, "pooled_w": 3, "spatial_scale_h": 0.5, "spatial_scale_w": 0.5,
}  # fmt: skip
CELLS = [(F32, (2, 3, 2, 3))]
BOXES, SCORES = random_array(2, (1, 4, 4)), random_array(3, (1, 2, 4))


@pytest.mark.parametrize(
    ("inputs", "attributes", "words"),
    [
        ([X[0], ROIS], {}, "x must have 4 axes"),
        ([X, ROIS[:, :4]], {}, "rois must have 5 columns"),
        ([X, ROIS.astype(np.float16)], {}, "inputs must have the same dtype"),
        ([X, ROIS, np.array([2], np.int32)], {}, "does not read the number of rois"),
        ([X, ROIS], {"roi_end_mode": 1}, "roi_end_mode must be 0 or 2, found 1"),
        ([X, ROIS], {"pool_mode": "sum"}, "pool_mode must be avg or max, found 'sum'"),
        ([X, ROIS], {"pooled_height": 0}, "at least 1 x 1, found [0, 3]"),
    ],
)
def test_bad_regions_are_refused(
    inputs: list[Array | None], attributes: dict[str, Any], words: str
) -> None:
    assert words in refusal("ROIAlign", inputs, CELLS, {**ALIGN, **attributes})


def test_bad_regions_of_maxima_are_refused() -> None:
    assert "rois must have 5 columns" in refusal("ROIPooling", [X, ROIS[:, :4]], CELLS, POOL)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("samples", [0, 2])
def test_regions_in_pieces_give_the_same(
    mode: str, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    attributes = {**ALIGN, "pool_mode": mode, "sample_num": samples}
    (whole,) = run_operator("ROIAlign", [X, ROIS], CELLS, attributes)
    monkeypatch.setattr(regions, "_AT_ONCE", 1)
    (pieces,) = run_operator("ROIAlign", [X, ROIS], CELLS, attributes)
    np.testing.assert_array_equal(pieces, whole)


@pytest.mark.parametrize("samples", [2**28, 0])
def test_samples_beyond_the_limit_are_refused(samples: int) -> None:
    wide = ROIS.copy() if samples else ROIS * ROIS.dtype.type(2**12)
    wide[:, 0] = 0
    attributes = {**ALIGN, "sample_num": samples}
    with (
        limited_memory("64M"),
        pytest.raises(AtcError, match="for each cell would take") as refused,
    ):
        run_operator("ROIAlign", [X, wide], CELLS, attributes)
    assert [each.code for each in refused.value.diagnostics] == [DEVICE_MEMORY]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("op", "attributes"),
    [("ROIAlign", ALIGN), ("ROIAlign", {**ALIGN, "roi_end_mode": 2}), ("ROIPooling", POOL)],
)
def test_corners_that_are_nan_do_no_harm(op: str, attributes: dict[str, Any], value: float) -> None:
    rois = ROIS.copy()
    rois[0, 1:] = value
    (found,) = run_operator(op, [X, rois], CELLS, attributes)
    (sound,) = run_operator(op, [X, ROIS], CELLS, attributes)
    np.testing.assert_array_equal(found[1], sound[1])
    assert np.isfinite(found[0]).all()


def test_maxima_keep_infinities_and_nan() -> None:
    x = np.array([-np.inf, np.nan, 1.0, np.inf], np.float16).reshape(1, 1, 1, 4)
    rois = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 2, 0, 3, 0]], np.float16)
    attributes = {**POOL, "pooled_h": 1, "pooled_w": 1, "spatial_scale_w": 1.0}
    (found,) = run_operator("ROIPooling", [x, rois], [(DType.FLOAT16, (3, 1, 1, 1))], attributes)
    np.testing.assert_array_equal(found.reshape(-1), np.array([-np.inf, np.nan, np.inf]))


@pytest.mark.parametrize(
    ("inputs", "shape", "attributes", "words"),
    [
        ([BOXES[0], SCORES], (3, 3), {}, "boxes must have 3 axes"),
        ([BOXES, SCORES[:, :, :3]], (3, 3), {}, "do not match"),
        ([BOXES, SCORES, np.array([1, 2], np.int32)], (3, 3), {}, "input 2 must be one number"),
        ([BOXES, SCORES], (3, 4), {}, "the result must have rows of 3"),
        ([BOXES, SCORES], (3, 3), {"center_point_box": 2}, "center_point_box must be 0 or 1"),
    ],
)
def test_bad_boxes_are_refused(
    inputs: list[Array | None], shape: tuple[int, int], attributes: dict[str, Any], words: str
) -> None:
    assert words in refusal("NonMaxSuppressionV7", inputs, [(I32, shape)], attributes)


def test_numbers_of_valid_boxes_must_be_integers() -> None:
    inputs = [BOXES[:, :, None], SCORES.transpose(0, 2, 1), None, np.array([1.5], np.float32)]
    outputs = [(F32, (1, 3, 4)), (F32, (1, 3)), (F32, (1, 3)), (I32, (1,))]
    attributes = {
        "score_threshold": 0.2, "iou_threshold": 0.3, "max_size_per_class": 3, "max_total_size": 3,
    }  # fmt: skip
    found = refusal("BatchMultiClassNonMaxSuppression", inputs, outputs, attributes)
    assert "input 3 must hold integers, found float32" in found


def test_scores_that_are_nan_come_last_or_not_at_all() -> None:
    boxes = np.array([[[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]], np.float32)
    scores = np.array([[[np.nan, 0.5, np.inf]]], np.float32)
    inputs = [boxes, scores, np.array([3], np.int32), None, np.array([0.1], np.float32)]
    (found,) = run_operator("NonMaxSuppressionV7", inputs, [(I32, (3, 3))])
    np.testing.assert_array_equal(found[:, 2], [2, 1, -1])
    (found,) = run_operator("NonMaxSuppressionV7", inputs[:3], [(I32, (3, 3))])
    np.testing.assert_array_equal(found[:, 2], [2, 1, 0])


def test_many_boxes_are_compared_with_each_other_quickly() -> None:
    generator = np.random.default_rng(7)
    low = generator.random((1, 20_000, 2), dtype=np.float32) * 50
    boxes = np.concatenate([low, low + 1], axis=-1)
    scores = generator.random((1, 1, 20_000), dtype=np.float32)
    inputs = [boxes, scores, np.array([300], np.int32), np.array([0.1], np.float32)]
    (found,) = run_operator("NonMaxSuppressionV7", inputs, [(I32, (300, 3))])
    kept = boxes[0, found[:, 2]]
    sides = np.minimum(kept[:, None, 2:], kept[None, :, 2:]) - np.maximum(
        kept[:, None, :2], kept[None, :, :2]
    )
    shared = np.prod(np.maximum(sides, 0), axis=-1)
    np.fill_diagonal(shared, 0)
    assert (shared / (2 - shared)).max() <= 0.1 + 1e-5
