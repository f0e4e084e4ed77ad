"""Feature maps: blocks moved between channels and space, and resizing."""

from functools import partial

from atc_py.target.layouts import Layout
from atc_py.target.row import Values
from atc_py.target.rows.parts import (
    FLOATS,
    MOVED,
    STORAGE,
    UNDECIDED,
    Needed,
    attributes,
    columns,
    of_moves,
    operator,
)
from atc_py.target.soc import Resource

_CENTERS = attributes(align_corners=False, half_pixel_centers=False)

_OF_IMAGES, _OTHERS = "310 310P 310B 910 A2 A3", "610 CS: ?"

_resize = partial(operator, columns=FLOATS, family="region", takes=Layout.SPATIAL)

ROWS = (
    operator(
        "DeformableOffsets",
        "Each window of an image sampled at its own points, apart from the other windows.",
        "x offsets > y",
        form="T T > T",
        attributes=attributes(
            strides=Needed.INTS,
            pads=Needed.INTS,
            ksize=Needed.INTS,
            dilations=(1, 1, 1, 1),
            data_format="NCHW",
            deformable_groups=1,
            modulated=True,
        ),
        columns=(
            *columns(FLOATS, "T T > T"),
            *columns("bf16", "T T > T", Resource.BFLOAT16),
        ),
        kernels="310P 910: f16 f32; A2 A3 950: f16 f32 bf16; 310 310B 610 CS: -",
        family="region",
        formula=(
            "y[n, c, oh * kh + i, ow * kw + j] = weight times the weighted sum of the four pixels "
            "of x[n, c] around the point\n"
            "offsets[n] has x, y and weight of each point of each group, which the window's place "
            "moves; 0 outside x"
        ),
        picks=True,
    ),
    of_moves(
        "DepthToSpace",
        "Blocks of channels laid out as blocks of height and width; mode is the channels' order.",
        attributes=attributes(block_size=Needed.INT, mode="DCR", data_format="NCHW"),
        columns="f16 f32 i8 i16 i32 u8 u16 u32 u64 i64",
        kernels="310 310P 310B 610 910: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64; "
        "A2 A3 950: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 bf16; "
        "CS: f16 i8 i16 i32 i64 u8 u16 u32 u64",
        aicpu="f64 b",
    ),
    operator(
        "GridSampler2D",
        "Images sampled at positions from -1 to 1, between pixels or at the nearest one.",
        "x grid > y",
        form="T T > T",
        attributes=attributes(
            interpolation_mode="bilinear", padding_mode="zeros", align_corners=False
        ),
        # Dtypes are decided when the kernel is compiled, and are those that it then takes.
        columns="f32",
        kernels="310P A2 A3: f32; 310 310B 610 910 CS: -; 950: f16 f32",
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
    _resize(
        "Resize",
        "Other dims, each element taken or interpolated from its neighborhood in x; axes of "
        "scale 1 are left alone but for tf_crop_and_resize.",
        "x roi?# scales?# sizes?# > y",
        form="T f32 f32 i64 > T",
        attributes=attributes(
            coordinate_transformation_mode="half_pixel",
            cubic_coeff_a=-0.75,
            exclude_outside=0,
            extrapolation_value=0.0,
            mode="nearest",
            nearest_mode="round_prefer_floor",
        ),
        kernels=f"{UNDECIDED}; 950: f16 f32 bf16",
        aicpu="f64 i8 u8 i16 u16 i32 i64",
        passes=8.0,
    ),
    _resize(
        "ResizeBilinearV2",
        "Rows and columns of images interpolated to as many as size says.",
        "x size# > y",
        form="T i32 > T",
        attributes=_CENTERS,
        kernels=f"{_OF_IMAGES}: f16 f32; {_OTHERS}; 950: f16 f32 bf16",
        aicpu="f64",
        passes=8.0,
    ),
    _resize(
        "ResizeNearestNeighborV2",
        "Rows and columns of images repeated or left out, so that they are as many as size says.",
        "x size# > y",
        form="T i32 > T",
        attributes=_CENTERS,
        kernels=f"310 310P 310B 910: f16 f32; A2 A3: f16 f32 bf16; {_OTHERS}; 950: f16 f32 bf16",
        aicpu="f64",
        passes=1.0,
    ),
    of_moves(
        "SpaceToDepth",
        "Blocks of rows and columns moved into channels.",
        attributes=attributes(block_size=Needed.INT, data_format="NCHW"),
        columns=(*columns(STORAGE), *columns("bf16", needs=Resource.BFLOAT16)),
        kernels=f"{UNDECIDED}; 950: {MOVED}",
        aicpu="f64",
    ),
)
