"""Regions of interest."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

Array = npt.NDArray[Any]

SIDE, SAMPLES = 2, 2
X = np.random.default_rng(17).standard_normal((1, 2, 8, 8)).astype(np.float32)
ROIS = np.array([[0, 0, 6, 6], [1, 2, 5, 7]], np.float32)
FIRST_IMAGE = np.zeros(2, np.int64)
POOL = {"output_height": SIDE, "output_width": SIDE, "sampling_ratio": SAMPLES}


def bilinear(image: Array, y: float, x: float) -> Array:
    """Return the value of every channel between four pixels inside the image."""
    top, left = int(y), int(x)
    down, right = y - top, x - left
    upper = image[:, top, left] * (1 - right) + image[:, top, left + 1] * right
    lower = image[:, top + 1, left] * (1 - right) + image[:, top + 1, left + 1] * right
    return np.asarray(upper * (1 - down) + lower * down)


def means(images: Array, rois: Array, _: Array) -> Array:
    """Return the mean of the samples of every bin."""
    found = np.zeros((len(rois), images.shape[1], SIDE, SIDE), np.float32)
    steps = (np.arange(SAMPLES) + 0.5) / SAMPLES
    for number, (left, top, right, bottom) in enumerate(rois):
        for row in range(SIDE):
            for column in range(SIDE):
                ys = top + (row + steps) * (bottom - top) / SIDE
                xs = left + (column + steps) * (right - left) / SIDE
                samples = [bilinear(images[0], y, x) for y in ys for x in xs]
                found[number, :, row, column] = np.mean(samples, axis=0)
    return found


for _generation in (5, 9):
    deviation(
        DeviationCase(
            "RoiAlign/mode-is-avg",
            _generation,
            DeviatingNode("RoiAlign", 13, (X, ROIS, FIRST_IMAGE), {"mode": "max", **POOL}),
            DeviatingNode("RoiAlign", 13, (X, ROIS, FIRST_IMAGE), {"mode": "avg", **POOL}),
            means,
            "base" if _generation == 5 else "cann-9.0",
        )
    )
