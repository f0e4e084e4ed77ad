"""Lowering of operators that draw random numbers or make matrices of their own."""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from atc_py.ir import AttrValue, SplatConst, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


@lowering("RandomUniform")
@lowering("RandomUniformLike")
def lower_random_uniform(b: Builder) -> Sequence[Value]:
    low, high = b.number("low", 0.0), b.number("high", 1.0)
    return [_drawn(b, "RandomUniform", ("range", high - low), ("low", low))]


@lowering("RandomNormal")
@lowering("RandomNormalLike")
def lower_random_normal(b: Builder) -> Sequence[Value]:
    mean, scale = b.number("mean", 0.0), b.number("scale", 1.0)
    return [_drawn(b, "RandomStandardNormal", ("scale", scale), ("mean", mean))]


def _drawn(b: Builder, op: str, factor: tuple[str, float], summand: tuple[str, float]) -> Value:
    """Numbers that `op` draws, times a factor, plus a summand, each with its name.

    Their shape is the node's attribute, or that of its input. The device draws float32 and float64;
    float16 is rounded from float32 at the end.
    """
    result = b.output_type()
    dtype = DType.FLOAT64 if result.dtype is DType.FLOAT64 else DType.FLOAT32
    drawn = result.with_dtype(dtype)
    attributes: dict[str, AttrValue] = {"dtype": dtype, **_seeds(b)}
    if b.node.inputs:
        shape = b.shape_of(b.input(0))
    else:
        shape = b.const("shape", np.array(result.shape, np.int64))
    value = b.op(op, [shape], drawn, attributes, "drawn")
    if factor[1] != 1:
        constant = b.const(factor[0], SplatConst(factor[1], dtype, ()))
        value = b.op("Mul", [value, constant], drawn, label="spread")
    if summand[1]:
        constant = b.const(summand[0], SplatConst(summand[1], dtype, ()))
        value = b.op("Add", [value, constant], drawn, label="moved")
    return b.cast(value, result.dtype)


@lowering("EyeLike")
def lower_eye_like(b: Builder) -> Sequence[Value]:
    """Lower EyeLike to MatrixDiagV2 of a diagonal of ones, as CANN's parser does.

    The parser makes the diagonal as long as the matrix has rows, which fits matrices that have no
    more rows than columns alone; here it has the length that it should have.
    """
    result, k = b.output_type(), b.integer("k", 0)
    rows, columns = result.shape
    length = max(0, min(rows + min(k, 0), columns - max(k, 0)))
    operands: dict[str, Any] = {
        "diagonal": SplatConst(1, result.dtype, (length,)),
        "k": np.array(k, np.int32),
        "num_rows": np.array(rows, np.int32),
        "num_cols": np.array(columns, np.int32),
        "padding_value": SplatConst(0, result.dtype, ()),
    }
    constants = [b.const(name, data) for name, data in operands.items()]
    return [b.op("MatrixDiagV2", constants, result)]


@lowering("Multinomial")
def lower_multinomial(b: Builder) -> Sequence[Value]:
    result, count = b.output_type(), b.integer("sample_size", 1)
    if count < 1:
        text = Text("needs a positive sample_size, found {found}")
        raise b.bad(text.with_values(found=count), "attribute sample_size")
    attributes: dict[str, AttrValue] = {"dtype": result.dtype, **_seeds(b)}
    samples = b.const("sample_size", np.array(count, np.int32))
    return [b.op("Multinomial", [b.input(0), samples], result, attributes)]


def _seeds(b: Builder) -> dict[str, AttrValue]:
    """ONNX's float seed as two integers: its bits, and 1 so that seed 0 is one as well."""
    if "seed" not in b.node.attributes:
        return {"seed": 0, "seed2": 0}
    (bits,) = struct.unpack(">I", struct.pack(">f", b.number("seed", 0.0)))
    return {"seed": bits, "seed2": 1}
