"""Activations: functions of each element that networks put between their layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.target.kernels import Kernels, on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, Operand, TargetOp, Unit
from atc_py.target.rows.parts import (
    DECIDED_LATER,
    DIVISION,
    EXP,
    F16,
    F32,
    F64,
    FLOAT_KERNELS,
    FLOATS,
    IMPL_MODE,
    LOG,
    Y,
    inputs,
    same,
)
from atc_py.target.vector import LOW, MASK, Form, Operands, VectorFunction

if TYPE_CHECKING:
    from atc_py.tensor.dtypes import DType

__all__ = ["ROWS"]


def _activation(  # noqa: PLR0913  (what rows of activations differ in)
    name: str,
    summary: str,
    attributes: tuple[Attribute, ...] = (),
    *,
    kernels: Kernels = FLOAT_KERNELS,
    vector: VectorFunction,
    passes: float,
    aicpu: tuple[DType, ...] = (),
    saturates: bool = False,
) -> TargetOp:
    """Make the row of a function of floats."""
    return TargetOp(
        name,
        inputs("x"),
        Y,
        Unit.VECTOR,
        summary,
        attributes=attributes,
        columns=same(*FLOATS),
        kernels=kernels,
        aicpu=aicpu,
        family="unary",
        vector=vector,
        passes=passes,
        saturates=saturates,
    )


ROWS = (
    _activation(
        "Celu",
        "max(0, alpha3 * x) + min(0, alpha1 * (exp(x / alpha2) - 1)).",
        (
            Attribute("alpha1", "float", 1.0),
            Attribute("alpha2", "float", 1.0),
            Attribute("alpha3", "float", 1.0),
        ),
        kernels=on("310 310P 310B 610 910 A2 A3 CS: f16 f32"),
        passes=4 + EXP,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW,)),
        saturates=True,
    ),
    _activation(
        "Elu",
        "scale * x for x >= 0, alpha * scale * (exp(input_scale * x) - 1) below.",
        (
            Attribute("alpha", "float", 1.0),
            Attribute("scale", "float", 1.0),
            Attribute("input_scale", "float", 1.0),
        ),
        kernels=on("310 CS: f16; 310P 310B 610 910: f16 f32; A2 A3: f16 f32 bf16"),
        aicpu=(F32, F64),
        passes=3 + EXP,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW,)),
        saturates=True,
    ),
    _activation(
        "GeluV2",
        "x times the share of a normal distribution below x, by its error function or by tanh.",
        (Attribute("approximate", "string", "none"),),
        kernels=on("310 610 CS: -; 310P 310B 910: f16 f32; A2 A3: f16 f32 bf16"),
        passes=6 + EXP + DIVISION,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW,), zero_of_zeros=True, cancels=True),
    ),
    TargetOp(
        "HardSigmoid",
        inputs("input_x"),
        (Operand("output_y"),),
        Unit.VECTOR,
        "alpha * x + beta held between 0 and 1.",
        attributes=(
            Attribute("alpha", "float", 0.16666666),
            Attribute("beta", "float", 0.5),
        ),
        columns=same(*FLOATS),
        kernels=on("310 310P 310B 610 910 CS: f16 f32; A2 A3: f16 f32 bf16"),
        aicpu=(F64,),
        family="unary",
        passes=4.0,
        vector=VectorFunction(Form.ACTIVATION),
        saturates=True,
    ),
    _activation(
        "HardSwish",
        "x times x + 3 held between 0 and 6, divided by 6.",
        kernels=on("310 310P 310B 910: f16 f32; A2 A3: f16 f32 bf16; 610 CS: -"),
        passes=5.0,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW,), zero_of_zeros=True),
    ),
    _activation(
        "LeakyRelu",
        "x for x >= 0, negative_slope * x below.",
        (Attribute("negative_slope", "float", 0.0),),
        passes=2.0,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW,), rounded_once=True),
    ),
    TargetOp(
        "PRelu",
        inputs("x", "weight"),
        Y,
        Unit.VECTOR,
        "x for x >= 0, weight * x below; one weight for all, or one for each channel on axis 1.",
        columns=same(*FLOATS, inputs=2),
        kernels=DECIDED_LATER,
        family="channel",
        takes=Layout.ALIKE,
        passes=3.0,
        vector=VectorFunction(
            Form.ACTIVATION,
            operands=Operands.CHANNELS,
            scratch=(LOW,),
            rounded_once=True,
            linked=False,
        ),
    ),
    _activation(
        "Selu",
        "1.0507 * x for x >= 0, 1.0507 * 1.67326 * (exp(x) - 1) below.",
        kernels=on("310 310P 310B 610 910: f16 f32; A2 A3: f16 f32 bf16; CS: -"),
        aicpu=(F16, F32, F64),
        passes=4 + EXP,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW,), zero_of_zeros=True),
        saturates=True,
    ),
    TargetOp(
        "Shrink",
        inputs("input_x"),
        (Operand("output_y"),),
        Unit.VECTOR,
        "x + bias below -lambd, x - bias above lambd, 0 elsewhere.",
        attributes=(Attribute("lambd", "float", 0.5), Attribute("bias", "float", 0.0)),
        columns=same(*FLOATS),
        kernels=on("310 CS: -; 310P 310B 610 910 A2 A3: f16 f32"),
        family="unary",
        passes=6.0,
        vector=VectorFunction(
            Form.ACTIVATION, scratch=(LOW, MASK), rounded_once=True, linked=False
        ),
    ),
    _activation(
        "Sigmoid",
        "1 / (1 + exp(-x)).",
        (IMPL_MODE,),
        passes=2 + EXP + DIVISION,
        vector=VectorFunction(Form.ACTIVATION),
        saturates=True,
    ),
    _activation(
        "Softplus",
        "log(1 + exp(x)).",
        (IMPL_MODE,),
        passes=2 + EXP + LOG,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW,)),
    ),
    _activation(
        "Softsign",
        "x / (1 + |x|).",
        (IMPL_MODE,),
        aicpu=(F64,),
        passes=2 + DIVISION,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW,), zero_of_zeros=True),
        saturates=True,
    ),
    _activation(
        "Swish",
        "x / (1 + exp(-scale * x)).",
        (Attribute("scale", "float", 1.0),),
        kernels=on("310 310P 310B 910: f16 f32; A2 A3: f16 f32 bf16; 610 CS: -"),
        passes=3 + EXP + DIVISION,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW,)),
    ),
    _activation(
        "Tanh",
        "Hyperbolic tangent.",
        passes=4 + EXP + DIVISION,
        vector=VectorFunction(Form.UNARY, "Tanh", zero_of_zeros=True),
        saturates=True,
    ),
    TargetOp(
        "Threshold",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "1 above the threshold, 0 elsewhere.",
        attributes=(Attribute("threshold", "float", 0.0),),
        columns=same(*FLOATS),
        kernels=FLOAT_KERNELS,
        family="unary",
        selects=True,
        passes=2.0,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW, MASK), linked=False),
    ),
)
