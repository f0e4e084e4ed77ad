"""Feature maps: blocks moved between channels and space, and resizing."""

from __future__ import annotations

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, Column, Operand, TargetOp, Unit
from atc_py.target.rows.parts import (
    BF16,
    BOOL,
    DECIDED_LATER,
    F16,
    F32,
    F64,
    FLOATS,
    I8,
    I16,
    I32,
    I64,
    STORAGE,
    U8,
    U16,
    U32,
    U64,
    Y,
    inputs,
    same,
)
from atc_py.target.soc import Resource

__all__ = ["ROWS"]

ROWS = (
    TargetOp(
        "DepthToSpace",
        inputs("x"),
        Y,
        Unit.MOVE,
        "Blocks of channels laid out as blocks of height and width; mode is the channels' order.",
        attributes=(
            Attribute("block_size", "int"),
            Attribute("mode", "string", "DCR"),
            Attribute("data_format", "string", "NCHW"),
        ),
        columns=same(F16, F32, I8, I16, I32, U8, U16, U32, U64, I64),
        kernels=on(
            "310 310P 310B 610 910: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64; "
            "A2 A3: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 bf16; "
            "CS: f16 i8 i16 i32 i64 u8 u16 u32 u64",
        ),
        aicpu=(F64, BOOL),
        family="move",
    ),
    TargetOp(
        "Resize",
        (
            *inputs("x"),
            *(
                Operand(name, optional=True, value_depend=True)
                for name in ("roi", "scales", "sizes")
            ),
        ),
        Y,
        Unit.VECTOR,
        "Other dims, each element taken or interpolated from its neighborhood in x; axes of "
        "scale 1 are left alone but for tf_crop_and_resize.",
        attributes=(
            Attribute("coordinate_transformation_mode", "string", "half_pixel"),
            Attribute("cubic_coeff_a", "float", -0.75),
            Attribute("exclude_outside", "int", 0),
            Attribute("extrapolation_value", "float", 0.0),
            Attribute("mode", "string", "nearest"),
            Attribute("nearest_mode", "string", "round_prefer_floor"),
        ),
        columns=tuple(Column((dtype, F32, F32, I64), (dtype,)) for dtype in FLOATS),
        kernels=DECIDED_LATER,
        aicpu=tuple(
            Column((dtype, F32, F32, I64), (dtype,)) for dtype in (F64, I8, U8, I16, U16, I32, I64)
        ),
        family="region",
        takes=Layout.SPATIAL,
        passes=8.0,
    ),
    TargetOp(
        "SpaceToDepth",
        inputs("x"),
        Y,
        Unit.MOVE,
        "Blocks of rows and columns moved into channels.",
        attributes=(
            Attribute("block_size", "int"),
            Attribute("data_format", "string", "NCHW"),
        ),
        columns=(*same(*STORAGE), Column((BF16,), (BF16,), Resource.BFLOAT16)),
        kernels=DECIDED_LATER,
        aicpu=(F64,),
        family="move",
    ),
)
