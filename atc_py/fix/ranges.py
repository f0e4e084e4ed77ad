"""Ranges of integers: bounds that hold for every value of a tensor, whatever the model is fed.

Sources are dims, constants, the definitions of operators, and what a sound model implies: an index lies
within the axis that it selects from. Bounds of inputs come from the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atc_py.source import SourceModel, SourceNode, SourceTensor

__all__ = ["INT32", "Range", "Ranges"]


class Range(NamedTuple):
    """Bounds of the elements of a tensor, both included."""

    low: int
    high: int

    def within(self, other: Range) -> bool:
        """Return True if `other` has every value of this range."""
        return other.low <= self.low and self.high <= other.high

    def joined(self, other: Range) -> Range:
        """Return the least range that has both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


INT32 = Range(-(2**31), 2**31 - 1)

_LIMITS = {
    DType.BOOL: Range(0, 1),
    DType.UINT8: Range(0, 255),
    DType.INT8: Range(-128, 127),
    DType.UINT16: Range(0, 2**16 - 1),
    DType.INT16: Range(-(2**15), 2**15 - 1),
    DType.UINT32: Range(0, 2**32 - 1),
    DType.INT32: INT32,
    DType.UINT64: Range(0, 2**64 - 1),
    DType.INT64: Range(-(2**63), 2**63 - 1),
}
"""Numbers that a dtype can hold."""

_SELECT = frozenset({"Gather", "GatherElements", "Scatter", "ScatterElements"})
"""Operators whose second input selects from an axis of the first."""

_LONGEST = 2**31 - 1
"""Largest dim that a tensor of a device can have."""

_MOST_NODES = 1_000
"""Nodes on the way to a value that are looked at; beyond, its dtype alone bounds it."""

Rule: TypeAlias = "Callable[[Ranges, SourceNode], Range | None]"


class Ranges:
    """Ranges of the tensors of one model, worked out as they are asked for."""

    def __init__(self, model: SourceModel, given: Mapping[str, Range]) -> None:
        """Take the model, and ranges of its inputs by name."""
        self._makers: dict[str, tuple[SourceNode, int]] = {}
        self._indexes: dict[str, int] = {}
        for node in model.nodes:
            for position, tensor in enumerate(node.outputs):
                if tensor is not None:
                    self._makers[tensor.name] = (node, position)
            self._note_index(node)
        self._given = given
        self._known: dict[str, Range] = {}
        self._depth = 0

    def maker(self, tensor: SourceTensor) -> SourceNode | None:
        """Return the node that computes a tensor; None for inputs and constants."""
        found = self._makers.get(tensor.name)
        return None if found is None else found[0]

    def of(self, tensor: SourceTensor) -> Range | None:
        """Return the range of a tensor of integers; None for other dtypes."""
        limit = _LIMITS.get(tensor.dtype) if tensor.dtype is not None else None
        if limit is None:
            return None
        if tensor.name not in self._known:
            self._known[tensor.name] = limit  # of a value that depends on itself
            self._known[tensor.name] = self._find(tensor, limit)
        return self._known[tensor.name]

    def _find(self, tensor: SourceTensor, limit: Range) -> Range:
        """Work out the range of a tensor, no wider than `limit`."""
        if tensor.const is not None:
            data = tensor.const.numpy()
            return Range(int(data.min()), int(data.max())) if data.size else Range(0, 0)
        found: Range | None = self._given.get(tensor.name)
        maker = self._makers.get(tensor.name)
        if maker is not None and self._depth < _MOST_NODES:
            node, position = maker
            rule = _RULES.get(node.op_type) if not node.domain else None
            if rule is not None and (position == 0 or node.op_type in _ALL_OUTPUTS):
                self._depth += 1
                found = rule(self, node)
                self._depth -= 1
            elif node.op_type == "TopK" and position == 1:
                found = _positions(node, _last_axis(node, "axis", -1))
        axis = self._indexes.get(tensor.name)
        if axis is not None:
            found = _met(found or limit, Range(-axis, axis - 1))
        if found is None or not found.within(limit):
            return limit  # a result that may wrap may be anything
        return found

    def _note_index(self, node: SourceNode) -> None:
        """Note the axis that an input of a node selects from."""
        if node.op_type not in _SELECT or node.domain:
            return
        data, indices = (*node.inputs, None, None)[:2]
        if data is None or indices is None or data.dims is None:
            return
        axis = node.attributes.get("axis", 0)
        if not isinstance(axis, int) or not -len(data.dims) <= axis < len(data.dims):
            return
        size = data.dims[axis]
        if size is not None:
            self._indexes[indices.name] = min(size, self._indexes.get(indices.name, size))


def _met(one: Range, other: Range) -> Range:
    """Return the values that both ranges have; `one` if there are none."""
    low, high = max(one.low, other.low), min(one.high, other.high)
    return Range(low, high) if low <= high else one


def _inputs(ranges: Ranges, node: SourceNode) -> list[Range]:
    """Return the ranges of the integer inputs."""
    found = (ranges.of(each) for each in node.inputs if each is not None)
    return [each for each in found if each is not None]


def _first(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of the first input."""
    return ranges.of(node.inputs[0]) if node.inputs and node.inputs[0] is not None else None


def _joined(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of all inputs together."""
    found = _inputs(ranges, node)
    if not found or len(found) < sum(each is not None for each in node.inputs):
        return None
    result = found[0]
    for each in found[1:]:
        result = result.joined(each)
    return result


def _choice(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of what Where chooses from."""
    pair = [ranges.of(each) for each in node.inputs[1:3] if each is not None]
    return pair[0].joined(pair[1]) if len(pair) == 2 and pair[0] and pair[1] else None  # noqa: PLR2004


def _corners(function: Callable[[int, int], int]) -> Rule:
    """Return the rule of a function that is monotonic in each of two operands."""

    def rule(ranges: Ranges, node: SourceNode) -> Range | None:
        found = _inputs(ranges, node)
        if len(found) != 2:  # noqa: PLR2004  (two operands)
            return None
        values = [function(a, b) for a in found[0] for b in found[1]]
        return Range(min(values), max(values))

    return rule


def _quotient(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of a quotient: no magnitude above the dividend's."""
    found = _first(ranges, node)
    if found is None:
        return None
    most = max(abs(found.low), abs(found.high))
    return Range(-most if found.low < 0 or _may_be_negative(ranges, node) else 0, most)


def _may_be_negative(ranges: Ranges, node: SourceNode) -> bool:
    """Return True unless the second input is known to have no negative number."""
    second = ranges.of(node.inputs[1]) if node.inputs[1] is not None else None
    return second is None or second.low < 0


def _remainder(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of a remainder: below the divisor in magnitude."""
    second = ranges.of(node.inputs[1]) if node.inputs[1] is not None else None
    if second is None:
        return None
    most = max(abs(second.low), abs(second.high))
    return Range(0 if second.low > 0 and node.attributes.get("fmod", 0) == 0 else -most, most)


def _negative(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of the negative."""
    found = _first(ranges, node)
    return None if found is None else Range(-found.high, -found.low)


def _magnitude(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of magnitudes."""
    found = _first(ranges, node)
    if found is None:
        return None
    most = max(abs(found.low), abs(found.high))
    return Range(0 if found.low <= 0 <= found.high else min(abs(found.low), abs(found.high)), most)


def _sum(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of sums of at most as many elements as the input has."""
    found = _first(ranges, node)
    data = node.inputs[0]
    if found is None or data is None or data.dims is None or None in data.dims:
        return None
    count = int(np.prod([dim or 0 for dim in data.dims], dtype=np.float64))
    return Range(min(found.low * count, found.low, 0), max(found.high * count, found.high, 0))


def _dims(_ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of dims."""
    data = node.inputs[0]
    if data is None or data.dims is None or None in data.dims:
        return Range(0, _LONGEST)
    known = [dim for dim in data.dims if dim is not None]
    return Range(min(known, default=0), max(known, default=0))


def _cast(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of a cast of integers."""
    return _first(ranges, node)


def _last_axis(node: SourceNode, name: str, default: int) -> int:
    """Return an axis."""
    axis = node.attributes.get(name, default)
    return axis if isinstance(axis, int) else default


def _positions(node: SourceNode, axis: int) -> Range | None:
    """Return the range of positions along an axis."""
    data = node.inputs[0]
    if data is None or data.dims is None or not -len(data.dims) <= axis < len(data.dims):
        return Range(0, _LONGEST)
    size = data.dims[axis]
    return Range(0, _LONGEST if size is None else max(size - 1, 0))


def _arg(_ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of ArgMax and ArgMin."""
    return _positions(node, _last_axis(node, "axis", 0))


def _clip(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of a clipped tensor."""
    found = _first(ranges, node)
    if found is None:
        return None
    low, high = found
    for position in (1, 2):
        each = node.inputs[position] if position < len(node.inputs) else None
        bound = ranges.of(each) if each is not None else None
        if bound is None:
            continue
        if position == 1:
            low, high = max(low, bound.low), max(high, bound.high)
        else:
            low, high = min(low, bound.low), min(high, bound.high)
    return Range(low, high)


def _least(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of Min."""
    found = _inputs(ranges, node)
    return Range(min(r.low for r in found), min(r.high for r in found)) if found else None


def _most(ranges: Ranges, node: SourceNode) -> Range | None:
    """Return the range of Max."""
    found = _inputs(ranges, node)
    return Range(max(r.low for r in found), max(r.high for r in found)) if found else None


def _sign(_ranges: Ranges, _node: SourceNode) -> Range:
    """Return the range of signs."""
    return Range(-1, 1)


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(
        (
            "Compress", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity",
            "ReduceMax", "ReduceMin", "Reshape", "Slice", "Split", "Squeeze", "Tile", "TopK",
            "Transpose", "Unsqueeze", "DepthToSpace", "SpaceToDepth", "ReverseSequence",
        ),
        _first,
    ),
    "Abs": _magnitude,
    "Add": _corners(lambda a, b: a + b),
    "ArgMax": _arg,
    "ArgMin": _arg,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _joined,
    "CumSum": _sum,
    "Div": _quotient,
    "Max": _most,
    "Min": _least,
    "Mod": _remainder,
    "Mul": _corners(lambda a, b: a * b),
    "Neg": _negative,
    "ReduceSum": _sum,
    "Shape": _dims,
    "Sign": _sign,
    "Sub": _corners(lambda a, b: a - b),
    "Where": _choice,
}  # fmt: skip
"""By operator: the range of the first output."""

_ALL_OUTPUTS = frozenset({"Split"})
"""Operators whose rule holds for every output."""
