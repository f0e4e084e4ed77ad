"""Sequences of different lengths that follow one another: pairs of rows, sums of windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.export.registry import emulates
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atc_py.export.body import Body

__all__: list[str] = []


@emulates("DynSeqOuter")
def dyn_seq_outer(body: Body) -> str:
    """Write `y[t] = x1[i] + x2[j]`; t counts j of each sequence, and within it i."""
    lengths = [body.node.numbers(at).tolist() for at in (2, 3)]
    rows: list[list[NDArray[Any]]] = [[np.empty(0, np.int64)], [np.empty(0, np.int64)]]
    starts = [0, 0]
    for first, second in zip(*lengths, strict=True):
        rows[0].append(starts[0] + np.tile(np.arange(first), second))
        rows[1].append(starts[1] + np.repeat(np.arange(second), first))
        starts = [starts[0] + first, starts[1] + second]
    x1, x2 = (
        body.add("Gather", body.x(at), body.ints(*np.concatenate(each)), axis=0)
        for at, each in enumerate(rows)
    )
    return body.add("Add", x2, x1)


@emulates("MovingSumWithSigmoid")
def moving_sum(body: Body) -> str:
    """Write sigmoid(energy) times the sum of alpha over the next ksize frames, beam by beam.

    Beams get as many frames as the longest sequence has and a window more, 0 where theirs end; a
    convolution with ones adds up. The results of a beam go to the frames of its sequence.
    """
    offset = body.node.numbers(2).astype(np.int64)
    beams, frames = offset.reshape(2, -1)
    longest = int(frames.max(initial=0))
    if not longest or not beams.sum():
        empty = np.zeros((int(beams.sum()), int(frames.sum())))
        return body.const(empty, _real(body))
    window = min(body.node.integer("ksize"), longest)
    into, out_of = _places(beams, frames, longest, window)
    alpha, energy = (_padded(body, body.x(at)) for at in (0, 1))
    rows = body.add("Gather", alpha, body.const(into, DType.INT64))
    ones = body.const(np.ones((1, 1, window)), _real(body))
    rows = body.add("Unsqueeze", rows, body.ints(1))
    sums = body.add("Squeeze", body.add("Conv", rows, ones), body.ints(1))
    places = body.const(into[:, :longest], DType.INT64)
    gates = body.add("Sigmoid", body.add("Gather", energy, places))
    y = body.add("Mul", sums, gates)
    y = _padded(body, body.add("Reshape", y, body.ints(-1)))
    return body.add("Gather", y, body.const(out_of, DType.INT64))


def _real(body: Body) -> DType:
    """Return the dtype of the sums."""
    return DType.FLOAT64 if body.node.dtype() is DType.FLOAT64 else DType.FLOAT32


def _padded(body: Body, x: str) -> str:
    """Return x [elements] with a 0 after it."""
    return body.add("Concat", x, body.const([0], _real(body)), axis=0)


def _places(
    beams: NDArray[Any], frames: NDArray[Any], longest: int, window: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return where elements of beams stand in alpha, and elements of y among the beams' frames.

    The first are [beams, longest + window - 1], the others of y's shape; what there is none of is
    after the last one.
    """
    total = int((beams * frames).sum())
    count = int(beams.sum())
    into = np.full((count, longest + window - 1), total)
    out_of = np.full((count, int(frames.sum())), count * longest)
    row = column = start = 0
    for high, wide in zip(beams.tolist(), frames.tolist(), strict=True):
        into[row : row + high, :wide] = start + np.arange(high * wide).reshape(high, wide)
        there = np.arange(row, row + high)[:, None] * longest + np.arange(wide)
        out_of[row : row + high, column : column + wide] = there
        row, column, start = row + high, column + wide, start + high * wide
    return into, out_of
