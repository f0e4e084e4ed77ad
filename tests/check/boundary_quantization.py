"""Boundaries of quantized nodes: layers on int8, and the scales that go with them."""

from collections.abc import Iterator

import numpy as np

from atc_py.diag.codes import DTYPE_NOT_LISTED, SHAPES_DISAGREE, VALUE_OUT_OF_RANGE
from atc_py.spec.implied import DtypeQuantized
from atc_py.spec.rules import ScalesPerChannel, ScalesPositive
from atc_py.tensor.dtypes import DType
from tests.check.boundaries import Side, boundary, inside, outside
from tests.check.boundary_ground import Change, Ground, with_item

_CHANNELS = 4
"""Axis 1 of the examples."""


@boundary(DtypeQuantized, DTYPE_NOT_LISTED)
def dtype_quantized(rule: DtypeQuantized, ground: Ground) -> Iterator[Side]:
    """Yield a layer on int8 whole, and with one operand in floats."""
    inputs = [row.name for row in ground.spec.inputs if ground.spec.quantized.get(row.name)]
    whole = {name: ground.spec.quantized[name] for name in inputs}
    results = {
        name: (dtype, None) for name, dtype in ground.spec.quantized.items() if name not in inputs
    }
    yield inside("all of them", Change(dtypes=whole, outputs=results))
    half = {**whole, rule.tensor: DType.FLOAT16}
    yield outside(f"{rule.tensor} in float16", Change(dtypes=half, outputs=results))
    yield inside("floats", Change(dtypes=dict.fromkeys(inputs, DType.FLOAT16)))


@boundary(ScalesPerChannel, SHAPES_DISAGREE, "tensor", "other")
def scales_per_channel(rule: ScalesPerChannel, ground: Ground) -> Iterator[Side]:
    """Yield one, one for each channel, and numbers beside those."""
    for count in (1, _CHANNELS):
        yield inside(f"{count} elements", _count(rule.tensor, count, ground))
    for count in (_CHANNELS - 2, _CHANNELS + 1):
        yield outside(f"{count} elements", _count(rule.tensor, count, ground))


def _count(name: str, count: int, ground: Ground) -> Change:
    """Return the operand with so many factors."""
    (word, *_) = ground.values(name) or ()
    return Change(shapes={name: (count,)}, values={name: (word,) * count})


@boundary(ScalesPositive, VALUE_OUT_OF_RANGE)
def scales_positive(rule: ScalesPositive, ground: Ground) -> Iterator[Side]:
    """Yield the least positive factor that the device reads, zero, negative, infinite, fed ones."""
    yield inside(f"{rule.tensor} fed", Change(values={rule.tensor: None}))
    start = ground.values(rule.tensor)
    assert start
    least = (_word(np.float32(2.0**-126)),) * len(start)
    yield inside("the least normal factor", Change(values={rule.tensor: least}))
    for position in range(len(start)):
        for factor in (0.0, -1.0, np.inf, np.nan):
            items = with_item(least, position, _word(np.float32(factor)))
            yield outside(f"{factor} at {position}", Change(values={rule.tensor: items}))


def _word(factor: np.float32) -> int:
    """Return a 64-bit word that holds a factor."""
    return int(factor.view(np.uint32))
