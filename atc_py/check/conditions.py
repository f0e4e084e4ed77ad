"""Conditions of rules: whether a rule applies to a node at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from atc_py.check.answers import HOLDS, Answer, State, unknown
from atc_py.check.predicate import Predicate
from atc_py.check.rules.reading import rank_of
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec import Rule, When
from atc_py.spec.implied import OperandPresent
from atc_py.spec.rules import ATTRIBUTE_ARGUMENTS, OPERAND_ARGUMENTS
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode


_OPEN = Text("whether the rule applies depends on an open dim")


def concerns(rule: Rule, node: BoundNode) -> bool:
    """True if the node's opset has the operands and attributes that the rule speaks of."""
    arguments = rule.arguments
    if isinstance(rule, OperandPresent) and _may_be_left_out(rule.tensor, node):
        return False
    for key in OPERAND_ARGUMENTS:
        if key in arguments and not node.operand(str(arguments[key])).exists_at(node.opset):
            return False
    named = (str(arguments[key]) for key in ATTRIBUTE_ARGUMENTS if key in arguments)
    return all(node.has_attribute(name) for name in named)


def _may_be_left_out(operand: str, node: BoundNode) -> bool:
    """True if the file's opset, which is not listed, lets a node leave the operand out."""
    return node.operand(operand).absent is not None and node.written not in node.spec.opsets


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
    """True if each condition is met; None where that is not known."""
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
        yield bool(node.tensors(name))
    for name in when.absent:
        yield not node.tensors(name)
    for each in when.dtypes:
        yield _has_dtype(node.tensor(each.tensor), each.one_of)
    for ranked in when.ranks:
        yield _has_rank(node.tensor(ranked.tensor), ranked.rank)
    for dim in when.dims:
        length = node.length(dim.tensor, dim.dim)
        yield None if length is None else length == dim.equals


def _has_dtype(tensor: SourceTensor | None, dtypes: tuple[DType, ...]) -> bool | None:
    """True if a tensor has one of the dtypes; None where its dtype is not known."""
    if tensor is None:
        return False
    return tensor.dtype in dtypes if tensor.element else None


def _has_rank(tensor: SourceTensor | None, rank: int) -> bool | None:
    """True if a tensor has that rank; None where its rank is open."""
    if tensor is None:
        return False
    found = rank_of(tensor)
    return None if found is None else found == rank
