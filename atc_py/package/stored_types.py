"""Storage in a description: read from it, and compared with the tensors and nodes that have it."""

from collections.abc import Iterator

from atc_py.diag import OM_CONTENT, Place, Sink
from atc_py.package.schema import OmModel, OmNode, OmStorage, OmTensor
from atc_py.target import JOINED_IN_PLACE, find_operator
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Dims, element_count, format_shape, is_addressable
from atc_py.tensor.storage import (
    BLOCKED_FORMATS,
    Storage,
    shows_same_bytes,
    stored_shape,
    why_impossible,
)
from atc_py.text import Text


def stored_dims(tensor: OmTensor) -> Dims:
    """The shape of the array that holds a tensor, padding included; None for open dims.

    Raises:
        ImpossibleStorageError: a tensor of this type cannot have this storage.
    """
    dims = tuple(tensor.shape)
    if tensor.storage is None:
        return dims
    return stored_shape(dims, Format(tensor.format), storage_of(tensor), DType(tensor.dtype))


def stored_nbytes(tensor: OmTensor) -> int:
    """Bytes that a tensor takes; 0 for a tensor with open dims, whose size is not known."""
    dims = [0 if dim is None else dim for dim in stored_dims(tensor)]
    return element_count(dims) * DType(tensor.dtype).itemsize


_SINCE = 3
"""Version of the format that brought storage."""

TRANS_DATA = "TransData"
"""The operator that stores a tensor in another format."""

_ROW_BY_ROW = Format.ND.value
_BLOCKED = {form.value: form for form in BLOCKED_FORMATS}
_HELP = Text("convert the ONNX model again; if that does not help, report it as a bug")


def storage_of(tensor: OmTensor) -> Storage | None:
    """The storage of a tensor; None for row by row.

    Raises:
        KeyError: it names no blocked format; `check_storage` reports that.
    """
    found = tensor.storage
    return None if found is None else _storage(found)


def _storage(found: OmStorage) -> Storage:
    return Storage(_BLOCKED[found.format], found.groups, found.c0)


def check_storage(model: OmModel, file: str, sink: Sink) -> None:
    """Hold storage against tensors and nodes; the description must be sound otherwise.

    A tensor has a storage that its type takes; a view shows memory as it is; TransData leads from
    the storage of its input to that of its output.
    """
    for field, message in _faults(model):
        sink.add(OM_CONTENT.diagnostic(message, place=Place(file=file, field=field), help=_HELP))


def _faults(model: OmModel) -> Iterator[tuple[str, Text]]:
    stored = any(tensor.storage is not None for tensor in model.tensors)
    if stored and model.format_version < _SINCE:
        yield (
            "tensors",
            Text(
                "version {format_version} of the format has no storage",
                format_version=model.format_version,
            ),
        )
        return
    found = [
        (f"tensors[{position}].storage", reason)
        for position, tensor in enumerate(model.tensors)
        if tensor.storage is not None and (reason := _why_impossible(tensor, tensor.storage))
    ]
    yield from found
    if not found:
        for position, node in enumerate(model.nodes):
            message = _fault(model, node)
            if message is not None:
                yield f"nodes[{position}]", message


def _why_impossible(tensor: OmTensor, storage: OmStorage) -> Text | None:
    if storage.format not in _BLOCKED:
        text = Text("a storage must be one of {known}; found {found}")
        return text.with_values(known=", ".join(_BLOCKED), found=repr(storage.format))
    form, dims = _storage(storage), tuple(tensor.shape)
    reason = why_impossible(dims, Format(tensor.format), form)
    if reason is not None:
        return reason
    stored = stored_shape(dims, Format(tensor.format), form, DType(tensor.dtype))
    if not is_addressable(dim for dim in stored if dim is not None):
        text = Text("{shape} is too large for any memory: {form} of {dims}")
        shape = format_shape(stored)
        return text.with_values(shape=shape, form=form, dims=format_shape(dims))
    return None


def _fault(model: OmModel, node: OmNode) -> Text | None:
    row = find_operator(node.op)
    if row is None or not node.inputs or node.inputs[0] < 0:
        return None
    source = model.tensors[node.inputs[0]]
    results = [model.tensors[position] for position in node.outputs]
    if node.op == TRANS_DATA and len(results) == 1:
        return _wrong_ends(node, source, results[0])
    if row.launches_kernel:
        return None
    if node.op == JOINED_IN_PLACE:
        return None if _is_joined(model, node) else _BAD_JOIN.with_values(op=node.op)
    for result in results:
        if (source.storage or result.storage) and not _is_same(source, result):
            seen, shown = (_storage_text(tensor) for tensor in (source, result))
            text = Text("{op} is a view of memory: it cannot turn {seen} into {shown}")
            return text.with_values(op=node.op, shown=shown, seen=seen)
    return None


_BAD_JOIN = Text(
    "{op} needs a memory plan, and joins different results of kernels, all in one storage, along "
    "their outermost axis"
)


def _is_joined(model: OmModel, node: OmNode) -> bool:
    """True if what a node joins in place can be parts of its result."""
    fed = {port.tensor for port in model.inputs}
    kinds = [model.tensors[position] for position in (*node.inputs, *node.outputs)]
    shapes = [stored_dims(kind) for kind in kinds]
    axis = node.attributes.get("concat_dim")
    different = len(set(node.inputs)) == len(node.inputs) and fed.isdisjoint(node.inputs)
    known = not any(dim is None for shape in shapes for dim in shape)
    computed = all(kind.member is None for kind in kinds)
    like = len({(kind.dtype, storage_of(kind)) for kind in kinds}) == 1
    outermost = axis == 1 and len({shape[:1] for shape in shapes}) == 1
    return different and computed and known and like and outermost and model.memory is not None


def _is_same(source: OmTensor, result: OmTensor) -> bool:
    """True if the result shows the memory of the source with its elements in order."""
    if source.dtype != result.dtype:
        return False
    if Format.NHWC.value in {source.format, result.format}:
        ends = [(t.format, t.shape, t.storage) for t in (source, result)]
        return ends[0] == ends[1]
    one, other = ((tuple(tensor.shape), storage_of(tensor)) for tensor in (source, result))
    return shows_same_bytes(one, other, DType(source.dtype))


def _wrong_ends(node: OmNode, source: OmTensor, result: OmTensor) -> Text | None:
    groups = node.attributes.get("groups", 1)
    for name, tensor in (("src_format", source), ("dst_format", result)):
        said = node.attributes.get(name)
        if said not in _names(tensor):
            text = Text("{name} is {said}, but %{v} is stored as {form}")
            values = {"v": tensor.name, "form": _storage_text(tensor)}
            return text.with_values(name=name, said=repr(said), **values)
        if tensor.storage is not None and tensor.storage.groups != groups:
            found = tensor.storage.groups
            text = Text("groups is {groups}, but %{v} is stored in blocks of {found} groups")
            return text.with_values(groups=groups, v=tensor.name, found=found)
    return None


def _names(tensor: OmTensor) -> tuple[str, ...]:
    """The names that TransData may use for a tensor's format."""
    if tensor.storage is not None:
        return (tensor.storage.format,)
    return (tensor.format, _ROW_BY_ROW)


def _storage_text(tensor: OmTensor) -> str:
    return tensor.format if tensor.storage is None else f"{tensor.format}@{storage_of(tensor)}"
