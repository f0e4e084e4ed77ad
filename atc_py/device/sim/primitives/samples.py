"""Samples of images between their pixels: positions, the pixels around them, their weights."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def pixels_at(image: Array, rows: Array, columns: Array) -> Array:
    """The pixels [channels, positions] of an image [channels, height, width].

    Args:
        image: the pixels.
        rows: whole numbers in its dtype, one for each position; outside the image a pixel is 0.
        columns: alike.
    """
    channels, height, width = image.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    row, column = (np.where(inside, at, 0).astype(np.intp) for at in (rows, columns))
    pixels: Array = image.reshape(channels, height * width).take(row * width + column, axis=1)
    pixels[:, ~inside] = 0
    return pixels


def neighbors(rows: Array, columns: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield row, column and weight of the four pixels around each position.

    From top to bottom, and from left to right. A weight is a product of shares, which are 1 minus
    the fraction of a coordinate and that fraction. Coordinates that are not finite have no pixels
    around them, and weights that are NaN.
    """
    one = rows.dtype.type(1)
    top, left = np.floor(rows), np.floor(columns)
    with np.errstate(invalid="ignore"):  # infinity less itself
        down, right = rows - top, columns - left
    for row, of_row in ((top, one - down), (top + one, down)):
        for column, of_column in ((left, one - right), (left + one, right)):
            yield row, column, of_row * of_column
