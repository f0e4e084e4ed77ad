"""Decisions about precision as the result reports them, and why no dtype column fits a node."""

from collections.abc import Callable
from functools import lru_cache

import msgspec

from atc_py.diag import NO_KERNEL, Diagnostic, Place
from atc_py.ir import Graph, Node, Origin
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.precision.columns import (
    broken_limit,
    choose_column,
    offered_columns,
    returns_sums,
)
from atc_py.passes.precision.requested_dtypes import DtypeRequest, NodeTensors, requests
from atc_py.system.structs import replace
from atc_py.target import Limit, Soc, SocFamily, TargetOp, Values, socs
from atc_py.tensor.dtypes import DType
from atc_py.text import SEMICOLON, Text

_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2D")
"""Prefixes of the operators that a convolution of the model becomes."""


class Refusal(msgspec.Struct, frozen=True):
    """A node that nothing runs at the dtypes that are wanted of it."""

    op: str
    place: Place  # the source node that it came from
    lack: Text
    help: Text  # what there is instead
    soc: str  # the SoC, where another one has what is missing; else empty
    # the precision mode or finer control that wants it, where another precision mode wants what
    # there is; else empty
    rule: str

    def diagnostic(self) -> Diagnostic:
        message = self.lack
        if self.soc:
            message += Text(" on {soc}", soc=self.soc)
        if self.rule:
            message += Text(" with {rule}", rule=self.rule)
        return NO_KERNEL.diagnostic(message, place=self.place, help=self.help)


def refusal_of(
    node: Node,
    row: TargetOp,
    request: DtypeRequest,
    soc: Soc,
    place: Place,
    tensors: NodeTensors | None,
) -> Refusal:
    given = [d for v, d in zip(node.inputs, request.inputs, strict=True) if v is not None]
    wanted = ", ".join(sorted({dtype.value for dtype in (*given, *request.outputs)}))
    lack = Text("{op} has no kernel for {wanted}", op=node.op, wanted=wanted)
    elsewhere = [other for other in socs() if choose_column(node, row, other, request)]
    modes = [
        mode.value
        for mode in PrecisionMode
        if tensors is not None
        and any(choose_column(node, row, soc, other) for other in requests(mode, tensors))
    ]
    rule = request.rule.partition(":")[0] if modes else ""
    return Refusal(
        node.op,
        place,
        lack,
        _there(node, row, soc, request) + _ways_out(rule, modes, elsewhere),
        soc.name if elsewhere else "",
        rule,
    )


def _there(node: Node, row: TargetOp, soc: Soc, request: DtypeRequest) -> Text:
    """The dtypes that an operator takes, of the side on which what is wanted is not among them."""
    offered = [each for each in offered_columns(node, row, soc) if not returns_sums(row, each)]
    floats = any(value.type.dtype.is_float for value in node.present_inputs)
    alike = [choice for choice in offered if choice.outputs[0].is_float is floats] or offered
    dtypes = {choice.outputs[0] for choice in alike}
    if not dtypes.isdisjoint(request.outputs[:1]):
        dtypes = {choice.inputs[0] for choice in offered if choice.inputs} or dtypes
    there = Text("it has no kernel here")
    if dtypes:
        names = ", ".join(sorted(dtype.value for dtype in dtypes))
        there = Text("it takes {dtypes} here", dtypes=names)
    limit = broken_limit(node, row)
    return there + (Text("") if limit is None else _bound(limit))


_WIDEST = "Ascend910B1"
"""The SoC to name where several would do: of a family with kernels for most dtypes."""

_FIX = Text("; `atc-py fix` names the rules that give it another form")


def _ways_out(rule: str, modes: list[str], elsewhere: list[Soc]) -> Text:
    """Ways to let a node compile, none of which leads to the same refusal.

    `rule` is the precision mode or finer control that wants the dtypes, "" where no mode helps;
    `modes` have a kernel on the SoC, the SoCs `elsewhere` at the dtypes wanted.
    """
    first = PrecisionMode.FORCE_FP16.value
    mode = first if first in modes else next(iter(modes), "")
    names = [each.name for each in elsewhere if each.family is not SocFamily.SIM]
    soc = _WIDEST if _WIDEST in names else next(iter(names), "")
    if rule and rule not in {each.value for each in PrecisionMode}:
        return Text("; leave the node out of --{rule}", rule=rule)
    if mode and soc:
        return Text("; try --precision-mode {mode} or --soc {soc}", mode=mode, soc=soc)
    if mode:
        return Text("; try --precision-mode {mode}", mode=mode)
    return (Text("; try --soc {soc}", soc=soc) if soc else Text("")) + _FIX


def _bound(limit: Limit | Values) -> Text:
    if isinstance(limit, Values):
        known = ", ".join(map(str, limit.one_of))
        return Text(
            "; the AI Core takes {attribute} {known} only", attribute=limit.attribute, known=known
        )
    template = "; the AI Core takes {span} only"
    if limit.product:
        template = "; the AI Core takes the product of {span} only"
    return Text(template, span=f"{limit.attribute} in [{limit.low}, {limit.high}]")


class Decision(msgspec.Struct, frozen=True):
    """Dtypes of one node by position; None where an input is absent."""

    # the model's own dtypes of inputs and of outputs
    origin: tuple[tuple[DType | None, ...], tuple[DType, ...]]
    # the dtypes of the column that was taken
    chosen: tuple[tuple[DType | None, ...], tuple[DType, ...]]
    rule: str  # why, in a few words


class Decisions(msgspec.Struct):
    """All decisions by the names of the nodes."""

    # every node that was typed, Casts of the model included
    nodes: dict[str, Decision] = msgspec.field(default_factory=dict)
    # what says why each Cast that was inserted is there; few of them stay
    casts: dict[str, Callable[[], str]] = msgspec.field(default_factory=dict)
    # nodes that nothing runs at the dtypes that are wanted
    refused: list[Refusal] = msgspec.field(default_factory=list)
    # why a convolution of the model is float16 though it was int8, by its source
    rolled_back: dict[Origin, str] = msgspec.field(default_factory=dict)

    def remark(self, name: str, text: str) -> None:
        made = self.nodes[name]
        self.nodes[name] = replace(made, rule=f"{made.rule}; {text}")

    def as_json(self, graph: Graph) -> dict[str, object]:
        """The nodes that `graph` still has, in its order, as JSON values."""
        nodes = [
            _node_json(node, self.nodes[node.name], self._why(node))
            for node in graph.nodes
            if node.name in self.nodes
        ]
        casts = [
            _cast_json(node, self.casts.get(node.name, lambda: "the model's own")())
            for node in graph.nodes
            if node.op == "Cast"
        ]
        return {"nodes": nodes, "casts": casts}

    def _why(self, node: Node) -> str:
        """The rule that chose a node's dtypes, with what made floats of an int8 layer."""
        rule = self.nodes[node.name].rule
        if not node.op.startswith(_CONVOLUTIONS):
            return rule
        reasons = [self.rolled_back[each] for each in node.origins if each in self.rolled_back]
        return SEMICOLON.join(map(Text, [rule, *reasons[:1]]))


def _node_json(node: Node, decision: Decision, rule: str) -> dict[str, object]:
    return {
        "name": node.name,
        "op": node.op,
        "from": [origin.name for origin in node.origins],
        "positions": [origin.index for origin in node.origins],
        "engine": node.engine.value if node.engine else None,
        "origin": _dtypes(decision.origin),
        "chosen": _dtypes(decision.chosen),
        "rule": rule,
    }


@lru_cache(maxsize=1024)
def _dtypes(sides: tuple[tuple[DType | None, ...], tuple[DType, ...]]) -> dict[str, object]:
    return {
        "inputs": [each.value if each else None for each in sides[0]],
        "outputs": [each.value for each in sides[1]],
    }


def _cast_json(node: Node, reason: str) -> dict[str, object]:
    source = node.present_inputs[0]
    return {
        "name": node.name,
        "tensor": source.name,
        "from": source.type.dtype.value,
        "to": node.output.type.dtype.value,
        "reason": reason,
    }
