"""Rules of operators that arrange, pad or accumulate elements along axes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import Fed, case
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.codes import require_range
from atc_py.fix.parts.windows import take
from atc_py.fix.range_rules import INT32
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless
from atc_py.tensor.dtypes import DType

LISTED = frozenset({DType.FLOAT16, DType.FLOAT32, DType.INT32})
"""Dtypes that Pad has on the lists."""

# Opset since which pads and the value are inputs.
_AS_INPUT = 11

_VALUE, _AXES = 2, 3


@dataclass(frozen=True, slots=True)
class Pads:
    """The pads of a node."""

    begins: tuple[int, ...]  # elements before each axis; negative ones are cut off
    ends: tuple[int, ...]  # elements after each axis
    mode: str  # where the elements are from
    value: float | None  # of mode constant; None if it is computed

    @property
    def is_zero(self) -> bool:
        return self.value == 0


def pads_of(ctx: RuleContext) -> Pads:
    """The pads, two numbers for each axis of the data."""
    rank = len(ctx.dims(0))
    value: float | None = 0.0
    if ctx.node.opset < _AS_INPUT:
        stated = list(ctx.integers("pads"))
        value = ctx.number("value", 0.0)
    else:
        stated = [int(number) for number in ctx.constant(1)]
        given = ctx.tensor(_VALUE)
        if given is not None:
            value = None if given.const is None else given.const.numpy().reshape(()).item()
    axes = list(range(rank))
    if ctx.tensor(_AXES) is not None:
        axes = [int(number) % rank for number in ctx.constant(_AXES)]
    begins, ends = [0] * rank, [0] * rank
    pairs = zip(axes, stated[: len(axes)], stated[len(axes) :], strict=True)
    for axis, begin, end in pairs:
        begins[axis], ends[axis] = begin, end
    return Pads(tuple(begins), tuple(ends), ctx.text("mode", "constant"), value)


@rule(
    EQUAL,
    case("Pad", [2, 3, 4], np.array([1, 2]), None, np.array([-1]), mode="edge", opset=18),
    miss=case("Pad", [2, 3], np.array([0, -1, 0, 1])),
    boundary=case(
        "Pad", [2, 3, 4], np.array([0, 3]), None, np.array([-1]), mode="reflect", opset=18
    ),
)
def pad_all_axes(ctx: RuleContext) -> Sequence[str]:
    """Pad with the input axes -> Pad with a pair of numbers for each axis, if pads and axes are
    constant, no pad is negative; the dtype is listed; value 0, or mode edge or reflect.
    """
    skip_unless(ctx.tensor(_AXES) is not None)
    stated = pads_of(ctx)
    require(ctx.element in LISTED, "the dtype is listed")
    require(min((*stated.begins, *stated.ends)) >= 0, "no pad is negative")
    listed = stated.mode in {"edge", "reflect"} or (stated.mode == "constant" and stated.is_zero)
    require(listed, "the mode is listed")
    pads = ctx.const([*stated.begins, *stated.ends], label="pads")
    return ctx.again(ctx.name(0), pads)


# Elements of a constant that is written beside the data; larger ones are a tiled number.
_MOST = 2**22


@rule(
    EQUAL,
    case("Pad", [2, 3, 4], np.array([0, 1, -1, 0, 0, 2]), np.array(3, np.float32)),
    miss=case("Pad", [2, 3], np.array([0, 1, 0, 1]), mode="wrap", opset=19),
    boundary=case("Pad", [2, 3, 4], np.array([0, -1, -1, 0, -1, -2]), np.array(3, np.float32)),
)
def pad_as_concat(ctx: RuleContext) -> str:
    """Pad with another constant than 0, with negative pads, or of a dtype that is not listed ->
    Slice where pads are negative; Pad with 0, or Concat with constants along each axis, if mode
    constant; pads and axes are constant; dims are known.

    Constant pads are constants before and after; negative ones are cut off first.
    """
    dims, stated = list(ctx.shape(0)), pads_of(ctx)
    skip_unless(stated.mode == "constant")
    zeros = stated.is_zero and ctx.element in LISTED
    cut = min((*stated.begins, *stated.ends)) < 0
    require(cut or not zeros, "the pads are not those of a listed form")
    y = ctx.name(0)
    for axis, size in enumerate(dims):
        first, last = max(-stated.begins[axis], 0), size + min(stated.ends[axis], 0)
        require(first < last, "elements of X are left")
        y = take(ctx, y, axis, range(first, last), size)
        dims[axis] = last - first
    begins, ends = ([max(pad, 0) for pad in pads] for pads in (stated.begins, stated.ends))
    if zeros:
        y = ctx.pad(y, [*begins, *ends])
        return ctx.own(y)
    for axis in range(len(dims)):
        before = _constants(ctx, dims, axis, begins[axis], stated)
        after = _constants(ctx, dims, axis, ends[axis], stated)
        y = ctx.concat([part for part in (before, y, after) if part], axis)
        dims[axis] += begins[axis] + ends[axis]
    return ctx.own(y)


def _constants(ctx: RuleContext, dims: Sequence[int], axis: int, count: int, pads: Pads) -> str:
    if not count:
        return ""
    shape = [*dims[:axis], count, *dims[axis + 1 :]]
    if pads.value is not None and np.prod(shape) <= _MOST:
        return ctx.full(shape, pads.value, "pads")
    if pads.value is not None:
        one = ctx.full([1] * len(shape), pads.value, "value")
    else:
        one = ctx.reshape(ctx.name(2), [1] * len(shape))
    return ctx.op("Tile", one, ctx.const(shape, label="repeats"))


# Modes of Pad that numpy calls the same.
_MODES = frozenset({"edge", "reflect", "wrap"})


@rule(
    EQUAL,
    case("Pad", [2, 5], np.array([0, 2, 0, 3]), mode="wrap", opset=19),
    miss=case("Pad", [2, 3], np.array([0, -1, 0, 1])),
)
def pad_as_gather(ctx: RuleContext) -> str:
    """Pad of mode wrap; edge or reflect with negative pads or a dtype that is not listed -> Gather
    along each axis, if mode edge, reflect or wrap; pads and axes are constant; dims are known;
    the pads of reflect are smaller than the axis.
    """
    dims, stated = ctx.shape(0), pads_of(ctx)
    skip_unless(stated.mode in _MODES)
    y = ctx.name(0)
    for axis, size in enumerate(dims):
        begin, end = stated.begins[axis], stated.ends[axis]
        there = tables.arange(max(-begin, 0), size + min(end, 0))
        require(there.size, "elements of X are left")
        most = max(begin, end)
        small = stated.mode != "reflect" or most < there.size
        require(small, "the pads of reflect are smaller than the axis")
        positions = tables.pad(there, [(max(begin, 0), max(end, 0))], stated.mode)
        y = take(ctx, y, axis, positions, size)
    return ctx.own(y)


_IMAGES = 4


@rule(
    EQUAL,
    case("DepthToSpace", Fed((1, 8, 2, 3), DType.BOOL), blocksize=2, mode="CRD"),
    operators="DepthToSpace SpaceToDepth",
    miss=case("Mish", [2, 3, 4], opset=18),
    boundary=case("DepthToSpace", Fed((1, 4, 2, 2), DType.BOOL), blocksize=2),
)
def depth_space_as_transpose(ctx: RuleContext) -> str:
    """DepthToSpace or SpaceToDepth of a dtype, block or mode that is not listed -> Reshape,
    Transpose, Reshape, if the input is images of known dims.
    """
    x, block = ctx.shape(0), ctx.integer("blocksize", 1)
    require(len(x) == _IMAGES and block > 0, "the input is images")
    rows = ctx.text("mode", "DCR") == "DCR"
    n, c, h, w = x
    if ctx.node.op_type == "SpaceToDepth":
        require(h % block == 0 and w % block == 0, "blocks fit the image")
        y = ctx.reshape(ctx.name(0), [n, c, h // block, block, w // block, block])
        y = ctx.transpose(y, [0, 3, 5, 1, 2, 4] if rows else [0, 1, 3, 5, 2, 4])
        return ctx.reshape(y, [n, c * block * block, h // block, w // block])
    require(c % (block * block) == 0, "blocks fit the channels")
    channels = c // (block * block)
    if rows:
        y = ctx.reshape(ctx.name(0), [n, block, block, channels, h, w])
        y = ctx.transpose(y, [0, 3, 4, 1, 5, 2])
    else:
        y = ctx.reshape(ctx.name(0), [n, channels, block, block, h, w])
        y = ctx.transpose(y, [0, 1, 4, 2, 5, 3])
    return ctx.reshape(y, [n, channels, h * block, w * block])


@rule(
    EQUAL,
    case("Expand", Fed((3, 1), DType.INT32), np.array([2, 3, 4])),
    miss=case("Expand", Fed((3, 1), DType.INT32), Fed((3,), DType.INT64, (3, 3))),
)
def expand_as_tile(ctx: RuleContext) -> str:
    """Expand of a dtype that is not listed -> Reshape to the rank of the result, Tile, if dims are
    known.
    """
    dims = ctx.shape(0)
    wanted = [int(number) for number in ctx.constant(1)]
    rank = max(len(dims), len(wanted))
    before = [1] * (rank - len(dims)) + list(dims)
    asked = [1] * (rank - len(wanted)) + wanted
    repeats = [size if dim == 1 else 1 for dim, size in zip(before, asked, strict=True)]
    x = ctx.name(0)
    if len(dims) < rank:
        x = ctx.reshape(x, before)
    return ctx.op("Tile", x, ctx.const(repeats, label="repeats"))


@rule(
    EQUAL,
    case("Split", [5, 4], axis=0, num_outputs=2, opset=18, outputs=2, operator_list="cann-9.0"),
    miss=case(
        "Split", [4, 4], axis=0, num_outputs=2, opset=18, outputs=2, operator_list="cann-9.0"
    ),
    deviations="Split/axis-from-end Split/dims-not-known Split/uneven-parts",
)
def split_by_sizes(ctx: RuleContext) -> Sequence[str]:
    """Split with num_outputs -> Split with the size of each part, if the dim along axis is known."""
    skip_unless(ctx.tensor(1) is None)
    dims, count = ctx.dims(0), len(ctx.node.outputs)
    size = dims[ctx.axis(0, len(dims))]
    require(size is not None, "the dim along axis is known")
    part = -(-int(size or 0) // count)
    sizes = [part] * (count - 1)
    sizes.append(int(size or 0) - sum(sizes))
    split = ctx.const(sizes, label="split")
    return ctx.again(ctx.name(0), split, count=count, num_outputs=None)


# Elements of the constant at most.
_MOST_ELEMENTS = 2**24


@rule(
    EQUAL,
    case("EyeLike", [2, 3], k=1),
    miss=case("EyeLike", [4097, 4097]),
    boundary=case("EyeLike", [1, 1], k=1),
    deviations="EyeLike/float32-without-dtype EyeLike/diagonal-of-rows",
    lists=True,
)
def eye_like_as_constant(ctx: RuleContext) -> str:
    """EyeLike -> a constant, if the dims are known; at most 16777216 elements."""
    rows, columns = ctx.shape(0)
    require(rows * columns <= _MOST_ELEMENTS, "the constant is small enough")
    result = ctx.output(0)
    dtype = None if result is None else result.dtype
    require(dtype is not None, "the dtype is known")
    ones = tables.eye(rows, columns, ctx.integer("k", 0), np.int8)
    return ctx.const(ones, dtype or DType.FLOAT32, "eye")


_MATRIX = 2


@rule(
    EQUAL,
    case("Trilu", [2, 3, 4], np.array(1), upper=0, opset=14),
    operators="Trilu com.microsoft::Trilu",
    miss=case("Trilu", [2, 3, 4], Fed((), DType.INT64), opset=14),
    boundary=(
        case("Trilu", [3, 4], np.array(4), opset=14),
        case("Trilu", [3, 4], Fed((), DType.INT64, (-(2**31), 2**31 - 1)), opset=14),
    ),
)
def trilu_as_where(ctx: RuleContext) -> str:
    """Trilu of ONNX or onnxruntime -> Where with a mask, constant or from a comparison with k, if
    the last two dims are known; k is known to fit int32.
    """
    dims = ctx.dims(0)
    require(len(dims) >= _MATRIX and None not in dims[-2:], "the last two dims are known")
    rows, columns = (int(dim or 0) for dim in dims[-2:])
    given = ctx.tensor(1)
    zero = ctx.scalar(0, "zero")
    if given is not None and given.const is None:
        require_range(ctx, 1, INT32)
        ahead = tables.arange(columns) - tables.arange(rows)[:, None]
        steps, most = ctx.const(ahead, DType.INT32, "steps"), ctx.cast(ctx.name(1), DType.INT32)
        outside = ctx.op("Less" if ctx.integer("upper", 1) else "Greater", steps, most)
        return ctx.op("Where", ctx.op("Not", outside), ctx.name(0), zero)
    k = int(ctx.constant(1).reshape(-1)[0]) if given is not None else 0
    ones = tables.ones((rows, columns), np.bool_)
    mask = np.triu(ones, k) if ctx.integer("upper", 1) else np.tril(ones, k)
    return ctx.op("Where", ctx.const(mask, DType.BOOL, "mask"), ctx.name(0), zero)


@rule(
    EQUAL,
    case("CumSum", [2, 3], np.array([1]), opset=11),
    miss=case("CumSum", [2, 3], np.array([0, 1]), opset=11),
)
def cum_sum_along_scalar(ctx: RuleContext) -> Sequence[str]:
    """CumSum whose axis is a vector of one element -> CumSum with the axis as a scalar, if the axis
    is constant.
    """
    axis = ctx.constant(1)
    skip_unless(axis.ndim)
    require(axis.size == 1, "there is one axis")
    return ctx.again(ctx.name(0), ctx.const(int(axis.reshape(-1)[0]), label="axis"))


@rule(
    REORDERED,
    case("CumProd", [2, 5], np.array(1), exclusive=1, opset=26),
    miss=case("CumProd", [2, 5], np.array(3), opset=26),
    boundary=case("CumProd", [2, 5], np.array(-2), reverse=1, opset=26),
    float16="products over 65504 overflow, as those of CumProd do",
)
def cum_prod_as_steps(ctx: RuleContext) -> str:
    """CumProd -> log2(n) times: Slice, Concat with ones, Mul, if dims and the axis are known.

    Running products by doubling: after k steps each covers 2^k elements.
    """
    dims = ctx.shape(0)
    axis = int(ctx.constant(1).reshape(-1)[0])
    require(-len(dims) <= axis < len(dims), "the axis is one of X")
    axis %= len(dims)
    size, back = dims[axis], ctx.flag("reverse", default=False)

    def shifted(x: str, by: int) -> str:
        ones = ctx.full((*dims[:axis], by, *dims[axis + 1 :]), 1, "ones")
        if by == size:
            return ones
        kept = ctx.slice(x, axis, by, size) if back else ctx.slice(x, axis, 0, size - by)
        return ctx.op("Concat", *([kept, ones] if back else [ones, kept]), axis=axis)

    y = ctx.name(0)
    if ctx.integer("exclusive", 0):
        y = shifted(y, 1)
    by = 1
    while by < size:
        y = ctx.op("Mul", y, shifted(y, by))
        by *= 2
    return y
