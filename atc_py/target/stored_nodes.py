"""Nodes as rules on storage see them: what they read of a graph's nodes, values and types.

The target knows no graph. A node of the compiler's graph is one of these, and so is any other that
has the same attributes.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from atc_py.target.row import AttributeValue
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Dims, Shape
from atc_py.tensor.storage import Storage, is_stored_like_rows

DEPTHWISE = "DepthwiseConv2D"
"""The convolution whose groups are its channels."""

IMAGES = Storage(Format.NC1HWC0)
VOLUMES = Storage(Format.NDC1HWC0)
MATRICES = Storage(Format.FRACTAL_NZ)
WEIGHTS = Storage(Format.FRACTAL_Z)

VOLUME_RANK, IMAGE_RANK, MATRIX_RANK = 5, 4, 2


class StoredType(Protocol):
    """The type of a tensor."""

    @property
    def dtype(self) -> DType: ...

    @property
    def dims(self) -> Dims: ...

    @property
    def format(self) -> Format: ...

    @property
    def storage(self) -> Storage | None: ...

    @property
    def rank(self) -> int: ...

    @property
    def is_open(self) -> bool: ...

    @property
    def shape(self) -> Shape: ...


class StoredValue(Protocol):
    """A tensor of a graph."""

    @property
    def type(self) -> StoredType: ...

    @property
    def const(self) -> object | None: ...


class StoredNode(Protocol):
    """An application of a target operator."""

    @property
    def op(self) -> str: ...

    @property
    def on_aicpu(self) -> bool: ...

    @property
    def attributes(self) -> Mapping[str, AttributeValue]: ...

    @property
    def inputs(self) -> Sequence[StoredValue | None]: ...

    @property
    def present_inputs(self) -> Sequence[StoredValue]: ...

    @property
    def outputs(self) -> Sequence[StoredValue]: ...


def filter_groups(node: StoredNode) -> int:
    if node.op == DEPTHWISE:
        return node.present_inputs[0].type.dims[1] or 1
    return int(str(node.attributes.get("groups", 1)))


def is_image(kind: StoredType) -> bool:
    return kind.format is Format.NCHW and kind.rank == IMAGE_RANK


def is_volume(kind: StoredType) -> bool:
    return kind.format is Format.NCDHW and kind.rank == VOLUME_RANK


def is_matrix(kind: StoredType) -> bool:
    return kind.rank >= MATRIX_RANK


def is_stored_as(kind: StoredType, wanted: Storage | None) -> bool:
    """True if a tensor has the bytes that it would have in the storage `wanted`."""
    held = kind.storage
    pair = held, wanted
    return held == wanted or all(is_stored_like_rows(kind.dims, each, kind.dtype) for each in pair)


def in_blocks(node: StoredNode) -> bool:
    values = (*node.present_inputs, *node.outputs)
    return any(value.type.storage is not None for value in values)


def axes_along(node: StoredNode) -> set[int]:
    """The axes that a normalization or softmax works along, from 0."""
    rank = node.outputs[0].type.rank
    axes = node.attributes.get("axes")
    if axes is not None:
        return {axis % rank for axis in numbers_of(axes)} if rank else set()
    first = node.attributes.get("begin_norm_axis")
    if first is not None:
        return set(range(int(str(first)) % rank, rank)) if rank else set()
    return {rank - 1}


def numbers_of(value: AttributeValue | None) -> tuple[int, ...]:
    return tuple(int(item) for item in value) if isinstance(value, tuple) else ()
