"""Deviations: where CANN's ONNX parser gives a node another meaning than ONNX, or refuses it."""

# Annotations are not postponed here: msgspec reads them when the structs are made.
from enum import Enum
from typing import Annotated, TypeAlias

import msgspec

from atc_py.spec.deviation_rules import DeviationRule
from atc_py.spec.rule import Text

_Slug: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*\Z")]


class Certainty(Enum):
    """Grounds of a statement about CANN."""

    PROVEN = "proven"
    """Published sources of that edition say it."""

    INFERRED = "inferred"
    """It follows from sources of another edition, or from a part of them."""


class _Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A frozen struct that refuses keys that it does not have."""


class Effect(_Struct, frozen=True, kw_only=True):
    """Words on what CANN computes instead, a clause."""

    en: Text
    zh: Text


class Registered(_Struct, frozen=True, kw_only=True):
    """Opsets at which an edition's parser has an operator.

    Attributes:
        edition: year of the sources.
        opsets: first and last opset of each run; none where the parser does not have it.
        name: operator type by which the parser has it, where it is another one.
    """

    edition: int
    opsets: tuple[tuple[int, int], ...]
    name: Text | None = None


class Deviation(_Struct, frozen=True, kw_only=True):
    """A row: a node for which `unless` does not hold means another thing on CANN.

    Attributes:
        name: short, unique for the operator.
        unless: the rule whose nodes mean the same on CANN; its level does not count.
        effect: what CANN computes instead, or why it refuses the node.
        refused: whether the parser refuses the node.
        undefined: whether CANN's result has no arithmetic that could be followed: it depends on
            other nodes, on the process or on memory that nothing has written.
        proven: editions whose published sources say so, by year.
        inferred: editions for which it is inferred.
        source: the files, or the parts of them, that it was read from.
        line: its line in the file; below 0, in the file of another list that this one is like.
    """

    name: _Slug
    unless: DeviationRule
    effect: Effect
    refused: bool = False
    undefined: bool = False
    proven: tuple[int, ...] = ()
    inferred: tuple[int, ...] = ()
    source: Text
    line: int = msgspec.field(default=0, name="@line")

    def certainty(self, edition: int) -> Certainty | None:
        """Return how certain it is that an edition has it; None if it does not."""
        if edition in self.proven:
            return Certainty.PROVEN
        return Certainty.INFERRED if edition in self.inferred else None
