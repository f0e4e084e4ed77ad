"""A fixed model as tables; findings and rewrites of one kind share a row."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from atc_py import __version__
from atc_py.fix.rule import Exactness
from atc_py.report.fix.diff_text import change_title, hunk_lines
from atc_py.report.fix.words import error_text, facts, headline, time_text, verdict_texts
from atc_py.report.tables import Table, node_list, plain_lines, visible
from atc_py.results.fixing import ChangeKind, Difference, Fixing, NodeChange, Rewrite
from atc_py.text import COLON, Text, verbatim
from atc_py.text.language import spoken


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
    def assumptions(self) -> tuple[Text, ...]:
        found = (assumption for rewrite in self.rewrites for assumption in rewrite.assumptions)
        return tuple(dict.fromkeys(found))


def rewrite_groups(done: Fixing) -> list[RewriteGroup]:
    grouped: dict[tuple[object, ...], list[Rewrite]] = {}
    for rewrite in done.rewrites:
        key = (rewrite.operator, rewrite.rules, rewrite.after, rewrite.exactness)
        grouped.setdefault(key, []).append(rewrite)
    return [RewriteGroup(tuple(several)) for several in grouped.values()]


_ABSORBED = Text("none (merged into others)")
_CODE = Text("code", context="finding")

_MOST_OPERATORS = 8
"""New operators that a row names."""

_MOST_FINDINGS = 8
"""Findings up to which each that is left has a row; the diagnostics after the tables have them all."""


def fixing_text(done: Fixing) -> str:
    lines = [title_line(done)]
    for table in fixing_tables(done):
        lines += ["", *plain_lines(table)]
    return "\n".join([*lines, ""])


def title_line(done: Fixing) -> str:
    return f"{visible(str(done.model))}{spoken(COLON + headline(done))}"


def fixing_tables(done: Fixing) -> list[Table]:
    tables = [
        _rewrites(done),
        _assumptions(done),
        _left(done),
        Table("Result", ("", ""), tuple(facts(done))),
    ]
    return [table for table in tables if table.rows]


def _rewrites(done: Fixing) -> Table:
    timed = any(rewrite.microseconds is not None for rewrite in done.rewrites)
    rows = []
    for group in rewrite_groups(done):
        first = group.first
        after = " ".join(first.after[:_MOST_OPERATORS])
        if len(first.after) > _MOST_OPERATORS:
            after += f" ... ({len(first.after)})"
        cells = [
            str(len(group.rewrites)), first.operator, ", ".join(first.rules), after or _ABSORBED, group.exactness.words,
            error_text(group.worst), "-" if first.limit is None else f"{first.limit:.2g}",
        ]  # fmt: skip
        rows.append((*cells, *([time_text(group.rewrites)] if timed else [])))
    time = ("estimated time>",) if timed else ()
    columns = (
        "nodes>", "operator", "rule", "new nodes", "class", "largest error>", "allowed>", *time,
    )  # fmt: skip
    return Table("Rewrites", columns, tuple(rows), said=(3, 4, 5))


def _assumptions(done: Fixing) -> Table:
    by_rules: dict[tuple[str, str], dict[Text, None]] = {}
    for group in rewrite_groups(done):
        key = (group.first.operator, ", ".join(group.first.rules))
        by_rules.setdefault(key, {}).update(dict.fromkeys(group.assumptions))
    rows = tuple((*key, text) for key, texts in by_rules.items() for text in texts)
    return Table("Assumptions", ("operator", "rule", "assumption"), rows, said=(2,))


def _left(done: Fixing) -> Table:
    """The table of findings that are left; where they are many, those alike share a row."""
    rows = left_rows(done)
    if len(rows) > _MOST_FINDINGS:
        rows = left_rows(done, merged=True)
    columns = ("node", "operator", _CODE, "finding", "closest rule")
    return Table("Not fixed", columns, tuple(rows), said=(3, 4))


def left_rows(done: Fixing, *, merged: bool = False) -> list[tuple[str, str, str, Text, Text]]:
    """The findings that are left: nodes, operator, code, finding, the rule that came closest.

    Nodes with the same finding share a row; if `merged`, those of one operator, code and reason do,
    with the first finding.
    """
    rows: dict[tuple[str, ...], tuple[Text, dict[str, None], dict[Text, None]]] = {}
    for each in done.left:
        unfit = Text("no rule is known")
        for rule, why in each.unfit[:1]:
            unfit = verbatim(rule) + Text(" needs: ") + why
        key = (each.operator, each.code, unfit, "" if merged else each.message)
        _, nodes, messages = rows.setdefault(key, (unfit, {}, {}))
        nodes["" if each.node is None else str(each.node)] = None
        messages[each.message] = None
    return [
        (node_list([*nodes]), operator, code, _first_of([*messages]), unfit)
        for (operator, code, *_), (unfit, nodes, messages) in rows.items()
    ]


def _first_of(messages: list[Text]) -> Text:
    rest = len(messages) - 1
    return messages[0] + Text("; {rest} more", rest=rest) if rest else messages[0]


_OPEN, _OPEN_NODES = 6, 12
"""Patterns that are shown unfolded, and the nodes that each of them may have."""

_DRAWN = 3
"""Nodes of a pattern whose differences are shown."""


def fixing_html(done: Fixing) -> str:
    """The record as a page: verdicts, rewrites that can be filtered, differences."""
    from atc_py.report.page.rendering import plain_page  # jinja2 takes long to import

    return plain_page("fix", lambda: _page(done))


def _page(done: Fixing) -> dict[str, Any]:
    groups = rewrite_groups(done)
    before, after = verdict_texts(done)
    classes: Counter[Exactness] = Counter()
    for group in groups:
        classes[group.exactness] += len(group.rewrites)
    return {
        "code_word": _CODE,
        "done": done,
        "model": str(done.model),
        "headline": headline(done),
        "before": before,
        "after": after,
        "facts": [row for row in facts(done) if row[0] != "verdict"],  # the badges say it
        "classes": [(each.value, each.words, count) for each, count in classes.items()],
        "operators": sorted({group.first.operator for group in groups}, key=str.lower),
        "groups": [_group(done, group, unfolded=at < _OPEN) for at, group in enumerate(groups)],
        "left": left_rows(done),
        "others": _others(done),
        "version": __version__,
    }


def _group(done: Fixing, group: RewriteGroup, *, unfolded: bool) -> dict[str, Any]:
    first = group.first
    return {
        "operator": first.operator,
        "after": verbatim(" ".join(first.after)) if first.after else _ABSORBED,
        "rules": ", ".join(first.rules),
        "level": group.exactness.value,
        "class": group.exactness.words,
        "count": len(group.rewrites),
        "open": unfolded and len(group.rewrites) <= _OPEN_NODES,
        "error": error_text(group.worst),
        "limit": "" if first.limit is None else f"{first.limit:.2g}",
        "time": time_text(group.rewrites),
        "assumptions": group.assumptions,
        "rows": [_row(rewrite) for rewrite in group.rewrites],
        "hunks": [
            _marked_lines(change)
            for each in group.rewrites[:_DRAWN]
            for change in done.changes
            if change.kind is ChangeKind.RULES
            and (change.node, change.before.name) == (each.node, each.name)
        ],
    }


def _row(rewrite: Rewrite) -> dict[str, str]:
    shown = rewrite.shown
    drawn = f"{shown.runs} + {shown.drawn}" if shown.runs or shown.drawn else ""
    return {
        "node": f'{rewrite.node} "{rewrite.name}"' if rewrite.name else str(rewrite.node),
        "new": ", ".join(each.name or f"{each.position} {each.operator}" for each in rewrite.new),
        "error": error_text(rewrite.difference),
        "time": time_text((rewrite,)),
        "data": shown.why or drawn,
    }


def _others(done: Fixing) -> list[dict[str, Any]]:
    others = []
    for kind in ChangeKind:
        changes = [change for change in done.changes if change.kind is kind]
        if kind is not ChangeKind.RULES and changes:
            lines = [line for change in changes for line in _marked_lines(change)]
            others.append({"why": kind.words, "count": len(changes), "lines": lines})
    return others


def _marked_lines(change: NodeChange) -> list[tuple[str, str]]:
    kinds = {"-": "gone", "+": "new"}
    heading = ("place", f"@@ {change_title(change)} @@")
    return [heading, *((kinds.get(line[:1], "around"), line) for line in hunk_lines(change))]
