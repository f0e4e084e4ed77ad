"""The decisions of the precision pass by node and by Cast: the record that `info` prints."""

from functools import lru_cache

import msgspec

from atc_py.ir import Graph, Node, Origin
from atc_py.passes.precision.refusals import Refusal
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.text import SEMICOLON, Text

_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2D")
"""Prefixes of the operators that a convolution of the model becomes."""


class Decision(msgspec.Struct, frozen=True):
    """Dtypes of one node by position; None where an input is absent.

    Attributes:
        origin: the model's own dtypes of inputs and of outputs.
        chosen: the dtypes of the column that was taken.
        rule: why, in a few words.
    """

    origin: tuple[tuple[DType | None, ...], tuple[DType, ...]]
    chosen: tuple[tuple[DType | None, ...], tuple[DType, ...]]
    rule: str


class Decisions(msgspec.Struct):
    """All decisions by the names of the nodes.

    Attributes:
        nodes: every node that was typed, Casts of the model included.
        casts: why each Cast that was inserted is there.
        refused: nodes that nothing runs at the dtypes that are wanted.
        rolled_back: why a convolution of the model is float16 though it was int8, by its source.
    """

    nodes: dict[str, Decision] = msgspec.field(default_factory=dict)
    casts: dict[str, str] = msgspec.field(default_factory=dict)
    refused: list[Refusal] = msgspec.field(default_factory=list)
    rolled_back: dict[Origin, str] = msgspec.field(default_factory=dict)

    def remark(self, name: str, text: str) -> None:
        """Add to the rule of the node called `name`."""
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
            _cast_json(node, self.casts.get(node.name, "the model's own"))
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
    """Dtypes of inputs and outputs as JSON values, equal ones as one object."""
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
