"""Sums and products of integers as ONNX, which wrap around, and norms, exact however large.

Runtimes reduce integers in float64. Numbers of any size are lists of digits to the base 2^22, the
lowest first, each a value of int64:
products of digits fit, and sums of 2^31 digits are exact in float64, in which runtimes add up.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from atc_py.device.ort.axes import reduced
from atc_py.device.ort.body import Body
from atc_py.tensor.dtypes import DType

_HALF = 2**32


def integer_sum(
    body: Body, value: str, dtype: DType, axes: str, *, keep: bool, noop: bool = False
) -> str:
    """The sum of integers over axes, of which the dtype keeps the low bits.

    onnxruntime adds integers up in float64: beyond 2 ** 53 it rounds, and large sums saturate. So
    the halves of 64 bits are added up apart, the low ones as numbers from 0 to 2 ** 32 - 1.

    `axes` are int64 [n]; `keep` keeps them, with size 1. Without axes nothing is summed if `noop`,
    else everything.
    """
    wide = value if dtype is DType.INT64 else body.cast(value, DType.INT64)

    def total(of: str) -> str:
        return body.add("ReduceSum", of, axes, keepdims=keep, noop_with_empty_axes=noop)

    if dtype not in {DType.INT64, DType.UINT64}:
        return body.cast(total(wide), dtype)
    half = body.const(_HALF, DType.INT64)
    low = body.add("Mod", wide, half)
    high = body.add("Div", body.add("Sub", wide, low), half)
    result = body.add("Add", body.add("Mul", total(high), half), total(low))
    return result if dtype is DType.INT64 else body.cast(result, dtype)


Digits: TypeAlias = "list[str]"

_BITS = 22
_BASE = 2**_BITS

_LARGEST = 2**64 - 1

_SLACK = 2.0**16
"""Added to divisors of float64, it keeps a step towards the root from going past it."""

_STEPS = 4
"""Steps of 1 after which the root is reached: float64 leaves it at most so far below."""


def integer_norm(body: Body, axes: Sequence[int], *, keep: bool) -> str:
    """Write the root of the sum of squares of operand 0, without its fraction, saturating."""
    dtype = body.node.dtype()
    largest = int(np.iinfo(dtype.numpy).max)
    width = -(-dtype.numpy.itemsize * 8 // _BITS)
    x = body.cast(body.x(), DType.UINT64)
    if not dtype.value.startswith("u"):
        x = body.cast(body.add("Abs", body.cast(body.x(), DType.INT64)), DType.UINT64)
    squares = _carried(body, _product(body, _digits(body, x, width)), 2 * width)
    sums = [reduced(body, "ReduceSum", digit, axes, keep=keep) for digit in squares]
    total = _carried(body, sums, 2 * width + 2)
    root = _root(body, total, width, largest)
    place, shift = divmod(2 * largest.bit_length(), _BITS)
    high = body.add("Div", total[place], _int(body, 2**shift))
    ends = body.add("Greater", _sum(body, [high, *total[place + 1 :]]), _int(body, 0))
    end = largest - 2**64 if largest >= 2**63 else largest  # its bits as int64
    return body.cast(body.add("Where", ends, _int(body, end), root), dtype)


def _int(body: Body, number: int) -> str:
    return body.const(number, DType.INT64)


def _digits(body: Body, value: str, width: int) -> Digits:
    found = []
    for at in range(width):
        part = value
        if at:
            part = body.add(
                "BitShift", part, body.const(_BITS * at, DType.UINT64), direction="RIGHT"
            )
        part = body.add("BitwiseAnd", part, body.const(_BASE - 1, DType.UINT64))
        found.append(body.cast(part, DType.INT64))
    return found


def _product(body: Body, digits: Digits) -> Digits:
    """The square of a number; its digits are not below the base."""
    found = []
    for place in range(2 * len(digits) - 1):
        pairs = [
            body.add("Mul", digits[at], digits[place - at])
            for at in range(len(digits))
            if 0 <= place - at < len(digits)
        ]
        found.append(_sum(body, pairs))
    return found


def _sum(body: Body, values: Digits) -> str:
    total = values[0]
    for value in values[1:]:
        total = body.add("Add", total, value)
    return total


def _carried(body: Body, digits: Digits, count: int) -> Digits:
    """`count` digits below the base, of which the last takes what is left, and the sign."""
    found, carry = [], None
    for at in range(count):
        parts = [*digits[at : at + 1], *([carry] if carry else [])]
        digit = _sum(body, parts) if parts else _int(body, 0)
        if at < count - 1:
            low = body.add("BitwiseAnd", digit, _int(body, _BASE - 1))
            carry = body.add("Div", body.add("Sub", digit, low), _int(body, _BASE))
            digit = low
        found.append(digit)
    return found


def _less(body: Body, digits: Digits, other: Digits) -> Digits:
    difference = [body.add("Sub", mine, its) for mine, its in zip(digits, other, strict=False)]
    return _carried(body, [*difference, *digits[len(other) :]], len(digits))


def _double(body: Body, digits: Digits) -> str:
    value = body.cast(digits[-1], DType.FLOAT64)
    for digit in reversed(digits[:-1]):
        scaled = body.add("Mul", value, body.const(_BASE, DType.FLOAT64))
        value = body.add("Add", scaled, body.cast(digit, DType.FLOAT64))
    return value


def _root(body: Body, total: Digits, width: int, largest: int) -> str:
    """The whole part of the root of a number, in int64; any number where it is too large."""

    def real(number: float) -> str:
        return body.const(number, DType.FLOAT64)

    # Differences rather than factors near 1, which onnxruntime takes for 1 and leaves out.
    rounded = body.add("Sqrt", _double(body, total))
    below = body.add("Sub", rounded, body.add("Mul", rounded, real(2.0**-50)))
    below = body.add("Max", body.add("Sub", below, real(1)), real(0))
    end = np.float64(largest)
    below = body.add("Min", below, real(float(end if end <= largest else np.nextafter(end, 0))))
    root = _whole(body, below)
    start = _digits(body, body.cast(root, DType.UINT64), width)
    rest = _less(body, total, _product(body, start))
    divisor = body.add("Add", body.add("Mul", below, real(2)), real(_SLACK))
    step = body.add("Sub", body.add("Div", _double(body, rest), divisor), real(2.0**-10))
    step = body.add("Min", step, real(2 * _SLACK))
    root = body.add("Add", root, body.cast(step, DType.INT64))
    for _ in range(_STEPS):
        following = body.add("Add", root, _int(body, 1))
        square = _product(body, _digits(body, body.cast(following, DType.UINT64), width))
        rest = _less(body, total, square)
        reached = body.add("GreaterOrEqual", rest[-1], _int(body, 0))
        if largest == _LARGEST:  # 1 more is 0
            reached = body.add("And", reached, body.cast(following, DType.BOOL))
        root = body.add("Where", reached, following, root)
    return root


def _whole(body: Body, value: str) -> str:
    """The whole part of float64 below 2^64 as the bits of uint64, in int64.

    Runtimes do not agree on casts of what int64 does not hold.
    """
    unit = 2**32
    high = body.cast(body.add("Div", value, body.const(unit, DType.FLOAT64)), DType.INT64)
    upper = body.add("Mul", body.cast(high, DType.FLOAT64), body.const(unit, DType.FLOAT64))
    low = body.cast(body.add("Sub", value, upper), DType.INT64)
    return body.add("Add", body.add("Mul", high, _int(body, unit)), low)


def wrapped_product(body: Body, value: str, axes: Sequence[int], *, keep: bool) -> str:
    """Write the product of int64 of the rank of operand 0 over axes, one element after the other."""
    if not axes:
        return value
    rank = body.node.rank()
    rows, length = _rows(body, value, axes)
    kept = body.add("Shape", rows, start=0, end=rank - len(axes))
    ones = body.add("Expand", body.const(1, DType.INT64), kept)
    step = body.inner()
    index, goes_on, before = (step.name(each) for each in ("index", "goes_on", "before"))
    factor = step.add("Gather", rows, index, axis=-1)
    after = step.add("Mul", before, factor)
    still = step.add("Identity", goes_on)
    single: list[int | str | None] = []
    state = [None] * (rank - len(axes))
    graph = step.as_graph(
        [(index, DType.INT64, single), (goes_on, DType.BOOL, single), (before, DType.INT64, state)],
        [(still, DType.BOOL, single), (after, DType.INT64, state)],
    )
    count = body.add("Squeeze", length)
    total = body.add("Loop", count, "", ones, body=graph)
    return body.add("Unsqueeze", total, body.ints(*axes)) if keep else total


def _rows(body: Body, value: str, axes: Sequence[int]) -> tuple[str, str]:
    """The elements along `axes` as the last axis, and how many there are, as [1]."""
    rank = body.node.rank()
    kept = [axis for axis in range(rank) if axis not in axes]
    order = (*kept, *axes)
    moved = value if order == tuple(range(rank)) else body.add("Transpose", value, perm=order)
    shape = body.add("Shape", moved)
    dims = body.add("Gather", shape, body.ints(*range(len(kept), rank)))
    length = body.add("ReduceProd", dims, body.ints(0), keepdims=1)
    if len(axes) == 1:
        return moved, length
    front = body.add("Gather", shape, body.ints(*range(len(kept))))
    wanted = body.add("Concat", front, length, axis=0)
    return body.add("Reshape", moved, wanted, allowzero=1), length
