"""Rewrites that are alike: one operator, one row of rules, one form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.fix.rule import Exactness
from atc_py.results.fixing import Difference, Fixing, Rewrite

if TYPE_CHECKING:
    from atc_py.text import Text


@dataclass(frozen=True, slots=True)
class RewriteGroup:
    """Rewrites that are alike.

    Attributes:
        rewrites: each of them, in the order of the nodes; there is one at least.
    """

    rewrites: tuple[Rewrite, ...]

    @property
    def first(self) -> Rewrite:
        """The first of them."""
        return self.rewrites[0]

    @property
    def exactness(self) -> Exactness:
        """The class of the rules."""
        return Exactness(self.first.exactness)

    @property
    def worst(self) -> Difference | None:
        """The largest difference; None where no region was compared."""
        known = [each.difference for each in self.rewrites if each.difference is not None]
        return max(known, key=lambda each: (each.error, each.differing), default=None)

    @property
    def uncompared(self) -> tuple[Rewrite, ...]:
        """The rewrites whose regions were not compared by themselves."""
        return tuple(each for each in self.rewrites if each.difference is None)

    @property
    def assumptions(self) -> tuple[Text, ...]:
        """The conditions of the rules and the values that the user gave, each once."""
        found = (each for rewrite in self.rewrites for each in rewrite.assumptions)
        return tuple(dict.fromkeys(found))


def rewrite_groups(done: Fixing) -> list[RewriteGroup]:
    """The rewrites of a model by pattern, in the order of their first nodes."""
    found: dict[tuple[object, ...], list[Rewrite]] = {}
    for each in done.rewrites:
        key = (each.operator, each.rules, each.after, each.exactness)
        found.setdefault(key, []).append(each)
    return [RewriteGroup(tuple(several)) for several in found.values()]
