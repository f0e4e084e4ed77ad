"""The registry of type rules, the corrections of onnx's inference, by operator."""

from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import TypeAlias

import msgspec
from onnx.onnx_pb import NodeProto

from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.tensors import known_type
from atc_py.system.register import Register, place_of
from atc_py.text import Text

# What a rule returns before onnx is asked --------------------------------------------------------


class Withheld(msgspec.Struct, frozen=True):
    """A node that onnx must not see before more is known of its inputs."""


class Shown(msgspec.Struct, frozen=True):
    """A form of a node that onnx is shown in its place."""

    nodes: tuple[NodeProto, ...]  # one or more nodes that compute the same outputs
    # element type that onnx is told of all inputs, about a node alone; 0 for their own
    reads: int = 0
    # element type that the outputs have instead of the one that onnx infers; 0 for that
    gives: int = 0


class Negative(msgspec.Struct, frozen=True):
    """The dims of a node's results, one of them negative, which onnx passes over."""

    dims: tuple[int, ...]


# What a rule returns after onnx has answered -----------------------------------------------------


class Override(msgspec.Struct, frozen=True):
    """The types of a node's outputs, whatever onnx infers, by name."""

    types: dict[str, ValueType]


class Refinement(msgspec.Struct, frozen=True):
    """Types of a node's outputs, by name: those that onnx has inferred, made more precise."""

    types: dict[str, ValueType]


class Contradiction(msgspec.Struct, frozen=True):
    """The reason why a node fails although onnx infers it, in a sentence."""

    reason: Text


Verdict: TypeAlias = "Withheld | Shown | Negative | Override | Refinement | Contradiction"

_KINDS = {
    True: (Withheld, Shown, Negative, Override),
    False: (Override, Refinement, Contradiction),
}
"""What a rule may return, by whether it is consulted before onnx is asked."""


# The rules ---------------------------------------------------------------------------------------


class Question(msgspec.Struct, frozen=True):
    """A node that onnx is asked about, and what a rule may look at."""

    graph: OnnxGraph
    node: OnnxNode
    alone: bool = False  # True if onnx is asked about this node alone, not about the whole graph
    blind: bool = False  # True if no type counts as known, as before the first inference of a graph
    # names of values that may have negative dims by onnx's inference
    doubtful: Collection[str] = frozenset()

    def has(self, position: int) -> bool:
        return bool(self.node.input_name(position))

    def type(self, position: int) -> ValueType | None:
        """All that is known of an input; None where it is absent or unknown."""
        if self.blind or not self.has(position):
            return None
        return known_type(self.graph, self.node.input_names[position])

    def const(self, position: int) -> ConstData | None:
        return (
            self.graph.consts.get(self.node.input_names[position]) if self.has(position) else None
        )

    def length(self, position: int) -> int | None:
        """The length of an input that is a vector, where it is known."""
        known = self.type(position)
        dims = None if known is None else known.dims
        return dims[0] if dims is not None and len(dims) == 1 else None

    def is_closed(self, position: int) -> bool:
        """True if all dims of an input are known; those of an absent one are."""
        known = self.type(position)
        return not self.has(position) or (known is not None and known.shape is not None)

    def follows_doubt(self) -> bool:
        """True if an input may have negative dims by inference of the whole graph."""
        return any(name in self.doubtful for name in self.node.reads)

    def outputs(self, *types: ValueType) -> dict[str, ValueType]:
        """The types of the first outputs, by name; absent outputs are left out."""
        pairs = zip(self.node.output_names, types, strict=False)
        return {name: known for name, known in pairs if name}


Judge: TypeAlias = "Callable[[Question], Verdict | None]"


class TypeRule(msgspec.Struct, frozen=True):
    """A correction of onnx's inference of an operator."""

    judge: Judge  # returns a verdict, or None where onnx may stand
    # returns True for the nodes that the rule concerns; None for all of its operator
    when: Callable[[Question], bool] | None
    before: bool  # True if it is consulted before onnx is asked
    custom: bool  # True if it concerns nodes that ONNX does not define, in any domain

    def concerns(self, asked: Question) -> bool:
        node = asked.node
        if not self.before and node in asked.graph.unsound:
            return False  # its attributes may be anything
        if node.domain and not self.custom:
            return False
        return self.when is None or self.when(asked)


RULES: Register[tuple[str, str], TypeRule] = Register(
    "type rule of", "atc_py.onnx_graph.typing.rules", sparse=True
)
"""By operator and place of the function."""


def type_rule(
    *operators: str,
    when: Callable[[Question], bool] | None = None,
    before: bool = False,
    custom: bool = False,
) -> Callable[[Judge], Judge]:
    """Register a function as a rule of some operators.

    `when` returns True for the nodes that the rule concerns; None for all. If `before`, it is
    consulted before onnx is asked, not after it has answered. If `custom`, the operators are not
    ONNX's; their nodes may be in any domain.
    """

    def register(judge: Judge) -> Judge:
        for operator in operators:
            place = place_of(judge)
            RULES.add((operator, place), TypeRule(judge, when, before, custom), place)
            times_of.cache_clear()
        return judge

    return register


def has_rules(node: OnnxNode, *, before: bool) -> bool:
    """True if there are rules about a node's operator, before or after onnx is asked."""
    return before in times_of(node.op_type)


@cache
def times_of(operator: str) -> frozenset[bool]:
    """True, False or both where rules are consulted before or after onnx is asked."""
    return frozenset(rule.before for rule in RULES.named(operator).values())


def verdicts(asked: Question, *, before: bool) -> Iterator[Verdict]:
    """Yield what the rules that concern a node say, before or after onnx is asked."""
    for rule in RULES.named(asked.node.op_type).values():
        if rule.before is before and rule.concerns(asked):
            verdict = rule.judge(asked)
            if verdict is None:
                continue
            if not isinstance(verdict, _KINDS[before]):
                at = "before" if before else "after"
                name = f"{rule.judge.__module__}.{getattr(rule.judge, '__qualname__', '?')}"
                raise AssertionError(f"{name}: a rule does not return {verdict} {at} onnx")
            yield verdict
