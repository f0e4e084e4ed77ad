"""Data movement: elements are copied, renamed or set to one number, never computed."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Rounding, falls_together, kernel
from atc_py.device.sim.numerics.rounding import to_carrier
from atc_py.device.sim.primitives.blocks import Copies, moving
from atc_py.device.sim.primitives.window import along
from atc_py.device.sim.typing_rules import axes_of, one_dtype, require_rank, same_as_x
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import BLOCKED_FORMATS
from atc_py.text import Text

_NEAR = 3 * 1024 * 1024 // 2
"""Bytes up to which whole lines of a matrix stay near while its columns are read."""

_TOGETHER, _APART = 16, 32
"""Columns that are read at once where all fall on the same places of a cache, and beyond that."""

_COPIES = 4096
"""Copies at most that make a transposition: each is kept from one run to the next."""


def _reshape_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The shape that the second input gives.

    A dim of 0 stands for that of x at its place unless `allowzero`, one -1 for what is left,
    which cannot be inferred beside a dim of 0.
    """
    node.expect("axis", 0)
    node.expect("num_axes", -1)
    wanted = list(node.integers_of(1, "shape"))
    if not node.integer("allowzero"):
        wanted[: node.x.rank] = [
            dim or kept for dim, kept in zip(wanted, node.x.shape, strict=False)
        ]
    rest = math.prod(dim for dim in wanted if dim != -1)
    if wanted.count(-1) == 1 and rest:
        wanted[wanted.index(-1)] = node.x.elements // rest
    if min(wanted, default=0) < 0 or math.prod(wanted) != node.x.elements:
        raise NodeError(Text("{x} cannot be reshaped to {shape}", x=node.x, shape=wanted))
    return (TensorFacts(node.x.dtype, tuple(wanted)),)


def _flatten_types(node: NodeView) -> tuple[TensorFacts, ...]:
    axis, rank = node.integer("axis"), node.x.rank
    if not -rank <= axis <= rank:
        text = Text("axis must be in [{low}, {high}], found {found}")
        raise NodeError(text.with_values(low=-rank, high=rank, found=axis))
    shape = node.x.shape
    axis = axis + rank if axis < 0 else axis
    return (TensorFacts(node.x.dtype, (math.prod(shape[:axis]), math.prod(shape[axis:]))),)


def _unsqueeze_types(node: NodeView) -> tuple[TensorFacts, ...]:
    given = node.integers("axes")
    rank = node.x.rank + len(given)
    axes = axes_of(given, rank)
    dims = iter(node.x.shape)
    shape = tuple(1 if axis in axes else next(dims) for axis in range(rank))
    return (TensorFacts(node.x.dtype, shape),)


def _concat_types(node: NodeView) -> tuple[TensorFacts, ...]:
    first, count = node.x, node.integer("N")
    if len(node.present) != count or len(node.inputs) != count:
        text = Text("N is {n}, but there are {inputs} inputs")
        raise NodeError(text.with_values(n=count, inputs=len(node.present)))
    one_dtype(node.present)
    (axis,) = axes_of((node.integer("concat_dim"),), first.rank)
    for facts in node.present:
        if _without(facts.shape, axis) != _without(first.shape, axis) or facts.rank != first.rank:
            text = Text("{found} and {first} differ on an axis other than {axis}")
            raise NodeError(text.with_values(found=facts, first=first, axis=axis))
    total = sum(facts.shape[axis] for facts in node.present)
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return (TensorFacts(first.dtype, shape),)


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


@moving("PhonyConcat", _concat_types)
@moving("ConcatD", _concat_types)
def concat(call: Call) -> Copies:
    """Yield tensors joined along one axis."""
    (axis,) = axes_of((call.node.integer("concat_dim"),), call.out.ndim)
    start = 0
    for part in call.present:
        yield along(call.out, axis, slice(start, start + part.shape[axis])), part
        start += part.shape[axis]


def _split_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x, sizes = node.x, node.integers("size_splits")
    (axis,) = axes_of((node.integer("split_dim"),), x.rank)
    if len(sizes) != node.integer("num_split"):
        text = Text("num_split is {num_split}, size_splits {sizes}")
        raise NodeError(text.with_values(num_split=node.integer("num_split"), sizes=list(sizes)))
    if min(sizes, default=0) < 0 or sum(sizes) != x.shape[axis]:
        text = Text("size_splits {sizes} do not add up to {dim}")
        raise NodeError(text.with_values(sizes=list(sizes), dim=x.shape[axis]))
    rest = _without(x.shape, axis)
    return tuple(TensorFacts(x.dtype, (*rest[:axis], size, *rest[axis:])) for size in sizes)


@moving("SplitVD", _split_types)
def split(call: Call) -> Copies:
    """Yield a tensor cut along one axis into parts of given sizes."""
    (axis,) = axes_of((call.node.integer("split_dim"),), call.x.ndim)
    start = 0
    for out in call.outputs:
        yield out, along(call.x, axis, slice(start, start + out.shape[axis]))
        start += out.shape[axis]


def _slices(node: NodeView) -> tuple[slice, ...]:
    """Slices in numpy's sense, axis by axis.

    Bounds are normalized already, so a negative end means something only when the stride is
    negative: up to and including the first element.
    """
    rank = node.x.rank
    begins, ends, strides = (node.integers(name, rank) for name in ("begin", "end", "strides"))
    if 0 in strides:
        raise NodeError(Text("strides must not be 0, found {found}", found=list(strides)))
    found = []
    for axis, (begin, end, stride) in enumerate(zip(begins, ends, strides, strict=True)):
        from_start = node.integer("begin_mask") >> axis & 1
        to_end = node.integer("end_mask") >> axis & 1 or (stride < 0 and end < 0)
        found.append(slice(None if from_start else begin, None if to_end else end, stride))
    return tuple(found)


def _slice_types(node: NodeView) -> tuple[TensorFacts, ...]:
    pairs = zip(_slices(node), node.x.shape, strict=True)
    shape = tuple(len(range(*part.indices(dim))) for part, dim in pairs)
    return (TensorFacts(node.x.dtype, shape),)


@moving("StridedSliceD", _slice_types)
def strided_slice(call: Call) -> Copies:
    """Every n-th element between two bounds on each axis."""
    return [(call.out, call.x[_slices(call.node)])]


def _transpose_types(node: NodeView) -> tuple[TensorFacts, ...]:
    perm = node.integers("perm", node.x.rank)
    order = axes_of(perm, node.x.rank)
    return (TensorFacts(node.x.dtype, tuple(node.x.shape[axis] for axis in order)),)


@moving("TransposeD", _transpose_types)
def transpose(call: Call) -> Copies:
    """Axes in another order."""
    return _turning(call.out, call.x.transpose(call.node.integers("perm")))


def _turning(out: NDArray[Any], turned: NDArray[Any]) -> Copies:
    """Copies of as few columns at once as leave the lines of the cache that they are read from."""
    apart, count = (turned.strides[-1], turned.shape[-1]) if turned.ndim else (0, 0)
    wide = count
    if apart > turned.itemsize and falls_together(apart, np.int8):
        wide = _TOGETHER
    elif apart > turned.itemsize and apart * count > _NEAR:
        wide = _APART
    wide = max(wide, -(-count // _COPIES))
    if wide >= count:
        return [(out, turned)]
    parts = [(..., slice(start, start + wide)) for start in range(0, count, wide)]
    return [(out[part], turned[part]) for part in parts]


def _confusion_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """`shape`, or where axes are turned last the dims of `shape` in the order of perm."""
    shape = node.integers("shape")
    if math.prod(shape) != node.x.elements:
        raise NodeError(Text("{x} cannot be reshaped to {shape}", x=node.x, shape=list(shape)))
    seen = node.x.shape if node.flag("transpose_first") else shape
    order = axes_of(node.integers("perm", len(seen)), len(seen))
    made = shape if node.flag("transpose_first") else tuple(seen[axis] for axis in order)
    return (TensorFacts(node.x.dtype, made),)


@moving("ConfusionTransposeD", _confusion_types)
def confusion_transpose(call: Call) -> Copies:
    """Axes in another order before or after a change of shape."""
    perm = call.node.integers("perm")
    if not call.node.flag("transpose_first"):
        return _turning(call.out, call.x.reshape(call.node.integers("shape")).transpose(perm))
    turned = call.x.transpose(perm)
    return _turning(call.out.reshape(turned.shape), turned)


def _borders(node: NodeView) -> list[tuple[int, int]]:
    """(before, after) of each axis; negative borders cut."""
    numbers = node.integers("paddings", 2 * node.x.rank)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _pad_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The dims of x and their borders; what negative ones cut off is mirrored nowhere."""
    mode, borders = node.text("mode"), _borders(node)
    if mode not in {"constant", "edge", "reflect"}:
        text = Text("mode must be constant, edge or reflect, found {found}")
        raise NodeError(text.with_values(found=repr(mode)))
    shape = tuple(dim + sum(pair) for dim, pair in zip(node.x.shape, borders, strict=True))
    for dim, pair in zip(node.x.shape, borders, strict=True):
        left = dim + sum(min(border, 0) for border in pair)
        if left < 0 or (mode == "edge" and not left and max(pair) > 0):
            text = Text("an axis of {dim} cannot have borders {pair}")
            raise NodeError(text.with_values(dim=dim, pair=list(pair)))
        if mode == "reflect" and max(pair) >= max(left, 1):
            text = Text("an axis of {dim} cannot be mirrored by {pair}")
            raise NodeError(text.with_values(dim=left, pair=max(pair)))
    return (TensorFacts(node.x.dtype, shape),)


@kernel("PadV3D", _pad_types, rounding=Rounding.ON_GRID)
def pad(call: Call) -> None:
    """Add borders: a constant in x's dtype, the edge repeated, or the inside mirrored."""
    mode, borders = call.node.text("mode"), _borders(call.node)
    if mode == "constant":
        _pad_constant(call, borders)
        return
    call.require_scratch(2 * call.out.nbytes)
    result = call.x
    for axis, (pair, dim) in enumerate(zip(borders, call.x.shape, strict=True)):
        if any(pair):
            places = np.arange(-pair[0], dim + pair[1])
            result = result.take(_inside(places, dim, mode), axis=axis)
    np.copyto(call.out, result)


def _inside(places: NDArray[np.int64], dim: int, mode: str) -> NDArray[np.int64]:
    """The element that each place of an axis, inside or outside, copies."""
    if mode == "edge":
        return places.clip(0, dim - 1)
    mirrored = np.abs(places)
    return np.where(mirrored < dim, mirrored, 2 * (dim - 1) - mirrored)


def _pad_constant(call: Call, borders: list[tuple[int, int]]) -> None:
    dtype = call.node.x.dtype
    value = np.asarray(call.node.number("constant_values")).astype(dtype.numpy)
    call.out[...] = to_carrier(value, dtype)
    sources: list[slice] = []
    targets: list[slice] = []
    for (before, _), dim, size in zip(borders, call.x.shape, call.out.shape, strict=True):
        first, last = max(0, -before), min(dim, size - before)
        sources.append(slice(first, last))
        targets.append(slice(first + before, last + before))
    call.out[tuple(targets)] = call.x[tuple(sources)]


def _squeeze_types(node: NodeView) -> tuple[TensorFacts, ...]:
    shape = node.x.shape
    ones = {axis for axis, dim in enumerate(shape) if dim == 1}
    axes = set(axes_of(node.integers("axis"), node.x.rank)) or ones
    if axes - ones:
        text = Text("axes {axes} of {x} are not of size 1")
        raise NodeError(text.with_values(axes=sorted(axes - ones), x=node.x))
    kept = tuple(dim for axis, dim in enumerate(shape) if axis not in axes)
    return (TensorFacts(node.x.dtype, kept),)


@kernel("Flatten", _flatten_types, rounding=Rounding.ON_GRID, alias=True)
@kernel("Reshape", _reshape_types, rounding=Rounding.ON_GRID, alias=True)
@kernel("Squeeze", _squeeze_types, rounding=Rounding.ON_GRID, alias=True)
@kernel("Unsqueeze", _unsqueeze_types, rounding=Rounding.ON_GRID, alias=True)
def view(call: Call) -> None:
    """Show the same elements in the same order under other dims."""


def _tile_types(node: NodeView) -> tuple[TensorFacts, ...]:
    multiples = node.integers("multiples", node.x.rank)
    if min(multiples, default=0) < 0:
        raise NodeError(Text("multiples must be at least 0, found {found}", found=list(multiples)))
    pairs = zip(node.x.shape, multiples, strict=True)
    return (TensorFacts(node.x.dtype, tuple(dim * count for dim, count in pairs)),)


@moving("TileD", _tile_types)
def tile(call: Call) -> Copies:
    """Repeat a tensor: each axis becomes (multiple, dim), and x is broadcast to that."""
    repeated: list[int] = []
    source: list[int] = []
    for dim, count in zip(call.x.shape, call.node.integers("multiples"), strict=True):
        repeated += [dim] if count == 1 else [count, dim]
        source += [dim] if count == 1 else [1, dim]
    return [(call.out.reshape(repeated), call.x.reshape(source))]


_FORMATS = {form.value: form for form in Format}


def _trans_data_types(node: NodeView) -> tuple[TensorFacts, ...]:
    node.expect("src_subformat", 0)
    node.expect("dst_subformat", 0)
    names = [node.text(name) for name in ("src_format", "dst_format")]
    for name in names:
        if name not in _FORMATS:
            text = Text("formats are {known}, found {found}")
            raise NodeError(text.with_values(known=", ".join(_FORMATS), found=repr(name)))
    if names[0] == names[1] or not any(_FORMATS[name] in BLOCKED_FORMATS for name in names):
        text = Text("{name} and {other} store this tensor in the same way")
        raise NodeError(text.with_values(name=names[1], other=names[0]))
    if node.integer("groups") < 1:
        text = Text("groups must be at least 1, found {found}")
        raise NodeError(text.with_values(found=node.integer("groups")))
    return same_as_x(node)


@kernel("TransData", _trans_data_types, rounding=Rounding.ON_GRID)
def trans_data(call: Call) -> None:
    """Copy: a carrier has its elements in their logical order whatever the format."""
    np.copyto(call.out, call.x)


_MATRIX = 2


def _number(node: NodeView, position: int, name: str) -> int:
    numbers = node.numbers_of(position, name)
    if numbers.size != 1 or numbers.dtype.kind not in "iu":
        text = Text("{name} must be one integer, found {found}")
        raise NodeError(text.with_values(name=name, found=node.required(position)))
    return int(numbers.reshape(-1)[0])


def _diagonal_types(node: NodeView) -> tuple[TensorFacts, ...]:
    diagonal, padding = node.x, node.required(4)
    one_dtype((diagonal, padding))
    require_rank(padding, 0, "padding_value")
    k = _number(node, 1, "k")
    rows, columns = _number(node, 2, "num_rows"), _number(node, 3, "num_cols")
    if min(rows, columns) < 0 or not diagonal.rank:
        text = Text("needs rows and columns, found {found} and {columns} for {diagonal}")
        raise NodeError(text.with_values(found=rows, columns=columns, diagonal=diagonal))
    length = max(0, min(rows + min(k, 0), columns - max(k, 0)))
    if diagonal.shape[-1] != length:
        text = Text("diagonals of {length} elements are needed, found {found}")
        raise NodeError(text.with_values(length=length, found=diagonal))
    return (TensorFacts(diagonal.dtype, (*diagonal.shape[:-1], rows, columns)),)


@kernel("MatrixDiagV2", _diagonal_types, rounding=Rounding.ON_GRID)
def matrix_diag(call: Call) -> None:
    """Fill with the padding value, and put element n of the diagonal n places along it."""
    k = _number(call.node, 1, "k")
    np.copyto(call.out, call.input(4))
    places = np.arange(call.x.shape[-1])
    call.out[..., places - min(k, 0), places + max(k, 0)] = call.x


def _triangle_types(node: NodeView) -> tuple[TensorFacts, ...]:
    if node.x.rank < _MATRIX:
        text = Text("x must have {n} axes or more, found {found}")
        raise NodeError(text.with_values(n=_MATRIX, found=node.x))
    k = node.input(1)
    if k is not None and k.elements != 1:
        raise NodeError(Text("k must be one number, found {found}", found=k))
    if k is not None and not k.dtype.is_integer:
        raise NodeError(Text("k must be an integer, found {found}", found=k))
    return (node.x,)


@kernel("Trilu", _triangle_types, rounding=Rounding.ON_GRID)
def trilu(call: Call) -> None:
    """Keep elements with `j - i >= k` of the upper triangle, `j - i <= k` of the lower one."""
    rows, columns = call.x.shape[-2:]
    given = call.optional(1)
    k = 0 if given is None else int(given.reshape(-1)[0])
    held = min(max(k, -rows - 1), columns + 1)
    if call.node.integer("upper"):
        outside = np.tri(rows, columns, held - 1, dtype=np.bool_)
    else:
        outside = ~np.tri(rows, columns, held, dtype=np.bool_)
    np.copyto(call.out, call.x)
    np.copyto(call.out, call.out.dtype.type(0), where=outside)
