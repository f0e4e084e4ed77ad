"""Regions and boxes as ONNX; regions inside out or without area, and scores that are NaN."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from atc_py.device.ort.model import emulate
from atc_py.diag import AtcError
from atc_py.diag.codes import NO_ONNX_FORM
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, random_array
from tests.device.ort.apart import apart, model_of
from tests.device.ort.twin import run_on_ort
from tests.sampling import sampled

FLOATS = sampled([DType.FLOAT32, DType.FLOAT16], [DType.BFLOAT16])


def regions(dtype: DType, count: int = 20) -> Array:
    """Return regions of three images, some inside out, some without area or not finite."""
    generator = np.random.default_rng(3)
    corners = generator.uniform(-6, 26, (count, 2))
    ends = corners + generator.uniform(-4, 20, (count, 2))
    images = generator.integers(0, 3, (count, 1))
    found = np.concatenate([images, corners, ends], axis=1)
    found[5:7, 1:] = [[2, 2, 10, 10], [4, 2, 4, 2]]
    found[7, 2], found[8, 3], found[9, 2] = np.nan, np.inf, -np.inf
    found[10, 1:] = [-np.inf, -np.inf, np.inf, np.inf]
    return found.astype(dtype.numpy)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("end", [0, 2])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("samples", [0, 1, 2, 3])
def test_samples_of_regions(dtype: DType, end: int, mode: str, samples: int) -> None:
    x, rois = random_array(1, (3, 4, 9, 11), dtype), regions(dtype)
    for scale in (0.5, 0.37):
        attributes: dict[str, Any] = {
            "spatial_scale": scale, "pooled_height": 2, "pooled_width": 3,
            "sample_num": samples, "roi_end_mode": end, "pool_mode": mode,
        }  # fmt: skip
        assert apart("ROIAlign", [x, rois], [(dtype, (20, 4, 2, 3))], attributes) <= 1e-6


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("odd", [False, True])
def test_maxima_of_regions(dtype: DType, odd: bool) -> None:
    x, rois = random_array(1, (3, 4, 9, 11), dtype), regions(dtype)
    if odd:
        x[0, 0, 2:4], x[1, :, :5, :5], x[2, 1, 4, 4] = np.nan, -np.inf, np.inf
        x[2, 2] = -np.inf
    for down, across, high, wide in product((0.5, 1.0), (0.5, 0.61), (1, 3), (2, 7)):
        attributes = {
            "pooled_h": high, "pooled_w": wide, "spatial_scale_h": down, "spatial_scale_w": across,
        }  # fmt: skip
        distance = apart("ROIPooling", [x, rois], [(dtype, (20, 4, high, wide))], attributes)
        assert distance == 0


def boxes_and_scores(seed: int) -> list[Array | None]:
    """Return boxes, some inside out, and scores of which many are equal."""
    generator = np.random.default_rng(seed)
    low = generator.uniform(0, 5, (2, 40, 2))
    boxes = np.concatenate([low, low + generator.uniform(-1, 3, low.shape)], axis=-1)
    scores = generator.choice(np.linspace(0, 1, 11), (2, 3, 40))
    scores[0, 0, 3] = np.nan
    return [boxes.astype(np.float32), scores.astype(np.float32)]


@pytest.mark.parametrize("centered", [0, 1])
@pytest.mark.parametrize("overlap", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("least", [None, 0.4])
@pytest.mark.parametrize("rows", [200, None])
def test_boxes_that_are_kept(
    centered: int, overlap: float | None, least: float | None, rows: int | None
) -> None:
    limits = [None if each is None else np.array([each], np.float32) for each in (overlap, least)]
    for seed, count in enumerate((np.int32, np.int64)):
        inputs = [*boxes_and_scores(seed), np.array(7, count), *limits]
        types = [(DType.INT32, (rows, 3))]
        attributes = {"center_point_box": centered}
        assert apart("NonMaxSuppressionV7", inputs, types, attributes) == 0


def test_more_boxes_than_rows_stop_the_run() -> None:
    inputs = [*boxes_and_scores(0), np.array([7], np.int64)]
    model, feeds = model_of("NonMaxSuppressionV7", inputs, [(DType.INT32, (5, 3))])
    with pytest.raises(AtcError, match="invalid indice"):
        run_on_ort(model, feeds)


@pytest.mark.parametrize(
    ("op", "inputs", "types", "attributes", "words"),
    [
        (
            "ROIPooling",
            [np.ones((1, 1, 4, 4)), np.zeros((1, 5))],
            [(DType.FLOAT64, (1, 1, 1, 1))],
            {"pooled_h": 1, "pooled_w": 1, "spatial_scale_h": 1.0, "spatial_scale_w": 1.0},
            "MaxRoiPool computes float32",
        ),
        (
            "NonMaxSuppressionV7",
            [np.ones((1, 1, 4)), np.ones((1, 1, 1))],
            [(DType.INT32, (1, 3))],
            {},
            "NonMaxSuppression computes float32",
        ),
    ],
)
def test_float64_has_no_form(
    op: str, inputs: list[Array], types: Any, attributes: dict[str, Any], words: str
) -> None:
    model, _ = model_of(op, inputs, types, attributes)
    with pytest.raises(AtcError, match=words) as caught:
        emulate(model, flat=True)
    assert caught.value.diagnostics[0].code is NO_ONNX_FORM
