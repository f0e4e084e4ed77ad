"""The softmax of masked scores, as attention has it, becomes one operator."""

from math import isfinite
from typing import NamedTuple

import numpy as np

from atc_py.ir import DeferredConst, Node, SplatConst, Value
from atc_py.passes.fusion.matching import Match, MissError, RewritePass, scalar
from atc_py.target import find_operator
from atc_py.target.stored_nodes import numbers_of
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_LOW = -1e4
"""The highest fill that exporters write; exp is 0 in float32 from 104 below the largest score on."""

_SCORES = 65504.0
"""Scores that a fill must swallow where it is added to them: all that float16 has."""


class Mask(NamedTuple):
    """A SelectV2 between a fill and something else."""

    node: Node  # the SelectV2
    condition: Value  # its condition, or what LogicalNot turned over for it
    hides: bool  # whether `condition` is true where the fill is taken
    fill: float  # the number that masked elements become
    other: Value  # what is taken elsewhere
    adds: bool = False  # whether the fill is added to the scores and does not replace them


def mask_of(match: Match, node: Node) -> Mask:
    """The mask that `node` applies; of two constants the lower one is the fill."""
    condition, then, other = node.present_inputs
    numbers = [
        (fill, kept, hides)
        for fill, kept, hides in ((_number(then), other, True), (_number(other), then, False))
        if fill is not None
    ]
    if not numbers:
        raise MissError("SelectV2 must have a constant as its fill, found {node}", node)
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
        "the fill must be at most {low}, found {fill}",
        node,
        low=f"{low:g}",
        fill=f"{fill:g}",
    )
    if fill == -np.inf:
        text = Text("a row that is fully masked is NaN with a fill of -inf; {needs}")
        const, found = mask.condition.const, mask.condition.type
        needs = Text("the mask must be constant, found {found}", found=found)
        match.require(const, text.with_values(needs=needs), node)
        masked = np.False_ if const is None else const.numpy() == mask.hides
        rows = int(np.atleast_1d(masked).all(axis=-1).sum())
        needs = Text("the mask must be without such rows, found {found}", found=rows)
        match.require(not rows, text.with_values(needs=needs), node)
    elif mask.adds:
        swallows = all(_rounded(fill + score, dtype) == fill for score in (-_SCORES, _SCORES))
        reason = Text(
            "{dtype} must leave the fill as it is when {scores} is added",
            dtype=dtype.value,
            scores=f"{_SCORES:g}",
        )
        match.require(swallows, reason + Text(", found {observed}", observed=f"{fill:g}"), node)


def inverted(match: Match, mask: Mask) -> Value:
    """A value that is true where the condition of `mask` is not."""
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
    if isinstance(value.const, SplatConst):
        return float(SplatConst(value.const.value, value.const.dtype, ()).numpy())
    return scalar(value)


def _turned(match: Match, condition: Value, *, hides: bool) -> tuple[Value, bool]:
    """The condition without the LogicalNot in front of it that says when scores stay."""
    node = condition.producer
    source = None if node is None else node.input(0)
    if hides or node is None or source is None or node.op != "LogicalNot":
        return condition, hides
    match.borrow(node)
    return source, True


def _rounded(number: float, dtype: DType) -> float:
    with np.errstate(over="ignore"):
        return float(np.array(number).astype(dtype.numpy))


_FUSED = "ScaledMaskedSoftmax"
_SCALES = frozenset({"Mul", "Muls", "RealDiv"})


class FuseMaskedSoftmaxPass(RewritePass):
    """SoftmaxV2(SelectV2(mask, fill, x * scale)) = ScaledMaskedSoftmax(x, mask, scale).

    So does SoftmaxV2(x * scale + SelectV2(mask, fill, 0)); operands of SelectV2 may stand the other
    way round, which turns the mask over. The scale is Mul, Muls or RealDiv with a constant of one
    element, or there is none. Masked elements count as the lowest finite float32 then, which gives
    what the fill gave where it is so low that no score comes near it: `mask_pattern` says how low.
    """

    def rewrite(self, match: Match) -> None:
        softmax = match.anchor
        _require_last_axis(softmax)
        scores, mask = _masked(match, match.producer(softmax.input(0), "SelectV2", "Add"))
        match.require_type_of(scores, softmax)
        match.require_kernel(_FUSED, softmax)
        _require_taken(match, scores)
        _require_same_result(match, scores)
        require_low_fill(match, mask, scores.type.dtype)
        match.require_known_dims(scores, mask.condition)
        x, scale = _unscaled(match, scores)
        match.become(softmax, _FUSED, [x, mask.condition], {"scale": scale})
        if not mask.hides:
            softmax.set_inputs([x, inverted(match, mask)])


def _require_last_axis(softmax: Node) -> None:
    """Require a sum over the last axis alone, in the dtype of the scores."""
    (result,) = softmax.outputs
    axes = [axis % result.type.rank for axis in numbers_of(softmax.attributes.get("axes", (-1,)))]
    if axes != [result.type.rank - 1]:
        raise MissError(
            "the last axis, {rank}, must be summed over, found {axes}",
            softmax,
            rank=result.type.rank - 1,
            axes=axes,
        )


def _require_taken(match: Match, scores: Value) -> None:
    """Require a kernel of the fused operator in the scores' dtype; SoftmaxV2 has more."""
    row = find_operator(_FUSED)
    taken = [] if row is None else [column.inputs[0].value for column in row.columns]
    found = scores.type.dtype.value
    match.require(
        found in taken,
        "scores must be {taken}, found {actual}",
        taken=", ".join(taken),
        actual=found,
    )


def _require_same_result(match: Match, scores: Value) -> None:
    """Require no kernel that takes the scores' dtype and gives another, unless all becomes float16.

    That of Ascend310P takes scores of float32 and gives float16 (its operator information), where
    the softmax that it would replace gives float32.
    """
    dtype = scores.type.dtype
    given = {each.outputs[0] for each in match.columns_of(_FUSED) if each.inputs[0] is dtype}
    match.require(
        match.forces_float16() or given <= {dtype},
        "{op} of {dtype} gives {found}",
        op=_FUSED,
        dtype=dtype.value,
        found=", ".join(sorted(each.value for each in given)),
    )


def _masked(match: Match, node: Node) -> tuple[Value, Mask]:
    if node.op == "SelectV2":
        mask = mask_of(match, node)
        return mask.other, mask
    for value in node.present_inputs:
        chosen = value.producer
        if chosen is None or chosen.op != "SelectV2":
            continue
        scores, mask = match.other(node, value), mask_of(match, match.borrow(chosen))
        if scalar(mask.other) != 0:
            raise MissError("SelectV2 must choose 0 or the fill for an Add, found {node}", chosen)
        return scores, mask._replace(adds=True)
    raise MissError("SelectV2 must compute what is added, found {node}", node)


def _unscaled(match: Match, scores: Value) -> tuple[Value, float]:
    """The value scaled by a constant, and the constant; else `scores` and 1."""
    node = scores.producer
    if node is None or node.op not in _SCALES:
        return scores, 1.0
    varying = [value for value in node.present_inputs if scalar(value) is None]
    if len(varying) != 1 or len(scores.consumers) != 1 or varying[0].type != scores.type:
        return scores, 1.0
    if node.op == "RealDiv" and (node.input(0) is not varying[0] or not scalar(node.input(1))):
        return scores, 1.0
    scale = match.scaled(node, varying[0])
    if not isfinite(scale):
        return scores, 1.0
    match.keep(node)
    return varying[0], scale
