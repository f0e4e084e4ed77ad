"""A fixed model as one HTML file that needs nothing else."""

from collections.abc import Sequence
from typing import Any

from atc_py import __version__
from atc_py.report.fix.diff_text import change_title, hunk_lines
from atc_py.report.fix.tables import RewriteGroup, left_rows, rewrite_groups
from atc_py.report.fix.words import (
    HEADINGS,
    error_text,
    facts,
    headline,
    time_text,
    verdict_texts,
)
from atc_py.report.page.rendering import render_page
from atc_py.results.fixing import ChangeKind, Fixing, NodeChange, Rewrite

_OPEN, _OPEN_NODES = 6, 12
"""Patterns that are shown unfolded, and the nodes that each of them may have."""

_DRAWN = 3
"""Nodes of a pattern whose differences are shown."""


def fixing_html(done: Fixing, language: str = "en") -> str:
    """The record as a page: verdicts, rewrites that can be filtered, differences."""
    groups = rewrite_groups(done)
    before, after = verdict_texts(done, language)
    verdict = HEADINGS["verdict"].in_language(language)  # the badges say it
    return render_page(
        "fix",
        base="check",
        lang=language,
        words={key: each.in_language(language) for key, each in HEADINGS.items()},
        done=done,
        model=str(done.model),
        headline=headline(done).in_language(language),
        before=before,
        after=after,
        facts=[row for row in facts(done, language) if row[0] != verdict],
        classes=_classes(groups, language),
        operators=sorted({group.first.operator for group in groups}, key=str.lower),
        groups=[
            _group(done, group, language, unfolded=at < _OPEN) for at, group in enumerate(groups)
        ],
        left=left_rows(done, language),
        others=_others(done, language),
        version=__version__,
    )


def _classes(groups: Sequence[RewriteGroup], language: str) -> list[tuple[str, str, int]]:
    found: dict[str, list[int]] = {}
    for group in groups:
        found.setdefault(group.exactness.value, []).append(len(group.rewrites))
    words = {group.exactness.value: group.exactness.words for group in groups}
    return [(name, words[name].in_language(language), sum(each)) for name, each in found.items()]


def _group(done: Fixing, group: RewriteGroup, language: str, *, unfolded: bool) -> dict[str, Any]:
    first = group.first
    return {
        "operator": first.operator,
        "after": " ".join(first.after) or HEADINGS["absorbed"].in_language(language),
        "rules": ", ".join(first.rules),
        "level": group.exactness.value,
        "class": group.exactness.words.in_language(language),
        "count": len(group.rewrites),
        "open": unfolded and len(group.rewrites) <= _OPEN_NODES,
        "error": error_text(group.worst).in_language(language),
        "limit": "" if first.limit is None else f"{first.limit:.2g}",
        "time": time_text(group.rewrites),
        "assumptions": [assumption.in_language(language) for assumption in group.assumptions],
        "rows": [_row(rewrite, language) for rewrite in group.rewrites],
        "hunks": [
            [*_marked_lines(change, language)]
            for each in group.rewrites[:_DRAWN]
            for change in done.changes
            if change.kind is ChangeKind.RULES
            and (change.node, change.before.name) == (each.node, each.name)
        ],
    }


def _row(rewrite: Rewrite, language: str) -> dict[str, str]:
    shown = rewrite.shown
    data = shown.why.in_language(language)
    if not data and (shown.runs or shown.drawn):
        data = f"{shown.runs} + {shown.drawn}"
    return {
        "node": f'{rewrite.node} "{rewrite.name}"' if rewrite.name else str(rewrite.node),
        "new": ", ".join(each.name or f"{each.position} {each.operator}" for each in rewrite.new),
        "error": error_text(rewrite.difference).in_language(language),
        "time": time_text((rewrite,)),
        "data": data,
    }


def _others(done: Fixing, language: str) -> list[dict[str, Any]]:
    found = []
    for kind in ChangeKind:
        changes = [change for change in done.changes if change.kind is kind]
        if kind is not ChangeKind.RULES and changes:
            lines = [line for each in changes for line in _marked_lines(each, language)]
            found.append(
                {"why": kind.words.in_language(language), "count": len(changes), "lines": lines}
            )
    return found


def _marked_lines(change: NodeChange, language: str) -> list[tuple[str, str]]:
    kinds = {"-": "gone", "+": "new"}
    title = ("place", f"@@ {change_title(change, language)} @@")
    lines = [*hunk_lines(change, language)]
    return [title, *((kinds.get(line[:1], "around"), line) for line in lines)]
