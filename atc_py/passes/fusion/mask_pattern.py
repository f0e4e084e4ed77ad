"""Masks of a softmax: a choice between scores and a fill, and how low the fill must be."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atc_py.ir import DeferredConst, Node, SplatConst, Value
from atc_py.passes.fusion.matching import Match, MissError, scalar
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_LOW = -1e4
"""The highest fill that exporters write; exp is 0 in float32 from 104 below the largest score on."""

_SCORES = 65504.0
"""Scores that a fill must swallow where it is added to them: all that float16 has."""


class Mask(NamedTuple):
    """A SelectV2 between a fill and something else.

    Attributes:
        node: the SelectV2.
        condition: its condition, or what LogicalNot turned over for it.
        hides: whether `condition` is true where the fill is taken.
        fill: the number that masked elements become.
        other: what is taken elsewhere.
        adds: whether the fill is added to the scores and does not replace them.
    """

    node: Node
    condition: Value
    hides: bool
    fill: float
    other: Value
    adds: bool = False


def mask_of(match: Match, node: Node) -> Mask:
    """Return the mask that `node` applies; of two constants the lower one is the fill."""
    condition, then, other = node.present_inputs
    numbers = [
        (fill, kept, hides)
        for fill, kept, hides in ((_number(then), other, True), (_number(other), then, False))
        if fill is not None
    ]
    if not numbers:
        raise MissError(
            Text("SelectV2 must have a constant as its fill, found {node}", node=repr(node)), node
        )
    fill, kept, hides = min(numbers, key=lambda each: each[0])
    condition, hides = _turned(match, condition, hides=hides)
    return Mask(node, condition, hides, fill, kept)


def require_low_fill(match: Match, mask: Mask, dtype: DType) -> None:
    """Require a fill that gives what the lowest finite float32 gives.

    - At most -1e4: with that, a masked element beside any score that is 104 above the fill has the
      share 0 in float32, and a row that is masked as a whole is uniform.
    - Where it is added, so low that its dtype leaves it as it is whatever score is added: a row that
      is masked as a whole keeps a trace of its scores otherwise. float16 has no such number.
    - Of -inf, a row that is masked as a whole becomes NaN, so there must be none, which only a
      constant mask shows.
    """
    fill, node = mask.fill, mask.node
    low = _rounded(_LOW, dtype)
    match.require(
        fill <= low,
        Text("the fill must be at most {low}, found {fill}", low=f"{low:g}", fill=f"{fill:g}"),
        node,
    )
    if fill == -np.inf:
        reason = "a row that is masked as a whole is NaN with a fill of -inf; the mask must be"
        const = mask.condition.const
        match.require(const, f"{reason} constant, found {mask.condition.type}", node)
        rows = 0 if const is None else _whole_rows(const.numpy() == mask.hides)
        match.require(not rows, f"{reason} without such rows, found {rows}", node)
    elif mask.adds:
        swallows = all(_rounded(fill + score, dtype) == fill for score in (-_SCORES, _SCORES))
        reason = Text(
            "{dtype} must leave the fill as it is when {scores} is added",
            dtype=dtype.value,
            scores=f"{_SCORES:g}",
        )
        match.require(swallows, f"{reason}, found {fill:g}", node)


def inverted(match: Match, mask: Mask) -> Value:
    """Return a value that is true where the condition of `mask` is not."""
    condition = mask.condition
    name = f"{condition.name}.masked"
    if condition.const is not None:
        kind, sources = condition.type, [condition.const]
        data = DeferredConst(kind.dtype, kind.shape, sources, np.logical_not, "not")
        return match.graph.constant(name, data, like=kind)
    outputs = [(name, condition.type)]
    node = match.graph.add_node("LogicalNot", [condition], outputs, origins=mask.node.origins)
    return node.output


def _number(value: Value) -> float | None:
    """Return the one number that a constant holds, once or over a shape."""
    if isinstance(value.const, SplatConst):
        return float(SplatConst(value.const.value, value.const.dtype, ()).numpy())
    return scalar(value)


def _turned(match: Match, condition: Value, *, hides: bool) -> tuple[Value, bool]:
    """Return the condition without the LogicalNot in front of it that says when scores stay."""
    node = condition.producer
    source = None if node is None else node.input(0)
    if hides or node is None or source is None or node.op != "LogicalNot":
        return condition, hides
    match.borrow(node)
    return source, True


def _rounded(number: float, dtype: DType) -> float:
    """Return `number` as the dtype has it."""
    with np.errstate(over="ignore"):
        return float(np.array(number).astype(dtype.numpy))


def _whole_rows(masked: NDArray[Any]) -> int:
    """Return the number of mask rows that are true throughout."""
    return int(np.count_nonzero(np.atleast_1d(masked).all(axis=-1)))
