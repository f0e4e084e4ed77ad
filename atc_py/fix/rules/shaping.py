"""Rules of operators that arrange, pad or accumulate elements along axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import Fed, case
from atc_py.fix.parts.narrow import require_range
from atc_py.fix.parts.windows import take
from atc_py.fix.range_rules import INT32
from atc_py.fix.registry import rule
from atc_py.fix.site import Site
from atc_py.fix.unfit import require, skip_unless
from atc_py.fix.writing import EQUAL, REORDERED
from atc_py.tensor.dtypes import DType

LISTED = frozenset({DType.FLOAT16, DType.FLOAT32, DType.INT32})
"""Dtypes that Pad has on the lists."""

# Opset since which pads and the value are inputs.
_AS_INPUT = 11

_VALUE, _AXES = 2, 3


@dataclass(frozen=True, slots=True)
class Pads:
    """The pads of a node.

    Attributes:
        begins: elements before each axis; negative ones are cut off.
        ends: elements after each axis.
        mode: where the elements are from.
        value: of mode constant; None if it is computed.
    """

    begins: tuple[int, ...]
    ends: tuple[int, ...]
    mode: str
    value: float | None

    @property
    def is_zero(self) -> bool:
        """True if the value is 0."""
        return self.value == 0


def pads_of(site: Site) -> Pads:
    """The pads, two numbers for each axis of the data."""
    rank = len(site.dims(0))
    value: float | None = 0.0
    if site.node.opset < _AS_INPUT:
        stated = list(site.integers("pads"))
        value = site.number("value", 0.0)
    else:
        stated = [int(number) for number in site.constant(1)]
        given = site.tensor(_VALUE)
        if given is not None:
            value = None if given.const is None else given.const.numpy().reshape(()).item()
    axes = list(range(rank))
    if site.tensor(_AXES) is not None:
        axes = [int(number) % rank for number in site.constant(_AXES)]
    begins, ends = [0] * rank, [0] * rank
    pairs = zip(axes, stated[: len(axes)], stated[len(axes) :], strict=True)
    for axis, begin, end in pairs:
        begins[axis], ends[axis] = begin, end
    return Pads(tuple(begins), tuple(ends), site.text("mode", "constant"), value)


_AXES_INPUT = 3


@rule(
    "Pad",
    EQUAL,
    case("Pad", [2, 3, 4], np.array([1, 2]), None, np.array([-1]), mode="edge", opset=18),
    miss=case("Pad", [2, 3], np.array([0, -1, 0, 1])),
    boundary=case(
        "Pad", [2, 3, 4], np.array([0, 3]), None, np.array([-1]), mode="reflect", opset=18
    ),
)
def pad_all_axes(site: Site) -> Sequence[str]:
    """Pad with the input axes -> Pad with a pair of numbers for each axis, if pads and axes are
    constant, no pad is negative; the dtype is listed; value 0, or mode edge or reflect.
    """
    require(site.tensor(_AXES_INPUT) is not None, "axes are given")
    found = pads_of(site)
    require(site.element in LISTED, "the dtype is listed")
    require(min((*found.begins, *found.ends)) >= 0, "no pad is negative")
    listed = found.mode in {"edge", "reflect"} or (found.mode == "constant" and found.is_zero)
    require(listed, "the mode is listed")
    pads = site.const([*found.begins, *found.ends], label="pads")
    return site.again(site.name(0), pads)


# Elements of a constant that is written beside the data; larger ones are a tiled number.
_MOST = 2**22


@rule(
    "Pad",
    EQUAL,
    case("Pad", [2, 3, 4], np.array([0, 1, -1, 0, 0, 2]), np.array(3, np.float32)),
    miss=case("Pad", [2, 3], np.array([0, 1, 0, 1]), mode="wrap", opset=19),
    boundary=case("Pad", [2, 3, 4], np.array([0, -1, -1, 0, -1, -2]), np.array(3, np.float32)),
)
def pad_as_concat(site: Site) -> str:
    """Pad with another constant than 0, with negative pads, or of a dtype that is not listed ->
    Slice where pads are negative; Pad with 0, or Concat with constants along each axis, if mode
    constant; pads and axes are constant; dims are known.

    Constant pads are constants before and after; negative ones are cut off first.
    """
    dims, found = list(site.shape(0)), pads_of(site)
    require(found.mode == "constant", "mode is constant")
    zeros = found.is_zero and site.element in LISTED
    cut = min((*found.begins, *found.ends)) < 0
    require(cut or not zeros, "the pads are not those of a listed form")
    y = site.name(0)
    for axis, size in enumerate(dims):
        first, last = max(-found.begins[axis], 0), size + min(found.ends[axis], 0)
        require(first < last, "elements of X are left")
        y = take(site, y, axis, range(first, last), size)
        dims[axis] = last - first
    begins, ends = ([max(pad, 0) for pad in pads] for pads in (found.begins, found.ends))
    if zeros:
        y = site.pad(y, [*begins, *ends])
        return site.op("Identity", y) if y == site.name(0) else y
    for axis in range(len(dims)):
        parts = [_constants(site, dims, axis, begins[axis], found), y]
        parts.append(_constants(site, dims, axis, ends[axis], found))
        there = [part for part in parts if part]
        if len(there) > 1:
            y = site.op("Concat", *there, axis=axis)
        dims[axis] += begins[axis] + ends[axis]
    return site.op("Identity", y) if y == site.name(0) else y


def _constants(site: Site, dims: Sequence[int], axis: int, count: int, pads: Pads) -> str:
    """Write `count` elements of an axis in the value of the pads; "" for none."""
    if not count:
        return ""
    shape = [*dims[:axis], count, *dims[axis + 1 :]]
    if pads.value is not None and np.prod(shape) <= _MOST:
        return site.const(tables.full(shape, pads.value), site.element, "pads")
    if pads.value is not None:
        one = site.const(tables.full([1] * len(shape), pads.value), site.element, "value")
    else:
        one = site.reshape(site.name(2), [1] * len(shape))
    return site.op("Tile", one, site.const(shape, label="repeats"))


# Names of the modes of Pad in numpy.
_NAMES = {"edge": "edge", "reflect": "reflect", "wrap": "wrap"}


@rule(
    "Pad",
    EQUAL,
    case("Pad", [2, 5], np.array([0, 2, 0, 3]), mode="wrap", opset=19),
    miss=case("Pad", [2, 3], np.array([0, -1, 0, 1])),
)
def pad_as_gather(site: Site) -> str:
    """Pad of mode wrap; edge or reflect with negative pads or a dtype that is not listed -> Gather
    along each axis, if mode edge, reflect or wrap; pads and axes are constant; dims are known;
    the pads of reflect are smaller than the axis.
    """
    dims, found = site.shape(0), pads_of(site)
    require(found.mode in _NAMES, "mode is edge, reflect or wrap")
    y = site.name(0)
    for axis, size in enumerate(dims):
        begin, end = found.begins[axis], found.ends[axis]
        there = tables.arange(max(-begin, 0), size + min(end, 0))
        require(there.size, "elements of X are left")
        most = max(begin, end)
        small = found.mode != "reflect" or most < there.size
        require(small, "the pads of reflect are smaller than the axis")
        mode: Any = _NAMES[found.mode]
        positions = tables.pad(there, [(max(begin, 0), max(end, 0))], mode)
        y = take(site, y, axis, positions, size)
    return site.op("Identity", y) if y == site.name(0) else y


_IMAGES = 4


@rule(
    "DepthToSpace SpaceToDepth",
    EQUAL,
    case("DepthToSpace", Fed((1, 8, 2, 3), DType.BOOL), blocksize=2, mode="CRD"),
    miss=case("Mish", [2, 3, 4], opset=18),
    boundary=case("DepthToSpace", Fed((1, 4, 2, 2), DType.BOOL), blocksize=2),
)
def depth_space_as_transpose(site: Site) -> str:
    """DepthToSpace or SpaceToDepth of a dtype, block or mode that is not listed -> Reshape,
    Transpose, Reshape, if the input is images of known dims.
    """
    x, block = site.shape(0), site.integer("blocksize", 1)
    require(len(x) == _IMAGES and block > 0, "the input is images")
    rows = site.text("mode", "DCR") == "DCR"
    n, c, h, w = x
    if site.node.op_type == "SpaceToDepth":
        require(h % block == 0 and w % block == 0, "blocks fit the image")
        y = site.reshape(site.name(0), [n, c, h // block, block, w // block, block])
        y = site.transpose(y, [0, 3, 5, 1, 2, 4] if rows else [0, 1, 3, 5, 2, 4])
        return site.reshape(y, [n, c * block * block, h // block, w // block])
    require(c % (block * block) == 0, "blocks fit the channels")
    each = c // (block * block)
    if rows:
        y = site.reshape(site.name(0), [n, block, block, each, h, w])
        y = site.transpose(y, [0, 3, 4, 1, 5, 2])
    else:
        y = site.reshape(site.name(0), [n, each, block, block, h, w])
        y = site.transpose(y, [0, 1, 4, 2, 5, 3])
    return site.reshape(y, [n, each, h * block, w * block])


@rule(
    "Expand",
    EQUAL,
    case("Expand", Fed((3, 1), DType.INT32), np.array([2, 3, 4])),
    miss=case("Expand", Fed((3, 1), DType.INT32), Fed((3,), DType.INT64, (3, 3))),
)
def expand_as_tile(site: Site) -> str:
    """Expand of a dtype that is not listed -> Reshape to the rank of the result, Tile, if dims are
    known.
    """
    dims = site.shape(0)
    wanted = [int(number) for number in site.constant(1)]
    rank = max(len(dims), len(wanted))
    before = [1] * (rank - len(dims)) + list(dims)
    asked = [1] * (rank - len(wanted)) + wanted
    repeats = [size if dim == 1 else 1 for dim, size in zip(before, asked, strict=True)]
    x = site.name(0)
    if len(dims) < rank:
        x = site.reshape(x, before)
    return site.op("Tile", x, site.const(repeats, label="repeats"))


@rule(
    "Split",
    EQUAL,
    case("Split", [5, 4], axis=0, num_outputs=2, opset=18, outputs=2, operator_list="cann-9.0"),
    miss=case(
        "Split", [4, 4], axis=0, num_outputs=2, opset=18, outputs=2, operator_list="cann-9.0"
    ),
    deviations="Split/uneven-parts",
)
def split_by_sizes(site: Site) -> Sequence[str]:
    """Split with num_outputs, into parts of unequal length -> Split with the size of each part, if
    the dim along axis is known.
    """
    skip_unless(site.tensor(1) is None)
    dims, count = site.dims(0), len(site.node.outputs)
    size = dims[site.axis(0, len(dims))]
    require(size is not None, "the dim along axis is known")
    each = -(-int(size or 0) // count)
    sizes = [each] * (count - 1)
    sizes.append(int(size or 0) - sum(sizes))
    split = site.const(sizes, label="split")
    return site.again(site.name(0), split, count=count, num_outputs=None)


# Elements of the constant at most.
_MOST_ELEMENTS = 2**24


@rule(
    "EyeLike",
    EQUAL,
    case("EyeLike", [2, 3], k=1),
    miss=case("EyeLike", [4097, 4097]),
    boundary=case("EyeLike", [1, 1], k=1),
    deviations="EyeLike/float32-without-dtype EyeLike/diagonal-of-rows",
    lists=True,
)
def eye_like_as_constant(site: Site) -> str:
    """EyeLike -> a constant, if the dims are known; at most 16777216 elements."""
    rows, columns = site.shape(0)
    require(rows * columns <= _MOST_ELEMENTS, "the constant is small enough")
    result = site.output(0)
    dtype = None if result is None else result.dtype
    require(dtype is not None, "the dtype is known")
    ones = tables.eye(rows, columns, site.integer("k", 0), np.int8)
    return site.const(ones, dtype or DType.FLOAT32, "eye")


_MATRIX = 2


@rule(
    "Trilu com.microsoft::Trilu",
    EQUAL,
    case("Trilu", [2, 3, 4], np.array(1), upper=0, opset=14),
    miss=case("Trilu", [2, 3, 4], Fed((), DType.INT64), opset=14),
    boundary=(
        case("Trilu", [3, 4], np.array(4), opset=14),
        case("Trilu", [3, 4], Fed((), DType.INT64, (-(2**31), 2**31 - 1)), opset=14),
    ),
)
def trilu_as_where(site: Site) -> str:
    """Trilu of ONNX or onnxruntime -> Where with a mask, constant or from a comparison with k, if
    the last two dims are known; k is known to fit int32.
    """
    dims = site.dims(0)
    require(len(dims) >= _MATRIX and None not in dims[-2:], "the last two dims are known")
    rows, columns = (int(dim or 0) for dim in dims[-2:])
    given = site.tensor(1)
    zero = site.scalar(0, "zero")
    if given is not None and given.const is None:
        return site.op("Where", _computed_mask(site, rows, columns), site.name(0), zero)
    k = int(site.constant(1).reshape(-1)[0]) if given is not None else 0
    ones = tables.ones((rows, columns), np.bool_)
    mask = np.triu(ones, k) if site.integer("upper", 1) else np.tril(ones, k)
    return site.op("Where", site.const(mask, DType.BOOL, "mask"), site.name(0), zero)


def _computed_mask(site: Site, rows: int, columns: int) -> str:
    """Write column - row >= k, or <= k, for a diagonal that is known at run time."""
    require_range(site, 1, INT32)
    steps = site.const(tables.arange(columns) - tables.arange(rows)[:, None], DType.INT32, "steps")
    k = site.cast(site.name(1), DType.INT32)
    compare = "Less" if site.integer("upper", 1) else "Greater"
    return site.op("Not", site.op(compare, steps, k))


@rule(
    "CumSum",
    EQUAL,
    case("CumSum", [2, 3], np.array([1]), opset=11),
    miss=case("CumSum", [2, 3], np.array([0, 1]), opset=11),
)
def cum_sum_along_scalar(site: Site) -> Sequence[str]:
    """CumSum whose axis is a vector of one element -> CumSum with the axis as a scalar, if the axis
    is constant.
    """
    axis = site.constant(1)
    skip_unless(axis.ndim)
    require(axis.size == 1, "there is one axis")
    return site.again(site.name(0), site.const(int(axis.reshape(-1)[0]), label="axis"))


@rule(
    "CumProd",
    REORDERED,
    case("CumProd", [2, 5], np.array(1), exclusive=1, opset=26),
    miss=case("CumProd", [2, 5], np.array(3), opset=26),
    boundary=case("CumProd", [2, 5], np.array(-2), reverse=1, opset=26),
    float16="products over 65504 overflow, as those of CumProd do",
)
def cum_prod_as_steps(site: Site) -> str:
    """CumProd -> log2(n) times: Slice, Concat with ones, Mul, if dims and the axis are known.

    Running products by doubling: after k steps each covers 2^k elements.
    """
    dims = site.shape(0)
    axis = int(site.constant(1).reshape(-1)[0])
    require(-len(dims) <= axis < len(dims), "the axis is one of X")
    axis %= len(dims)
    size, back = dims[axis], site.flag("reverse", default=False)

    def shifted(x: str, by: int) -> str:
        ones = site.const(tables.ones((*dims[:axis], by, *dims[axis + 1 :])), site.element, "ones")
        if by == size:
            return ones
        kept = site.slice(x, axis, by, size) if back else site.slice(x, axis, 0, size - by)
        return site.op("Concat", *([kept, ones] if back else [ones, kept]), axis=axis)

    y = site.name(0)
    if site.integer("exclusive", 0):
        y = shifted(y, 1)
    by = 1
    while by < size:
        y = site.op("Mul", y, shifted(y, by))
        by *= 2
    return y
