"""Features from several maps and boxes of several classes as ONNX."""

from typing import Any

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, random_array
from tests.device.ort.apart import apart

F16, F32 = DType.FLOAT16, DType.FLOAT32
IMAGES, COUNT, CLASSES = 2, 25, 3


def regions(dtype: DType) -> Array:
    """Return regions of all sizes; some of a size at which the map changes, some not finite."""
    generator = np.random.default_rng(1)
    corners = generator.uniform(-6, 60, (30, 2))
    ends = corners + generator.uniform(-4, 200, (30, 2))
    found = np.concatenate([generator.integers(0, 2, (30, 1)), corners, ends], axis=1)
    found[0, 1:], found[1, 1:], found[4, 1:] = [0, 0, 56, 56], [0, 0, 112, 112], [10] * 4
    found[2, 1], found[3, 3] = np.nan, np.inf
    return found.astype(dtype.numpy)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("maps", [1, 4])
@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize(
    ("mode", "samples"), [("avg", 0), ("avg", 2), ("max", 0), ("max", 1), ("max", 2)]
)
def test_regions_of_several_maps(
    dtype: DType, maps: int, aligned: bool, mode: str, samples: int
) -> None:
    features = [random_array(at, (2, 3, 64 >> at, 60 >> at), dtype) for at in range(maps)]
    for factor in (0.0, 1.2):
        attributes: dict[str, Any] = {
            "finest_scale": 14, "roi_scale_factor": factor, "aligned": aligned,
            "spatial_scale": [2.0**-at for at in range(maps)], "pooled_height": 3,
            "pooled_width": 2, "sample_num": samples, "pool_mode": mode,
        }  # fmt: skip
        inputs = [regions(dtype), *features]
        types = [(dtype, (30, 3, 3, 2))]
        assert apart("RoiExtractor", inputs, types, attributes) <= (2e-5 if dtype is F32 else 1e-3)


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_maps_without_regions(count: int, mode: str) -> None:
    features = [random_array(at, (2, 3, 64 >> at, 60 >> at)) for at in range(2)]
    attributes: dict[str, Any] = {"spatial_scale": [1.0, 0.5], "pool_mode": mode}
    inputs = [regions(F32)[:count], *features]
    assert apart("RoiExtractor", inputs, [(F32, (count, 3, 7, 7))], attributes) <= 1e-6


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("window", "framed"), [(False, False), (True, False), (True, True)])
def test_best_boxes_over_all_classes(
    dtype: DType, shared: bool, transposed: bool, window: bool, framed: bool
) -> None:
    generator = np.random.default_rng(2)
    low = generator.uniform(0, 5, (IMAGES, COUNT, 1 if shared else CLASSES, 2))
    boxes = np.concatenate([low, low + generator.uniform(-0.5, 3, low.shape)], axis=-1)
    if transposed:
        boxes = np.ascontiguousarray(boxes.transpose(0, 2, 3, 1))
    scores = generator.choice(np.linspace(0, 1, 15), (IMAGES, COUNT, CLASSES))
    scores[0, :2, 0] = [np.nan, np.inf]
    windows = np.array([[0.5, 0.5, 6, 6], [3, 3, 2, 5]])
    inputs = [each.astype(dtype.numpy) for each in (boxes, scores, windows)]
    for most, counted, least in ((5, True, 0.3), (100, False, 0.3), (100, True, -1.0)):
        shapes = (IMAGES, most, 4), (IMAGES, most), (IMAGES, most)
        types = [*((dtype, shape) for shape in shapes), (DType.INT32, (IMAGES,))]
        attributes: dict[str, Any] = {
            "score_threshold": least, "iou_threshold": 0.4, "max_size_per_class": 3,
            "max_total_size": most, "change_coordinate_frame": framed,
            "transpose_box": transposed,
        }  # fmt: skip
        operands: list[Array | None] = [*inputs[:2], inputs[2] if window else None]
        operands += [np.array([20, -3], np.int32)] if counted else []
        operands = operands if counted or window else operands[:2]
        assert apart("BatchMultiClassNonMaxSuppression", operands, types, attributes) <= 1e-6
