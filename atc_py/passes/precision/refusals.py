"""Why no dtype column fits a node, with what there is instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.diag.codes import NO_KERNEL
from atc_py.passes.precision.columns import broken_limit, hands_out_sums, offered_columns

if TYPE_CHECKING:
    from atc_py.diag import Diagnostic, Place
    from atc_py.ir import Node
    from atc_py.passes.precision.requested_dtypes import Wish
    from atc_py.target import Limit, Soc, TargetOp

__all__ = ["Refusal", "refusal_of"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A node that nothing runs at the dtypes that are wanted of it.

    Attributes:
        op: its target operator.
        place: the source node that it came from.
        message: what is missing.
        help: what there is instead.
    """

    op: str
    place: Place
    message: Words
    help: Words

    def diagnostic(self) -> Diagnostic:
        """NO_KERNEL at the node's place."""
        return NO_KERNEL.diagnostic(self.message.en, place=self.place, help=self.help.en)


def refusal_of(node: Node, row: TargetOp, wish: Wish, soc: Soc, place: Place) -> Refusal:
    """Why nothing on `soc` meets `wish` for `node`."""
    given = [d for v, d in zip(node.inputs, wish.inputs, strict=True) if v is not None]
    wanted = ", ".join(sorted({dtype.value for dtype in (*given, *wish.outputs)}))
    reason = wish.rule.partition(":")[0]
    message = Words(
        f"{node.op} has no kernel for {wanted} on {soc.name} with {reason}",
        f"在 {reason} 下，{soc.name} 上没有 {node.op} 的 {wanted} 核",
    )
    return Refusal(node.op, place, message, _way_out(node, row, soc))


def _way_out(node: Node, row: TargetOp, soc: Soc) -> Words:
    """What the operator takes instead, and which limit keeps it off the AI Core."""
    offered = [each for each in offered_columns(node, row, soc) if not hands_out_sums(row, each)]
    floats = any(value.type.dtype.is_float for value in node.present_inputs)
    alike = [choice for choice in offered if choice.outputs[0].is_float is floats] or offered
    dtypes = ", ".join(sorted({choice.outputs[0].value for choice in alike}))
    there = Words("it has no kernel here", "此处没有该算子的核")
    if dtypes:
        there = Words(f"it takes {dtypes} here", f"此处支持 {dtypes}")
    limit = broken_limit(node, row)
    last = Words(
        "; try --precision-mode force_fp16 or another --soc",
        "；请尝试 --precision-mode force_fp16 或其他 --soc",
    )
    return there + (Words("", "") if limit is None else _bound(limit)) + last


def _bound(limit: Limit) -> Words:
    """What the AI Core kernel takes of an attribute."""
    span = f"{limit.attribute} in [{limit.low}, {limit.high}]"
    of, needs = ("the product of ", "各元素之积须满足 ") if limit.product else ("", "须满足 ")
    return Words(f"; the AI Core takes {of}{span} only", f"；AI Core 上{needs}{span}")
