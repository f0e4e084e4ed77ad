"""Ranges of integers: bounds that hold for every value of a tensor, whatever the model is fed.

Sources are dims, constants, the definitions of operators, and what a sound model implies: an index lies
within the axis that it selects from. Bounds of inputs come from the user.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from atc_py.fix.range_rules import INT32, POSITIONS, RULES, Range
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from atc_py.fix.range_rules import Rule
    from atc_py.source import SourceModel, SourceNode, SourceTensor

__all__ = ["INT32", "Range", "Ranges"]

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

_LARGEST_CONSTANT = 2**24
"""Elements of a constant that are looked at; of larger ones the dtype tells the range."""


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
        self._known: dict[str, Range | None] = {}
        self._free: set[str] = set()

    def maker(self, tensor: SourceTensor) -> SourceNode | None:
        """Return the node that computes a tensor; None for inputs and constants."""
        found = self._makers.get(tensor.name)
        return None if found is None else found[0]

    def of(self, tensor: SourceTensor) -> Range | None:
        """Return the range of a tensor of integers; None for other dtypes."""
        waiting = [tensor]
        open_: set[str] = set()
        while waiting:
            last = waiting[-1]
            needed = () if last.name in open_ else tuple(self._needed(last))
            open_.add(last.name)
            waiting += needed
            if not needed:
                waiting.pop()
                if last.name not in self._known:
                    self._known[last.name] = self._find(last)
        return self._known[tensor.name]

    def may_wrap(self, tensor: SourceTensor) -> bool:
        """Return True unless it is shown that no element is beyond its dtype before it is stored."""
        self.of(tensor)
        return tensor.name in self._free

    def unbounded(self, tensor: SourceTensor) -> tuple[str, ...]:
        """Return what leaves a tensor without bounds: inputs of the model, and results of operators."""
        found: dict[str, None] = {}
        waiting, seen = [tensor], set()
        while waiting:
            each = waiting.pop()
            if each.name in seen or each.const is not None or each.dtype not in _LIMITS:
                continue
            seen.add(each.name)
            if self.of(each) != _LIMITS[each.dtype] or each.dtype is DType.BOOL:
                continue
            maker = self._makers.get(each.name)
            inputs = [] if maker is None else [one for one in maker[0].inputs if one is not None]
            further = [
                one for one in inputs if self.of(one) == _LIMITS.get(one.dtype or DType.BOOL)
            ]
            if not further:
                found[each.name] = None
            waiting += further
        return tuple(found)

    def is_input(self, name: str) -> bool:
        """Return True for an input of the model."""
        return name not in self._makers

    def _needed(self, tensor: SourceTensor) -> Iterator[SourceTensor]:
        """Yield the tensors whose ranges have to be known before that of `tensor`."""
        if tensor.name in self._known or self._rule(tensor) is None:
            return
        for each in self._makers[tensor.name][0].inputs:
            if each is not None and each.name not in self._known and each.dtype in _LIMITS:
                yield each

    def _rule(self, tensor: SourceTensor) -> Rule | None:
        """Return the rule of what makes a tensor."""
        maker = self._makers.get(tensor.name)
        if tensor.const is not None or maker is None or maker[0].domain:
            return None
        node, position = maker
        if position == 0 or node.op_type == "Split":
            return RULES.get(node.op_type)
        return POSITIONS.get(node.op_type, {}).get(position)

    def _find(self, tensor: SourceTensor) -> Range | None:
        """Work out the range of a tensor; those that it comes from are known."""
        limit = _LIMITS.get(tensor.dtype) if tensor.dtype is not None else None
        if limit is None:
            return None
        if tensor.const is not None:
            data = tensor.const
            if 0 in data.shape:
                return Range(0, 0)
            if prod(data.shape) > _LARGEST_CONSTANT:
                return limit
            return Range(int(data.numpy().min()), int(data.numpy().max()))
        found = self._given.get(tensor.name)
        rule = self._rule(tensor)
        if rule is not None:
            node = self._makers[tensor.name][0]
            known = [None if each is None else self._known.get(each.name) for each in node.inputs]
            found = rule(node, known) if known or not node.inputs else None
        if found is None or not found.within(limit):
            found = limit  # a result that may wrap may be anything
            if tensor.name in self._makers:
                self._free.add(tensor.name)
        size = self._indexes.get(tensor.name)
        return found if size is None else found.met(Range(-size, size - 1))

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
