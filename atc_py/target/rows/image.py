"""Feature maps: blocks moved between channels and space, and resizing."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, TargetOp, Unit, Values
from atc_py.target.rows.parts import (
    FLOATS,
    MOVED,
    STORAGE,
    UNDECIDED,
    columns,
    operands,
)
from atc_py.target.soc import Resource

_CENTERS = (
    Attribute("align_corners", "bool", default=False),
    Attribute("half_pixel_centers", "bool", default=False),
)

_OF_IMAGES, _OTHERS = "310 310P 310B 910 A2 A3", "610 CS: ?"

ROWS = (
    TargetOp(
        "DeformableOffsets",
        *operands("x offsets > y"),
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
        columns=(
            *columns(FLOATS, "T T > T"),
            *columns("bf16", "T T > T", Resource.BFLOAT16),
        ),
        kernels=on("310P 910: f16 f32; A2 A3 950: f16 f32 bf16; 310 310B 610 CS: -", "T T > T"),
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
        *operands("x > y"),
        "Blocks of channels laid out as blocks of height and width; mode is the channels' order.",
        unit=Unit.MOVE,
        attributes=(
            Attribute("block_size", "int"),
            Attribute("mode", "string", "DCR"),
            Attribute("data_format", "string", "NCHW"),
        ),
        columns=columns("f16 f32 i8 i16 i32 u8 u16 u32 u64 i64"),
        kernels=on(
            "310 310P 310B 610 910: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64; "
            "A2 A3 950: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 bf16; "
            "CS: f16 i8 i16 i32 i64 u8 u16 u32 u64",
        ),
        aicpu=columns("f64 b"),
        family="move",
    ),
    TargetOp(
        "GridSampler2D",
        *operands("x grid > y"),
        "Images sampled at positions from -1 to 1, between pixels or at the nearest one.",
        attributes=(
            Attribute("interpolation_mode", "string", "bilinear"),
            Attribute("padding_mode", "string", "zeros"),
            Attribute("align_corners", "bool", default=False),
        ),
        # Dtypes are decided when the kernel is compiled, and are those that it then takes.
        columns=columns("f32", "T T > T"),
        kernels=on("310P A2 A3: f32; 310 310B 610 910 CS: -; 950: f16 f32", "T T > T"),
        aicpu=columns("f16 f32 f64"),
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
        *operands("x roi?# scales?# sizes?# > y"),
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
        columns=columns(FLOATS, "T f32 f32 i64 > T"),
        kernels=on(f"{UNDECIDED}; 950: f16 f32 bf16", "T f32 f32 i64 > T"),
        aicpu=columns("f64 i8 u8 i16 u16 i32 i64", "T f32 f32 i64 > T"),
        family="region",
        takes=Layout.SPATIAL,
        passes=8.0,
    ),
    TargetOp(
        "ResizeBilinearV2",
        *operands("x size# > y"),
        "Rows and columns of images interpolated to as many as size says.",
        attributes=_CENTERS,
        columns=columns(FLOATS, "T i32 > T"),
        kernels=on(f"{_OF_IMAGES}: f16 f32; {_OTHERS}; 950: f16 f32 bf16", "T i32 > T"),
        aicpu=columns("f64", "T i32 > T"),
        family="region",
        takes=Layout.SPATIAL,
        passes=8.0,
    ),
    TargetOp(
        "ResizeNearestNeighborV2",
        *operands("x size# > y"),
        "Rows and columns of images repeated or left out, so that they are as many as size says.",
        attributes=_CENTERS,
        columns=columns(FLOATS, "T i32 > T"),
        kernels=on(
            f"310 310P 310B 910: f16 f32; A2 A3: f16 f32 bf16; {_OTHERS}; 950: f16 f32 bf16",
            "T i32 > T",
        ),
        aicpu=columns("f64", "T i32 > T"),
        family="region",
        takes=Layout.SPATIAL,
        passes=1.0,
    ),
    TargetOp(
        "SpaceToDepth",
        *operands("x > y"),
        "Blocks of rows and columns moved into channels.",
        unit=Unit.MOVE,
        attributes=(
            Attribute("block_size", "int"),
            Attribute("data_format", "string", "NCHW"),
        ),
        columns=(*columns(STORAGE), *columns("bf16", needs=Resource.BFLOAT16)),
        kernels=on(f"{UNDECIDED}; 950: {MOVED}"),
        aicpu=columns("f64"),
        family="move",
    ),
)
