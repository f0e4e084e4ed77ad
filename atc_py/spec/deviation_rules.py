"""Rules that only deviations of CANN ask: the operator list demands nothing of the kind."""

# Annotations are not postponed here: msgspec reads them when the structs are made.
from typing import TypeAlias

from atc_py.spec.rule import Rule, Text
from atc_py.spec.rules import Constraint

__all__ = ["AttrAbsent", "AttrRepeats", "DeviationRule", "OperandNotGiven"]


class AttrAbsent(Rule, frozen=True, kw_only=True):
    """The attribute is not set."""

    attribute: Text


class AttrRepeats(Rule, frozen=True, kw_only=True):
    """The attribute is not set, or lists these texts in turn, in any case of letters."""

    attribute: Text
    values: tuple[Text, ...]


class OperandNotGiven(Rule, frozen=True, kw_only=True):
    """The node does not use the input or output."""

    tensor: Text


DeviationRule: TypeAlias = Constraint | AttrAbsent | AttrRepeats | OperandNotGiven
"""Any rule that a deviation may ask."""
