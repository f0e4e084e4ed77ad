"""Storage choices: in which storages the kernels of an operator take operands and give results.

It has more than 400 lines: a function for each kind of operator, and one table that names them.
"""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import msgspec

from atc_py.system.structs import replace
from atc_py.target.layouts import Layout
from atc_py.target.operator_table import JOINED_IN_PLACE, find_operator
from atc_py.target.soc import SLOPED, Soc, SocFamily
from atc_py.target.stored_nodes import (
    DEPTHWISE,
    IMAGE_RANK,
    IMAGES,
    MATRICES,
    MATRIX_RANK,
    VOLUMES,
    WEIGHTS,
    StoredNode,
    StoredType,
    StoredValue,
    axes_along,
    filter_groups,
    is_image,
    is_matrix,
    is_volume,
    numbers_of,
)
from atc_py.target.transfers import converts_back
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import element_count
from atc_py.tensor.storage import FRACTAL_ROWS, SMALL_CHANNELS, Storage, c0_of, why_impossible

_CHANNELS, _HEIGHT = 1, 2

_SHORT = frozenset({DType.FLOAT16, DType.INT16, DType.UINT16})
"""Dtypes of images that CANN's Concat joins inside a block of channels."""

_CONCATS = frozenset({"ConcatD", JOINED_IN_PLACE})

_FEW = frozenset({2, 4, 8})
"""Channels of like images that it joins so."""


class StorageChoice(msgspec.Struct, frozen=True):
    """Storages of a node's operands and results, None for row by row."""

    storage: Storage | None = None  # what most of them have; it tells the choices of a node apart
    inputs: tuple[Storage | None, ...] = ()  # by position; what is not named is stored row by row
    outputs: tuple[Storage | None, ...] = ()  # likewise

    def input(self, position: int) -> Storage | None:
        return self.inputs[position] if position < len(self.inputs) else None

    def output(self, position: int) -> Storage | None:
        return self.outputs[position] if position < len(self.outputs) else None


ROWS = StorageChoice()
"""Everything row by row."""

_Choices: TypeAlias = tuple[StorageChoice, ...]


_KNOWN: dict[tuple[object, ...], _Choices] = {}
"""Choices by all that rules read of a node: four passes ask, and the nodes of a model are alike.

Rules read operator, engine, attributes, and of operands and results dtype, dims, format and
whether they are constants: never names, data, or the storage that was chosen.
"""

_MOST_KNOWN = 4096


def storage_choices(node: StoredNode, soc: Soc) -> tuple[StorageChoice, ...]:
    """The storages with which the kernel of `node` may work on `soc`, at least one choice.

    Kernels of the AI CPU and whatever has open dims are stored row by row, and so is whatever has
    a dtype that no TransData of the SoC takes. A node that may be stored row by row is in blocks
    only where TransData converts each of its values both ways.
    """
    operands = tuple([None if value is None else _facts(value) for value in node.inputs])
    results = tuple([_facts(value) for value in node.outputs])
    attributes = tuple(node.attributes.items())
    key = soc, node.op, node.on_aicpu, attributes, operands, results
    found = _KNOWN.get(key)
    if found is None:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        found = _KNOWN[key] = _choices(node, soc)
    return found


def _facts(value: StoredValue) -> tuple[object, ...]:
    kind = value.type
    return kind.dtype, kind.dims, kind.format, value.const is None


def _choices(node: StoredNode, soc: Soc) -> _Choices:
    row = find_operator(node.op)
    if row is None or node.on_aicpu:
        return (ROWS,)
    if soc.storage.rows_alone and row.layout is not Layout.MATRIX:
        return (ROWS,)
    rule = _RULES.get(row.layout)
    kinds, stuck = _types(node), _unconvertible(soc)
    if rule is None or any(kind.is_open or kind.dtype in stuck for kind in kinds):
        return (ROWS,)
    choices = rule(node, soc)
    if ROWS not in choices:
        return choices
    return tuple(choice for choice in choices if _is_convertible(node, choice, soc))


def _is_convertible(node: StoredNode, choice: StorageChoice, soc: Soc) -> bool:
    """True if what `choice` stores in blocks can be brought there and back."""
    stored = [(value, choice.input(at)) for at, value in enumerate(node.inputs)]
    stored += [(value, choice.output(at)) for at, value in enumerate(node.outputs)]
    return all(
        converts_back(value.type.dtype, value.type.format, storage.format, soc)
        for value, storage in stored
        if value is not None and storage is not None
    )


@cache
def _unconvertible(soc: Soc) -> frozenset[DType]:
    """The dtypes that some TransData takes and the SoC's does not."""
    row = find_operator("TransData")
    if row is None:
        return frozenset()
    served = {column.inputs[0] for column in row.columns_on(soc)}
    return frozenset(column.inputs[0] for column in row.columns) - served


def select_storages(node: StoredNode, soc: Soc) -> StorageChoice | None:
    """The choice of `node` that gives the storages of its results; None where none does.

    A node without a choice may also be stored row by row as a whole: that is how graphs stay in
    which no storage is chosen.
    """
    given = [value.type.storage for value in node.outputs]
    for choice in storage_choices(node, soc):
        if given == [choice.output(at) for at in range(len(given))]:
            return choice
    return ROWS if not any(given) else None


def _types(node: StoredNode) -> list[StoredType]:
    return [value.type for value in (*node.present_inputs, *node.outputs)]


def _images(node: StoredNode) -> StorageChoice | None:
    """Store every image in NC1HWC0, all else row by row; None where the data are not an image."""
    data = node.inputs[0] if node.inputs else None
    if data is None or not is_image(data.type) or not is_image(node.outputs[0].type):
        return None
    return _where(node, IMAGES, is_image)


def _where(node: StoredNode, storage: Storage, fits: Callable[[StoredType], bool]) -> StorageChoice:
    return StorageChoice(
        storage,
        tuple(storage if value is not None and fits(value.type) else None for value in node.inputs),
        tuple(storage if fits(value.type) else None for value in node.outputs),
    )


def _image_choices(node: StoredNode, _soc: Soc) -> _Choices:
    return (_images(node) or ROWS,)


def _spatial_choices(node: StoredNode, _soc: Soc) -> _Choices:
    """Store row by row, or in NC1HWC0 where only height and width of images change."""
    choice = _images(node)
    mode = node.attributes.get("coordinate_transformation_mode")
    if choice is None or mode == "tf_crop_and_resize":
        return (ROWS,)
    before, after = node.present_inputs[0].type, node.outputs[0].type
    return (ROWS, choice) if before.dims[:_HEIGHT] == after.dims[:_HEIGHT] else (ROWS,)


def _conv_choices(node: StoredNode, soc: Soc) -> _Choices:
    """Store images in NC1HWC0 and a filter in FRACTAL_Z; sim has a storage for depthwise ones.

    Volumes and their filters have formats of their own.
    """
    data, kind = (value.type for value in node.present_inputs[:2])
    c0 = _cube_c0(node, soc)
    deep = is_volume(data)
    form = Format.FRACTAL_Z_3D if deep else Format.FRACTAL_Z
    if node.op == DEPTHWISE and soc.storage.depthwise_blocks:
        form = Format.C1HWNCOC0
    images = replace(VOLUMES if deep else IMAGES, c0=c0)
    weights = Storage(form, filter_groups(node), c0)
    if soc.storage.small_channel and _has_few_channels(node):
        weights = Storage(Format.FRACTAL_Z_C04)
    fits = (deep or is_image(data)) and node.outputs[0].type.format is data.format
    if not fits or why_impossible(kind.dims, kind.format, weights):
        return (ROWS,)
    return (StorageChoice(images, (images, weights), (images,)),)


def _has_few_channels(node: StoredNode) -> bool:
    """True if the filter of a Conv2D can be FRACTAL_Z_C04, which is made when it is loaded.

    At most four channels, a window of more than one element, one group, float16.
    """
    weights = node.present_inputs[1]
    kind = weights.type
    plain = node.op == "Conv2D" and filter_groups(node) == 1 and weights.const is not None
    few = kind.shape[_CHANNELS] <= SMALL_CHANNELS and kind.shape[_HEIGHT:] != (1, 1)
    return plain and few and kind.dtype is DType.FLOAT16


def _cube_c0(node: StoredNode, soc: Soc) -> int:
    """C0 of a node on the cube, 0 for that of each dtype.

    It is another for float32 data with a float32 result. CANN does not spread such blocks to other
    operators, so that only convolutions and products have them.
    """
    floats = {node.present_inputs[0].type.dtype, node.outputs[0].type.dtype}
    c0 = soc.storage.float32_c0
    return c0 if floats == {DType.FLOAT32} and c0 != c0_of(DType.FLOAT32) else 0


def _matrix_choices(node: StoredNode, soc: Soc) -> _Choices:
    """Store matrices in FRACTAL_NZ; only constants where copies make fractals of rows.

    What the cube does not multiply, float32 where it has none, is row by row.
    """
    operands = node.present_inputs[:2]
    if not all(is_matrix(value.type) for value in (*operands, *node.outputs[:1])):
        return (ROWS,)
    if operands[0].type.dtype is DType.FLOAT32 and not soc.cube_float32:
        return (ROWS,)
    if soc.storage.int8_blocks and operands[0].type.dtype is DType.INT8:
        inputs: tuple[Storage | None, ...] = (MATRICES, _int8_weights(operands[1], soc))
        return (StorageChoice(MATRICES, inputs, (MATRICES,)),)
    if soc.fractal_copies:
        blocks = replace(MATRICES, c0=_cube_c0(node, soc))
        first = int(soc.storage.rows_alone)
        inputs = tuple(
            blocks if at >= first and value.const is not None else None
            for at, value in enumerate(operands)
        )
        return (StorageChoice(None, inputs),)
    return (StorageChoice(MATRICES, (MATRICES, MATRICES), (MATRICES,)),)


def _int8_weights(right: StoredValue, soc: Soc) -> Storage:
    """The storage of the right operand of a product of int8.

    FRACTAL_Z is of one matrix, so that stacked ones are FRACTAL_NZ. Kernels of the SoCs whose
    copies make fractals take FRACTAL_NZ as well, which spares a computed operand the conversion.
    """
    computed = soc.fractal_copies and right.const is None
    return MATRICES if computed or right.type.rank != MATRIX_RANK else WEIGHTS


def _quant_choices(node: StoredNode, soc: Soc) -> _Choices:
    """Store images in NC1HWC0, matrices as products of int8 take them; or row by row where listed."""
    data = node.present_inputs[0].type
    if is_image(data):
        blocks = _where(node, IMAGES, lambda kind: is_image(kind) and kind.dims == data.dims)
    elif not is_matrix(data) or (soc.fractal_copies and not soc.storage.int8_blocks):
        return (ROWS,)
    else:
        blocks = _where(node, MATRICES, lambda kind: kind.dims == data.dims)
    return (ROWS, blocks) if node.op in soc.storage.row_quants else (blocks,)


def _alike_choices(node: StoredNode, _soc: Soc) -> _Choices:
    result = node.outputs[0].type
    choices = [ROWS]
    if is_image(result) and node.op == SLOPED:
        choices.append(StorageChoice(IMAGES, (IMAGES, None), (IMAGES,)))  # slopes are of channels
    elif is_image(result):
        choices += _followed(node, IMAGES, lambda kind: _image_operand(kind, result))
    if is_volume(result):
        choices += _followed(node, VOLUMES, lambda kind: _image_operand(kind, result))
    if is_matrix(result):
        choices += _followed(node, MATRICES, lambda kind: _matrix_operand(kind, result))
    return tuple(choices)


def _followed(
    node: StoredNode, storage: Storage, answer: Callable[[StoredType], bool | None]
) -> list[StorageChoice]:
    """Store operands in `storage` or row by row as `answer` says; no choice where it says None."""
    inputs: list[Storage | None] = []
    for value in node.inputs:
        follows = False if value is None else answer(value.type)
        if follows is None:
            return []
        inputs.append(storage if follows else None)
    return [StorageChoice(storage, tuple(inputs), (storage,) * len(node.outputs))]


def _image_operand(kind: StoredType, result: StoredType) -> bool | None:
    """True for an image or volume like the result, False for rows, None for neither.

    Single numbers and vectors of channels are row by row. Channels must not be repeated: in a block
    the first stands beside others.
    """
    dims = kind.shape
    if element_count(dims) == 1:
        return False
    channels, rank = result.shape[_CHANNELS], result.rank
    if len(dims) < rank:
        vector = (1,) * (rank - len(dims)) + dims
        return False if vector == (1, channels, *[1] * (rank - _HEIGHT)) else None
    if kind.format is not result.format or dims[_CHANNELS] != channels:
        return None
    pairs = zip(dims, result.shape, strict=True)
    return True if all(dim in {1, full} for dim, full in pairs) else None


def _matrix_operand(kind: StoredType, result: StoredType) -> bool | None:
    """True for matrices like the result, False for what is row by row, None for neither.

    Single numbers, and rows that are the same for every row of the result, are row by row.
    """
    dims = kind.shape
    if element_count(dims) == 1:
        return False
    height, width = result.shape[-2:]
    if dims[-1] != width:
        return None
    if len(dims) < MATRIX_RANK or (dims[-2] == 1 and height != 1):
        return False
    return True if dims[-2] == height else None


def _last_axis_choices(node: StoredNode, soc: Soc) -> _Choices:
    """Store row by row, or in FRACTAL_NZ where the last axis alone is worked along."""
    if axes_along(node) != {node.outputs[0].type.rank - 1}:
        return (ROWS,)
    choices = _alike_choices(node, soc)
    return tuple(choice for choice in choices if choice.storage not in {IMAGES, VOLUMES})


def _reduce_choices(node: StoredNode, _soc: Soc) -> _Choices:
    """Store row by row, or in NC1HWC0 where channels stay and no axis goes."""
    choice = _images(node)
    axes = numbers_of(node.attributes.get("axes", node.attributes.get("axis", ())))
    if choice is None or not axes or not node.attributes.get("keep_dims"):
        return (ROWS,)
    return (ROWS,) if _CHANNELS in {axis % IMAGE_RANK for axis in axes} else (ROWS, choice)


def _join_choices(node: StoredNode, soc: Soc) -> _Choices:
    """Store row by row, or in any storage whose blocks the axis does not cut.

    CANN's Concat also leaves the last operand a block that is not full, and joins few channels.
    """
    rank = node.outputs[0].type.rank
    axis = node.attributes.get("concat_dim", node.attributes.get("split_dim"))
    if not isinstance(axis, int) or not rank:
        return (ROWS,)
    axis %= rank
    kinds = _types(node)
    choices = [ROWS]
    whole = axis != _CHANNELS or _has_whole_blocks(node, soc)
    if all(map(is_image, kinds)) and (whole or _joins_few_channels(node, soc)):
        choices.append(_where(node, IMAGES, is_image))
    if all(map(is_volume, kinds)) and whole:
        choices.append(_where(node, VOLUMES, is_volume))
    if axis < rank - MATRIX_RANK:
        choices.append(_where(node, MATRICES, is_matrix))
    return tuple(choices)


def _has_whole_blocks(node: StoredNode, soc: Soc) -> bool:
    """True if no tensor joined or cut along channels begins or, unless it is the last, ends in a block.

    The generic device has whole blocks at the end as well, and so has Split.
    """
    kinds = _types(node)
    if node.op in _CONCATS and soc.family is not SocFamily.SIM:
        kinds = kinds[: len(node.present_inputs) - 1]
    return all(kind.shape[_CHANNELS] % c0_of(kind.dtype) == 0 for kind in kinds)


def _joins_few_channels(node: StoredNode, soc: Soc) -> bool:
    """True if a kernel of CANN joins channels that no block divides, all of one block when joined.

    16-bit images of like dims and 2, 4 or 8 channels, or of unlike dims and at most a block of
    channels in all.
    """
    if node.op not in _CONCATS or soc.family is SocFamily.SIM:
        return False
    result = node.outputs[0].type
    channels = {value.type.shape[_CHANNELS] for value in node.present_inputs}
    few = channels <= _FEW if len(channels) == 1 else result.shape[_CHANNELS] <= c0_of(result.dtype)
    return few and result.dtype in _SHORT


def _view_choices(node: StoredNode, _soc: Soc) -> _Choices:
    """Store row by row, or in FRACTAL_NZ where the last two dims stay: stacks come as they are."""
    before, after = node.present_inputs[0].type, node.outputs[0].type
    same = before.dims[-MATRIX_RANK:] == after.dims[-MATRIX_RANK:]
    if len(node.outputs) > 1 or not (same and is_matrix(before) and is_matrix(after)):
        return (ROWS,)
    return (ROWS, StorageChoice(MATRICES, (MATRICES,), (MATRICES,)))


def _heads_choices(node: StoredNode, _soc: Soc) -> _Choices:
    """Store row by row, or in FRACTAL_NZ where whole blocks of columns become heads or come of them.

    Four axes are turned whose last one stays. Before or after they are seen as a matrix of the
    first two by the last two, or as three axes of which the middle one is the second and third.
    """
    before, after = node.present_inputs[0].type, node.outputs[0].type
    perm, shape = (numbers_of(node.attributes[name]) for name in ("perm", "shape"))
    if len(perm) != IMAGE_RANK or perm[-1] != IMAGE_RANK - 1:
        return (ROWS,)
    if node.attributes["transpose_first"]:
        heads, matrices = tuple(before.shape[axis] for axis in perm), after.shape
    else:
        heads, matrices = shape, before.shape
    whole = all(
        is_matrix(kind) and all(length % FRACTAL_ROWS == 0 for length in kind.shape[-MATRIX_RANK:])
        for kind in (before, after)
    )
    first, second, third, last = heads
    seen = ((first * second, third * last), (first, second * third, last))
    if not whole or matrices not in seen:
        return (ROWS,)
    return (ROWS, StorageChoice(MATRICES, (MATRICES,), (MATRICES,)))


_RULES: dict[Layout, Callable[[StoredNode, Soc], _Choices]] = {
    Layout.ALIKE: _alike_choices,
    Layout.IMAGE: _image_choices,
    Layout.SPATIAL: _spatial_choices,
    Layout.CONV: _conv_choices,
    Layout.CONV_3D: _conv_choices,
    Layout.MATRIX: _matrix_choices,
    Layout.QUANT: _quant_choices,
    Layout.LAST_AXIS: _last_axis_choices,
    Layout.REDUCE: _reduce_choices,
    Layout.JOIN: _join_choices,
    Layout.VIEW: _view_choices,
    Layout.HEADS: _heads_choices,
}
