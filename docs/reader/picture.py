"""The picture of a line and the text that a network reads from it, with numpy alone."""

from __future__ import annotations

import functools
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

__all__ = ["gray_png", "read_text", "scaled"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def gray_png(path: Path) -> Floats:
    """Return a PNG file of 8-bit gray, not interlaced, as values from 0 to 255, (height, width).

    Raises:
        ValueError: the file is no PNG, or one of another kind.
    """
    data = path.read_bytes()
    if not data.startswith(_SIGNATURE):
        raise ValueError(f"{path} is no PNG file")
    at, packed, width, height = len(_SIGNATURE), b"", 0, 0
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, *form = struct.unpack(">IIBBBBB", body)
            if form != [8, 0, 0, 0, 0]:
                raise ValueError(f"{path} has pixels of another kind than 8-bit gray")
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, width + 1)
    return _unfiltered(lines).astype(np.float32)


def _unfiltered(lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return pixels from lines that each begin with the number of their filter."""
    above = [0] * (lines.shape[1] - 1)
    rows = []
    for kind, *values in lines.tolist():
        row: list[int] = []
        left = corner = 0
        for value, top in zip(values, above, strict=True):
            guess = (0, left, top, (left + top) // 2, _paeth(left, top, corner))[kind]
            left, corner = (value + guess) % 256, top
            row.append(left)
        rows.append(row)
        above = row
    return np.array(rows, np.uint8)


def _paeth(left: int, top: int, corner: int) -> int:
    """Return the neighbor that is nearest to left + top - corner; the PNG standard, 9.4."""
    estimate = left + top - corner
    return min((left, top, corner), key=lambda each: abs(estimate - each))


def scaled(picture: Floats, height: int) -> Floats:
    """Return a picture with another height, each new pixel the mean of the area that it covers."""
    rows, columns = picture.shape
    width = columns * height // rows
    return _shares(rows, height) @ picture @ _shares(columns, width).T


@functools.cache
def _shares(before: int, after: int) -> Floats:
    """Return the share that each old pixel has in each new one, (after, before)."""
    ends = np.linspace(0, before, after + 1)
    low, high = ends[:-1, None], ends[1:, None]
    old = np.arange(before)
    covered = np.minimum(high, old + 1) - np.maximum(low, old)
    return (covered.clip(0) * after / before).astype(np.float32)


def read_text(shares: Floats, characters: list[str]) -> tuple[str, float]:
    """Return the text that a network reads, and its confidence.

    The likeliest character of each step counts, once where it repeats; class 0 is "none".

    Args:
        shares: the probability of each class at each step, (steps, 1 + characters).
        characters: those of the classes from 1 on.

    Raises:
        ValueError: a probability is NaN or infinite.
    """
    if not np.isfinite(shares).all():
        raise ValueError("the network's output has values that are no numbers")
    best = shares.argmax(1)
    first = np.append(True, best[1:] != best[:-1]) & (best > 0)
    text = "".join(characters[each - 1] for each in best[first]).strip()
    return text, float(shares.max(1)[first].mean()) if first.any() else 0.0
