"""Integer codes and their sums, in floats that keep float16 within its range.

Codes are divided by 2^8 and weights by 2^7 before their products are summed, and the scales are
multiplied by the same powers: float32 gives the same bits, and no sum is over 65504 in float16.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.site import Site
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

CODES = frozenset({DType.INT8, DType.UINT8})

DATA_SHARE, WEIGHT_SHARE = 2.0**-8, 2.0**-7
"""Factors of the codes of data and of weights, before their products are summed."""


class DynamicCodes(NamedTuple):
    """Results of DynamicQuantizeLinear, as names of float32 values.

    Attributes:
        codes: 0 to 255.
        scale: the step.
        zero: the zero point.
    """

    codes: str
    scale: str
    zero: str


def dynamic_codes(site: Site, x: str, rank: int) -> DynamicCodes:
    """Write the codes of `x` for the range that it has at run time, as ONNX defines them.

    A tensor of zeros alone gets the step 1.
    """

    def number(value: float, label: str) -> str:
        return site.const(value, DType.FLOAT32, label)

    zero, one, most = number(0, "zero"), number(1, "one"), number(255, "most")
    axes = list(range(rank))
    if axes:
        flat = site.reshape(x, [1, -1])
        high, low = (
            site.reshape(site.reduce(op, flat, [1]), []) for op in ("ReduceMax", "ReduceMin")
        )
    else:
        high = low = x
    high, low = site.op("Max", high, zero), site.op("Min", low, zero)
    span = site.op("Sub", high, low)
    empty = site.op("Equal", span, zero)
    step = site.op("Where", empty, one, site.op("Div", span, most))
    middle = site.op("Div", site.op("Sub", zero, low), step)
    point = _clip(site, site.op("Round", _clip(site, middle)))
    whole = site.op("Add", site.op("Round", site.op("Div", x, step)), point)
    return DynamicCodes(_clip(site, whole), step, point)


def _clip(site: Site, x: str) -> str:
    """Write the limits of 0 and 255."""
    return site.clip(x, 0.0, 255.0)


def centered_codes(site: Site, position: int, zero: int, share: float, axis: int | None) -> str:
    """Write the codes of an input less their zero point, times `share`, in float32.

    Args:
        site: the node.
        position: of the codes.
        zero: position of the zero point.
        share: a power of two.
        axis: the axis, from the end, that zero points belong to where there are several.
    """
    data = site.input(position)
    require(data.dtype in CODES, "{name} is int8 or uint8", name=data.name)
    point = site.tensor(zero)
    if data.const is not None and (point is None or point.const is not None):
        number = tables.zeros((), np.float32) if point is None else site.constant(zero)
        around = _along(number.astype(np.float32), axis)

        def center(codes: NDArray[Any]) -> NDArray[Any]:
            result: NDArray[Any] = (codes.astype(np.float32) - around) * np.float32(share)
            return result

        return site.derived(position, center, label="centered")
    codes = site.cast(data.name, DType.FLOAT32)
    if point is not None and (point.const is None or site.constant(zero).any()):
        shift = site.cast(point.name, DType.FLOAT32)
        dims = site.shape(zero)
        if axis is not None and dims and dims != (1,):
            require(len(dims) == 1, "zero points have one axis")
            shift = site.reshape(shift, [-1, *[1] * (-axis - 1)])
        elif dims == (1,):
            shift = site.reshape(shift, [])
        codes = site.op("Sub", codes, shift)
    return scaled(site, codes, share)


def _along(number: NDArray[Any], axis: int | None) -> NDArray[Any]:
    """Zero points with axes of 1 after the one that they belong to."""
    if number.size == 1:
        return number.reshape(())
    require(number.ndim == 1 and axis is not None, "zero points have one axis")
    return number.reshape(-1, *[1] * (-(axis or -1) - 1))


def scaled(site: Site, x: str, factor: float) -> str:
    """Write `x` times a factor, in float32."""
    return site.op("Mul", x, site.const(factor, DType.FLOAT32, "factor"))
