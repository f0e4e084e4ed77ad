"""Findings of fusion passes: matches, rewrites, and the nearest miss of each pass."""

import msgspec


class Miss(msgspec.Struct, frozen=True):
    """A place where a rule almost applied.

    Attributes:
        reason: why it does not, with what was found.
        node: the target node that is not what the pattern wants, or does not meet its condition.
        origins: names of the source nodes that it came from.
        depth: how many nodes of the pattern were there.
        anchor: the target node that the pattern begins at; empty for `node` itself.
    """

    reason: str
    node: str
    origins: tuple[str, ...]
    depth: int
    anchor: str = ""


class PassFusions(msgspec.Struct):
    """The fusions of one pass.

    Attributes:
        matched: places where the pattern was.
        effective: places that were rewritten.
        nearest: the miss that had most of the pattern; of equals the first.
    """

    matched: int = 0
    effective: int = 0
    nearest: Miss | None = None

    def missed(self, miss: Miss, *, matched: bool) -> None:
        """Note a place that was left alone; `matched` says whether the whole pattern was there."""
        self.matched += matched
        if self.nearest is None or miss.depth > self.nearest.depth:
            self.nearest = miss

    def applied(self, count: int = 1) -> None:
        """Note places that were rewritten."""
        self.matched += count
        self.effective += count


class Fusions(msgspec.Struct):
    """The fusions of every pass that reports them, by the pass's name."""

    passes: dict[str, PassFusions] = msgspec.field(default_factory=dict)

    def of(self, name: str) -> PassFusions:
        """The record of the pass called `name`."""
        return self.passes.setdefault(name, PassFusions())
