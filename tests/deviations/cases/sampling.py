"""Sampling of images at positions."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

Array = npt.NDArray[Any]

IMAGE = np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6)
ROWS = np.array([-1.25, -1.0, -0.5, 0.0, 0.5], np.float32)
GRID = np.stack(np.broadcast_arrays(np.float32(0.2), ROWS[None, :, None]), axis=-1)


ZEROS = {"padding_mode": "zeros"}


def farther_pixel(x: Array, grid: Array) -> Array:
    """Return the pixels at rounded places, halves away from 0, and zeros outside."""
    height, width = x.shape[2:]
    result = np.zeros((1, 1, *grid.shape[1:3]), np.float32)
    for at in np.ndindex(grid.shape[1:3]):
        column, row = (
            np.trunc(place + np.copysign(0.5, place))
            for place in (((grid[0][at] + 1) * [width, height]) - 1) / 2
        )
        if 0 <= row < height and 0 <= column < width:
            result[0, 0][at] = x[0, 0, int(row), int(column)]
    return result


deviation(
    DeviationCase(
        "GridSample/ties-go-far",
        9,
        DeviatingNode("GridSample", 16, (IMAGE, GRID), {**ZEROS, "mode": "nearest"}),
        DeviatingNode("GridSample", 16, (IMAGE, GRID), {**ZEROS, "mode": "bilinear"}),
        farther_pixel,
        "cann-9.0",
    )
)
