"""Data as models get it in use, by seed: sound, images, bytes, words, states."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.trained.inputs import digits_image

Array = npt.NDArray[Any]
Draw = Callable[[int], Array]


RATE = 16000
"""Samples of sound in a second."""


def sound(*shape: int) -> Draw:
    """Return what draws waves in [-1, 1]: tones that swell, of a random pitch, and noise."""

    def draw(seed: int) -> Array:
        random = np.random.default_rng([seed, 1])
        time = np.arange(int(np.prod(shape))) / RATE
        pitch, loud = random.uniform(80, 300), random.uniform(0.1, 0.4)
        tones = sum(
            np.sin(2 * np.pi * (pitch * k * time + random.random())) / k for k in range(1, 9)
        )
        swell = 0.5 - 0.5 * np.cos(2 * np.pi * random.uniform(1, 4) * time)
        wave = loud * tones * swell + random.normal(0, 0.005, time.shape)
        return np.clip(wave, -1, 1).astype(np.float32).reshape(shape)

    return draw


def image(*shape: int, low: float = 0.0) -> Draw:
    """Return what draws images in [low, 1]: smooth colors, round patches, and noise."""

    def draw(seed: int) -> Array:
        random = np.random.default_rng([seed, 2])
        channels, height, width = shape[-3:]
        rows, columns = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
        weights = random.uniform(-0.5, 0.5, (channels, 3))
        found = np.stack([0.5 + a * rows + b * columns + c * rows * columns for a, b, c in weights])
        for _ in range(8):
            middle, radius = random.random(2), random.uniform(0.05, 0.3)
            inside = (rows - middle[0]) ** 2 + (columns - middle[1]) ** 2 < radius**2
            found[:, inside] = random.random((channels, 1))
        found = (found + random.normal(0, 0.02, found.shape)).clip(0, 1)
        return (low + (1 - low) * found).astype(np.float32).reshape(shape)

    return draw


def digits(*shape: int, size: int = 4) -> Draw:
    """Return what draws a line of random digits on paper, from -1 to 1; see `digits_image`."""

    def draw(seed: int) -> Array:
        random = np.random.default_rng([seed, 8])
        text = "".join(random.choice(list("0123456789"), min(8, shape[-1] // (6 * size))))
        found = digits_image(text, shape[-2], shape[-1], size)
        return (found + random.normal(0, 0.02, found.shape)).astype(np.float32)

    return draw


def file_bytes(*shape: int) -> Draw:
    """Return what draws bytes of a file: those of text for even seeds, else any; 256 is padding."""

    def draw(seed: int) -> Array:
        random = np.random.default_rng([seed, 3])
        low, high = (0, 256) if seed % 2 else (32, 127)
        found = random.integers(low, high, shape)
        if seed % 3 == 0:
            found[..., shape[-1] // 2 - 100 : shape[-1] // 2 + 100] = 256
        return found.astype(np.int32)

    return draw


def words(*shape: int, count: int) -> Draw:
    """Return what draws numbers of words, of which there are `count`."""
    return lambda seed: np.random.default_rng([seed, 4]).integers(0, count, shape)


def mask(*shape: int) -> Draw:
    """Return what draws masks: ones, then zeros for what is padding; for seed 0 ones alone."""

    def draw(seed: int) -> Array:
        length = shape[-1]
        used = length if not seed else np.random.default_rng([seed, 5]).integers(1, length + 1)
        return np.broadcast_to(np.arange(length) < used, shape).astype(np.int64)

    return draw


def state(*shape: int) -> Draw:
    """Return what draws states of recurrent layers: zeros for seed 0, else within (-1, 1)."""

    def draw(seed: int) -> Array:
        drawn = np.tanh(np.random.default_rng([seed, 6]).normal(0, 0.5, shape))
        return (drawn * bool(seed)).astype(np.float32)

    return draw


def activations(*shape: int) -> Draw:
    """Return what draws the results of a normalization: mean 0, deviation 1."""
    return lambda seed: np.random.default_rng([seed, 7]).normal(size=shape).astype(np.float32)


def constant(value: int, *shape: int) -> Draw:
    """Return what gives the same integers always."""
    return lambda _seed: np.full(shape, value, np.int64)
