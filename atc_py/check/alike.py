"""Nodes that are alike: a decision by types and attributes about one holds for all.

Of those that a trial can compile apart from the rest, one of each kind is tried.
"""

from collections.abc import Hashable, Iterator, Sequence
from math import inf
from typing import Any, TypeAlias

from numpy.typing import NDArray

from atc_py.ir import ConstData
from atc_py.onnx_graph.source import SourceAttr, SourceModel, SourceNode, SourceTensor
from atc_py.tensor.shapes import element_count

NodeSignature: TypeAlias = Hashable


_SHORT = 16
"""Constants of up to this many elements are compared by value: shapes, axes, bounds, scales."""


_ARITHMETIC = frozenset(
    {
        "Add",
        "BatchNormalization",
        "Concat",
        "Conv",
        "ConvTranspose",
        "Div",
        "Equal",
        "Gemm",
        "Greater",
        "Less",
        "MatMul",
        "Max",
        "Mean",
        "Min",
        "Mul",
        "PRelu",
        "Pow",
        "Sub",
        "Sum",
        "Where",
    }
)
"""Operators whose compiled form does not depend on the floats among their inputs."""

_OF_SHAPES = frozenset({"Shape", "Size"})
"""Operators of ONNX whose results follow from the shapes of their inputs alone."""


class Reads:
    """Counts long constants whose data rules read.

    What is said of a node for which none was holds for all that differ in these data alone.
    """

    of_long = 0

    @classmethod
    def data(cls, const: ConstData) -> NDArray[Any]:
        """The data of a constant that a rule asks for."""
        cls.of_long += element_count(const.shape) > _SHORT
        return const.numpy()


def node_signature(view: SourceNode, *, weights: bool, unread: bool = False) -> NodeSignature:
    """A key that nodes share if their inputs, outputs and attributes are the same.

    Names and places do not count, nor which inputs of the model are open. A long constant is like
    itself only; if `unread`, nothing of one counts but its type. Unless `weights`, of constants of
    floats that are long or of which nothing but results depends their type counts, not their data.
    """
    floats, others = (inf, inf) if weights else (_SHORT, inf)
    if unread:
        floats, others = _SHORT, _SHORT
    elif not weights and view.op_type in _ARITHMETIC:
        floats = -1
    attributes = view.attributes
    return (
        view.op_type,
        view.domain,
        view.opset,
        tuple([_tensor_key(tensor, floats, others) for tensor in view.inputs]),
        tuple([_tensor_key(tensor, floats, others) for tensor in view.outputs]),
        tuple(map(_attribute, attributes, attributes.values())) if attributes else (),
    )


def _content(const: ConstData) -> NodeSignature:
    """A key of the data of a constant; a long one is like itself only.

    It tells data of one type from another's only beside that type.
    """
    if element_count(const.shape) <= _SHORT:
        return const.dtype, const.numpy().tobytes()
    return id(const)  # the model, which outlives its keys, keeps it


def _tensor_key(tensor: SourceTensor | None, floats: float, others: float) -> NodeSignature:
    """The key of a tensor; of a constant with more elements than these, its type."""
    if tensor is None:
        return None
    known = tensor.const
    if known is None:
        return tensor.element, tensor.dims
    if element_count(known.shape) > (floats if "float" in tensor.element else others):
        return tensor.element, tensor.dims, None
    return tensor.element, tensor.dims, _content(known)


def _attribute(name: str, value: SourceAttr) -> NodeSignature:
    # 1, 1.0 and True are equal in Python, and attributes of three types. A list is of one type.
    if isinstance(value, tuple):
        return name, tuple(map(type, value[:1])), value
    if isinstance(value, int | float | str):
        return name, type(value), value
    return name, id(value)


def representatives(model: SourceModel, kinds: Sequence[int] = ()) -> list[list[int]]:
    """The positions of the model's own nodes to be tried, alike ones together.

    Nodes in branches are tried with their If. What depends on inputs whose shapes are open is tried
    where all its own dims are known and it has to do with data: what is computed from shapes alone
    folds away once these are known.

    `kinds` are numbers that only alike nodes share, weights included, by node of the model and its
    branches; empty where they are not known.
    """
    groups: dict[Hashable, list[int]] = {}
    of_kinds: dict[int, Hashable] = {}
    shapes_alone = set(_of_shapes_alone(model)) if any(i.is_open for i in model.inputs) else set()
    known = kinds if len(kinds) == len(model.nodes) else ()  # else some nodes have branches
    for position, view in enumerate(model.nodes):
        inner = [*view.with_inner][1:] if view.branches else []
        if view.open_inputs and (inner or position in shapes_alone or not _is_known(view)):
            continue
        if not known:
            key = _kind(view, inner)
        else:
            # Nodes that are alike with their weights are so without them.
            kind = known[position]
            if kind not in of_kinds:
                of_kinds[kind] = _kind(view, inner)
            key = of_kinds[kind]
        groups.setdefault(key, []).append(position)
    return list(groups.values())


def _kind(view: SourceNode, inner: Sequence[SourceNode]) -> Hashable:
    """The key that nodes tried once share, with the nodes of their branches."""
    kind = node_signature(view, weights=False)
    if not inner:
        return kind
    branches = [
        (branch.scope.partition(" ")[0], node_signature(branch, weights=False)) for branch in inner
    ]
    return kind, *branches


def _of_shapes_alone(model: SourceModel) -> Iterator[int]:
    """Yield the positions of nodes that no data reaches, only shapes and constants."""
    fed = {tensor.name for tensor in model.inputs}
    for position, view in enumerate(model.nodes):
        reads = (tensor for tensor in view.inputs if tensor is not None)
        measures = not view.domain and view.op_type in _OF_SHAPES
        if measures or all(tensor.name not in fed for tensor in reads):
            yield position
        else:
            fed.update(tensor.name for tensor in view.outputs if tensor is not None)


def _is_known(view: SourceNode) -> bool:
    tensors = [tensor for tensor in (*view.inputs, *view.outputs) if tensor is not None]
    return all(tensor.element and not tensor.is_open for tensor in tensors)
