"""Ranges of integers: bounds that hold for every value of a tensor, whatever the model is fed.

Sources are dims, constants, the definitions of operators, and what a sound model implies: an index lies
within the axis that it selects from. Bounds of inputs come from the user.
Floats have ranges where they come from integers and constants and are cast to integers again: bounds
are whole numbers, rounded outward by more than the roundings of float32 can add. An operator that may
give an infinity or NaN has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix.range_rules import INT32, POSITIONS, RULES, Known, Range, Rule
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.source import SourceNode, SourceTensor
from atc_py.tensor.dtypes import DType

# Magnitudes that are finite in a dtype, and remain so after one rounding.
_LARGEST = {DType.FLOAT16: 60_000, DType.FLOAT32: 2**100, DType.FLOAT64: 2**100}

# Operators that give no number outside of the whole numbers around their operands.
_SAME = (
    "Ceil", "Clip", "Concat", "Expand", "Flatten", "Floor", "Gather", "Identity", "Max", "Min", "Neg",
    "ReduceMax", "ReduceMin", "Relu", "Reshape", "Round", "Slice", "Split", "Squeeze", "Tile",
    "Transpose", "Unsqueeze", "Where", "Abs",
)  # fmt: skip


def float_limit(dtype: DType | None) -> Range | None:
    """The finite numbers of a float dtype; None for others."""
    largest = None if dtype is None else _LARGEST.get(dtype)
    return None if largest is None else Range(-largest, largest)


def range_of_floats(data: NDArray[Any]) -> Range | None:
    """The range of constants; None if one is not finite."""
    low, high = float(np.min(data)), float(np.max(data))
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return Range(math.floor(low), math.ceil(high))


def _round_outward(rule: Rule) -> Rule:
    """A rule whose result is rounded to a float."""

    def outward(node: SourceNode, known: Known) -> Range | None:
        result = rule(node, known)
        if result is None:
            return None
        return Range(result.low - _slack(result.low), result.high + _slack(result.high))

    return outward


def _slack(bound: int) -> int:
    """More than rounding to float16 adds to a number."""
    return abs(bound) // 1000 + 1


def _ratio(_node: SourceNode, known: Known) -> Range | None:
    """The range of quotients with divisors of one sign, 1 or more in magnitude."""
    x, y = (*known, None, None)[:2]
    if x is None or y is None or y.low <= 0 <= y.high:
        return None
    values = [(a, b) for a in x for b in y]
    return Range(min(a // b for a, b in values), max(-(-a // b) for a, b in values))


def _between(low: int, high: int) -> Rule:
    return lambda _node, known: Range(low, high) if known and known[0] is not None else None


FLOAT_RULES: Mapping[str, Rule] = {
    **{name: RULES[name] for name in _SAME if name in RULES},
    **dict.fromkeys(("Ceil", "Floor", "Round"), RULES["Identity"]),
    **{name: _round_outward(RULES[name]) for name in ("Add", "Cast", "Mul", "Sub")},
    "Div": _round_outward(_ratio),
    "Cos": _between(-1, 1),
    "Erf": _between(-1, 1),
    "Sigmoid": _between(0, 1),
    "Sin": _between(-1, 1),
    "Tanh": _between(-1, 1),
}
"""By operator: the range of the first output where it has floats."""


# Numbers that a dtype can hold.
LIMITS = {
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

_NUMBERS = {*LIMITS, DType.FLOAT16, DType.FLOAT32, DType.FLOAT64}

# Operators whose second input selects from an axis of the first.
_SELECT = frozenset({"Gather", "GatherElements", "Scatter", "ScatterElements"})

# Elements of a constant that are looked at; of larger ones the dtype tells the range.
_LARGEST_CONSTANT = 2**24


class Ranges:
    """Ranges of the tensors of one folded graph, worked out as they are asked for."""

    def __init__(self, graph: OnnxGraph, given: Mapping[str, Range]) -> None:
        self._graph = graph
        self._indexes: dict[str, int] = {}
        for node in graph.nodes:
            self._note_index(node)
        self._given = given
        self._known: dict[str, Range | None] = {}
        self._free: set[str] = set()

    def _maker(self, tensor: SourceTensor) -> OnnxNode | None:
        return self._graph.producer(tensor.name)

    def of(self, tensor: SourceTensor) -> Range | None:
        return self._work_out(tensor) if tensor.dtype in LIMITS else None

    def _work_out(self, tensor: SourceTensor) -> Range | None:
        """The range of a tensor; None for floats without one, and dtypes that have no numbers."""
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
        """True unless it is shown that no element is beyond its dtype before it is stored."""
        self.of(tensor)
        return tensor.name in self._free

    def unbounded(
        self, tensor: SourceTensor, target: Range
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Inputs without a given range and results that no rule bounds, on which `target` fails."""
        inputs: dict[str, None] = {}
        others: dict[str, None] = {}
        limit = LIMITS.get(tensor.dtype) if tensor.dtype is not None else None
        wraps = limit is not None and limit.within(target)  # any of its inputs may matter
        waiting, seen = [tensor], {tensor.name}
        while waiting:
            current = waiting.pop()
            maker = self._graph.producer(current.name)
            if maker is None:
                if current.name not in self._given:
                    inputs[current.name] = None
                continue
            if self._rule(current) is None:
                others[current.name] = None
            for one in maker.inputs:
                found = None if one is None or one.const is not None else self.of(one)
                if one is None or found is None or one.name in seen:
                    continue
                seen.add(one.name)
                if wraps or not found.within(target):
                    waiting.append(one)
        return tuple(inputs), tuple(others)

    def _needed(self, tensor: SourceTensor) -> Iterator[SourceTensor]:
        """Yield the tensors whose ranges have to be known before that of `tensor`."""
        maker = self._maker(tensor)
        if tensor.name in self._known or maker is None or self._rule(tensor) is None:
            return
        for source in maker.inputs:
            if source is not None and source.name not in self._known and source.dtype in _NUMBERS:
                yield source

    def _rule(self, tensor: SourceTensor) -> Rule | None:
        maker = self._maker(tensor)
        if tensor.const is not None or maker is None or maker.domain:
            return None
        position = maker.output_names.index(tensor.name)
        if tensor.dtype not in LIMITS:
            return FLOAT_RULES.get(maker.op_type) if position == 0 else None
        if position == 0 or maker.op_type == "Split":
            return RULES.get(maker.op_type)
        return POSITIONS.get(maker.op_type, {}).get(position)

    def _find(self, tensor: SourceTensor) -> Range | None:
        limit = LIMITS.get(tensor.dtype) if tensor.dtype is not None else None
        if limit is None:
            return self._find_floats(tensor)
        if tensor.const is not None:
            data = tensor.const
            if 0 in data.shape:
                return Range(0, 0)
            if prod(data.shape) > _LARGEST_CONSTANT:
                return limit
            return Range(int(data.numpy().min()), int(data.numpy().max()))
        result = self._given.get(tensor.name, self._by_rule(tensor))
        if result is None or not result.within(limit):
            result = limit  # a result that may wrap may be anything
            if self._maker(tensor):
                self._free.add(tensor.name)
        size = self._indexes.get(tensor.name)
        return result if size is None else result.met(Range(-size, size - 1))

    def _by_rule(self, tensor: SourceTensor) -> Range | None:
        rule, node = self._rule(tensor), self._maker(tensor)
        if rule is None or node is None:
            return None
        known = [None if tensor is None else self._known.get(tensor.name) for tensor in node.inputs]
        return rule(node, known)

    def _find_floats(self, tensor: SourceTensor) -> Range | None:
        limit = float_limit(tensor.dtype)
        if limit is None:
            return None
        if tensor.const is None:
            result = self._by_rule(tensor)
        elif 0 in tensor.const.shape or prod(tensor.const.shape) > _LARGEST_CONSTANT:
            return None
        else:
            result = range_of_floats(tensor.const.numpy())
        return result if result is not None and result.within(limit) else None

    def _note_index(self, node: SourceNode) -> None:
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
