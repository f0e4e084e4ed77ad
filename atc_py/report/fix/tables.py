"""A fixed model as tables; findings and rewrites of one kind share a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from atc_py import __version__
from atc_py.fix.rule import Exactness
from atc_py.report.fix.diff_text import change_title, hunk_lines
from atc_py.report.fix.words import (
    HEADINGS,
    error_text,
    facts,
    headline,
    time_text,
    verdict_texts,
)
from atc_py.report.tables import Table, node_list, plain_lines, visible
from atc_py.results.fixing import ChangeKind, Difference, Fixing, NodeChange, Rewrite
from atc_py.text import COLON, Text
from atc_py.text.language import language as spoken_language
from atc_py.text.language import speaking


@dataclass(frozen=True, slots=True)
class RewriteGroup:
    """Rewrites that are alike."""

    rewrites: tuple[Rewrite, ...]  # each of them, in the order of the nodes; there is one at least

    @property
    def first(self) -> Rewrite:
        return self.rewrites[0]

    @property
    def exactness(self) -> Exactness:
        return Exactness(self.first.exactness)

    @property
    def worst(self) -> Difference | None:
        """The largest difference; None where no region was compared."""
        known = [rewrite.difference for rewrite in self.rewrites if rewrite.difference is not None]
        return max(known, key=lambda each: (each.error, each.differing), default=None)

    @property
    def uncompared(self) -> tuple[Rewrite, ...]:
        """The rewrites whose regions were not compared by themselves."""
        return tuple(rewrite for rewrite in self.rewrites if rewrite.difference is None)

    @property
    def assumptions(self) -> tuple[Text, ...]:
        found = (assumption for rewrite in self.rewrites for assumption in rewrite.assumptions)
        return tuple(dict.fromkeys(found))


def rewrite_groups(done: Fixing) -> list[RewriteGroup]:
    """The rewrites of a model by pattern, in the order of their first nodes."""
    grouped: dict[tuple[object, ...], list[Rewrite]] = {}
    for rewrite in done.rewrites:
        key = (rewrite.operator, rewrite.rules, rewrite.after, rewrite.exactness)
        grouped.setdefault(key, []).append(rewrite)
    return [RewriteGroup(tuple(several)) for several in grouped.values()]


_MOST_OPERATORS = 8
"""New operators that a row names."""

_MOST_FINDINGS = 8
"""Findings up to which each that is left has a row; the diagnostics after the tables have them all."""


def fixing_text(done: Fixing, language: str = "en") -> str:
    lines = [title_line(done, language)]
    for table in fixing_tables(done, language):
        lines += ["", *plain_lines(table)]
    return "\n".join([*lines, ""])


def title_line(done: Fixing, language: str) -> str:
    return f"{visible(str(done.model))}{(COLON + headline(done)).in_language(language)}"


def fixing_tables(done: Fixing, language: str = "en") -> list[Table]:
    tables = [
        _rewrites(done, language),
        _assumptions(done, language),
        _left(done, language),
        Table(HEADINGS["result"].in_language(language), ("", ""), tuple(facts(done, language))),
    ]
    return [table for table in tables if table.rows]


def _heads(names: str, language: str) -> tuple[str, ...]:
    """Headings by their keys; those that end in `>` are aligned to the right."""
    return tuple(
        HEADINGS[name.rstrip(">")].in_language(language) + name[len(name.rstrip(">")) :]
        for name in names.split()
    )


def _rewrites(done: Fixing, language: str) -> Table:
    timed = any(rewrite.microseconds is not None for rewrite in done.rewrites)
    columns = "nodes> operator rule new class error> allowed>" + (" time>" if timed else "")
    rows = []
    for group in rewrite_groups(done):
        first = group.first
        cells = [
            str(len(group.rewrites)), first.operator, ", ".join(first.rules),
            _operators_text(first.after) or HEADINGS["absorbed"].in_language(language), group.exactness.words.in_language(language),
            error_text(group.worst).in_language(language),
            "-" if first.limit is None else f"{first.limit:.2g}",
        ]  # fmt: skip
        rows.append((*cells, *([time_text(group.rewrites)] if timed else [])))
    title = HEADINGS["rewrites"].in_language(language)
    return Table(title, _heads(columns, language), tuple(rows))


def _operators_text(names: tuple[str, ...]) -> str:
    shown = " ".join(names[:_MOST_OPERATORS])
    return shown if len(names) <= _MOST_OPERATORS else f"{shown} ... ({len(names)})"


def _assumptions(done: Fixing, language: str) -> Table:
    by_rules: dict[tuple[str, str], dict[str, None]] = {}
    for group in rewrite_groups(done):
        key = (group.first.operator, ", ".join(group.first.rules))
        texts = [assumption.in_language(language) for assumption in group.assumptions]
        by_rules.setdefault(key, {}).update(dict.fromkeys(texts))
    rows = tuple((*key, text) for key, texts in by_rules.items() for text in texts)
    title = HEADINGS["assumption"].in_language(language)
    return Table(title, _heads("operator rule assumes", language), rows)


def _left(done: Fixing, language: str) -> Table:
    """The table of findings that are left; where they are many, those alike share a row."""
    title = HEADINGS["left"].in_language(language)
    rows = left_rows(done, language)
    if len(rows) > _MOST_FINDINGS:
        rows = left_rows(done, language, merged=True)
    return Table(title, _heads("node operator code finding unfit", language), tuple(rows))


def left_rows(
    done: Fixing, language: str, *, merged: bool = False
) -> list[tuple[str, str, str, str, str]]:
    """The findings that are left: nodes, operator, code, finding, the rule that came closest.

    Nodes with the same finding share a row; if `merged`, those of one operator, code and reason do,
    with the first finding.
    """
    none = Text("no rule is known").in_language(language)
    needs = Text(" needs: ").in_language(language)
    rows: dict[tuple[str, ...], tuple[dict[str, None], dict[str, None]]] = {}
    for each in done.left:
        unfit = "".join(f"{rule}{needs}{why.in_language(language)}" for rule, why in each.unfit[:1])
        message = each.message.in_language(language)
        key = (each.operator, each.code, unfit or none, "" if merged else message)
        nodes, messages = rows.setdefault(key, ({}, {}))
        nodes["" if each.node is None else str(each.node)] = None
        messages[message] = None
    return [
        (node_list([*nodes]), operator, code, _first_of(list(messages), language), unfit)
        for (operator, code, unfit, _), (nodes, messages) in rows.items()
    ]


def _first_of(messages: list[str], language: str) -> str:
    rest = len(messages) - 1
    more = Text("; {rest} more", rest=rest).in_language(language)
    return messages[0] + (more if rest else "")


_OPEN, _OPEN_NODES = 6, 12
"""Patterns that are shown unfolded, and the nodes that each of them may have."""

_DRAWN = 3
"""Nodes of a pattern whose differences are shown."""


def fixing_html(done: Fixing, language: str = "en") -> str:
    """The record as a page: verdicts, rewrites that can be filtered, differences."""
    from atc_py.report.page.rendering import plain_page  # jinja2 takes long to import

    with speaking(language):
        return plain_page("fix", lambda: _page(done, spoken_language()))


def _page(done: Fixing, language: str) -> dict[str, Any]:
    groups = rewrite_groups(done)
    before, after = verdict_texts(done, language)
    verdict = HEADINGS["verdict"].in_language(language)  # the badges say it
    return {
        "words": {key: each.in_language(language) for key, each in HEADINGS.items()},
        "done": done,
        "model": str(done.model),
        "headline": headline(done).in_language(language),
        "before": before,
        "after": after,
        "facts": [row for row in facts(done, language) if row[0] != verdict],
        "classes": _classes(groups, language),
        "operators": sorted({group.first.operator for group in groups}, key=str.lower),
        "groups": [
            _group(done, group, language, unfolded=at < _OPEN) for at, group in enumerate(groups)
        ],
        "left": left_rows(done, language),
        "others": _others(done, language),
        "version": __version__,
    }


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
    heading = ("place", f"@@ {change_title(change, language)} @@")
    lines = [*hunk_lines(change, language)]
    return [heading, *((kinds.get(line[:1], "around"), line) for line in lines)]
