"""Data movement: elements are copied, renamed or set to one number, never computed."""

import numpy as np

from atc_py.device.ort.axes import dims_of, over, shaped, times
from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.carriers import PADDED, bordered, carried, carrier_of
from atc_py.tensor.dtypes import DType

REPEATED = frozenset(DType) - {DType.BFLOAT16, DType.INT16, DType.UINT16, DType.FLOAT16}
"""Dtypes that a runtime's Tile takes."""

_FIRST, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@emulates("Reshape", moves=True)
def reshape(body: Body) -> str:
    """Write the same elements under the shape of the second input.

    A shape with a dim of 0 is written out: ONNX takes such a dim for that of x only where x has one.
    """
    node, shape = body.node, body.node.constant(1)
    dims = node.outputs[0].dims
    if shape is not None and 0 in shape and None not in dims:
        return body.add("Reshape", body.own(), body.ints(*(dim or 0 for dim in dims)), allowzero=1)
    return body.add("Reshape", body.own(), body.integers(1), allowzero=node.integer("allowzero"))


@emulates("Flatten", moves=True)
def flatten(body: Body) -> str:
    """Write a matrix whose rows run over the axes before `axis`."""
    return body.add("Flatten", body.own(), axis=body.node.integer("axis"))


@emulates("Unsqueeze", moves=True)
def unsqueeze(body: Body) -> str:
    """Write x with axes of size 1 inserted."""
    axes = body.node.integers("axes")
    if not axes:
        return body.add("Identity", body.own())
    return body.add("Unsqueeze", body.own(), body.ints(*axes))


@emulates("Squeeze", moves=True)
def squeeze(body: Body) -> str:
    """Write x without the axes named, or without all axes of size 1."""
    axes = body.node.integers("axis")
    return body.add("Squeeze", body.own(), *([body.ints(*axes)] if axes else []))


@emulates("ConcatD", "PhonyConcat", moves=True)
def concat(body: Body) -> str:
    """Write the tensors joined along one axis."""
    parts = [body.own(position) for position in sorted(body.inputs)]
    return body.add("Concat", *parts, axis=body.node.integer("concat_dim"))


@emulates("SplitVD", moves=True)
def split(body: Body) -> list[str]:
    """Write the parts of given sizes along one axis."""
    sizes, axis = body.node.integers("size_splits"), body.node.integer("split_dim")
    return body.several("Split", len(sizes), body.own(), body.ints(*sizes), axis=axis)


@emulates("TransposeD", moves=True)
def transpose(body: Body) -> str:
    """Write the axes in the order of `perm`."""
    perm = tuple(axis % body.node.rank() for axis in body.node.integers("perm"))
    return body.add("Transpose", body.own(), perm=perm)


@emulates("ConfusionTransposeD", moves=True)
def confusion_transpose(body: Body) -> str:
    """Write the axes in another order before or after a change of shape."""
    node, shape = body.node, body.node.integers("shape")
    first = node.flag("transpose_first")
    rank = node.rank() if first else len(shape)
    perm = tuple(axis % rank for axis in node.integers("perm"))
    value = body.own()
    if first:
        value = body.add("Transpose", value, perm=perm)
    value = body.add("Reshape", value, body.ints(*shape), allowzero=1)
    return value if first else body.add("Transpose", value, perm=perm)


@emulates("StridedSliceD", moves=True)
def strided_slice(body: Body) -> str:
    """Write every n-th element between two bounds on each axis; axes taken whole are left out."""
    found = [
        (axis, *bounds)
        for axis, dim in enumerate(body.node.required(0).dims)
        if (bounds := _bounds(body, axis, dim)) != (0, _LAST if dim is None else dim, 1)
    ]
    if not found:
        return body.add("Identity", body.own())
    axes, begins, ends, strides = (body.ints(*column) for column in zip(*found, strict=True))
    return body.add("Slice", body.own(), begins, ends, axes, strides)


def _bounds(body: Body, axis: int, dim: int | None) -> tuple[int, int, int]:
    """Begin, end and stride along an axis, as ONNX's Slice means them.

    A negative end means something only when the stride is negative: up to and including the first
    element.
    """
    node = body.node
    begin, end, stride = (node.integers(name)[axis] for name in ("begin", "end", "strides"))
    from_start = node.integer("begin_mask") >> axis & 1
    to_end = node.integer("end_mask") >> axis & 1 or (stride < 0 and end < 0)
    if dim is not None:
        taken = slice(None if from_start else begin, None if to_end else end, stride)
        reached = range(*taken.indices(dim))
        if not reached:
            return 0, 0, 1
        return reached.start, reached.stop if reached.stop >= 0 else _FIRST, stride
    if from_start:
        begin = 0 if stride > 0 else _LAST
    if to_end:
        end = _LAST if stride > 0 else _FIRST
    return begin, end, stride


@emulates("PadV3D", moves=True)
def pad(body: Body) -> str:
    """Write x with borders: a constant in its dtype, the edge repeated, or the inside mirrored."""
    numbers = body.node.integers("paddings")
    return bordered(
        body,
        body.own(),
        numbers[::2],
        numbers[1::2],
        body.node.text("mode"),
        body.node.number("constant_values"),
    )


@emulates("TileD", moves=True)
def tile(body: Body) -> str:
    """Write x repeated along each of its axes."""
    multiples = body.ints(*body.node.integers("multiples"))
    return carried(
        body, body.own(), body.node.dtype(), REPEATED, lambda x: body.add("Tile", x, multiples)
    )


_DEPTH_AXES = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""Order of the axes N, (block, block, C) or (C, block, block), H, W in the result, by mode."""

_BLOCKS = frozenset({DType.FLOAT32, DType.FLOAT64})
"""Dtypes that a runtime's operators of blocks take."""


@emulates("DepthToSpace", moves=True)
def depth_to_space(body: Body) -> str:
    """Write channels as blocks; DCR: (i * block + j) * C + c is c at (i, j); CRD: c comes first."""
    block, mode = body.node.integer("block_size"), body.node.text("mode")
    if body.node.dtype() in _BLOCKS:
        return body.add("DepthToSpace", body.own(), blocksize=block, mode=mode)
    images, channels, height, width = dims_of(body)
    depth = over(body, channels, block**2)
    split = (block, block, depth) if mode == "DCR" else (depth, block, block)
    value = shaped(body, body.own(), (images, *split, height, width))
    value = body.add("Transpose", value, perm=_DEPTH_AXES[mode])
    sides = (times(body, height, block), times(body, width, block))
    return shaped(body, value, (images, depth, *sides))


@emulates("SpaceToDepth", moves=True)
def space_to_depth(body: Body) -> str:
    """Write blocks as channels: channel (i * block + j) * C + c is element (i, j) of channel c."""
    block = body.node.integer("block_size")
    if body.node.dtype() in _BLOCKS:
        return body.add("SpaceToDepth", body.own(), blocksize=block)
    images, channels, height, width = dims_of(body)
    rows, columns = over(body, height, block), over(body, width, block)
    value = shaped(body, body.own(), (images, channels, rows, block, columns, block))
    value = body.add("Transpose", value, perm=(0, 3, 5, 1, 2, 4))
    return shaped(body, value, (images, times(body, channels, block**2), rows, columns))


_CUT = frozenset({DType.BOOL, DType.FLOAT32, DType.FLOAT64, DType.INT64})
"""Dtypes that a runtime's Trilu takes."""


@emulates("Trilu", moves=True)
def trilu(body: Body) -> str:
    """Write x where `j - i >= k` of the upper triangle, `j - i <= k` of the lower one, else 0."""
    node = body.node
    k = []
    if node.has(1):
        k = [body.add("Reshape", body.cast(body.own(1), DType.INT64), body.ints())]
    upper = node.integer("upper")
    return carried(
        body, body.own(), node.dtype(), _CUT, lambda x: body.add("Trilu", x, *k, upper=upper)
    )


@emulates("MatrixDiagV2", moves=True)
def matrix_diag(body: Body) -> str:
    """Write `output[.., i, j] = diagonal[.., min(i, j)] where j - i = k`, else padding_value.

    The padding value becomes an element after the diagonal, which all other places take.
    """
    dtype = body.node.dtype()
    k, rows, columns = (
        body.add("Reshape", body.cast(body.own(position), DType.INT64), body.ints())
        for position in (1, 2, 3)
    )
    row = body.add("Unsqueeze", body.range(rows), body.ints(1))
    column = body.range(columns)
    inside = body.add("Equal", body.add("Sub", column, row), k)
    length = body.add("Gather", body.add("Shape", body.own()), body.const(-1, DType.INT64))
    places = body.add("Where", inside, body.add("Min", row, column), length)
    pads = body.ints(*[0] * (2 * body.node.rank() - 1), 1)
    filling, carrier = body.own(4), carrier_of(dtype, PADDED)
    if carrier is not dtype:
        filling = body.cast(filling, carrier)
    return carried(
        body,
        body.own(),
        dtype,
        PADDED,
        lambda x: body.add("Gather", body.add("Pad", x, pads, filling), places, axis=-1),
    )
