"""From a node's operands to the numbers that tiling needs: elements, rows, products."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from atc_py.emit.tiling import (
    Footprint,
    Product,
    Tiling,
    cube_tiling,
    row_tiling,
    shard_tiling,
    vector_tiling,
)
from atc_py.formats import Format
from atc_py.ir import Engine
from atc_py.shapes import Shape, element_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from atc_py.emit.keys import KernelKey
    from atc_py.ir import AttrValue, Node, TensorType, Value
    from atc_py.target import Soc, TargetOp

__all__ = ["SCRATCH", "tile_node"]

SCRATCH = {"softmax": 8, "rows": 8, "reduce": 4, "channel": 4}
"""Bytes an element of working space beside the queues, by family; none where not listed."""

_PARALLEL = {"quant"}
"""Flat families whose results are of one shape and filled side by side."""

_NCHW_SPATIAL = (2, 3)

_AXES = ("axes", "axis", "dimension", "dim")
"""What CANN's operators call the attribute that names their axes."""


def tile_node(node: Node, row: TargetOp, key: KernelKey, soc: Soc) -> Tiling:
    """The tiling of `node`, whose operator's row is `row` and whose kernel is `key`'s, on `soc`."""
    if key.engine is Engine.AICPU:
        return shard_tiling(_elements(node.outputs), soc)
    attributes = dict(key.attributes)
    if row.family in _PRODUCTS:
        return cube_tiling(_PRODUCTS[row.family](node, attributes), soc)
    if row.family in _FOLDS:
        queued = [value.type.dtype for value in (*node.present_inputs[:1], node.output)]
        footprint = Footprint.of(queued, SCRATCH.get(row.family, 0))
        return row_tiling(_FOLDS[row.family](node, attributes), footprint, soc)
    counted = node.outputs[:1] if row.family in _PARALLEL else node.outputs
    return vector_tiling(_elements(counted), _flat_footprint(node, row.family), soc)


def _counted(type_: TensorType) -> Shape:
    """The extents to plan with; an open one counts as 1 until the run knows it."""
    return tuple(1 if extent is None else extent for extent in type_.dims)


def _elements(values: Iterable[Value]) -> int:
    """Elements of several values; most flat kernels count by those of all outputs."""
    return sum(element_count(_counted(value.type)) for value in values)


def _flat_footprint(node: Node, family: str) -> Footprint:
    """Queues of a flat kernel: results, and the inputs that are in the buffer at once."""
    inputs = [value.type.dtype for value in node.present_inputs]
    kept = {"binary": inputs, "move": [], "quant": inputs[:1] + inputs[2:]}.get(family, inputs[:1])
    results = node.outputs if family in _PARALLEL else node.outputs[:1]
    return Footprint.of([*kept, *(value.type.dtype for value in results)])


def _fold(shape: Shape, axes: Iterable[int]) -> tuple[int, int, int]:
    """(outer, axis, inner) of `shape` along `axes`; extents kept between axes count as outer."""
    chosen = {axis % len(shape) for axis in axes} if shape else set()
    if not chosen:
        return element_count(shape), 1, 1
    end = max(chosen) + 1
    outer = prod(extent for axis, extent in enumerate(shape[:end]) if axis not in chosen)
    return outer, prod(shape[axis] for axis in chosen), prod(shape[end:])


def _fold_axes(node: Node, attributes: Mapping[str, AttrValue]) -> tuple[int, int, int]:
    """Softmax and its like: along the axes of the attribute; none named means the last."""
    return _fold(_counted(node.output.type), _axes(attributes) or (-1,))


def _fold_reduce(node: Node, attributes: Mapping[str, AttrValue]) -> tuple[int, int, int]:
    """Reductions: the input along the axes of the attribute; none named means all."""
    shape = _counted(node.present_inputs[0].type)
    return _fold(shape, _axes(attributes) or range(len(shape)))


def _fold_channel(node: Node, _attributes: Mapping[str, AttrValue]) -> tuple[int, int, int]:
    """Per-channel work: a row is one channel's plane; LRN sums over channels instead."""
    shape = _counted(node.output.type)
    axes = (1,) if node.op == "LRN" else _NCHW_SPATIAL
    return _fold(shape, [axis for axis in axes if axis < len(shape)])


def _fold_pool(node: Node, attributes: Mapping[str, AttrValue]) -> tuple[int, int, int]:
    """Windows: a row is one output row; a global window reduces the input's plane."""
    if attributes.get("global_pooling"):
        return _fold(_counted(node.present_inputs[0].type), _NCHW_SPATIAL)
    return _fold(_counted(node.output.type), (3,))


def _matmul(node: Node, attributes: Mapping[str, AttrValue]) -> Product:
    """[..., m, k] x [..., k, n]: m, n and batch from the result, k from the left operand."""
    left = node.present_inputs[0].type
    *batch, m, n = _matrix(node.output.type)
    transposed = attributes.get("transpose_x1") or attributes.get("adj_x1")
    k = _matrix(left)[-2 if transposed else -1]
    return Product(prod(batch), m, n, k, left.dtype.itemsize)


def _matrix(type_: TensorType) -> Shape:
    """The shape as matrices: at least two axes, fractal tiles put together again."""
    shape = _counted(type_)
    if type_.format is Format.FRACTAL_NZ and len(shape) >= len("WHhw"):
        *batch, w1, h1, h0, w0 = shape
        return (*batch, h1 * h0, w1 * w0)
    return (1,) * (2 - len(shape)) + shape


def _conv(node: Node, attributes: Mapping[str, AttrValue]) -> Product:
    """A convolution as a product: positions x (channels in x window) x channels out, by group."""
    x, weights = (value.type for value in node.present_inputs[:2])
    y = node.output.type
    channels_in, channels_out = _channels(x), _channels(y)
    groups = channels_in if node.op.startswith("Depthwise") else attributes.get("groups", 1)
    groups = groups if isinstance(groups, int) and groups > 0 else 1
    if weights.format is Format.FRACTAL_Z:
        k = _counted(weights)[0] * _counted(weights)[-1]
    else:
        k = max(1, channels_in // groups) * prod(_counted(weights)[2:])
    n = max(1, channels_out // groups)
    return Product(_counted(y)[0] * groups, prod(_counted(y)[2:4]), n, k, x.dtype.itemsize)


def _channels(type_: TensorType) -> int:
    """Channels of a feature map; those that fill up C0 count."""
    return _counted(type_)[1] * (_counted(type_)[4] if type_.format is Format.NC1HWC0 else 1)


def _axes(attributes: Mapping[str, AttrValue]) -> tuple[int, ...]:
    """The axes that an operator runs along, under whatever name it has them."""
    value = next((attributes[name] for name in _AXES if name in attributes), ())
    if isinstance(value, int):
        return (value,)
    return tuple(int(item) for item in value) if isinstance(value, tuple) else ()


_PRODUCTS: dict[str, Callable[[Node, Mapping[str, AttrValue]], Product]] = {
    "matmul": _matmul,
    "conv": _conv,
}
_FOLDS: dict[str, Callable[[Node, Mapping[str, AttrValue]], tuple[int, int, int]]] = {
    "softmax": _fold_axes,
    "rows": _fold_axes,
    "reduce": _fold_reduce,
    "channel": _fold_channel,
    "pool": _fold_pool,
}
