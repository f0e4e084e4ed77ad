"""Data for trained models: images with digits, text, and tones, the same in every run."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


_DIGITS = {
    "0": ("01110", "10001", "10011", "10101", "11001", "10001", "01110"),
    "1": ("00100", "01100", "00100", "00100", "00100", "00100", "01110"),
    "2": ("01110", "10001", "00001", "00010", "00100", "01000", "11111"),
    "3": ("11111", "00010", "00100", "00010", "00001", "10001", "01110"),
    "4": ("00010", "00110", "01010", "10010", "11111", "00010", "00010"),
    "5": ("11111", "10000", "11110", "00001", "00001", "10001", "01110"),
    "6": ("00110", "01000", "10000", "11110", "10001", "10001", "01110"),
    "7": ("11111", "00001", "00010", "00100", "01000", "01000", "01000"),
    "8": ("01110", "10001", "10001", "01110", "10001", "10001", "01110"),
    "9": ("01110", "10001", "10001", "01111", "00001", "00010", "01100"),
}
"""Glyphs, seven rows of five pixels."""

_TEXT = """\
def greatest_common_divisor(first: int, second: int) -> int:
    \"\"\"Return the largest number that divides both.\"\"\"
    while second:
        first, second = second, first % second
    return abs(first)
"""


def digits_image(text: str, height: int, width: int, size: int = 4) -> Array:
    """Return [1, 3, height, width] from -1 to 1: a line of dark digits on light paper.

    Args:
        text: the digits.
        height: of the image.
        width: of the image.
        size: how many pixels of the image a pixel of a digit is wide and high.
    """
    line = np.zeros((7, 6 * len(text)), np.float32)
    for at, digit in enumerate(text):
        rows = [[float(pixel) for pixel in row] for row in _DIGITS[digit]]
        line[:, 6 * at : 6 * at + 5] = rows
    ink = np.kron(line, np.ones((size, size), np.float32))
    paper = np.full((height, width), 0.9, np.float32)
    top, left = (height - ink.shape[0]) // 2, (width - ink.shape[1]) // 2
    paper[top : top + ink.shape[0], left : left + ink.shape[1]] -= 1.7 * ink
    noise = np.random.default_rng(0).normal(0, 0.02, (1, 3, height, width))
    return (paper + noise).astype(np.float32)


def photo(height: int, width: int) -> Array:
    """Return [1, 3, height, width] from 0 to 1: smooth colors with a few round patches."""
    random = np.random.default_rng(1)
    rows, columns = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    image = np.stack([0.3 + 0.4 * rows, 0.5 - 0.3 * columns, 0.2 + 0.5 * rows * columns])
    for _ in range(6):
        middle, radius, color = random.random(2), random.uniform(0.05, 0.25), random.random(3)
        inside = (rows - middle[0]) ** 2 + (columns - middle[1]) ** 2 < radius**2
        image[:, inside] = color[:, None]
    image += random.normal(0, 0.02, image.shape)
    return image.clip(0, 1).astype(np.float32)[None]


def source_text(count: int, padding: int) -> Array:
    """Return the codes of a short program in Python: its first and last `count`, padded."""
    codes = list(_TEXT.encode())[:count]
    first = codes + [padding] * (count - len(codes))
    last = [padding] * (count - len(codes)) + codes
    return np.array([first + last], np.int32)


def waveform(count: int) -> Array:
    """Return [1, count]: a tone with overtones whose loudness swells, at 16,000 samples a second."""
    random = np.random.default_rng(2)
    time = np.arange(count) / 16000
    tones = sum(np.sin(2 * np.pi * 140 * k * time) / k for k in range(1, 9))
    swell = 0.5 - 0.5 * np.cos(2 * np.pi * 3 * time)
    return (0.1 * tones * swell + random.normal(0, 0.002, count)).astype(np.float32)[None]
