"""Rules that only deviations of CANN ask: the operator list demands nothing of the kind."""

# Annotations are not postponed here: msgspec reads them when the structs are made.
from typing import TypeAlias

from atc_py.spec.rule import Rule, Text
from atc_py.spec.rules import Constraint

__all__ = [
    "AnyAttrGiven",
    "AttrAbsent",
    "AttrRepeats",
    "DeviationRule",
    "NoneBeforeSets",
    "OperandNotGiven",
    "OutputShapePadsEvenly",
    "SetsAsBefore",
]


class AttrAbsent(Rule, frozen=True, kw_only=True):
    """The attribute is not set."""

    attribute: Text


class AttrRepeats(Rule, frozen=True, kw_only=True):
    """The attribute is not set, or lists these texts in turn, in any case of letters."""

    attribute: Text
    values: tuple[Text, ...]


class AnyAttrGiven(Rule, frozen=True, kw_only=True):
    """At least one of the attributes is set, and is no empty list."""

    attributes: tuple[Text, ...]


class NoneBeforeSets(Rule, frozen=True, kw_only=True):
    """No node of the operator before this one in the model sets `attribute`.

    It may where this one sets it, too, or where one of them, or this one, sets `along`.
    """

    attribute: Text
    along: Text


class SetsAsBefore(Rule, frozen=True, kw_only=True):
    """A node that sets `along` sets `attribute` if one of the operator before it does."""

    attribute: Text
    along: Text


class OutputShapePadsEvenly(Rule, frozen=True, kw_only=True):
    """The attribute, if it is set, is less than what all windows cover by even numbers.

    Where auto_pad is written as NOTSET, it is what they cover, less the pads that are written.
    """

    attribute: Text
    tensor: Text
    other: Text


class OperandNotGiven(Rule, frozen=True, kw_only=True):
    """The node does not use the input or output."""

    tensor: Text


DeviationRule: TypeAlias = (
    Constraint
    | AnyAttrGiven
    | AttrAbsent
    | AttrRepeats
    | NoneBeforeSets
    | OperandNotGiven
    | OutputShapePadsEvenly
    | SetsAsBefore
)
"""Any rule that a deviation may ask."""
