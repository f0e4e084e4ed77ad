"""The answer of `convert --why-not`: what fusion passes found, and where they nearly applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from atc_py.results.fusions import FusionEffect

__all__ = ["why_not_lines"]


def why_not_lines(effects: Iterable[FusionEffect], wanted: Iterable[str]) -> Iterator[str]:
    """Yield what the `wanted` passes found, by our names or ATC's, and their nearest misses."""
    by_name = {name: each for each in effects for name in (each.name, *each.atc_names)}
    for name in wanted:
        effect = by_name.get(name)
        if effect is None:
            yield f"{name}: the pass did not run"
            continue
        record, miss = effect.record, effect.record.nearest
        yield f"{effect.name}: matched {record.matched} times, rewritten {record.effective} times"
        if miss is None:
            what = "no other near miss" if record.matched else "no near miss"
            yield f"  {what}"
            continue
        origin = f", from {', '.join(map(repr, miss.origins))}" if miss.origins else ""
        yield f"  nearest miss: {miss.reason}"
        yield f"    at {miss.node!r}{origin}; {miss.depth} nodes of the pattern matched"
