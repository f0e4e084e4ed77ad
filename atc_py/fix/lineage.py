"""The rules that led to a node, and the bounds of what rules write.

Rules that undo each other return on the way to one node again and again; a rule that writes its own
operator several times doubles the model each round. Both end here, long before memory does.
"""

from collections.abc import Iterable

from atc_py.fix.rule import FixRule

MOST_RETURNS = 8
"""Times that one rule may take part in what replaces one node of the file, beside once for each level of
graphs in graphs, which a rule opens one by one."""

MOST_NEW_NODES = 300_000
"""Nodes that rules may write in one model."""


class Lineage:
    """The rules by which each value of the model has come to be.

    Attributes:
        endless: whether a bound was reached; what has been written is then of no use.
    """

    def __init__(self, levels: int = 0) -> None:
        """Know nothing yet; `levels` are those of graphs in the graphs of the file's nodes."""
        self.endless = False
        self._most = MOST_RETURNS + levels
        self._rules: dict[str, tuple[str, ...]] = {}
        self._written = 0

    def of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names of the rules that wrote a node, the first one first, given its results."""
        return next((self._rules[name] for name in names if name in self._rules), ())

    def note(self, before: tuple[str, ...], rule: FixRule, made: Iterable[str]) -> None:
        """Note the results that a rule wrote in place of a node with the lineage `before`."""
        after = (*before, rule.name)
        names = tuple(made)
        self._rules.update(dict.fromkeys(names, after))
        self._written += len(names)
        if after.count(rule.name) > self._most or self._written > MOST_NEW_NODES:
            self.endless = True
