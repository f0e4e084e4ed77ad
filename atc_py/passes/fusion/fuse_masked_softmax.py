"""The softmax of masked scores, as attention has it, becomes one operator."""

from math import isfinite

from atc_py.ir import Node, Value
from atc_py.passes.fusion.attributes import ints
from atc_py.passes.fusion.mask_pattern import Mask, inverted, mask_of, require_low_fill
from atc_py.passes.fusion.matching import Match, MissError, RewritePass, scalar
from atc_py.target import find_operator
from atc_py.text import Text

_FUSED = "ScaledMaskedSoftmax"
_SCALES = frozenset({"Mul", "Muls", "RealDiv"})


class FuseMaskedSoftmaxPass(RewritePass):
    """SoftmaxV2(SelectV2(mask, fill, x * scale)) = ScaledMaskedSoftmax(x, mask, scale).

    So does SoftmaxV2(x * scale + SelectV2(mask, fill, 0)); operands of SelectV2 may stand the other
    way round, which turns the mask over. The scale is Mul, Muls or RealDiv with a constant of one
    element, or there is none. Masked elements count as the lowest finite float32 then, which gives
    what the fill gave where it is so low that no score comes near it: `mask_pattern` says how low.
    """

    name = "fuse-masked-softmax"
    in_atc = False
    summary = "Turns the softmax of masked scores into ScaledMaskedSoftmax."
    anchors = frozenset({"SoftmaxV2"})

    def rewrite(self, match: Match) -> None:
        """Match from the softmax back to the scores."""
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
    axes = [axis % result.type.rank for axis in ints(softmax.attributes.get("axes", (-1,)))]
    if axes != [result.type.rank - 1]:
        reason = Text(
            "the last axis, {rank}, must be summed over, found {axes}",
            rank=result.type.rank - 1,
            axes=axes,
        )
        raise MissError(reason, softmax)


def _require_taken(match: Match, scores: Value) -> None:
    """Require a kernel of the fused operator in the scores' dtype; SoftmaxV2 has more."""
    row = find_operator(_FUSED)
    taken = [] if row is None else [column.inputs[0].value for column in row.columns]
    found = scores.type.dtype.value
    match.require(
        found in taken,
        Text("scores must be {taken}, found {actual}", taken=", ".join(taken), actual=found),
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
        f"{_FUSED} of {dtype.value} gives {', '.join(sorted(each.value for each in given))}",
    )


def _masked(match: Match, node: Node) -> tuple[Value, Mask]:
    """Return the scores, and what hides some of them: `node` chooses, or adds what is chosen."""
    if node.op == "SelectV2":
        mask = mask_of(match, node)
        return mask.other, mask
    for value in node.present_inputs:
        chosen = value.producer
        if chosen is None or chosen.op != "SelectV2":
            continue
        scores, mask = match.other(node, value), mask_of(match, match.borrow(chosen))
        if scalar(mask.other) != 0:
            reason = Text(
                "SelectV2 must choose 0 or the fill for an Add, found {chosen}", chosen=repr(chosen)
            )
            raise MissError(reason, chosen)
        return scores, mask._replace(adds=True)
    raise MissError(
        Text("SelectV2 must compute what is added, found {node}", node=repr(node)), node
    )


def _unscaled(match: Match, scores: Value) -> tuple[Value, float]:
    """Return the value scaled by a constant, and the constant; else `scores` and 1."""
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
