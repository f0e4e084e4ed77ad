"""Predicates on attributes that are equations of Einsum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.answers import HOLDS, Answer, fails
from atc_py.check.predicate import predicate
from atc_py.check.rules.reading import attribute
from atc_py.check.rules.wording import shown
from atc_py.diag.codes import ATTR_OUT_OF_RANGE
from atc_py.onnx_graph.source.equation import Equation, read_equation
from atc_py.spec.rules import EquationOneOf, EquationWrittenOut
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode


@predicate(
    EquationOneOf,
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must be {one_of}, in these letters or others",
    help_=Text("express the sum with Transpose, Reshape and MatMul where the model is built"),
)
def equation_one_of(rule: EquationOneOf, node: BoundNode) -> Answer:
    """Judge a node by an EquationOneOf rule."""
    value = attribute(node, rule.attribute)
    if value is None:
        return HOLDS
    equation = _renamed(value) if isinstance(value, str) else None
    holds = equation is not None and equation in map(_renamed, rule.one_of)
    return HOLDS if holds else fails(shown(value))


def _renamed(text: str) -> Equation | None:
    """An equation in letters that depend on their order alone; None for no equation."""
    equation = read_equation(text)
    return None if equation is None else equation.renamed


@predicate(
    EquationWrittenOut,
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must have no blanks and an arrow before the result",
    help_=Text("write {attribute} without blanks and with the result after an arrow"),
)
def equation_written_out(rule: EquationWrittenOut, node: BoundNode) -> Answer:
    """Judge a node by an EquationWrittenOut rule; what is no equation is another rule's matter."""
    value = attribute(node, rule.attribute)
    equation = read_equation(value) if isinstance(value, str) else None
    return HOLDS if equation is None or str(equation) == value else fails(shown(value))
