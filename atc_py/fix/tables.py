"""Arrays that rules make of the numbers of a node, counted before anything of them is allocated.

A dim, an attribute or an element of a constant may be 2^62 in a file of 100 bytes. So rules make
arrays by these functions, never by numpy's own; what arithmetic broadcasts them to counts, too.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from atc_py.fix.unfit import require
from atc_py.system.memory_limit import memory_limit

_MOST_ELEMENTS = 2**25
"""Elements of an array at most, whatever the memory."""

_SHARE = 128
"""Bytes of the memory limit for each element: a rule holds some arrays of int64 at a time."""


class _Counted(np.ndarray[Any, Any]):
    """An array whose arithmetic is counted."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and ufunc.signature is None:
            require_room(*np.broadcast_shapes(*(np.shape(value) for value in inputs)))
        plain = [np.asarray(value) if isinstance(value, _Counted) else value for value in inputs]
        if "out" in options:
            options["out"] = tuple(np.asarray(array) for array in options["out"])
        with np.errstate(all="ignore"):  # the proof runs what comes of it
            result = getattr(ufunc, method)(*plain, **options)
        return result.view(_Counted) if isinstance(result, np.ndarray) else result


def require_room(*dims: int) -> None:
    """Refuse the node if an array of these dims is too large to be made."""
    most = min(_MOST_ELEMENTS, memory_limit() // _SHARE)
    require(
        all(0 <= dim <= most for dim in dims) and prod(dims) <= most,
        "tables that are worked out have at most {most} elements",
        most=most,
    )


def require_bytes(nbytes: int) -> None:
    """Refuse the node if what rules read and write of constants takes too much memory."""
    most = memory_limit() // 2
    require(nbytes <= most, "constants of rules take at most {most} bytes", most=most)


def arange(*bounds: int, dtype: DTypeLike = np.int64) -> NDArray[Any]:
    require_room(len_of(*bounds))
    return np.arange(*bounds, dtype=dtype).view(_Counted)


def of(positions: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
    if isinstance(positions, range):
        return arange(positions.start, positions.stop, positions.step)
    return np.asarray(positions, np.int64)


def len_of(*bounds: int) -> int:
    """The number of integers of a range, which may be more than `len` can tell."""
    steps = range(*(int(bound) for bound in bounds))
    return max(-((steps.start - steps.stop) // steps.step), 0)


def full(shape: int | Sequence[int], value: Any, dtype: DTypeLike | None = None) -> NDArray[Any]:
    require_room(*((shape,) if isinstance(shape, int) else shape))
    return np.full(shape, value, dtype).view(_Counted)


def zeros(shape: int | Sequence[int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    return full(shape, 0, dtype)


def ones(shape: int | Sequence[int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    return full(shape, 1, dtype)


def eye(rows: int, columns: int | None = None, k: int = 0, dtype: Any = np.float64) -> NDArray[Any]:
    columns = rows if columns is None else columns
    require_room(rows, columns)
    return np.eye(rows, columns, min(max(k, -rows), columns), dtype).view(_Counted)


def indices(shape: Sequence[int]) -> NDArray[np.int64]:
    """The positions along each axis, for every element of `shape`."""
    require_room(len(shape), *shape)
    return np.indices(tuple(shape), dtype=np.int64).view(_Counted)


def outer(one: ArrayLike, other: ArrayLike) -> NDArray[Any]:
    require_room(np.size(one), np.size(other))
    return np.outer(np.asarray(one), np.asarray(other)).view(_Counted)


def grid_of(lines: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The coordinates of every point of the grid that `lines` span, axis by axis."""
    require_room(*(line.size for line in lines))
    return [places.view(_Counted) for places in np.meshgrid(*lines, indexing="ij")]


def pad(
    array: NDArray[Any], pads: Sequence[tuple[int, int]], mode: Any = "constant", value: float = 0
) -> NDArray[Any]:
    """`array` with elements before and after each axis; `value` with the mode constant."""
    require_room(*(sum(pair) + dim for pair, dim in zip(pads, array.shape, strict=True)))
    options = {"constant_values": value} if mode == "constant" else {}
    return np.pad(array, pads, mode, **options)


def repeat(array: NDArray[Any], count: int, axis: int | None = None) -> NDArray[Any]:
    require_room(array.size, count)
    return np.repeat(array, count, axis)
