"""The ways in which a node may take its operands and give its results: storages that fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.ir import Engine
from atc_py.passes.fusion.attributes import ints
from atc_py.target import Layout, find_operator
from atc_py.tensor.formats import Format
from atc_py.tensor.shapes import element_count
from atc_py.tensor.storage import Storage, c0_of, lies_like_rows, why_impossible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atc_py.ir import Node, TensorType, Value
    from atc_py.target import Soc

__all__ = [
    "IMAGES",
    "MATRICES",
    "ROWS",
    "Way",
    "chosen_way",
    "in_blocks",
    "lies_as",
    "storage_fault",
    "ways_of",
]

IMAGES = Storage(Format.NC1HWC0)
MATRICES = Storage(Format.FRACTAL_NZ)

_IMAGE_RANK, _MATRIX_RANK = 4, 2
_CHANNELS, _HEIGHT = 1, 2


@dataclass(frozen=True, slots=True)
class Way:
    """Storages of a node's operands and results, None for row by row.

    Attributes:
        storage: what most of them have; it tells the ways of a node apart.
        inputs: by position; what is not named lies row by row.
        outputs: by position; what is not named lies row by row.
    """

    storage: Storage | None = None
    inputs: tuple[Storage | None, ...] = ()
    outputs: tuple[Storage | None, ...] = ()

    def takes(self, position: int) -> Storage | None:
        """The storage of the input at `position`."""
        return self.inputs[position] if position < len(self.inputs) else None

    def gives(self, position: int) -> Storage | None:
        """The storage of the output at `position`."""
        return self.outputs[position] if position < len(self.outputs) else None


ROWS = Way()
"""Everything row by row."""


def ways_of(node: Node, soc: Soc) -> tuple[Way, ...]:
    """The ways in which the kernel of `node` may work on `soc`, at least one.

    A node with one way has no choice. Kernels of the AI CPU and whatever has open extents lie row
    by row.
    """
    row = find_operator(node.op)
    if row is None or node.engine is Engine.AICPU:
        return (ROWS,)
    rule = _RULES.get(row.layout)
    if rule is None or any(value.type.is_open for value in _values(node)):
        return (ROWS,)
    return rule(node, soc)


def chosen_way(node: Node, soc: Soc) -> Way | None:
    """The way of `node` that gives the storages which its results have; None where none does.

    A node without a choice may also lie row by row as a whole: that is how graphs stay in which no
    storage is chosen.
    """
    given = tuple(value.type.storage for value in node.outputs)
    for way in ways_of(node, soc):
        if all(way.gives(at) == storage for at, storage in enumerate(given)):
            return way
    return ROWS if not any(given) else None


def storage_fault(node: Node, soc: Soc) -> str | None:
    """Why `node` cannot work with its operands and results as they are stored, or None.

    A node that lies row by row as a whole always can: so it is where no storage was chosen.
    """
    if node.op == "TransData" or not in_blocks(node):
        return None
    way = chosen_way(node, soc)
    if way is None:
        return f"{node.op} gives none of its results as {node.output.type}"
    for position, value in enumerate(node.inputs):
        if value is None or lies_as(value.type, way.takes(position)):
            continue
        wanted = way.takes(position)
        words = "row by row" if wanted is None else f"as {wanted}"
        return f"{node.op} takes %{value.name} {words}, found {value.type}"
    return None


def in_blocks(node: Node) -> bool:
    """Whether an operand or a result of `node` is stored in blocks."""
    return any(value.type.storage is not None for value in _values(node))


def lies_as(kind: TensorType, wanted: Storage | None) -> bool:
    """Whether a tensor lies as it is wanted."""
    held = kind.storage
    pair = held, wanted
    return held == wanted or all(lies_like_rows(kind.dims, each, kind.dtype) for each in pair)


def _values(node: Node) -> tuple[Value, ...]:
    """Operands and results."""
    return (*node.present_inputs, *node.outputs)


def _is_image(kind: TensorType) -> bool:
    """Whether a tensor can be stored as an image."""
    return kind.format is Format.NCHW and kind.rank == _IMAGE_RANK


def _images(node: Node) -> Way | None:
    """Every image of `node` in NC1HWC0, all else row by row; None where the data are no image."""
    data = node.input(0)
    if data is None or not _is_image(data.type) or not _is_image(node.output.type):
        return None
    return _where(node, IMAGES, _is_image)


def _where(node: Node, storage: Storage, fits: Callable[[TensorType], bool]) -> Way:
    """`storage` for what fits, and row by row for all else."""
    return Way(
        storage,
        tuple(storage if value is not None and fits(value.type) else None for value in node.inputs),
        tuple(storage if fits(value.type) else None for value in node.outputs),
    )


def _image_ways(node: Node, _soc: Soc) -> tuple[Way, ...]:
    """Images in NC1HWC0."""
    return (_images(node) or ROWS,)


def _spatial_ways(node: Node, _soc: Soc) -> tuple[Way, ...]:
    """Row by row, or images of which height and width alone change."""
    way = _images(node)
    mode = node.attributes.get("coordinate_transformation_mode")
    if way is None or mode == "tf_crop_and_resize":
        return (ROWS,)
    before, after = node.present_inputs[0].type, node.output.type
    return (ROWS, way) if before.dims[:_HEIGHT] == after.dims[:_HEIGHT] else (ROWS,)


def _conv_ways(node: Node, _soc: Soc) -> tuple[Way, ...]:
    """Images in NC1HWC0 and a filter in FRACTAL_Z."""
    groups = node.attributes.get("groups", 1)
    return _with_filter(node, Storage(Format.FRACTAL_Z, int(str(groups))))


def _depthwise_ways(node: Node, _soc: Soc) -> tuple[Way, ...]:
    """Images in NC1HWC0 and a filter in C1HWNCoC0."""
    channels = node.present_inputs[0].type.dims[_CHANNELS]
    return _with_filter(node, Storage(Format.C1HWNCOC0, channels or 1))


def _with_filter(node: Node, storage: Storage) -> tuple[Way, ...]:
    """Images in NC1HWC0 and the second operand in `storage`."""
    way = _images(node)
    kind = node.present_inputs[1].type
    if way is None or why_impossible(kind.dims, kind.format, storage):
        return (ROWS,)
    inputs = (IMAGES, storage)
    return (Way(IMAGES, inputs, way.outputs),)


def _is_matrix(kind: TensorType) -> bool:
    """Whether a tensor can be stored as stacked matrices."""
    return kind.rank >= _MATRIX_RANK


def _matrix_ways(node: Node, soc: Soc) -> tuple[Way, ...]:
    """Both operands and the product in FRACTAL_NZ, or only constants where copies make fractals."""
    operands = node.present_inputs[:2]
    if not all(_is_matrix(value.type) for value in (*operands, node.output)):
        return (ROWS,)
    if soc.fractal_copies:
        inputs = tuple(None if value.const is None else MATRICES for value in operands)
        return (Way(None, inputs),)
    return (Way(MATRICES, (MATRICES, MATRICES), (MATRICES,)),)


def _quant_ways(node: Node, soc: Soc) -> tuple[Way, ...]:
    """Images in NC1HWC0; matrices as products take them."""
    data = node.present_inputs[0].type
    if _is_image(data):
        return (_where(node, IMAGES, lambda kind: _is_image(kind) and kind.dims == data.dims),)
    if not _is_matrix(data) or soc.fractal_copies:
        return (ROWS,)
    return (_where(node, MATRICES, lambda kind: kind.dims == data.dims),)


def _alike_ways(node: Node, _soc: Soc) -> tuple[Way, ...]:
    """Row by row, or all alike."""
    result = node.output.type
    ways = [ROWS]
    if _is_image(result):
        ways += _followed(node, IMAGES, lambda kind: _image_operand(kind, result))
    if _is_matrix(result):
        ways += _followed(node, MATRICES, lambda kind: _matrix_operand(kind, result))
    return tuple(ways)


def _followed(
    node: Node, storage: Storage, answer: Callable[[TensorType], bool | None]
) -> list[Way]:
    """A way in which operands have `storage` or lie row by row as `answer` says; none on a None."""
    inputs: list[Storage | None] = []
    for value in node.inputs:
        follows = False if value is None else answer(value.type)
        if follows is None:
            return []
        inputs.append(storage if follows else None)
    return [Way(storage, tuple(inputs), (storage,) * len(node.outputs))]


def _image_operand(kind: TensorType, result: TensorType) -> bool | None:
    """Whether an operand is an image like the result (True), may lie row by row, or is neither.

    Row by row lie single numbers and vectors of channels. Channels must not be repeated: in a block
    the first stands beside others.
    """
    dims = kind.shape
    if element_count(dims) == 1:
        return False
    channels = result.shape[_CHANNELS]
    if len(dims) < _IMAGE_RANK:
        vector = (1,) * (_IMAGE_RANK - len(dims)) + dims
        return False if vector == (1, channels, 1, 1) else None
    if not _is_image(kind) or dims[_CHANNELS] != channels:
        return None
    pairs = zip(dims, result.shape, strict=True)
    return True if all(extent in {1, full} for extent, full in pairs) else None


def _matrix_operand(kind: TensorType, result: TensorType) -> bool | None:
    """Whether an operand is matrices like the result (True), may lie row by row, or is neither.

    Row by row lie single numbers, and rows that are the same for every row of the result.
    """
    dims = kind.shape
    if element_count(dims) == 1:
        return False
    height, width = result.shape[-2:]
    if dims[-1] != width:
        return None
    if len(dims) < _MATRIX_RANK or (dims[-2] == 1 and height != 1):
        return False
    return True if dims[-2] == height else None


def _last_axis_ways(node: Node, soc: Soc) -> tuple[Way, ...]:
    """Row by row, or FRACTAL_NZ where the last axis alone is worked along."""
    if _axes_along(node) != {node.output.type.rank - 1}:
        return (ROWS,)
    ways = _alike_ways(node, soc)
    return tuple(way for way in ways if way.storage != IMAGES)


def _axes_along(node: Node) -> set[int]:
    """The axes that a normalisation or softmax works along, from 0."""
    rank = node.output.type.rank
    axes = node.attributes.get("axes")
    if axes is not None:
        return {axis % rank for axis in ints(axes)} if rank else set()
    first = node.attributes.get("begin_norm_axis")
    if first is not None:
        return set(range(int(str(first)) % rank, rank)) if rank else set()
    if node.op == "RmsNorm":
        return set(range(rank - node.present_inputs[1].type.rank, rank))
    return {rank - 1}


def _reduce_ways(node: Node, _soc: Soc) -> tuple[Way, ...]:
    """Row by row, or NC1HWC0 where channels stay and no axis goes."""
    way = _images(node)
    axes = ints(node.attributes.get("axes", node.attributes.get("axis", ())))
    if way is None or not axes or not node.attributes.get("keep_dims"):
        return (ROWS,)
    return (ROWS,) if _CHANNELS in {axis % _IMAGE_RANK for axis in axes} else (ROWS, way)


def _join_ways(node: Node, _soc: Soc) -> tuple[Way, ...]:
    """Row by row, or any storage whose blocks the axis does not cut."""
    rank = node.output.type.rank
    axis = node.attributes.get("concat_dim", node.attributes.get("split_dim"))
    if not isinstance(axis, int) or not rank:
        return (ROWS,)
    axis %= rank
    kinds = [value.type for value in _values(node)]
    ways = [ROWS]
    if all(_is_image(kind) for kind in kinds) and not _cuts_channels(kinds, axis):
        ways.append(_where(node, IMAGES, _is_image))
    if axis < rank - _MATRIX_RANK:
        ways.append(_where(node, MATRICES, _is_matrix))
    return tuple(ways)


def _cuts_channels(kinds: Sequence[TensorType], axis: int) -> bool:
    """Whether tensors joined along `axis` begin or end inside a block of channels."""
    return axis == _CHANNELS and any(
        kind.shape[_CHANNELS] % c0_of(kind.dtype) != 0 for kind in kinds
    )


def _view_ways(node: Node, _soc: Soc) -> tuple[Way, ...]:
    """Row by row, or FRACTAL_NZ where the last two extents stay: stacks come as they are."""
    before, after = node.present_inputs[0].type, node.output.type
    same = before.dims[-_MATRIX_RANK:] == after.dims[-_MATRIX_RANK:]
    if len(node.outputs) > 1 or not (same and _is_matrix(before) and _is_matrix(after)):
        return (ROWS,)
    return (ROWS, Way(MATRICES, (MATRICES,), (MATRICES,)))


_RULES: dict[Layout, Callable[[Node, Soc], tuple[Way, ...]]] = {
    Layout.ALIKE: _alike_ways,
    Layout.IMAGE: _image_ways,
    Layout.SPATIAL: _spatial_ways,
    Layout.CONV: _conv_ways,
    Layout.DEPTHWISE: _depthwise_ways,
    Layout.MATRIX: _matrix_ways,
    Layout.QUANT: _quant_ways,
    Layout.LAST_AXIS: _last_axis_ways,
    Layout.REDUCE: _reduce_ways,
    Layout.JOIN: _join_ways,
    Layout.VIEW: _view_ways,
}
