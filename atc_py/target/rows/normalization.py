"""Normalisation along axes or channels."""

from __future__ import annotations

from atc_py.target.row import Attribute, Column, TargetOp, Unit
from atc_py.target.rows.parts import F16, F32, F64, FLOATS, Y, inputs, same

__all__ = ["ROWS"]

ROWS = (
    TargetOp(
        "BNInfer",
        inputs("x", "scale", "offset", "mean", "variance"),
        Y,
        Unit.VECTOR,
        "Batch normalisation with given statistics.",
        attributes=(Attribute("epsilon", "float"),),
        columns=(Column((F16, F32, F32, F32, F32), (F16,)), Column((F32,) * 5, (F32,))),
        family="channel",
    ),
    TargetOp(
        "BatchNorm",
        inputs("x", "scale", "offset", "mean?", "variance?"),
        Y,
        Unit.VECTOR,
        "Batch normalisation as the graph states it; becomes BNInfer or part of a convolution.",
        attributes=(
            Attribute("epsilon", "float", 0.0001),
            Attribute("data_format", "string", "NCHW"),
            Attribute("is_training", "bool", default=False),
        ),
        columns=(Column((F16, F32, F32, F32, F32), (F16,)), Column((F32,) * 5, (F32,))),
        family="channel",
    ),
    TargetOp(
        "LRN",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Local response normalisation across channels.",
        attributes=(
            Attribute("depth_radius", "int", 5),
            Attribute("bias", "float", 1.0),
            Attribute("alpha", "float", 1.0),
            Attribute("beta", "float", 0.5),
            Attribute("norm_region", "string", "ACROSS_CHANNELS"),
        ),
        columns=same(*FLOATS),
        family="channel",
    ),
    TargetOp(
        "SoftmaxV2",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Exponentials divided by their sum over axes.",
        attributes=(
            Attribute("axes", "ints", (-1,)),
            Attribute("half_to_float", "bool", default=False),
        ),
        columns=same(*FLOATS),
        aicpu=(F64,),
        family="softmax",
    ),
)
