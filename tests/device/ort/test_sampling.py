"""Images sampled at positions as ONNX; positions that are far outside or no numbers."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import random_array
from tests.device.ort.apart import apart
from tests.sampling import sampled

FLOATS = sampled([DType.FLOAT32, DType.FLOAT16], [DType.FLOAT64])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [False, True])
def test_grids(dtype: DType, mode: str, padding: str, aligned: bool) -> None:
    attributes: dict[str, Any] = {
        "interpolation_mode": mode, "padding_mode": padding, "align_corners": aligned,
    }  # fmt: skip
    drawn = np.random.default_rng(1).uniform(-1.8, 1.8, (2, 6, 7, 2))
    odd = drawn.copy()
    odd[0, 0, 0], odd[0, 0, 1, 1], odd[1, 0, 0, 0] = np.nan, np.inf, -np.inf
    odd[0, 1, 1, 0], odd[0, 2], odd[1, 1] = np.nan, [-1, 1], [60000, -60000]
    for (high, wide), grid in product(
        ((5, 7), (1, 1), (1, 6)), (drawn, odd, np.round(drawn * 4) / 4)
    ):
        x = random_array(2, (2, 3, high, wide), dtype)
        inputs = [x, grid.astype(dtype.numpy)]
        types = [(dtype, (2, 3, 6, 7))]
        assert apart("GridSampler2D", inputs, types, attributes) <= 1e-6


@pytest.mark.parametrize("dtype", [*FLOATS, *sampled([], [DType.BFLOAT16])])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 1, 2, 0)])
@pytest.mark.parametrize("groups", [1, 2])
def test_windows_with_points_of_their_own(
    dtype: DType, stride: int, pads: tuple[int, ...], groups: int
) -> None:
    for (high, wide), dilation in product(((3, 2), (1, 1)), (1, 2)):
        rows = (8 + sum(pads[:2]) - (high - 1) * dilation - 1) // stride + 1
        columns = (9 + sum(pads[2:]) - (wide - 1) * dilation - 1) // stride + 1
        x = random_array(3, (2, 4, 8, 9), dtype)
        x[0, 0, 0, 0] = np.inf
        offsets = random_array(4, (2, 3 * groups * high * wide, rows, columns), dtype)
        offsets[0, 0, 0, 0], offsets[1, 0, 1, 1], offsets[1, 1, 0, 1] = np.nan, np.inf, 1e4
        attributes: dict[str, Any] = {
            "strides": [1, 1, stride, stride], "pads": [*pads], "ksize": [high, wide],
            "dilations": [1, 1, dilation, dilation], "deformable_groups": groups,
        }  # fmt: skip
        types = [(dtype, (2, 4, rows * high, columns * wide))]
        assert apart("DeformableOffsets", [x, offsets], types, attributes) == 0
