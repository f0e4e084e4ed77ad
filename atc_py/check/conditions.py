"""Conditions of rules: whether a rule applies to a node at all, and whether evidence outweighs it."""

from collections.abc import Callable, Collection, Iterator, Sequence

from atc_py.check.bound_node import BoundNode
from atc_py.check.predicate import Predicate
from atc_py.check.reading import (
    HOLDS,
    Answer,
    NamedTensor,
    State,
    lengths,
    operand,
    operands,
    unknown,
)
from atc_py.onnx_graph.source import SourceNode, SourceTensor
from atc_py.spec import Level, OpSpec, Rule, When
from atc_py.spec.deviations import NoneBeforeSets, PartGiven, SetsAsBefore
from atc_py.spec.implied import OperandPresent
from atc_py.spec.rule import CounterEvidence
from atc_py.spec.rules import ATTRIBUTE_ARGUMENTS, OPERAND_ARGUMENTS
from atc_py.tensor.dtypes import DType
from atc_py.text import Text, Words

_OPEN = Text("whether the rule applies depends on an open dim")


def concerns(rule: Rule, node: BoundNode) -> bool:
    """True if the node's opset has the operands and attributes that the rule speaks of."""
    arguments = rule.arguments
    if isinstance(rule, OperandPresent) and (
        node.operand(rule.tensor).absent is not None and node.written not in node.spec.opsets
    ):
        return False
    for key in OPERAND_ARGUMENTS:
        if key in arguments and not node.operand(str(arguments[key])).exists_at(node.opset):
            return False
    named = (str(arguments[key]) for key in ATTRIBUTE_ARGUMENTS if key in arguments)
    return all(node.has_attribute(name) for name in named)


def ask(rule: Rule, predicate: Predicate, node: BoundNode) -> Answer:
    """The predicate's answer, where the rule's conditions are met."""
    if rule.when is None:
        return predicate.test(rule, node)
    met = list(_conditions(rule.when, node))
    if any(condition is False for condition in met):
        return HOLDS
    answer = predicate.test(rule, node)
    if answer.state is State.FAILS and None in met:
        return unknown(_OPEN)
    return answer


def _conditions(when: When, node: BoundNode) -> Iterator[bool | None]:
    # None where an open dim or an unknown dtype may meet the condition, or not.
    here = node.conditions
    if when.modes:
        yield here.mode in when.modes
    if when.cube_float32 is not None:
        yield here.soc.cube_float32 is when.cube_float32
    if when.families:
        yield here.soc.family.value in when.families
    if when.opsets is not None:
        yield when.opsets[0] <= node.opset <= when.opsets[1]
    if when.written is not None:
        yield when.written[0] <= (node.written or node.opset) <= when.written[1]
    for attribute in when.attributes:
        yield node.value(attribute.name) in attribute.one_of
    yield from _conditions_on_tensors(when, node)


def _conditions_on_tensors(when: When, node: BoundNode) -> Iterator[bool | None]:
    for name in when.present:
        yield node.is_given(name)
    for name in when.absent:
        yield not node.is_given(name)
    for condition in when.dtypes:
        yield _has_dtype(node.tensor(condition.tensor), condition.one_of)
    for ranked in when.ranks:
        yield _has_rank(operand(node, ranked.tensor), ranked.rank)
    for dim in when.dims:
        length = next((known for _, known in lengths(node, dim.tensor, dim.dim)), None)
        yield None if length is None else length == dim.equals


def _has_dtype(tensor: SourceTensor | None, dtypes: tuple[DType, ...]) -> bool | None:
    if tensor is None:
        return False
    return tensor.dtype in dtypes if tensor.element else None


def _has_rank(tensor: NamedTensor | None, rank: int) -> bool | None:
    if tensor is None:
        return False
    return None if tensor.rank is None else tensor.rank == rank


def is_outweighed(rule: Rule, node: BoundNode) -> bool:
    """True if a rule refuses nothing by itself, as boards take what it forbids at this node."""
    against, here = rule.contradicted, node.conditions
    if against is None or here.strict or rule.level is not Level.ERROR:
        return False
    if against.families and here.soc.family.value not in against.families:
        return False
    return all(
        (not against.dtypes or tensor.tensor.dtype in against.dtypes)
        and (not against.ranks or tensor.rank in against.ranks)
        for tensor in operands(node, str(rule.arguments.get("tensor", "")))
    )


def evidence_words(against: CounterEvidence) -> Text:
    """`YOLOv8 exports, ... (Ascend310B, CANN 7.0: fusion_result.json of ...)`."""
    return Text(
        "{seen} ({soc}, {release}: {where})",
        seen=Words(against.seen.en, against.seen.zh),
        soc=against.soc,
        release=against.release,
        where=Words(against.where.en, against.where.zh),
    )


class NodesBefore:
    """For each node of a model what deviations ask for of those before it, and of what is fed."""

    def __init__(
        self,
        nodes: Sequence[SourceNode],
        spec_of: Callable[[SourceNode], OpSpec | None],
        inputs: Collection[SourceTensor],
    ) -> None:
        """Take the nodes of a model in its order."""
        self._setters: dict[tuple[str, str, str], list[SourceNode]] = {}
        self._scoped: dict[tuple[str, str, str], list[SourceNode]] = {}
        asked: dict[tuple[str, str], set[str]] = {}
        for node in nodes:
            key = node.domain, node.op_type
            if key not in asked:
                asked[key] = asked_of_nodes_before(spec_of(node))
            for name in sorted(asked[key] & node.attributes.keys()) if asked[key] else ():
                self._setters.setdefault((*key, name), []).append(node)
        self._asked, self._inputs = asked, inputs
        self._places = {node: at for at, node in enumerate(nodes)} if self._setters else {}

    def __call__(self, node: SourceNode) -> tuple[SourceNode, ...]:
        """The first node before a node, of its operator, that sets each attribute asked for.

        When the graph of a branch is parsed is not known, so its nodes may stand before any.
        """
        key = node.domain, node.op_type
        if not self._asked.get(key):
            return ()
        setters = (self._first(node, (*key, name)) for name in sorted(self._asked[key]))
        return tuple(item for item in setters if item is not None)

    def fed(self, node: SourceNode, spec: OpSpec | None) -> frozenset[str]:
        """The operands of a node that are inputs of the model, where deviations ask for them.

        A branch gets what it reads from its If, and so none of them.
        """
        if node.scope or spec is None or not spec.deviations:
            return frozenset()
        rules = (row.unless for row in spec.deviations)
        asked = {rule.fed for rule in rules if isinstance(rule, PartGiven)}
        pairs = zip(spec.inputs, node.inputs, strict=False) if asked else ()
        return frozenset(
            row.name
            for row, tensor in pairs
            if row.name in asked and tensor and tensor.dims and tensor in self._inputs
        )

    def _first(self, node: SourceNode, key: tuple[str, str, str]) -> SourceNode | None:
        """The first node that sets an attribute before a node, or may."""
        setters = self._setters.get(key, [])
        # If neither of the first two is before the node, no other outside of branches is.
        likely = [*setters[:2], *self._in_branches(key)]
        others = (other for other in likely if other is not node)
        return next((other for other in others if self._may_precede(other, node)), None)

    def _in_branches(self, key: tuple[str, str, str]) -> list[SourceNode]:
        """The first two nodes of branches that set an attribute."""
        if key not in self._scoped:
            self._scoped[key] = [setter for setter in self._setters.get(key, []) if setter.scope][
                :2
            ]
        return self._scoped[key]

    def _may_precede(self, one: SourceNode, other: SourceNode) -> bool:
        """True if a node is parsed before another one, or may be."""
        return bool(one.scope or other.scope) or self._places[one] < self._places[other]


def asked_of_nodes_before(spec: OpSpec | None) -> set[str]:
    """The attributes of nodes before that deviations of an operator depend on."""
    rules = () if spec is None else (row.unless for row in spec.deviations)
    asking = [rule for rule in rules if isinstance(rule, NoneBeforeSets | SetsAsBefore)]
    return {name for rule in asking for name in (rule.attribute, rule.along)}
