"""Feature maps: blocks moved between channels and space, and resizing."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, Column, Operand, TargetOp, Unit, Values
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

ROWS = (
    TargetOp(
        "DeformableOffsets",
        inputs("x", "offsets"),
        Y,
        Unit.VECTOR,
        "Each window of an image sampled at its own points, apart from the other windows.",
        attributes=(
            Attribute("strides", "ints"),
            Attribute("pads", "ints"),
            Attribute("ksize", "ints"),
            Attribute("dilations", "ints", (1, 1, 1, 1)),
            Attribute("data_format", "string", "NCHW"),
            Attribute("deformable_groups", "int", 1),
            Attribute("modulated", "bool", default=True),
        ),
        columns=(*same(*FLOATS, inputs=2), Column((BF16, BF16), (BF16,), Resource.BFLOAT16)),
        kernels=on("310P 910: f16 f32; A2 A3: f16 f32 bf16; 310 310B 610 CS: -", "T T > T"),
        family="region",
        formula=(
            "y[n, c, oh * kh + i, ow * kw + j] = weight times the weighted sum of the four pixels "
            "of x[n, c] around the point\n"
            "offsets[n] has x, y and weight of each point of each group, which the window's place "
            "moves; 0 outside x"
        ),
        picks=True,
    ),
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
        "GridSampler2D",
        inputs("x", "grid"),
        Y,
        Unit.VECTOR,
        "Images sampled at positions from -1 to 1, between pixels or at the nearest one.",
        attributes=(
            Attribute("interpolation_mode", "string", "bilinear"),
            Attribute("padding_mode", "string", "zeros"),
            Attribute("align_corners", "bool", default=False),
        ),
        # Dtypes are decided when the kernel is compiled, and are those that it then takes.
        columns=same(F32, inputs=2),
        kernels=on("310P A2 A3: f32; 310 310B 610 910 CS: -", "T T > T"),
        aicpu=(F16, F32, F64),
        limits=(Values("interpolation_mode", ("bilinear", "bicubic")),),
        family="region",
        formula=(
            "y[n, c, i, j] = weighted sum of the four pixels of x[n, c] around grid[n, i, j], a "
            "column and a row\n"
            "what is outside x[n, c] is 0, its border, or its reflection (padding_mode)"
        ),
        picks=True,
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
