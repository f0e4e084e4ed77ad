"""The reason that no dtype column fits a node, with what is supported instead."""

import msgspec

from atc_py.diag import Diagnostic, Place
from atc_py.diag.codes import NO_KERNEL
from atc_py.ir import Node
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.precision.columns import (
    broken_limit,
    choose_column,
    offered_columns,
    returns_sums,
)
from atc_py.passes.precision.requested_dtypes import NodeTensors, Wish, wishes
from atc_py.target import Limit, Soc, TargetOp, Values, socs
from atc_py.text import Text


class Refusal(msgspec.Struct, frozen=True):
    """A node that nothing runs at the dtypes that are wanted of it.

    Attributes:
        op: its target operator.
        place: the source node that it came from.
        lack: what is missing.
        help: what there is instead.
        soc: the SoC, where another one has what is missing; else empty.
        rule: the precision mode or finer control that wants it, where another precision mode wants
            what there is; else empty.
    """

    op: str
    place: Place
    lack: Text
    help: Text
    soc: str
    rule: str

    def diagnostic(self) -> Diagnostic:
        """NO_KERNEL at the node's place."""
        message = self.lack
        if self.soc:
            message += Text(" on {soc}", soc=self.soc)
        if self.rule:
            message += Text(" with {rule}", rule=self.rule)
        return NO_KERNEL.diagnostic(message, place=self.place, help=self.help)


def refusal_of(
    node: Node, row: TargetOp, wish: Wish, soc: Soc, place: Place, tensors: NodeTensors | None
) -> Refusal:
    """The reason that nothing on `soc` meets `wish` for `node`."""
    given = [d for v, d in zip(node.inputs, wish.inputs, strict=True) if v is not None]
    wanted = ", ".join(sorted({dtype.value for dtype in (*given, *wish.outputs)}))
    lack = Text("{op} has no kernel for {wanted}", op=node.op, wanted=wanted)
    elsewhere = any(_meets(node, row, other, wish) for other in socs())
    otherwise = tensors is not None and any(
        _meets(node, row, soc, other) for mode in PrecisionMode for other in wishes(mode, tensors)
    )
    return Refusal(
        node.op,
        place,
        lack,
        _hint(node, row, soc),
        soc.name if elsewhere else "",
        wish.rule.partition(":")[0] if otherwise else "",
    )


def _meets(node: Node, row: TargetOp, soc: Soc, wish: Wish) -> bool:
    """True if a column of `soc` meets a wish."""
    wanted, must = (wish.inputs, wish.outputs), (wish.exact_inputs, wish.exact_outputs)
    return choose_column(node, row, soc, wanted, falls=wish.falls, must=must) is not None


def _hint(node: Node, row: TargetOp, soc: Soc) -> Text:
    """The dtypes that the operator takes, and the limit that excludes the AI Core."""
    offered = [each for each in offered_columns(node, row, soc) if not returns_sums(row, each)]
    floats = any(value.type.dtype.is_float for value in node.present_inputs)
    alike = [choice for choice in offered if choice.outputs[0].is_float is floats] or offered
    dtypes = ", ".join(sorted({choice.outputs[0].value for choice in alike}))
    there = Text("it has no kernel here")
    if dtypes:
        there = Text("it takes {dtypes} here", dtypes=dtypes)
    limit = broken_limit(node, row)
    last = Text("; try --precision-mode force_fp16 or another --soc")
    return there + (Text("") if limit is None else _bound(limit)) + last


def _bound(limit: Limit | Values) -> Text:
    """Return what the AI Core kernel takes of an attribute."""
    if isinstance(limit, Values):
        known = ", ".join(map(str, limit.one_of))
        return Text(
            "; the AI Core takes {attribute} {known} only", attribute=limit.attribute, known=known
        )
    template = "; the AI Core takes {span} only"
    if limit.product:
        template = "; the AI Core takes the product of {span} only"
    return Text(template, span=f"{limit.attribute} in [{limit.low}, {limit.high}]")
