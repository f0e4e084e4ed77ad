"""Conditions of rules: one that does not hold ends the rule at a node, in words."""

from collections.abc import Sequence

from atc_py.text import made_text


class UnfitError(Exception):
    """A node that a rule does not fit.

    Attributes:
        reason: the condition that does not hold, as a clause without a final period.
        unbounded: inputs of the model whose bounds could make it hold.
    """

    def __init__(self, template: str, unbounded: Sequence[str] = (), **values: object) -> None:
        self.unbounded = tuple(unbounded)
        self.reason = made_text(template, "", values)
        super().__init__(self.reason.en)


def require(
    condition: object, template: str, unbounded: Sequence[str] = (), **values: object
) -> None:
    """Refuse the node unless `condition` is true.

    Raises:
        UnfitError: with the condition in words, such as `W is constant`; `values` fill its places.
    """
    if not condition:
        raise UnfitError(template, unbounded, **values)


def skip_unless(condition: object) -> None:
    """Pass the node by, without a reason, unless the rule is meant for nodes of its kind.

    Raises:
        UnfitError: without words; reports leave it out.
    """
    if not condition:
        raise UnfitError("")
