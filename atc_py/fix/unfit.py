"""Conditions of rules: one that does not hold ends the rule at a node, in words."""

from __future__ import annotations

from atc_py.diag import Words

__all__ = ["UnfitError", "meant_for", "require"]


class UnfitError(Exception):
    """A node that a rule does not fit.

    Attributes:
        reason: the condition that does not hold, as a clause without a final period.
    """

    def __init__(self, reason: Words) -> None:
        super().__init__(reason.en)
        self.reason = reason


def require(condition: object, en: str, zh: str) -> None:
    """Refuse the node unless `condition` is true.

    Raises:
        UnfitError: with the condition in words, such as `W is constant`.
    """
    if not condition:
        raise UnfitError(Words(en, zh))


def meant_for(condition: object) -> None:
    """Pass the node by, without a reason, unless the rule is meant for nodes of its kind.

    Raises:
        UnfitError: without words; reports leave it out.
    """
    if not condition:
        raise UnfitError(Words("", ""))
