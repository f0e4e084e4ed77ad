"""A detector of our own: outputs of as many rows as the image has objects."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from tests.end_to_end import run_with_onnxruntime
from tests.networks.builders.agreement import (
    FLOAT16_MODES,
    expect_agreement,
    value_in_onnxruntime,
)
from tests.networks.builders.detector import (
    IOU_THRESHOLD,
    SCORE_THRESHOLD,
    build_detector,
    image_with,
)
from tests.sampling import alternating

Array = npt.NDArray[Any]

IMAGES = {"none": (0, 0), "one": (2, 20), "few": (4, 12), "many": (8, 17)}
"""Number of patches and seed, chosen so that no decision is close; see `margins`."""

SCORE_MARGIN = 4e-3
IOU_MARGIN = 2e-2
"""Many times what float16 moves scores (0 to 1) and overlaps."""


def feeds(name: str) -> dict[str, Array]:
    return {"image": image_with(*IMAGES[name])}


def margins(model: onnx.ModelProto, fed: dict[str, Array]) -> tuple[float, float]:
    """Return the closest decisions: between scores, and between overlaps and their bound.

    Scores are compared with the threshold and, above it, with the next of their class; overlaps
    count between boxes of one class that are above the threshold.
    """
    (suppression,) = (node for node in model.graph.node if node.op_type == "NonMaxSuppression")
    boxes = value_in_onnxruntime(model, suppression.input[0], fed)[0]
    scores = value_in_onnxruntime(model, suppression.input[1], fed)[0]
    of_scores, of_overlaps = [float(np.abs(scores - SCORE_THRESHOLD).min())], [1.0]
    for row in scores:
        kept = np.flatnonzero(row > SCORE_THRESHOLD)
        if kept.size > 1:
            of_scores.append(float(np.diff(np.sort(row[kept])).min()))
            overlap = overlaps(boxes[kept])[np.triu_indices(kept.size, 1)]
            of_overlaps.append(float(np.abs(overlap - IOU_THRESHOLD).min()))
    return min(of_scores), min(of_overlaps)


def overlaps(boxes: Array) -> Array:
    """Return intersection over union of each two boxes of corners."""
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=-1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=-1)
    shares: Array = common / (areas[:, None] + areas[None] - common)
    return shares


@pytest.mark.parametrize(
    ("name", "least", "most"), [("none", 0, 0), ("one", 1, 1), ("few", 2, 5), ("many", 8, 24)]
)
def test_detector_image_has_the_boxes_it_is_named_after(name: str, least: int, most: int) -> None:
    model = build_detector()
    outputs = run_with_onnxruntime(model, feeds(name))
    assert least <= len(outputs["labels"]) <= most
    of_scores, of_overlaps = margins(model, feeds(name))
    assert of_scores > SCORE_MARGIN
    assert of_overlaps > IOU_MARGIN


def test_detector_suppresses_boxes_of_the_image_with_many() -> None:
    """Check that boxes are suppressed, or else the suppression would not be seen at work."""
    model = build_detector()
    (suppression,) = (node for node in model.graph.node if node.op_type == "NonMaxSuppression")
    scores = value_in_onnxruntime(model, suppression.input[1], feeds("many"))
    assert scores.max(axis=1).min() < SCORE_THRESHOLD - SCORE_MARGIN  # no candidate was cut off
    labels = run_with_onnxruntime(model, feeds("many"))["labels"]
    assert len(labels) < (scores > SCORE_THRESHOLD).sum()
    assert len(set(labels.tolist())) > 1


@pytest.mark.parametrize(
    ("opset", "mode"), alternating([11, 12, 13], [*FLOAT16_MODES, "must_keep_origin_dtype"])
)
def test_detector_gives_as_many_boxes_as_onnxruntime(opset: int, mode: str, tmp_path: Path) -> None:
    runs = [feeds(name) for name in ("many", "none", "one", "few", "many")]
    expect_agreement(build_detector(opset), runs, mode, tmp_path)
