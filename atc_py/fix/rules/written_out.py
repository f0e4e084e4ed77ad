"""Rules of what CANN's parser needs written out, or reads otherwise than ONNX, operator by operator."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from atc_py.fix.case import Fed, case
from atc_py.fix.context import RuleContext
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless
from atc_py.onnx_graph.reading.tensors import element_of_dtype
from atc_py.tensor.dtypes import DType


@rule(
    EQUAL,
    case("Transpose", [2, 3, 4]),
    miss=case("Transpose", [2, 3, 4], perm=[2, 1, 0]),
    deviations="Transpose/perm-absent",
)
def transpose_with_order(ctx: RuleContext) -> Sequence[str]:
    """Transpose without perm -> Transpose with it, if the rank is known and not 0."""
    rank = len(ctx.dims(0))
    require(rank, "data has axes")
    return ctx.again(perm=list(range(rank))[::-1])


@rule(
    REORDERED,
    case("Sum", [2, 3], [3], [2, 1]),
    operators="Mean Sum",
    miss=case("Sum", [2, 3], [2, 3]),
    deviations="Mean/first-shape-alone Sum/first-shape-alone",
    float16="each addition rounds",
)
def sum_of_pairs(ctx: RuleContext) -> str:
    """Sum or Mean of tensors of several shapes -> Add of two at a time, for Mean Mul by a constant."""
    count = len(ctx.names)
    total = reduce(lambda one, two: ctx.op("Add", one, two), ctx.names)
    return total if ctx.node.op_type == "Sum" else ctx.times(total, 1 / count)


_IMAGES = 4
_OUTER = 2


@rule(
    EQUAL,
    case("GlobalMaxPool", [1, 2, 3, 4, 5]),
    miss=case("GlobalMaxPool", [1, 2, 3, 4]),
    deviations="GlobalMaxPool/images-only GlobalMaxPool/signal-axis-twice GlobalMaxPool/volume-in-part",
)
def global_max_of_images(ctx: RuleContext) -> str:
    """GlobalMaxPool of signals or volumes -> Reshape, GlobalMaxPool of images, Reshape, if the rank is
    known and no dim is 0.
    """
    dims = ctx.dims(0)
    skip_unless(len(dims) != _IMAGES)
    require(0 not in dims, "no dim is 0")
    x = ctx.reshape(ctx.name(0), [0, 0, -1, 1])
    y = ctx.op("GlobalMaxPool", x)
    return ctx.reshape(y, [0, 0, *(1 for _ in dims[_OUTER:])])


@rule(
    EQUAL,
    case("DepthToSpace", [1, 2, 3, 4], blocksize=1),
    miss=case("DepthToSpace", [1, 4, 3, 4], blocksize=2),
    deviations="DepthToSpace/blocks-of-one",
)
def depth_to_space_of_one(ctx: RuleContext) -> str:
    """DepthToSpace with blocksize 1 -> its input."""
    skip_unless(ctx.integer("blocksize", 0) == 1)
    return ctx.op("Identity", ctx.name(0))


# Opset since which modes have other names; no parser has the operator there.
_OTHER_NAMES = 20


@rule(
    EQUAL,
    case("GridSample", [2, 3, 5, 6], [2, 4, 3, 2], opset=16, operator_list="cann-9.0"),
    miss=case(
        "GridSample",
        [2, 3, 5, 6],
        [2, 4, 3, 2],
        mode="bilinear",
        padding_mode="zeros",
        opset=16,
        operator_list="cann-9.0",
    ),
    boundary=case(
        "GridSample",
        [1, 1, 2, 2],
        [1, 1, 1, 2],
        mode="bilinear",
        opset=19,
        operator_list="cann-9.0",
    ),
    deviations="GridSample/mode-absent GridSample/padding-mode-absent",
)
def grid_sample_with_modes(ctx: RuleContext) -> Sequence[str]:
    """GridSample without mode or padding_mode -> GridSample with both."""
    skip_unless(ctx.opset < _OTHER_NAMES)
    mode, padding = ctx.text("mode", "bilinear"), ctx.text("padding_mode", "zeros")
    return ctx.again(mode=mode, padding_mode=padding)


@rule(
    EQUAL,
    case("RandomUniformLike", Fed((2, 3), DType.FLOAT16), operator_list="cann-9.0"),
    operators="RandomNormalLike RandomUniformLike",
    miss=case("RandomUniformLike", Fed((2, 3), DType.FLOAT16), dtype=10, operator_list="cann-9.0"),
    deviations="RandomNormalLike/float32-after-nodes RandomNormalLike/float32-without-dtype "
    "RandomUniformLike/float32-after-nodes RandomUniformLike/float32-without-dtype",
)
def random_with_dtype(ctx: RuleContext) -> Sequence[str]:
    """Random numbers like a tensor, without dtype -> the operator with that of the tensor."""
    dtype = ctx.input(0).dtype
    skip_unless(dtype is not None)
    return ctx.again(dtype=element_of_dtype(dtype or DType.FLOAT32))


@rule(
    EQUAL,
    case("Multinomial", [2, 4], dtype=7),
    miss=case("Multinomial", [2, 4], dtype=6),
    deviations="Multinomial/int32-always",
)
def multinomial_in_int32(ctx: RuleContext) -> str:
    """Multinomial in int64 -> Multinomial in int32, Cast."""
    (result,) = ctx.again(dtype=6)
    return ctx.cast(result, DType.INT64)


@rule(
    EQUAL,
    case("ArgMin", [2, 3, 4], axis=1),
    miss=case("ArgMax", [2, 3, 4], axis=1),
    deviations="ArgMin/int32-always ArgMin/int32-below-newest",
)
def arg_min_as_arg_max(ctx: RuleContext) -> Sequence[str]:
    """ArgMin -> Neg, ArgMax, if the dtype is float16 or float32."""
    ctx.floats(0)
    x = ctx.op("Neg", ctx.name(0))
    attributes: dict[str, Any] = {name: ctx.integer(name, 0) for name in ctx.node.attributes}
    return [ctx.op("ArgMax", x, **attributes)]


@rule(
    EQUAL,
    case("Gemm", [2, 3], [3, 4], [2, 1], cann="5"),
    miss=case("Gemm", [2, 3], [3, 4], [4], cann="5"),
    deviations="Gemm/bias-refused",
)
def gemm_before_sum(ctx: RuleContext) -> str:
    """Gemm -> Gemm without C, Add, if beta is 1 and the opset 11 or more."""
    require(ctx.number("beta", 1.0) == 1.0, "beta is 1", found=ctx.number("beta", 1.0))
    ctx.require_opset(11)
    (product,) = ctx.again(ctx.name(0), ctx.name(1))
    return ctx.op("Add", product, ctx.name(2))


# ONNX's number of the dtype.
_FLOAT64 = 11


@rule(
    EQUAL,
    case("RandomUniform", dtype=11, shape=[2, 3], seed=3.0),
    miss=case("RandomUniform", dtype=1, shape=[2, 3], seed=3.0),
    deviations="RandomUniform/float64-refused",
)
def random_as_float32(ctx: RuleContext) -> str:
    """RandomUniform in float64 -> RandomUniform in float32, Cast, if ONNX leaves the numbers to the
    engine.
    """
    skip_unless(ctx.integer("dtype", 1) == _FLOAT64)
    (result,) = ctx.again(dtype=1)
    return ctx.cast(result, DType.FLOAT64)


@rule(
    EQUAL,
    case("RandomUniformLike", [2, 3], seed=0.7, operator_list="cann-9.0"),
    operators="RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    miss=case("RandomUniformLike", [2, 3], seed=3.0, operator_list="cann-9.0"),
    boundary=case("RandomNormal", shape=[2, 3], seed=-0.99, operator_list="cann-9.0"),
    deviations=(
        "RandomNormal/seed-cut-to-0",
        "RandomNormalLike/seed-cut-to-0",
        "RandomUniform/seed-cut-to-0",
        "RandomUniformLike/seed-cut-to-0",
    ),
)
def random_seed_whole(ctx: RuleContext) -> Sequence[str]:
    """Random numbers with a seed between -1 and 1 -> the operator with seed 1 or -1, if ONNX leaves
    the numbers that a seed gives to the engine.
    """
    seed = ctx.number("seed", 0.0)
    skip_unless("seed" in ctx.node.attributes and abs(seed) < 1)
    return ctx.again(seed=-1.0 if seed < 0 else 1.0)
