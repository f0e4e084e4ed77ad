"""Norms of integers: the whole part of the root of a sum of squares, exact however large that is."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


_WORD = 2**64
_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


def integer_norms(x: NDArray[Any], axes: tuple[int, ...], *, keepdims: bool) -> Words:
    """The root of the sum of squares of integers over axes, without its fraction.

    It is at most the largest number of x's dtype: like every real number that becomes an integer,
    it saturates.
    """
    count = math.prod(x.shape[axis] for axis in axes)
    largest = max(int(x.max(initial=0)), -int(x.min(initial=0)))
    words = x.astype(np.uint64)  # a copy; what is negative wraps around, and so does its square

    def add_up(terms: Words) -> Words:
        return np.asarray(terms.sum(axis=axes, dtype=np.uint64, keepdims=keepdims))

    if count * largest**2 < _WORD:
        roots = _roots(add_up(np.multiply(words, words, out=words)))
    else:
        roots = _large_roots(np.where(x < 0, np.uint64(0) - words, words), add_up)
    found: Words = np.minimum(roots, np.uint64(np.iinfo(x.dtype).max))
    return found


def _roots(totals: Words) -> Words:
    """Whole parts of roots.

    Float64 gives the root of a number below 2^64 to within 1, which squares of integers put right.
    """
    roots = np.minimum(np.sqrt(totals.astype(np.float64)).astype(np.uint64), _LOW)
    roots -= (roots * roots > totals).astype(np.uint64)
    roots += (totals - roots * roots > roots + roots).astype(np.uint64)
    found: Words = roots
    return found


def _large_roots(x: Words, add_up: Callable[[Words], Words]) -> Words:
    """Whole parts of roots of sums of squares of any size, at most 2^64 - 1.

    Squares are added up as four digits to the base 2^32: 64 bits have room for those of 2^30 squares.
    """
    low, high = x & _LOW, x >> _HALF
    inner, mixed, outer = low * low, low * high, high * high
    two = np.uint64(2)
    digits = (
        add_up(inner & _LOW),
        add_up(inner >> _HALF) + two * add_up(mixed & _LOW),
        add_up(outer & _LOW) + two * add_up(mixed >> _HALF),
        add_up(outer >> _HALF),
    )
    columns = zip(*(np.reshape(digit, -1).tolist() for digit in digits), strict=True)
    totals = (sum(digit << 32 * at for at, digit in enumerate(column)) for column in columns)
    roots = np.array([min(math.isqrt(total), _WORD - 1) for total in totals], np.uint64)
    return roots.reshape(np.shape(digits[0]))
