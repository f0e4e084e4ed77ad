"""Sequences whose tensors are known by name: those that the model makes itself, at constant places."""

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from atc_py.fix.parts.bodies import body_of, check_room
from atc_py.fix.site import Site
from atc_py.fix.surroundings import MOST_NODES, Maker
from atc_py.fix.unfit import require
from atc_py.onnx_graph.source import SourceNode, SourceTensor

Element: TypeAlias = "Callable[[], str]"

_PASSED_ON = frozenset({"Identity", "Optional", "OptionalGetElement"})
_CHANGED = frozenset({"SequenceErase", "SequenceInsert"})


def _maker_of(site: Site, name: str) -> Maker | None:
    """The origin of a value; None for inputs and constants."""
    found = None if site.around is None else site.around.makers.get(name)
    return None if found is None or found.node.domain else found


def elements_of(site: Site, name: str) -> list[Element]:
    """Return what writes each tensor of the sequence called `name`."""
    changes: list[SourceNode] = []
    maker = _source(site, name)
    while maker is not None and maker.node.op_type in _CHANGED:
        changes.append(maker.node)
        maker = _source(site, _name(maker.node, 0))
    known = maker is not None and maker.node.op_type in _MAKERS
    require(known, "nodes of the model make the sequence")
    elements = [] if maker is None else _MAKERS[maker.node.op_type](site, maker)
    for change in reversed(changes):
        count = len(elements)
        if change.op_type == "SequenceInsert":
            elements.insert(_place(change, 2, count, count), partial(_name, change, 1))
        else:
            elements.pop(_place(change, 1, count, count - 1))
    return elements


class SplitTensor(NamedTuple):
    """A tensor whose parts of one element are a sequence, in order.

    Attributes:
        name: of the tensor.
        rank: number of its axes.
        axis: the axis that is split.
        without: whether the parts are without the axis.
    """

    name: str
    rank: int
    axis: int
    without: bool


def split_tensor(site: Site, name: str) -> SplitTensor | None:
    """The tensor that the sequence called `name` was split from; None if it was changed."""
    maker = _source(site, name)
    if maker is None or maker.node.op_type != "SplitToSequence":
        return None
    node = maker.node
    data, axis = node.inputs[0], node.attributes.get("axis", 0)
    if data is None or data.dims is None or not isinstance(axis, int) or len(node.inputs) > 1:
        return None
    rank, without = len(data.dims), not node.attributes.get("keepdims", 1)
    return SplitTensor(data.name, rank, axis % rank, without)


def optional_value(site: Site) -> str:
    """The name of the value of the optional that the node reads; "" if it has none."""
    given = site.tensor(0)
    if given is None or given.dtype is not None:
        return site.name(0)
    maker = _maker_of(site, given.name)
    while maker is not None and maker.node.op_type == "Identity":
        maker = _maker_of(site, _name(maker.node, 0))
    made = maker is not None and maker.node.op_type == "Optional"
    require(made, "a node of the model makes the optional")
    return "" if maker is None else _name(maker.node, 0)


def place_in(tensor: SourceTensor | None, default: int, count: int, last: int) -> int:
    """A constant place in a sequence.

    Args:
        tensor: the place; negative ones count from the end. None for an absent input.
        default: the place where it is absent.
        count: number of elements.
        last: the largest place.
    """
    at = default
    if tensor is not None:
        const = tensor.const
        require(const is not None, "the place in the sequence is constant")
        at = int(const.numpy().reshape(-1)[0]) if const is not None else 0
        at += count if at < 0 else 0
    require(0 <= at <= last, "the place is in the sequence")
    return at


def _place(node: SourceNode, position: int, count: int, last: int) -> int:
    """The place that an input of a node gives; the last one where it is absent."""
    given = node.inputs[position] if position < len(node.inputs) else None
    return place_in(given, last, count, last)


def _source(site: Site, name: str) -> Maker | None:
    maker = _maker_of(site, name)
    while maker is not None and maker.node.op_type in _PASSED_ON:
        maker = _maker_of(site, _name(maker.node, 0))
    return maker


def _name(node: SourceNode, position: int) -> str:
    """The name of an input; "" if it is absent."""
    found = node.inputs[position] if position < len(node.inputs) else None
    return "" if found is None else found.name


def _constructed(_site: Site, maker: Maker) -> list[Element]:
    return [partial(_name, maker.node, at) for at in range(len(maker.node.inputs))]


def _empty(_site: Site, _maker: Maker) -> list[Element]:
    return []


def _mapped(site: Site, maker: Maker) -> list[Element]:
    """The results of the body of SequenceMap, which runs once for each tensor.

    Of further sequences every run gets the tensor at the same place, of tensors the whole.
    """
    body = body_of(site, "body", maker.work)
    first = elements_of(site, _name(maker.node, 0))
    check_room(site, body, len(first))
    columns = [first]
    for tensor in maker.node.inputs[1:]:
        name = "" if tensor is None else tensor.name
        whole = tensor is not None and tensor.dtype is not None
        same: list[Element] = [partial(str, name)] * len(first)
        column = same if whole else elements_of(site, name)
        require(len(column) == len(first), "the sequences are of one length")
        columns.append(column)

    def result(at: int) -> str:
        return site.inline(body, [column[at]() for column in columns])[maker.position]

    return [partial(result, at) for at in range(len(first))]


def _split(site: Site, maker: Maker) -> list[Element]:
    node = maker.node
    data = node.inputs[0]
    dims = None if data is None else data.dims
    axis, keep = node.attributes.get("axis", 0), node.attributes.get("keepdims", 1)
    known = "the dim that is split is known"
    require(isinstance(axis, int) and dims, known)
    if not isinstance(axis, int) or not dims:
        return []
    require(-len(dims) <= axis < len(dims) and dims[axis] is not None, known)
    size = dims[axis] or 0
    given = node.inputs[1] if len(node.inputs) > 1 else None
    require(size <= MOST_NODES, "the new form is not too large")
    parts = [1] * size
    if given is not None:
        require(given.const is not None, "the split is constant")
        # ONNX ignores keepdims where a split is given; onnxruntime squeezes the parts of a scalar one.
        require(keep or given.dims, "keepdims is 1 where the split is one number")
        parts = _parts(given, size)
    require(sum(parts) == size, "the parts have the size of the axis")
    starts = list(accumulate(parts, initial=0))[:-1]
    without = given is None and not keep
    return [
        partial(_part, site, _name(node, 0), axis % len(dims), (start, start + size), without)
        for start, size in zip(starts, parts, strict=True)
    ]


def _parts(given: SourceTensor, size: int) -> list[int]:
    """The sizes of the parts: those given, or equal ones of which the last may be smaller."""
    if given.const is None:
        return []
    numbers = given.const.numpy()
    if given.dims:
        return [int(number) for number in numbers]
    part = int(numbers)
    require(part > 0, "the parts have elements")
    return [min(part, size - start) for start in range(0, size, part)]


def _part(site: Site, name: str, axis: int, bounds: tuple[int, int], without: bool) -> str:
    """Write one part, without the axis if that is asked for."""
    part = site.slice(name, axis, *bounds)
    return site.squeeze(part, [axis]) if without else part


_MAKERS: dict[str, Callable[[Site, Maker], list[Element]]] = {
    "SequenceConstruct": _constructed,
    "SequenceEmpty": _empty,
    "SequenceMap": _mapped,
    "SplitToSequence": _split,
}
