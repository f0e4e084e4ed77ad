"""Detection that ONNX does not define, through the whole compiler, against formulas.

They are written out here, one region and one box at a time: what mmdetection's SingleRoIExtractor
does, and CANN's description of BatchMultiClassNonMaxSuppression.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from tests.lowering.custom_nodes import FORCE, KEEP, RELATIVE, near, normal, run

Array = npt.NDArray[Any]

MODES = st.sampled_from([KEEP, FORCE])


# RoiExtractor -----------------------------------------------------------------------------------


def sample(plane: Array, y: float, x: float) -> float:
    """Return the map between its pixels; 0 more than one pixel beyond its edge."""
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    below, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    upper = plane[top, left] * (1 - dx) + plane[top, right] * dx
    lower = plane[below, left] * (1 - dx) + plane[below, right] * dx
    return float(upper * (1 - dy) + lower * dy)


def extracted(maps: list[Array], roi: Array, a: Mapping[str, Any]) -> Array:
    """Return the cells of one region [channels, rows, columns]."""
    image, (x1, y1, x2, y2) = int(roi[0]), roi[1:]
    side = math.sqrt(abs((x2 - x1) * (y2 - y1)))
    level = math.floor(math.log2(side / a["finest_scale"] + 1e-6))
    level = min(max(level, 0), len(maps) - 1)
    if a["roi_scale_factor"] > 0:
        half = [extent * a["roi_scale_factor"] / 2 for extent in (x2 - x1, y2 - y1)]
        middle = (x1 + x2) / 2, (y1 + y2) / 2
        x1, x2 = middle[0] - half[0], middle[0] + half[0]
        y1, y2 = middle[1] - half[1], middle[1] + half[1]
    scale, shift = a["spatial_scale"][level], 0.5 if a["aligned"] else 0.0
    left, top = x1 * scale - shift, y1 * scale - shift
    extents = [(y2 - y1) * scale, (x2 - x1) * scale]
    if not a["aligned"]:
        extents = [max(extent, 1) for extent in extents]
    counts = a["pooled_height"], a["pooled_width"]
    sizes = [extent / count for extent, count in zip(extents, counts, strict=True)]
    each = [a["sample_num"] or max(math.ceil(size), 0) for size in sizes]
    features = maps[level][image]
    found = np.zeros((len(features), *counts))
    for c, i, j in np.ndindex(found.shape):
        values = [
            sample(features[c], top + (i + (p + 0.5) / each[0]) * sizes[0],
                   left + (j + (q + 0.5) / each[1]) * sizes[1])
            for p in range(each[0]) for q in range(each[1])
        ]  # fmt: skip
        if values:
            found[c, i, j] = max(values) if a["pool_mode"] == "max" else sum(values) / len(values)
    return found


@st.composite
def extractions(draw: st.DrawFn) -> tuple[list[Array], Array, dict[str, Any]]:
    """Return maps, regions with corners in quarters of a pixel, and attributes."""
    levels, images = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    maps = [normal(images, 2, 8 >> at, 10 >> at, seed=at) for at in range(levels)]
    count = draw(st.integers(1, 4))
    rows = []
    for _ in range(count):
        x, y = draw(st.integers(-8, 100)) / 4, draw(st.integers(-8, 80)) / 4
        wide, high = draw(st.integers(1, 120)) / 4, draw(st.integers(1, 100)) / 4
        rows.append([draw(st.integers(0, images - 1)), x, y, x + wide, y + high])
    attributes = {
        "finest_scale": draw(st.integers(3, 9)),
        "roi_scale_factor": draw(st.sampled_from([0.0, 0.5, 1.5])),
        "spatial_scale": [0.25 / 2**at for at in range(levels)],
        "pooled_height": draw(st.integers(1, 3)),
        "pooled_width": draw(st.integers(1, 3)),
        "sample_num": draw(st.integers(0, 2)),
        "pool_mode": draw(st.sampled_from(["avg", "max"])),
        "aligned": draw(st.integers(0, 1)),
    }
    return maps, np.array(rows, np.float32), attributes


@given(extractions(), MODES)
def test_roi_extractor(given_: tuple[list[Array], Array, dict[str, Any]], mode: str) -> None:
    maps, rois, attributes = given_
    expected = np.array([extracted(maps, roi, attributes) for roi in rois.astype(np.float64)])
    inputs = {**{f"map{at}": features for at, features in enumerate(maps)}, "rois": rois}
    (found,) = run("RoiExtractor", inputs, [expected.astype(np.float32)], attributes, mode=mode)
    scale = float(max(np.abs(features).max() for features in maps))
    np.testing.assert_allclose(found, expected, rtol=0, atol=RELATIVE[mode] * scale)


# BatchMultiClassNMS -----------------------------------------------------------------------------


def overlap(a: Array, b: Array) -> float:
    """Return shared area over the area of both together."""
    sides = [max(0.0, min(a[2 + s], b[2 + s]) - max(a[s], b[s])) for s in (0, 1)]
    shared = sides[0] * sides[1]
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return float(shared / (areas[0] + areas[1] - shared))


def best_boxes(
    boxes: Array, scores: Array, window: Array | None, a: Mapping[str, Any]
) -> list[tuple[float, int, Array]]:
    """Return score, class and box of those that are left of one image, best first."""
    found: list[tuple[float, int, Array]] = []
    for kind in range(scores.shape[1]):
        kept: list[tuple[float, int, Array]] = []
        for index in sorted(range(len(boxes)), key=lambda i: -scores[i, kind]):
            box = boxes[index, kind if boxes.shape[1] > 1 else 0].copy()
            if window is not None:
                box[:2], box[2:] = np.maximum(box[:2], window[:2]), np.minimum(box[2:], window[2:])
                if a["change_coordinate_frame"]:
                    box = (box - np.tile(window[:2], 2)) / np.tile(window[2:] - window[:2], 2)
            good = scores[index, kind] > a["score_threshold"] and np.all(box[2:] > box[:2])
            clear = all(overlap(box, other) <= a["iou_threshold"] for *_, other in kept)
            if good and clear and len(kept) < a["max_size_per_class"]:
                kept.append((float(scores[index, kind]), kind, box))
        found += kept
    return sorted(found, key=lambda row: -row[0])[: a["max_total_size"]]


@st.composite
def suppressions(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return boxes on a coarse grid, scores of which many are equal, and attributes."""
    images, count, classes = (draw(st.integers(1, most)) for most in (2, 6, 3))
    shared = draw(st.booleans())
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    low = generator.integers(0, 6, (images, count, 1 if shared else classes, 2))
    boxes = np.concatenate([low, low + generator.integers(0, 5, low.shape)], axis=-1) / 4
    inputs: dict[str, Any] = {
        "boxes": boxes.astype(np.float16),
        "scores": (generator.integers(0, 9, (images, count, classes)) / 8).astype(np.float16),
        "clip_window": None,
        "num_valid_boxes": None,
    }
    windowed = draw(st.booleans())
    if windowed:
        inputs["clip_window"] = np.tile(np.array([0.5, 0.25, 1.5, 2.25], np.float16), (images, 1))
    if draw(st.booleans()):
        inputs["num_valid_boxes"] = generator.integers(0, count + 2, images).astype(np.int32)
    attributes = {
        "score_threshold": 0.25,
        "iou_threshold": draw(st.sampled_from([0.1, 0.3, 0.7])),
        "max_size_per_class": draw(st.integers(1, 4)),
        "max_total_size": draw(st.integers(1, 8)),
        "change_coordinate_frame": int(windowed and draw(st.booleans())),
        "transpose_box": draw(st.integers(0, 1)),
    }
    return inputs, attributes


@given(suppressions(), MODES)
def test_batch_multi_class_nms(given_: tuple[dict[str, Any], dict[str, Any]], mode: str) -> None:
    inputs, attributes = given_
    images, most = len(inputs["boxes"]), attributes["max_total_size"]
    shapes = (images, most, 4), (images, most), (images, most), (images,)
    expected = [np.zeros(shape, np.float16) for shape in shapes]
    valid, windows = inputs["num_valid_boxes"], inputs["clip_window"]
    for image in range(images):
        end = None if valid is None else int(valid[image])
        boxes, scores = (
            inputs[name][image, :end].astype(np.float64) for name in ("boxes", "scores")
        )
        window = None if windows is None else windows[image].astype(np.float64)
        rows = best_boxes(boxes, scores, window, attributes)
        for at, (score, kind, box) in enumerate(rows):
            for result, value in zip(expected, (box, score, kind), strict=False):
                result[image, at] = value
        expected[3][image] = len(rows)
    if attributes["transpose_box"]:
        inputs = {**inputs, "boxes": inputs["boxes"].transpose(0, 2, 3, 1).copy()}
    found = run("BatchMultiClassNMS", inputs, expected, attributes, mode=mode)
    near(found[0], expected[0], 1e-3)
    for result, wanted in zip(found[1:], expected[1:], strict=True):
        near(result, wanted, 0)
