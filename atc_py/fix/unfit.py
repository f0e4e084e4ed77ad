"""Conditions of rules: one that does not hold ends the rule at a node, in words."""

import threading
from collections.abc import Sequence

from atc_py.text import Text, made_text


class _Tally(threading.local):
    """Words of the conditions that held since a rule began, by thread.

    The conditions without words, for which a rule is meant, are one.
    """

    def __init__(self) -> None:
        self.held: set[str] = set()


_tally = _Tally()


def begin_rule() -> None:
    _tally.held.clear()


class UnfitError(Exception):
    """A node that a rule does not fit.

    Attributes:
        unbounded: inputs of the model whose bounds could make it hold.
        held: the number of conditions of the rule that held before it, the same of several axes once.
    """

    def __init__(
        self, template: str, unbounded: Sequence[str] = (), found: object = None, **values: object
    ) -> None:
        self.unbounded, self.held = tuple(unbounded), len(_tally.held)
        self.reason = made_text(template, "", values)
        if found is not None and template:
            # the condition that does not hold, as a clause without a final period
            self.reason = self.reason + Text(", found {observed}", observed=found)
        super().__init__(self.reason.en)


def require(
    condition: object,
    template: str,
    unbounded: Sequence[str] = (),
    found: object = None,
    **values: object,
) -> None:
    """Refuse the node unless `condition` is true.

    UnfitError has it in words, such as `W is constant`; `values` fill its places, and what was
    found in its place follows.
    """
    if not condition:
        raise UnfitError(template, unbounded, found, **values)
    _tally.held.add(template)


def skip_unless(condition: object) -> None:
    """Pass the node by, without a reason, unless the rule is meant for nodes of its kind."""
    if not condition:
        raise UnfitError("")
    _tally.held.add("")
