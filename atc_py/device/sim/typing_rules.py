"""Type rules that several kernels share: output types from input types, or why there are none."""

from collections.abc import Iterable, Mapping, Sequence

from atc_py.package.node_view import LastingError, NodeError, NodeView, TensorFacts
from atc_py.tensor.shapes import Shape, broadcast_shapes, normalize_axis
from atc_py.text import Text, error_text


def same_as_x(node: NodeView) -> tuple[TensorFacts, ...]:
    return (node.x,)


def same_float_as_x(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    return (node.x,)


def broadcast(node: NodeView) -> tuple[TensorFacts, ...]:
    """Inputs of one dtype, broadcast against each other."""
    one_dtype(node.present)
    shape = broadcast_dims(*(facts.shape for facts in node.present))
    return (TensorFacts(node.x.dtype, shape),)


def broadcast_dims(*shapes: Shape) -> Shape:
    try:
        return broadcast_shapes(*shapes)
    except ValueError as error:
        raise NodeError(error_text(error)) from None


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


def require_one_element(node: NodeView, names: Mapping[int, str]) -> None:
    """Check the inputs whose names are given by position."""
    for position, name in names.items():
        if node.required(position).elements != 1:
            text = Text("{name} must be one element, found {found}")
            raise NodeError(text.with_values(name=name, found=node.required(position)))


def require_per_channel(node: NodeView, names: Sequence[str]) -> None:
    """Check that the inputs after x have one element for each of its channels."""
    for position, name in enumerate(names, start=1):
        facts = node.required(position)
        if facts.shape != node.x.shape[1:2]:
            text = Text("{name} must have shape {shape}, found {found}")
            raise NodeError(text.with_values(name=name, shape=node.x.shape[1], found=facts))


def require_shapes(node: NodeView, shapes: Mapping[int, Shape]) -> None:
    """Check the shapes of inputs, by position, as far as they are there."""
    for position, shape in shapes.items():
        facts = node.input(position)
        if facts is not None and facts.shape != shape:
            text = Text("input {position} must have shape {shape}, found {found}")
            raise NodeError(text.with_values(position=position, shape=list(shape), found=facts))


def axes_of(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """`axes` counted from the front; LastingError where the rank has others or one stands twice."""
    try:
        found = tuple(normalize_axis(axis, rank) for axis in axes)
    except ValueError as error:
        raise LastingError(error_text(error)) from None
    if len(set(found)) != len(found):
        raise LastingError(Text("axes must differ, found {found}", found=list(found)))
    return found
