"""Operators that ONNX does not define, on the device: what their type rules refuse."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from atc_py.device.sim.kernels import custom
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, random_array, run_operator
from tests.device.nodes import refusal
from tests.failures import in_one_item

F16, F32, I32 = DType.FLOAT16, DType.FLOAT32, DType.INT32
MAP = random_array(1, (1, 2, 4, 4))
ROIS = random_array(2, (3, 5))
TABLE = random_array(3, (6, 4))
LIST, OFFSETS = np.array([0, 1, 5], np.int32), np.array([0, 2], np.int32)
BOXES, SCORES = random_array(4, (1, 3, 2, 4)), random_array(5, (1, 3, 2))
LIMITS: dict[str, Any] = {
    "score_threshold": 0.5, "iou_threshold": 0.5, "max_size_per_class": 2, "max_total_size": 4,
}  # fmt: skip
KEPT = [(F32, (1, 4, 4)), (F32, (1, 4)), (F32, (1, 4)), (I32, (1,))]
MAPS = {"pooled_height": 2, "pooled_width": 2, "spatial_scale": [0.5]}


@in_one_item(
    ("op", "inputs", "outputs", "attributes", "words"),
    [
        ("AdaptiveMaxPool2d", [MAP], [(F32, (1, 2, 2, 2)), (I32, (1, 2, 2, 2))],
         {"output_size": [2, 0]}, "cannot be pooled to [2, 0]"),
        ("AdaptiveMaxPool2d", [MAP], [(F32, (1, 2, 2, 2)), (I32, (1, 2, 2, 2))],
         {"output_size": [2]}, "output_size must have 2 elements"),
        ("Addcmul", [MAP, MAP, MAP[..., :3], MAP], [(F32, MAP.shape)], {}, "broadcast"),
        ("Addcmul", [MAP, MAP, MAP, MAP.astype(np.float16)], [(F32, MAP.shape)], {}, "same dtype"),
        ("BatchMatMul", [TABLE, TABLE], [(F32, (6, 4))], {}, "inner dims must be equal"),
        ("BatchMatMul", [TABLE[0], TABLE], [(F32, (4,))], {}, "matrices are needed"),
        ("BatchMatMul", [MAP, np.ones((3, 4, 4), np.float32)], [(F32, MAP.shape)], {}, "broadcast"),
        ("EmbeddingBag", [TABLE, LIST], [(F32, (1, 4))], {}, "indices must have 2 axes"),
        ("EmbeddingBag", [TABLE, LIST, OFFSETS], [(F32, (2, 4))], {"mode": "min"},
         "mode must be one of sum, mean, max"),
        ("EmbeddingBag", [TABLE, LIST, OFFSETS, TABLE[0, :3]], [(F32, (2, 4))], {},
         "per_sample_weights go with mode sum"),
        ("EmbeddingBag", [TABLE, LIST, OFFSETS], [(F32, (2, 4))], {"padding_idx": 3},
         "padding_idx must be -1"),
        ("EmbeddingBag", [TABLE, LIST, OFFSETS], [(F32, (2, 4)), (I32, (3,))], {},
         "only y can be an output"),
        ("EmbeddingBag", [TABLE, LIST, OFFSETS[:0]], [(F32, (0, 4))], {"include_last_offset": True},
         "offsets must include the last offset"),
        ("RoiExtractor", [ROIS[:, :4], MAP], [(F32, (3, 2, 2, 2))], MAPS, "rois must have 5"),
        ("RoiExtractor", [ROIS, MAP, MAP], [(F32, (3, 2, 2, 2))], MAPS, "2 maps need as many"),
        ("RoiExtractor", [ROIS, MAP, MAP[:, :1]], [(F32, (3, 2, 2, 2))],
         {**MAPS, "spatial_scale": [0.5, 0.25]}, "the same number of images and channels"),
        ("RoiExtractor", [ROIS, MAP], [(F32, (3, 2, 2, 2))], {**MAPS, "pool_mode": "sum"},
         "pool_mode must be avg or max"),
        ("RoiExtractor", [ROIS, MAP], [(F32, (3, 2, 2, 2))], {**MAPS, "finest_scale": 0},
         "must be at least 1"),
        ("BatchMultiClassNonMaxSuppression", [BOXES[:, :2], SCORES], KEPT, LIMITS,
         "do not match"),
        ("BatchMultiClassNonMaxSuppression", [BOXES, SCORES], KEPT,
         {**LIMITS, "change_coordinate_frame": True}, "needs a clip_window"),
        ("BatchMultiClassNonMaxSuppression", [BOXES, SCORES, TABLE], KEPT, LIMITS,
         "input 2 must have shape [1, 4]"),
        ("BatchMultiClassNonMaxSuppression", [BOXES, SCORES], KEPT,
         {**LIMITS, "max_size_per_class": -1}, "sizes must be at least 0"),
    ],
)  # fmt: skip
def test_a_bad_node_is_refused(
    op: str,
    inputs: list[Array | None],
    outputs: Sequence[tuple[DType, Sequence[int]]],
    attributes: dict[str, Any],
    words: str,
) -> None:
    assert words in refusal(op, inputs, outputs, attributes)


def test_windows_in_pieces_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x, outputs = random_array(6, (3, 5, 7, 6)), [(F32, (3, 5, 3, 4)), (I32, (3, 5, 3, 4))]
    attributes: dict[str, Any] = {"output_size": [3, 4]}
    whole = run_operator("AdaptiveMaxPool2d", [x], outputs, attributes)
    monkeypatch.setattr(custom, "_AT_ONCE", 1)
    pieces = run_operator("AdaptiveMaxPool2d", [x], outputs, attributes)
    for found, expected in zip(pieces, whole, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_adaptive_pool_of_nan_is_nan() -> None:
    x = np.array([[1, np.nan], [-np.inf, -np.inf]], np.float32).reshape(1, 2, 1, 2)
    outputs = [(F32, (1, 2, 1, 1)), (I32, (1, 2, 1, 1))]
    y, places = run_operator("AdaptiveMaxPool2d", [x], outputs, {"output_size": [1, 1]})
    np.testing.assert_array_equal(y.reshape(-1), [np.nan, -np.inf])
    np.testing.assert_array_equal(places.reshape(-1), [1, 0])


def test_a_window_turned_inside_out_has_no_frame() -> None:
    window = np.array([[1, 1, 1, 2]], np.float32)
    boxes = np.tile(np.array([0, 0, 3, 3], np.float32), (1, 3, 2, 1))
    attributes = {**LIMITS, "change_coordinate_frame": True}
    inputs = [boxes, np.ones((1, 3, 2), np.float32), window]
    *_, count = run_operator("BatchMultiClassNonMaxSuppression", inputs, KEPT, attributes)
    assert count.tolist() == [0]
