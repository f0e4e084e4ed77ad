"""Nodes that may run although the model would not run them: none of their results can be an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atc_py.source import SourceNode

__all__ = ["may_run_always"]

_DRAWN = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
     "RandomUniformLike"}
)  # fmt: skip
"""Operators whose results depend on how often they have run."""

_REPEATED = frozenset({"Loop", "Scan", "SequenceMap"})

_POSITIONS = {
    "Compress": (1,),
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "Gather": (1,),
    "GatherElements": (1,),
    "GatherND": (1,),
    "OneHot": (1,),
    "OptionalGetElement": (0,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "Scatter": (1,),
    "ScatterElements": (1,),
    "ScatterND": (1,),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Upsample": (1,),
}
"""Inputs, by position, whose values decide whether the operator is defined."""


def may_run_always(node: SourceNode) -> bool:
    """Return True if a node and those of its branches are defined for all values of their inputs."""
    return all(map(_is_total, node.with_inner))


def _is_total(node: SourceNode) -> bool:
    """Return True if a node is; its branches are not looked at."""
    if node.domain or node.op_type in _DRAWN or node.op_type in _REPEATED:
        return False
    if node.op_type in {"Div", "Mod"}:
        return _divides_safely(node)
    deciding = [node.inputs[at] for at in _POSITIONS.get(node.op_type, ()) if at < len(node.inputs)]
    return all(each is None or each.const is not None for each in deciding)


def _divides_safely(node: SourceNode) -> bool:
    """Return True if a quotient is one of floats, or the divisor is constant and has no zero."""
    divisor = node.inputs[1]
    if divisor is None or divisor.dtype is None:
        return False
    if divisor.dtype.is_float:
        return True
    return divisor.const is not None and bool(divisor.const.numpy().all())
