"""Exact products of int8 matrices, computed by BLAS in float32.

A float32 holds every integer up to 2^24 in magnitude. As long as the magnitudes of the terms of a
sum add up to no more, each partial sum in whatever order is such an integer, so nothing is ever
rounded. Longer sums are cut into parts that keep to this; the parts become int32 and are added as
int32. int8 reaches from -128 to 127, so a part has 1024 terms at least where both factors are
int8, and 258 where both are differences of two int8. Measured, cut products take no longer than
whole ones in float32, and half as long as products in float64. Of one row by a long matrix a
second part would be felt; there it is the lengths of the vectors at hand that tell whether float32
holds the whole sum, see `proven_terms`.

A sum beyond int32 wraps around in two's complement, as additions of int32 do. What the cube does
there is not documented; fewer than 2^17 products of int8 cannot get there without a bias.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Workspace
from atc_py.tensor.shapes import Shape

_T = TypeVar("_T")


class _PerConstant(Generic[_T]):
    """Results worked out once for each constant of a model, and freed with it."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Shape], tuple[ref[NDArray[Any]], _T]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, constant: NDArray[Any], strides: Shape, make: Callable[[], _T]) -> _T:
        """Result of `make`, kept, for all of `constant`, read by `strides`."""
        key = id(constant), strides
        known = self._known.get(key)
        if known is not None and known[0]() is constant:
            return known[1]
        made = make()
        self._known[key] = ref(constant, lambda _: self._known.pop(key, None)), made
        return made


_FLOATS: _PerConstant[NDArray[np.float32]] = _PerConstant()
"""Constants in float32."""

_SQUARES: _PerConstant[float] = _PerConstant()
"""The largest sum of squares of a column of such a constant."""

INT8 = 128
"""The largest magnitude of an int8."""

DIFFERENCE = 255
"""The largest magnitude of a difference of two int8."""

_EXACT = 1 << 24
"""The magnitude up to which float32 holds all integers."""

_WIDENED_AT_ONCE = 128 * 1024
"""Elements below which widening is not worth sharing."""


def exact_terms(left: int, right: int) -> int:
    """Number of products of factors up to these magnitudes that float32 sums exactly."""
    return _EXACT // (left * right)


def proven_terms(left: NDArray[Any], right: NDArray[Any], terms: int) -> int:
    """Number of products of these factors that float32 sums exactly: `terms`, or all.

    By Cauchy and Schwarz the magnitudes of the terms of a sum add up to no more than the product of
    the lengths of its two vectors. Codes of a quantizer are far shorter than vectors of 128.

    Args:
        left: [..., m, k] of integers in float32; its rows are measured in each call.
        right: [..., k, n], likewise; its columns are measured once, and only if it is a constant:
            what `widened_weights` keeps, or its transpose.
        terms: how many add up exactly whatever the factors are, see `exact_terms`.
    """
    inner = left.shape[-1]
    if inner <= terms or right.flags.writeable or not left.size * right.size:
        return terms
    rounding = 1 + inner * 2.0**-23  # more than sums of so many squares can lose in float32
    whole = right if right.base is None else right.base
    columns = _SQUARES.of(whole, right.strides, lambda: _longest(right, "...kn,...kn->...n"))
    squares = _longest(left, "...mk,...mk->...m") * columns
    return inner if squares * rounding**2 <= float(_EXACT) ** 2 else terms


def _longest(vectors: NDArray[Any], axes: str) -> float:
    if vectors.shape[:-1] == (1,):
        return float(np.vdot(vectors, vectors))  # the same, five times as fast for a lone row
    return float(np.einsum(axes, vectors, vectors).max())


def widened(
    call: Call, name: str, source: NDArray[Any], minus: NDArray[Any] | None = None
) -> NDArray[np.float32]:
    """`source`, int8 in C order, or `source` - `minus`, in float32, done on all workers if large.

    The workspace of the call holds the result under `name`.
    """
    if minus is None and source.size < _WIDENED_AT_ONCE:
        return source.astype(np.float32)
    target = call.workspace.take(name, source.shape, np.float32)
    _widen(call, source, target, minus)
    return target


def widened_weights(
    call: Call, source: NDArray[Any], minus: NDArray[Any] | None = None
) -> NDArray[np.float32]:
    """The same as `widened`, kept while `source` lives if that is a model's constant.

    Constants are what can only be read. Their float32 forms take as much memory as the carriers
    of float16 constants do.
    """
    if minus is not None or source.flags.writeable:
        return widened(call, "weights", source, minus)

    def make() -> NDArray[np.float32]:
        floats = np.empty(source.shape, np.float32)
        _widen(call, source, floats, None)
        floats.flags.writeable = False
        return floats

    return _FLOATS.of(source, source.strides, make)


def _widen(
    call: Call, source: NDArray[Any], target: NDArray[np.float32], minus: NDArray[Any] | None
) -> None:
    if minus is not None:
        np.subtract(source, minus.astype(np.float32), out=target)
        return
    given, flat = source.reshape(-1), target.reshape(-1)

    def part(start: int, stop: int) -> None:
        np.copyto(flat[start:stop], given[start:stop])

    call.workers.split(flat.size, part, least=_WIDENED_AT_ONCE)


def exact_matmul(
    left: NDArray[Any],
    right: NDArray[Any],
    out: NDArray[np.int32],
    terms: int,
    workspace: Workspace,
) -> None:
    """Fill `out` [..., m, n] with `left` @ `right`, exactly and modulo 2^32.

    These are [..., m, k] and [..., k, n] of integers in float32, which adds up `terms` products
    exactly, see `exact_terms`.
    """
    product = workspace.lines("product", out.shape, np.float32)
    np.matmul(left[..., :terms], right[..., :terms, :], out=product)
    np.copyto(out, product, casting="unsafe")
    if left.shape[-1] <= terms:
        return
    integers = workspace.take("integers", out.shape, np.int32)
    for start in range(terms, left.shape[-1], terms):
        some = slice(start, start + terms)
        np.matmul(left[..., some], right[..., some, :], out=product)
        np.copyto(integers, product, casting="unsafe")
        np.add(out, integers, out=out)
