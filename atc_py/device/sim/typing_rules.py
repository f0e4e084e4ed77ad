"""Type rules that several kernels share: output types from input types, or why there are none."""

from collections.abc import Iterable

from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.shapes import broadcast_shapes, normalize_axis
from atc_py.text import Text, error_text


def same_as_x(node: NodeView) -> tuple[TensorFacts, ...]:
    return (node.x,)


def same_float_as_x(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    return (node.x,)


def broadcast(node: NodeView) -> tuple[TensorFacts, ...]:
    one_dtype(node.present)
    try:
        shape = broadcast_shapes(node.required(0).shape, node.required(1).shape)
    except ValueError as error:
        raise NodeError(error_text(error)) from None
    return (TensorFacts(node.x.dtype, shape),)


def one_dtype(tensors: Iterable[TensorFacts]) -> None:
    found = dict.fromkeys(facts.dtype.value for facts in tensors)
    if len(found) > 1:
        raise NodeError(
            Text("inputs must have the same dtype, found {found}", found=", ".join(found))
        )


def require_float(facts: TensorFacts) -> None:
    if not facts.dtype.is_float:
        raise NodeError(Text("the kernel computes floats, found {found}", found=facts.dtype.value))


def require_number(facts: TensorFacts) -> None:
    if not (facts.dtype.is_float or facts.dtype.is_integer):
        raise NodeError(Text("the kernel computes numbers, found {found}", found=facts.dtype.value))


def require_rank(facts: TensorFacts, rank: int, name: str) -> None:
    if facts.rank != rank:
        text = Text("{name} must have {rank} axes, found {found}")
        raise NodeError(text.with_values(name=name, rank=rank, found=facts))


def axes_of(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """`axes` counted from the front."""
    try:
        found = tuple(normalize_axis(axis, rank) for axis in axes)
    except ValueError as error:
        raise NodeError(error_text(error)) from None
    if len(set(found)) != len(found):
        raise NodeError(Text("axes must differ, found {found}", found=list(found)))
    return found
