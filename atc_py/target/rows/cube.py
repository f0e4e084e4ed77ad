"""Convolutions, matrix products and determinants."""

from functools import partial

from atc_py.target.kernels import Kernels
from atc_py.target.layouts import Layout
from atc_py.target.row import PRODUCTS, Limit, Unit
from atc_py.target.rows.parts import CUBE, Needed, attributes, operator

_CONV_LIMITS = (
    Limit("strides", (2, 3), 1, 63),
    Limit("dilations", (2, 3), 1, 255),
    Limit("pads", (0, 1, 2, 3), 0, 255),
)

_WINDOW_ATTRIBUTES = (
    *attributes(
        strides=Needed.INTS,
        pads=Needed.INTS,
        dilations=(1, 1, 1, 1),
        data_format="NCHW",
        offset_x=0,
    ),
    PRODUCTS,
)
"""Attributes of every convolution of images."""

_DEEP_ATTRIBUTES = (
    *attributes(
        strides=Needed.INTS,
        pads=Needed.INTS,
        dilations=(1, 1, 1, 1, 1),
        data_format="NCDHW",
        offset_x=0,
    ),
    PRODUCTS,
    *attributes(groups=1),
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

_CONV_KERNELS = Kernels(
    f"310 CS: f16 {_INT8}; 310P 610 910: f16 {_INT8} {_SUMS}; "
    f"310B A2 A3: f16 f32 {_INT8} {_SUMS} {_BF16} {_BF16_SUMS}; "
    f"950: {_NEWEST_CONV}",
    "T T T > T",
)
_PIPED_PRODUCTS = f"310B A2 A3: f16 f32 {_INT8} {_SUMS} {_BF16} {_WIDE_BIAS}"
"""Products where a pipe after the cube converts the sums."""

_conv = partial(
    operator,
    signature="x filter bias? offset_w? > y",
    form="T T T > T",
    unit=Unit.CUBE,
    columns=CUBE,
    family="conv",
)

_product = partial(
    operator,
    signature="x1 x2 bias? offset_w? > y",
    form="T T T > T",
    unit=Unit.CUBE,
    columns=CUBE,
    family="matmul",
)

ROWS = (
    _product(
        "BatchMatMulV2",
        "Products of stacked matrices, stacks broadcast, accumulated in float32 or int32.",
        attributes=(*attributes(adj_x1=False, adj_x2=False, offset_x=0), PRODUCTS),
        # Of equal stacks the older SoCs list float32 as well; which stacks those are a row cannot say.
        kernels=f"310 310P 610 910 CS: f16 {_INT8} {_SUMS}; {_PIPED_PRODUCTS}; {_NEWEST_PRODUCTS}",
    ),
    _conv(
        "Conv2D",
        "2-D convolution of NCHW data with an OIHW filter, accumulated in float32 or int32.",
        attributes=(*_WINDOW_ATTRIBUTES, *attributes(groups=1)),
        kernels=_CONV_KERNELS,
        limits=_CONV_LIMITS,
    ),
    _conv(
        "Conv2DTransposeD",
        "2-D transposed convolution of NCHW data with an IOHW filter.",
        attributes=(
            *attributes(input_size=Needed.INTS),
            *_WINDOW_ATTRIBUTES,
            *attributes(groups=1, output_padding=(0, 0, 0, 0)),
        ),
        kernels=f"310 310P 610 910: f16 {_INT8} {_SUMS}; 310B: f16 f32 {_INT8}; "
        f"A2 A3: f16 f32 {_INT8} {_SUMS} {_BF16}; CS: f16 {_INT8}; "
        f"950: {_NEWEST_TRANSPOSED} {_INT8}",
    ),
    _conv(
        "Conv3D",
        "3-D convolution of NCDHW data with an OIDHW filter, accumulated in float32 or int32.",
        attributes=_DEEP_ATTRIBUTES,
        kernels=f"310 310P 910: f16 {_INT8} {_SUMS}; 310B: f16 {_INT8}; "
        f"A2 A3: f16 f32 {_INT8} {_BF16}; 610 CS: ?; 950: {_NEWEST_CONV}",
        takes=Layout.CONV_3D,
    ),
    _conv(
        "Conv3DTransposeD",
        "3-D transposed convolution of NCDHW data with an IODHW filter.",
        attributes=(
            *attributes(input_size=Needed.INTS),
            *_DEEP_ATTRIBUTES,
            *attributes(output_padding=(0, 0, 0, 0, 0)),
        ),
        columns=tuple(column for column in CUBE if column.inputs[0].is_float),
        kernels=f"310 310P 910: f16 {_SUMS}; 310B: f16; A2 A3: f16 {_BF16}; 610 CS: ?; "
        f"950: {_NEWEST_TRANSPOSED}",
        takes=Layout.CONV_3D,
    ),
    _conv(
        "DepthwiseConv2D",
        "Convolution in which output channel o reads input channel o // (O / C) alone.",
        attributes=_WINDOW_ATTRIBUTES,
        kernels=_CONV_KERNELS,
        limits=_CONV_LIMITS,
    ),
    _product(
        "MatMulV2",
        "Product of two matrices, with a bias per column, accumulated in float32 or int32.",
        attributes=(*attributes(transpose_x1=False, transpose_x2=False, offset_x=0), PRODUCTS),
        # On SoCs whose cube has no float32 it is listed; whether the kernel then takes it is unknown.
        kernels=f"310 310P 610 910: f16 f32 {_INT8} {_SUMS}; CS: f16 {_INT8}; {_PIPED_PRODUCTS}; "
        f"{_NEWEST_PRODUCTS}",
    ),
    operator(
        "MatrixDeterminant",
        "Determinants of stacked square matrices.",
        aicpu="f32 f64",
        family="reduce",
        formula=(
            "y[b] = product of the pivots of x[b] by elimination with row exchanges, its sign "
            "turned by each"
        ),
        takes=Layout.ROWS,
    ),
)
