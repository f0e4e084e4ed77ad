"""Results as HTML for notebooks: the text reports, their tables as tables."""

import html
from collections.abc import Iterable, Iterator

from atc_py.check.findings import CheckReport
from atc_py.report.tables import Table
from atc_py.results.layer_comparison import LayerComparison
from atc_py.results.plan import DtypePlan
from atc_py.results.profile import Profile


def result_html(result: object) -> str:
    """A check report, a comparison, a plan or a profile as HTML that stands alone."""
    if isinstance(result, CheckReport):
        from atc_py.report.check.json_document import check_document
        from atc_py.report.check.text import check_blocks

        return _html(check_blocks(check_document(result, "en")))
    if isinstance(result, LayerComparison):
        from atc_py.report.layers.text import layer_lines

        return _html(layer_lines(result))
    if isinstance(result, Profile):
        from atc_py.report.profile.text import profile_tables

        return _html(profile_tables(result))
    if isinstance(result, DtypePlan):
        from atc_py.report.planning.tables import plan_tables, verdict_lines

        return _html([*verdict_lines(result), *plan_tables(result)])
    raise TypeError(f"{type(result).__name__} has no report")


def _html(blocks: Iterable[str | Table]) -> str:
    parts: list[str] = []
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            lines.append(block)
            continue
        parts += [*_text(lines), _table(block.visible())]
        lines = []
    return f'<div class="atc-py">{"".join([*parts, *_text(lines)])}</div>'


def _text(lines: list[str]) -> Iterator[str]:
    text = "\n".join(lines).strip("\n")
    if text:
        yield f"<pre>{html.escape(text)}</pre>"


def _table(table: Table) -> str:
    """A table; names of models are text there, whatever they contain."""
    headings = table.headings()
    align = ["right" if right else "left" for _, right in headings]
    head = "".join(
        f'<th style="text-align: {side}">{html.escape(name)}</th>'
        for (name, _), side in zip(headings, align, strict=True)
    )
    rows = "".join(f"<tr>{_cells(row, align)}</tr>" for row in table.rows)
    caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    named = f"<thead><tr>{head}</tr></thead>" if any(name for name, _ in headings) else ""
    return f"<table>{caption}{named}<tbody>{rows}</tbody></table>"


def _cells(row: tuple[str, ...], align: list[str]) -> str:
    return "".join(
        f'<td style="text-align: {side}">{html.escape(cell)}</td>'
        for cell, side in zip(row, align, strict=True)
    )
