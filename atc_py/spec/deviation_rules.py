"""Rules that only deviations of CANN ask: the operator list demands nothing of the kind."""

# Annotations are not postponed here: msgspec reads them when the structs are made.
from typing import TypeAlias

from atc_py.spec.rule import Number, Rule, Text
from atc_py.spec.rules import Constraint

__all__ = [
    "AnyOperandGiven",
    "AttrAbsent",
    "AttrRepeats",
    "AttrTruncatesToNonzero",
    "DeviationRule",
    "IndicesWithinDepth",
    "NormsNotZero",
    "OneAxisFrom",
    "OperandNotGiven",
    "PartsEven",
    "RowsWithinColumns",
    "ValuesWithin",
]


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


class AnyOperandGiven(Rule, frozen=True, kw_only=True):
    """The node uses one of the two operands, or both."""

    tensor: Text
    other: Text


class AttrTruncatesToNonzero(Rule, frozen=True, kw_only=True):
    """The attribute is not set, or another number than 0 without its fraction."""

    attribute: Text


class OneAxisFrom(Rule, frozen=True, kw_only=True):
    """Of the axes from the attribute's on, none but one has another length than 1.

    That one is the axis that the attribute names, and `default` where it is not set.
    """

    attribute: Text
    tensor: Text
    default: int


class RowsWithinColumns(Rule, frozen=True, kw_only=True):
    """The tensor, a matrix, has as many columns as rows, or more."""

    tensor: Text


class PartsEven(Rule, frozen=True, kw_only=True):
    """The outputs, which are parts of the tensor along the axis `along`, have one length."""

    tensor: Text
    along: Text


class ValuesWithin(Rule, frozen=True, kw_only=True):
    """Every value of the tensor is between two bounds, both included; NaN counts as one that is."""

    tensor: Text
    range: tuple[Number, Number]


class IndicesWithinDepth(Rule, frozen=True, kw_only=True):
    """Every value of the tensor is in [-depth, depth - 1], the depth being the value of `other`."""

    tensor: Text
    other: Text


class NormsNotZero(Rule, frozen=True, kw_only=True):
    """No run of the tensor's elements along the attribute's axis has zeros alone."""

    attribute: Text
    tensor: Text


DeviationRule: TypeAlias = (
    Constraint
    | AttrAbsent
    | AttrRepeats
    | OperandNotGiven
    | AnyOperandGiven
    | AttrTruncatesToNonzero
    | OneAxisFrom
    | PartsEven
    | RowsWithinColumns
    | ValuesWithin
    | IndicesWithinDepth
    | NormsNotZero
)
"""Any rule that a deviation may ask."""
