"""Quantization: floats to small integers and back, and sums of products to either.

`compute_type` is not CANN's: the dtype in which AscendQuant and AscendAntiQuant compute, which CANN's
kernels know from the SoC that they are built for. It and the attributes that name the dtype of a result follow from
the column that a node takes.
"""

from functools import partial

from atc_py.target.row import Attribute, Column
from atc_py.target.rows.parts import (
    F16,
    F32,
    I4,
    I8,
    I16,
    I32,
    U64,
    Needed,
    attributes,
    columns,
    operator,
)
from atc_py.target.soc import Resource

_SQRT_MODE = Attribute("sqrt_mode", "bool", default=False)
_RELU_FLAG = Attribute("relu_flag", "bool", default=False)
_SCALE_AND_OFFSET = attributes(scale=Needed.FLOAT, offset=Needed.FLOAT)


def _quant(compute: Resource | None) -> tuple[Column, ...]:
    """Columns of AscendQuant with or without computing in float32, which a SoC must have.

    float32 is taken, too, where it computes in float16; the kernel rounds it first. That which
    computes in float32 gives int4 as well.
    """
    dtype, results = (F32, (I8, I4)) if compute else (F16, (I8,))
    return tuple(
        Column((x,), (y,), compute, (("dst_type", y), ("compute_type", dtype)))
        for y in results
        for x in (F16, F32)
    )


_OTHERS = tuple(
    Column((x,), (y,), needs, (("dst_type", y), ("compute_type", F16)))
    for y, needs in ((I4, Resource.QUANT_INT4), (I16, Resource.QUANT_INT16))
    for x in (F16, F32)
)
"""Columns of AscendQuant to int4, which no operator of this table takes, and to int16."""

_quantizing = partial(operator, family="quant", passes=3.0)

ROWS = (
    _quantizing(
        "AscendAntiQuant",
        "int8 plus an offset, times a factor.",
        attributes=(
            *_SCALE_AND_OFFSET,
            *attributes(dtype=F32),
            _SQRT_MODE,
            *attributes(compute_type=F16),
        ),
        columns=tuple(
            Column((I8,), (y,), needs, (("dtype", y), *compute))
            for needs, compute in ((Resource.QUANT_FLOAT32, (("compute_type", F32),)), (None, ()))
            for y in (F16, F32)
        ),
    ),
    _quantizing(
        "AscendDequant",
        "int32 times a factor, one for all or one per channel, in float16.",
        "x deq_scale > y",
        attributes=(_SQRT_MODE, _RELU_FLAG, *attributes(dtype=F32)),
        columns=tuple(
            Column((I32, scale), (y,), needs, (("dtype", y),))
            for scale, needs in ((U64, Resource.DEQ_WORDS), (F16, None))
            for y in (F16, F32)
        ),
    ),
    _quantizing(
        "AscendDequantS16",
        "int32 shifted right to int16, plus an addend per channel.",
        "x0 deq_scale x1? > y",
        attributes=(_RELU_FLAG,),
        columns=columns("(i32 u64 i16 > i16)", needs=Resource.REQUANT_S16),
    ),
    operator(
        "AscendQuant",
        "Floats times a factor, plus an offset, rounded to small integers.",
        attributes=(
            *_SCALE_AND_OFFSET,
            _SQRT_MODE,
            *attributes(round_mode="Round", dst_type=I8, compute_type=F16),
        ),
        columns=(*_quant(Resource.QUANT_FLOAT32), *_quant(None), *_OTHERS),
        family="quant",
        passes=4.0,
    ),
    _quantizing(
        "AscendRequant",
        "int32 times a factor, rounded, plus an offset, as int8; one word for all or per channel.",
        "x req_scale > y",
        attributes=(_RELU_FLAG,),
        columns=columns("(i32 u64 > i8)", needs=Resource.REQUANT),
    ),
    _quantizing(
        "AscendRequantS16",
        "The sum of two int16 tensors, and that sum requantized to int8.",
        "x0 req_scale x1? > y0 y1?",
        attributes=(*attributes(dual_output=False), _RELU_FLAG),
        columns=columns("(i16 u64 i16 > i8 i16)", needs=Resource.REQUANT_S16),
    ),
)
