"""The answer of `convert --why-not`: what fusion passes found, and where they nearly applied."""

from collections.abc import Iterable, Iterator

from atc_py.results.fusions import FusionEffect
from atc_py.text import Text


def why_not_lines(effects: Iterable[FusionEffect], wanted: Iterable[str]) -> Iterator[str]:
    """Yield what the `wanted` passes found, by our names or ATC's, and their nearest misses."""
    by_name = {name: each for each in effects for name in (each.name, *each.atc_names)}
    for name in wanted:
        effect = by_name.get(name)
        if effect is None:
            yield Text("{name}: the pass did not run", name=name)
            continue
        record, miss = effect.record, effect.record.nearest
        yield Text(
            "{effect}: matched {matched} times, rewritten {effective} times",
            effect=effect.name,
            matched=record.matched,
            effective=record.effective,
        )
        if miss is None:
            yield "  " + Text("no other near miss" if record.matched else "no near miss")
            continue
        yield "  " + Text("nearest miss: {reason}", reason=Text(miss.reason))
        template = "at {node}; {depth} nodes of the pattern matched"
        if miss.origins:
            template = "at {node}, from {origins}; {depth} nodes of the pattern matched"
        yield "    " + Text(
            template,
            node=repr(miss.node),
            origins=", ".join(map(repr, miss.origins)),
            depth=miss.depth,
        )
