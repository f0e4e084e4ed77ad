"""Ranges of the results of operators on integers, from those of their inputs.

Each rule is true of numbers without a limit; `Ranges` looks after dtypes that may wrap around.
Over 400 lines because each operator has a function of its own, and one table lists them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from atc_py.onnx_graph.source import SourceNode, SourceTensor


class Range(NamedTuple):
    """Bounds of the elements of a tensor, both included."""

    low: int
    high: int

    def within(self, other: Range) -> bool:
        return other.low <= self.low and self.high <= other.high

    def joined(self, other: Range) -> Range:
        """The least range that has both."""
        return Range(min(self.low, other.low), max(self.high, other.high))

    def met(self, other: Range) -> Range:
        """The values that both ranges have; this one if there are none."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Range(low, high) if low <= high else self

    @property
    def magnitude(self) -> int:
        return max(abs(self.low), abs(self.high))


INT32 = Range(-(2**31), 2**31 - 1)

Known: TypeAlias = "Sequence[Range | None]"
"""Ranges of inputs, by position; None where one is absent or not known."""

Rule: TypeAlias = "Callable[[SourceNode, Known], Range | None]"

# Largest dim that a tensor of a device can have.
_LONGEST = 2**31 - 1

# Bounds beyond are not worked out any further.
_LARGEST = 2**80


def _known_ranges(node: SourceNode, known: Known) -> list[Range]:
    """The ranges of the inputs that there are; empty if one is not known."""
    there = [row for row, tensor in zip(known, node.inputs, strict=True) if tensor is not None]
    results = [bounds for bounds in there if bounds is not None]
    return results if len(results) == len(there) else []


def _join(ranges: Sequence[Range]) -> Range | None:
    if not ranges:
        return None
    return Range(min(bounds.low for bounds in ranges), max(bounds.high for bounds in ranges))


def _of(*positions: int, zero: bool = False) -> Rule:
    """The rule of results that come from some inputs; absent ones stand for 0 if `zero`."""

    def rule(node: SourceNode, known: Known) -> Range | None:
        result = [Range(0, 0)] if zero else []
        for at in positions:
            if at >= len(known) or node.inputs[at] is None:
                continue
            known_range = known[at]
            if known_range is None:
                return None
            result.append(known_range)
        return _join(result)

    return rule


def _corners(function: Callable[[int, int], int]) -> Rule:
    def rule(node: SourceNode, known: Known) -> Range | None:
        ranges = _known_ranges(node, known)
        if len(ranges) != 2:  # noqa: PLR2004  (two operands)
            return None
        if max(row.magnitude for row in ranges) > _LARGEST:
            return None
        values = [function(a, b) for a in ranges[0] for b in ranges[1]]
        return Range(min(values), max(values))

    return rule


_product = _corners(lambda a, b: a * b)


def _of_ends(function: Callable[[Iterator[int]], int]) -> Rule:
    """The rule of results whose bounds are a function of the lower and of the upper bounds."""

    def rule(node: SourceNode, known: Known) -> Range | None:
        ranges = _known_ranges(node, known)
        if not ranges:
            return None
        return Range(function(row.low for row in ranges), function(row.high for row in ranges))

    return rule


def _quotient(_node: SourceNode, known: Known) -> Range | None:
    x, y = (*known, None, None)[:2]
    if x is None:
        return None
    most = x.magnitude
    if y is None or y.low <= 0 <= y.high:
        return Range(0 if x.low >= 0 and y is not None and y.low >= 0 else -most, most)
    values = [_cut(a, b) for a in x for b in y]
    return Range(min(values), max(values))


def _cut(a: int, b: int) -> int:
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def _remainder(node: SourceNode, known: Known) -> Range | None:
    x, y = (*known, None, None)[:2]
    if y is None:
        return None
    most = max(y.magnitude - 1, 0)
    if node.attributes.get("fmod", 0):  # the sign is that of the dividend
        if x is None:
            return Range(-most, most)
        most = min(most, x.magnitude)
        return Range(-most if x.low < 0 else 0, most if x.high > 0 else 0)
    result = Range(-most if y.low < 0 else 0, most if y.high > 0 else 0)
    if x is not None and x.low >= 0 and y.low > 0:
        return Range(0, min(result.high, x.high))
    return result


def _absolute(bounds: Range) -> Range:
    least = 0 if bounds.low <= 0 <= bounds.high else min(abs(bounds.low), abs(bounds.high))
    return Range(least, bounds.magnitude)


def _times(bounds: Range, count: int) -> Range:
    """The range of sums of at most `count` elements; no element gives 0."""
    return Range(min(bounds.low * count, 0), max(bounds.high * count, 0))


def _count(data: SourceTensor | None, axes: object = None) -> int | None:
    """The number of elements along axes, or of all; None if a dim is open."""
    if data is None or data.dims is None:
        return None
    dims = list(data.dims)
    if isinstance(axes, tuple) and axes:
        if any(not isinstance(axis, int) or not -len(dims) <= axis < len(dims) for axis in axes):
            return None
        dims = [dims[axis] for axis in axes]
    return None if None in dims else math.prod(dim or 0 for dim in dims)


def _reduction(element: Callable[[Range], Range] = lambda result: result) -> Rule:
    def rule(node: SourceNode, known: Known) -> Range | None:
        count = _count(node.inputs[0], axes_of(node))
        result = known[0]
        return None if result is None or count is None else _times(element(result), count)

    return rule


def axes_of(node: SourceNode) -> tuple[int, ...] | None:
    """The axes of a node, constant as an input or an attribute; None where they are neither."""
    given = node.inputs[1] if len(node.inputs) > 1 else None
    if given is not None:
        return None if given.const is None else tuple(map(int, given.const.numpy().reshape(-1)))
    axes = node.attributes.get("axes")
    return axes if isinstance(axes, tuple) else None  # type: ignore[return-value]


def _square(bounds: Range) -> Range:
    return Range(*(bound**2 for bound in _absolute(bounds)))


def _products(node: SourceNode, known: Known) -> Range | None:
    """The range of products of elements along axes; no element gives 1."""
    count, result = _count(node.inputs[0], axes_of(node)), known[0]
    if result is None or count is None:
        return None
    if result.magnitude > 1 and count * math.log2(result.magnitude) > math.log2(_LARGEST):
        return None
    most = result.magnitude ** max(count, 1)
    return Range(-most if result.low < 0 else 0, max(most, 1))


def _matrix(node: SourceNode, known: Known) -> Range | None:
    pair = _product(node, known)
    count = _count(node.inputs[0], (-1,))
    return None if pair is None or count is None else _times(pair, count)


def _general(node: SourceNode, known: Known) -> Range | None:
    """The range of a product of matrices plus a matrix, with factors of 1."""
    factors = (node.attributes.get(name, 1.0) for name in ("alpha", "beta"))
    pair = _product(node, known) if len(known) == 2 else None  # noqa: PLR2004
    count = _count(node.inputs[0], (0 if node.attributes.get("transA") else -1,))
    if pair is None or count is None or any(factor != 1 for factor in factors):
        return None
    return _times(pair, count)


def _dims(node: SourceNode, _known: Known) -> Range | None:
    data = node.inputs[0]
    if data is None or data.dims is None or None in data.dims:
        return Range(0, _LONGEST)
    known = [dim for dim in data.dims if dim is not None]
    return Range(min(known, default=0), max(known, default=0))


def _size(node: SourceNode, _known: Known) -> Range | None:
    count = _count(node.inputs[0])
    return Range(0, _LONGEST) if count is None else Range(count, count)


def _axis_of(default: int) -> Rule:
    def rule(node: SourceNode, _known: Known) -> Range | None:
        axis = node.attributes.get("axis", default)
        size = _count(node.inputs[0], (axis,))
        return Range(0, _LONGEST if size is None else max(size - 1, 0))

    return rule


def _places(node: SourceNode, _known: Known) -> Range | None:
    dims = [
        dim for tensor in node.inputs[:2] if tensor is not None for dim in tensor.dims or (None,)
    ]
    most = _LONGEST if None in dims else max((dim or 0 for dim in dims), default=1)
    return Range(0, max(most - 1, 0))


def _flat(node: SourceNode, _known: Known) -> Range | None:
    count = _count(node.inputs[0])
    return Range(0, _LONGEST if count is None else max(count, 1))


def _clip(node: SourceNode, known: Known) -> Range | None:
    data = known[0]
    if data is None or any(
        row is None and tensor is not None for row, tensor in zip(known, node.inputs, strict=True)
    ):
        return None
    low, high = data
    least, most = (*known[1:], None, None)[:2]
    if least is not None:
        low, high = max(low, least.low), max(high, least.high)
    if most is not None:
        low, high = min(low, most.low), min(high, most.high)
    return Range(low, high)


def _sign(_node: SourceNode, known: Known) -> Range | None:
    result = known[0]
    if result is None:
        return Range(-1, 1)
    return Range((result.low > 0) - (result.low < 0), (result.high > 0) - (result.high < 0))


def _steps(node: SourceNode, known: Known) -> Range | None:
    result = _known_ranges(node, known)
    return result[0].joined(result[1]) if len(result) == 3 else None  # noqa: PLR2004  (its inputs)


def _scattered(node: SourceNode, known: Known) -> Range | None:
    pair = [known[0], known[2]] if len(known) > 2 else []  # noqa: PLR2004  (its inputs)
    results = [bounds for bounds in pair if bounds is not None]
    if len(results) != 2:  # noqa: PLR2004  (data and updates)
        return None
    data, updates = results
    if node.attributes.get("reduction", "none") in {"none", "max", "min"}:
        return data.joined(updates)
    count = _count(node.inputs[2])
    if node.attributes["reduction"] != "add" or count is None:
        return None
    more = _times(updates, count)
    return Range(data.low + more.low, data.high + more.high)


def _power(node: SourceNode, known: Known) -> Range | None:
    ranges = _known_ranges(node, known)
    if len(ranges) != 2 or ranges[1].low < 0:  # noqa: PLR2004  (base and exponent)
        return None
    base, exponent = ranges
    if base.magnitude > 1 and exponent.high * math.log2(base.magnitude) > math.log2(_LARGEST):
        return None
    most = max(base.magnitude**exponent.high, 1)
    return Range(-most if base.low < 0 else 0, most)


def _leaky(node: SourceNode, known: Known) -> Range | None:
    product = _product(node, known)
    return None if product is None or known[0] is None else product.joined(known[0])


_WIDEST_SHIFT = 64


def _shift(node: SourceNode, known: Known) -> Range | None:
    ranges = _known_ranges(node, known)
    if len(ranges) != 2 or ranges[0].low < 0 or not ranges[1].within(Range(0, _WIDEST_SHIFT)):  # noqa: PLR2004
        return None
    if node.attributes.get("direction") == "LEFT":
        return _corners(lambda a, b: a << b)(node, known)
    return _corners(lambda a, b: a >> b)(node, known)


def _bits(node: SourceNode, known: Known) -> Range | None:
    """The range of a bitwise combination of numbers from 0 on."""
    result = _known_ranges(node, known)
    if not result or min(bits.low for bits in result) < 0:
        return None
    if node.op_type == "BitwiseAnd":
        return Range(0, min(bits.high for bits in result))
    return Range(0, (1 << max(bits.high for bits in result).bit_length()) - 1)


POSITIONS: Mapping[str, Mapping[int, Rule]] = {
    "MaxPool": {1: _flat},
    "TopK": {1: _axis_of(-1)},
    "Unique": {1: _flat, 2: _flat, 3: _flat},
}
"""By operator and position: the range of further outputs, which are positions and counts."""

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(
        (
            "Compress", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND",
            "Identity", "ReduceMax", "ReduceMin", "Reshape", "ReverseSequence",
            "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "TopK", "Transpose", "Unique",
            "Unsqueeze", "Cast", "CastLike", "MaxPool", "Resize", "Upsample",
        ),
        lambda _node, known: known[0] if known else None,
    ),
    "Abs": lambda _node, known: known[0] and _absolute(known[0]),
    "Add": _corners(lambda a, b: a + b),
    "ArgMax": _axis_of(0),
    "ArgMin": _axis_of(0),
    "BitShift": _shift,
    "BitwiseAnd": _bits,
    "BitwiseNot": lambda _node, known: known[0] and Range(-1 - known[0].high, -1 - known[0].low),
    "BitwiseOr": _bits,
    "BitwiseXor": _bits,
    "CenterCropPad": _of(0, zero=True),
    "Clip": _clip,
    "Concat": lambda node, known: _join(_known_ranges(node, known)),
    "CumSum": _reduction(),
    "Div": _quotient,
    "EyeLike": lambda _node, _known: Range(0, 1),
    "Gemm": _general,
    "MatMul": _matrix,
    "Max": _of_ends(max),
    "Min": _of_ends(min),
    "Mod": _remainder,
    "Mul": _product,
    "Neg": lambda _node, known: known[0] and Range(-known[0].high, -known[0].low),
    "NonMaxSuppression": _places,
    "NonZero": _places,
    "OneHot": _of(2),
    "PRelu": _leaky,
    "Pad": _of(0, 2, zero=True),
    "Pow": _power,
    "Range": _steps,
    "Relu": lambda _node, known: known[0] and Range(max(known[0].low, 0), max(known[0].high, 0)),
    "ReduceL1": _reduction(_absolute),
    "ReduceProd": _products,
    "ReduceSum": _reduction(),
    "ReduceSumSquare": _reduction(_square),
    "Scatter": _scattered,
    "ScatterElements": _scattered,
    "ScatterND": _scattered,
    "Shape": _dims,
    "Sign": _sign,
    "Size": _size,
    "Sub": _corners(lambda a, b: a - b),
    "Sum": _of_ends(sum),
    "Trilu": _of(0, zero=True),
    "Where": _of(1, 2),
}  # fmt: skip
"""By operator: the range of the first output; of Split, of every output."""
