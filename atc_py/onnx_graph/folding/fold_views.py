"""Folds that only look at shapes: they make constants without reading weights."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from atc_py.ir import ConstData, DeferredConst, DenseConst, SplatConst
from atc_py.onnx_graph.reading.mapped import MappedConst
from atc_py.onnx_graph.source import SourceAttr
from atc_py.tensor.shapes import MAX_RANK, Shape, element_count, is_addressable, normalize_axis

Attributes: TypeAlias = "Mapping[str, SourceAttr]"
Fold: TypeAlias = "Callable[[Sequence[ConstData | None], Attributes], ConstData | None]"


def reshaped(const: ConstData, shape: Shape) -> ConstData:
    """`const` under another shape of as many elements; no data is read."""
    if shape == const.shape:
        return const
    if isinstance(const, SplatConst):
        return SplatConst(const.value, const.dtype, shape)
    if isinstance(const, MappedConst):
        return const.reshaped(shape)
    if isinstance(const, DenseConst):
        return DenseConst(const.numpy().reshape(shape))
    return DeferredConst(const.dtype, shape, [const], lambda array: array.reshape(shape), "reshape")


def ints_of(const: ConstData | None) -> tuple[int, ...] | None:
    """The numbers of a constant list of dims or axes; None where it is none."""
    if const is None or len(const.shape) > 1 or not const.dtype.is_integer:
        return None
    if element_count(const.shape) > MAX_RANK:
        return None
    return tuple(int(value) for value in const.numpy().reshape(-1))


def _reshape(inputs: Sequence[ConstData | None], attributes: Attributes) -> ConstData | None:
    """Reshape: a dim of 0 keeps the input's (unless allowzero), -1 takes the rest."""
    wanted = _list_argument(inputs, attributes, "shape")
    if inputs[0] is None or wanted is None:
        return None
    source = inputs[0].shape
    lengths = list(wanted)
    if not attributes.get("allowzero"):
        if any(not length and axis >= len(source) for axis, length in enumerate(lengths)):
            return None
        lengths = [length or source[axis] for axis, length in enumerate(lengths)]
    if lengths.count(-1) == 1:
        rest = -element_count(lengths)
        if not rest:
            return None
        lengths[lengths.index(-1)] = element_count(source) // rest
    return _reshaped_if_valid(inputs[0], tuple(lengths))


def _flatten(inputs: Sequence[ConstData | None], attributes: Attributes) -> ConstData | None:
    """A matrix whose rows run over the axes before `axis`."""
    axis = attributes.get("axis", 1)
    if inputs[0] is None or not isinstance(axis, int):
        return None
    shape = inputs[0].shape
    if not -len(shape) <= axis <= len(shape):
        return None
    split = axis if axis >= 0 else axis + len(shape)
    return _reshaped_if_valid(
        inputs[0], (element_count(shape[:split]), element_count(shape[split:]))
    )


def _squeeze(inputs: Sequence[ConstData | None], attributes: Attributes) -> ConstData | None:
    """The given axes of length 1 taken out, or all of them."""
    if inputs[0] is None:
        return None
    shape = inputs[0].shape
    if len(inputs) == 1 and "axes" not in attributes:
        return reshaped(inputs[0], tuple(length for length in shape if length != 1))
    axes = _axes(_list_argument(inputs, attributes, "axes"), len(shape))
    if axes is None or any(shape[axis] != 1 for axis in axes):
        return None
    return reshaped(
        inputs[0], tuple(length for axis, length in enumerate(shape) if axis not in axes)
    )


def _unsqueeze(inputs: Sequence[ConstData | None], attributes: Attributes) -> ConstData | None:
    """Axes of length 1 inserted; they are counted in the result."""
    wanted = _list_argument(inputs, attributes, "axes")
    if inputs[0] is None or wanted is None:
        return None
    rank = len(inputs[0].shape) + len(wanted)
    axes = _axes(wanted, rank)
    if axes is None:
        return None
    rest = iter(inputs[0].shape)
    return _reshaped_if_valid(
        inputs[0], tuple(1 if axis in axes else next(rest) for axis in range(rank))
    )


def _transpose(inputs: Sequence[ConstData | None], attributes: Attributes) -> ConstData | None:
    """Axes in another order, computed when the constant is read."""
    const = inputs[0]
    if const is None:
        return None
    rank = len(const.shape)
    perm = attributes.get("perm", tuple(range(rank))[::-1])
    if not isinstance(perm, tuple) or sorted(map(int, perm)) != list(range(rank)):
        return None
    order = [int(axis) for axis in perm]
    shape = tuple(const.shape[axis] for axis in order)
    if isinstance(const, SplatConst):
        return SplatConst(const.value, const.dtype, shape)
    if isinstance(const, DenseConst):
        return DenseConst(const.numpy().transpose(order))
    return DeferredConst(
        const.dtype, shape, [const], lambda array: array.transpose(order), "transpose"
    )


VIEW_FOLDS: dict[str, Fold] = {
    "Flatten": _flatten,
    "Identity": lambda inputs, _: inputs[0],
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""By operator of ONNX's own domain; a fold gives None for a node that it cannot make sense of."""


def _list_argument(
    inputs: Sequence[ConstData | None], attributes: Attributes, name: str
) -> tuple[int, ...] | None:
    """Numbers that newer opsets take as the second input and older ones as an attribute."""
    if len(inputs) > 1:
        return ints_of(inputs[1])
    numbers = attributes.get(name)
    return tuple(int(item) for item in numbers) if isinstance(numbers, tuple) else None


def _axes(axes: tuple[int, ...] | None, rank: int) -> set[int] | None:
    """Axes counted from the front; None where one is out of range or stands twice."""
    if axes is None:
        return None
    try:
        positions = {normalize_axis(axis, rank) for axis in axes}
    except ValueError:
        return None
    return positions if len(positions) == len(axes) else None


def _reshaped_if_valid(const: ConstData, shape: Shape) -> ConstData | None:
    """`const` under `shape` where that has as many elements and not too many axes."""
    if (
        len(shape) > MAX_RANK
        or any(length < 0 for length in shape)
        or element_count(shape) != element_count(const.shape)
        or not is_addressable(shape)
    ):
        return None
    return reshaped(const, shape)
