"""Convolutions, matrix products and determinants."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import PRODUCTS, Attribute, Limit, TargetOp, Unit
from atc_py.target.rows.parts import CUBE, columns, operands

_CONV_LIMITS = (
    Limit("strides", (2, 3), 1, 63),
    Limit("dilations", (2, 3), 1, 255),
    Limit("pads", (0, 1, 2, 3), 0, 255),
)

_WINDOW_ATTRIBUTES = (
    Attribute("strides", "ints"),
    Attribute("pads", "ints"),
    Attribute("dilations", "ints", (1, 1, 1, 1)),
    Attribute("data_format", "string", "NCHW"),
    Attribute("offset_x", "int", 0),
    PRODUCTS,
)
"""Attributes of every convolution of images."""

_DEEP_ATTRIBUTES = (
    Attribute("strides", "ints"),
    Attribute("pads", "ints"),
    Attribute("dilations", "ints", (1, 1, 1, 1, 1)),
    Attribute("data_format", "string", "NCDHW"),
    Attribute("offset_x", "int", 0),
    PRODUCTS,
    Attribute("groups", "int", 1),
)
"""Attributes of every convolution of volumes; pads are front, back, top, bottom, left, right."""

# What follows is that of CANN's kernels, which list their dtypes when they are compiled. A bfloat16
# product takes a float32 bias. Left out are int4, for which there are no layers here, the float16
# results of int8 products, which have a factor within, and int32 products.
_INT8 = "(i8 i8 i32 i8 > i32)"
_SUMS, _BF16_SUMS = "(f16 f16 f32 > f32)", "(bf16 bf16 f32 > f32)"
_BF16, _WIDE_BIAS = "(bf16 bf16 f32 > bf16)", "(f16 f16 f32 > f16)"

# Ascend950 has other operators: Conv2DV2, Conv3DV2, and of int8 ExtendConv2D and QuantConv3D, whose
# factor is within. Its Conv3DTransposeV2, which does transposed convolutions of images as well, takes
# float32 biases alone; of int8 images there is ExtendConvTranspose. DepthwiseConv2D becomes Conv2D,
# MatMulV2 and BatchMatMulV2 become MatMulV3 and BatchMatMulV3, of int8 QuantBatchMatmulV3.
_NEWEST_CONV = f"f16 f32 bf16 {_INT8}"
_NEWEST_TRANSPOSED = f"{_WIDE_BIAS} f32 {_BF16}"
_NEWEST_PRODUCTS = f"950: f16 {_WIDE_BIAS} f32 {_BF16} bf16 {_SUMS} {_BF16_SUMS} {_INT8}"

_CONV_KERNELS = on(
    f"310 CS: f16 {_INT8}; 310P 610 910: f16 {_INT8} {_SUMS}; "
    f"310B A2 A3: f16 f32 {_INT8} {_SUMS} {_BF16} {_BF16_SUMS}; "
    f"950: {_NEWEST_CONV}",
    "T T T > T",
)
_PIPED_PRODUCTS = f"310B A2 A3: f16 f32 {_INT8} {_SUMS} {_BF16} {_WIDE_BIAS}"
"""Products where a pipe after the cube converts the sums."""

ROWS = (
    TargetOp(
        "BatchMatMulV2",
        *operands("x1 x2 bias? offset_w? > y"),
        "Products of stacked matrices, stacks broadcast, accumulated in float32 or int32.",
        unit=Unit.CUBE,
        attributes=(
            Attribute("adj_x1", "bool", default=False),
            Attribute("adj_x2", "bool", default=False),
            Attribute("offset_x", "int", 0),
            PRODUCTS,
        ),
        columns=CUBE,
        # Of equal stacks the older SoCs list float32 as well; which stacks those are a row cannot say.
        kernels=on(
            f"310 310P 610 910 CS: f16 {_INT8} {_SUMS}; {_PIPED_PRODUCTS}; {_NEWEST_PRODUCTS}",
            "T T T > T",
        ),
        family="matmul",
    ),
    TargetOp(
        "Conv2D",
        *operands("x filter bias? offset_w? > y"),
        "2-D convolution of NCHW data with an OIHW filter, accumulated in float32 or int32.",
        unit=Unit.CUBE,
        attributes=(
            *_WINDOW_ATTRIBUTES,
            Attribute("groups", "int", 1),
        ),
        columns=CUBE,
        kernels=_CONV_KERNELS,
        limits=_CONV_LIMITS,
        family="conv",
    ),
    TargetOp(
        "Conv2DTransposeD",
        *operands("x filter bias? offset_w? > y"),
        "2-D transposed convolution of NCHW data with an IOHW filter.",
        unit=Unit.CUBE,
        attributes=(
            Attribute("input_size", "ints"),
            *_WINDOW_ATTRIBUTES,
            Attribute("groups", "int", 1),
            Attribute("output_padding", "ints", (0, 0, 0, 0)),
        ),
        columns=CUBE,
        kernels=on(
            f"310 310P 610 910: f16 {_INT8} {_SUMS}; 310B: f16 f32 {_INT8}; "
            f"A2 A3: f16 f32 {_INT8} {_SUMS} {_BF16}; CS: f16 {_INT8}; "
            f"950: {_NEWEST_TRANSPOSED} {_INT8}",
            "T T T > T",
        ),
        family="conv",
    ),
    TargetOp(
        "Conv3D",
        *operands("x filter bias? offset_w? > y"),
        "3-D convolution of NCDHW data with an OIDHW filter, accumulated in float32 or int32.",
        unit=Unit.CUBE,
        attributes=_DEEP_ATTRIBUTES,
        columns=CUBE,
        kernels=on(
            f"310 310P 910: f16 {_INT8} {_SUMS}; 310B: f16 {_INT8}; "
            f"A2 A3: f16 f32 {_INT8} {_BF16}; 610 CS: ?; 950: {_NEWEST_CONV}",
            "T T T > T",
        ),
        family="conv",
        takes=Layout.CONV_3D,
    ),
    TargetOp(
        "Conv3DTransposeD",
        *operands("x filter bias? offset_w? > y"),
        "3-D transposed convolution of NCDHW data with an IODHW filter.",
        unit=Unit.CUBE,
        attributes=(
            Attribute("input_size", "ints"),
            *_DEEP_ATTRIBUTES,
            Attribute("output_padding", "ints", (0, 0, 0, 0, 0)),
        ),
        columns=tuple(column for column in CUBE if column.inputs[0].is_float),
        kernels=on(
            f"310 310P 910: f16 {_SUMS}; 310B: f16; A2 A3: f16 {_BF16}; 610 CS: ?; "
            f"950: {_NEWEST_TRANSPOSED}",
            "T T T > T",
        ),
        family="conv",
        takes=Layout.CONV_3D,
    ),
    TargetOp(
        "DepthwiseConv2D",
        *operands("x filter bias? offset_w? > y"),
        "Convolution in which output channel o reads input channel o // (O / C) alone.",
        unit=Unit.CUBE,
        attributes=_WINDOW_ATTRIBUTES,
        columns=CUBE,
        kernels=_CONV_KERNELS,
        limits=_CONV_LIMITS,
        family="conv",
    ),
    TargetOp(
        "MatMulV2",
        *operands("x1 x2 bias? offset_w? > y"),
        "Product of two matrices, with a bias per column, accumulated in float32 or int32.",
        unit=Unit.CUBE,
        attributes=(
            Attribute("transpose_x1", "bool", default=False),
            Attribute("transpose_x2", "bool", default=False),
            Attribute("offset_x", "int", 0),
            PRODUCTS,
        ),
        columns=CUBE,
        # On SoCs whose cube has no float32 it is listed; whether the kernel then takes it is unknown.
        kernels=on(
            f"310 310P 610 910: f16 f32 {_INT8} {_SUMS}; CS: f16 {_INT8}; {_PIPED_PRODUCTS}; "
            f"{_NEWEST_PRODUCTS}",
            "T T T > T",
        ),
        family="matmul",
    ),
    TargetOp(
        "MatrixDeterminant",
        *operands("x > y"),
        "Determinants of stacked square matrices.",
        aicpu=columns("f32 f64"),
        family="reduce",
        formula=(
            "y[b] = product of the pivots of x[b] by elimination with row exchanges, its sign "
            "turned by each"
        ),
        takes=Layout.ROWS,
    ),
)
