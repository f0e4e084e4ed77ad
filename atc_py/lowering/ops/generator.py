"""Lowering of operators that draw random numbers."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from atc_py.ir import SplatConst, TensorType, Value
from atc_py.lowering.attributes import get_float, get_int
from atc_py.lowering.registry import lowering
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.ir import AttrValue
    from atc_py.lowering.builder import Builder

__all__: list[str] = []


@lowering("RandomUniform")
def lower_random_uniform(b: Builder) -> Sequence[Value]:
    """Lower RandomUniform to RandomUniform from 0 to 1, times (high - low), plus low.

    The device draws float32 and float64; float16 is rounded from float32 at the end.
    """
    import numpy as np

    result = b.output_type()
    drawn = TensorType(
        DType.FLOAT64 if result.dtype is DType.FLOAT64 else DType.FLOAT32, result.shape
    )
    low, high = get_float(b, "low", 0.0), get_float(b, "high", 1.0)
    attributes: dict[str, AttrValue] = {"dtype": drawn.dtype, **_seeds(b)}
    shape = b.const("shape", np.array(result.shape, np.int64))
    value = b.op("RandomUniform", [shape], drawn, attributes, "drawn")
    if high - low != 1:
        factor = b.const("range", SplatConst(high - low, drawn.dtype, ()))
        value = b.op("Mul", [value, factor], drawn, label="spread")
    if low:
        bound = b.const("low", SplatConst(low, drawn.dtype, ()))
        value = b.op("Add", [value, bound], drawn, label="moved")
    return [b.cast(value, result.dtype)]


@lowering("Multinomial")
def lower_multinomial(b: Builder) -> Sequence[Value]:
    """Lower Multinomial to Multinomial with the number of samples as constant."""
    import numpy as np

    result, count = b.output_type(), get_int(b, "sample_size", 1)
    if count < 1:
        raise b.bad(f"needs a positive sample_size, found {count}", "attribute sample_size")
    attributes: dict[str, AttrValue] = {"dtype": result.dtype, **_seeds(b)}
    samples = b.const("sample_size", np.array(count, np.int32))
    return [b.op("Multinomial", [b.input(0), samples], result, attributes)]


def _seeds(b: Builder) -> dict[str, AttrValue]:
    """Return ONNX's float seed as two integers: its bits, and 1 so that seed 0 is one as well."""
    if "seed" not in b.node.attributes:
        return {"seed": 0, "seed2": 0}
    (bits,) = struct.unpack(">I", struct.pack(">f", get_float(b, "seed", 0.0)))
    return {"seed": bits, "seed2": 1}
