"""A check's report as one HTML file that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.findings import Standing
from atc_py.report.check.groups import groups
from atc_py.report.check.open_dims import hint_text
from atc_py.report.check.words import (
    CERTAINTIES,
    COLUMNS,
    HEADINGS,
    LEVELS,
    baseline_text,
    fix_hint,
    lists_text,
    node_text,
    observed_text,
    shape_option,
    verdict_text,
)
from atc_py.report.page import render_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from atc_py.diag import Words
    from atc_py.report.check.document import CheckDocument, CheckedModel
    from atc_py.report.check.groups import Group

__all__ = ["check_html"]

_OPEN_GROUPS, _OPEN_FINDINGS = 10, 40
"""Groups of errors that are shown unfolded, and the findings that each of them may have."""


def check_html(document: CheckDocument) -> str:
    """Return the report as a page: verdicts, operators, and findings that can be filtered.

    Raises:
        AtcError: BAD_TEMPLATE where the template is missing or does not render.
    """
    return render_page(
        "check",
        document=document,
        words={key: words.in_language(document.lang) for key, words in HEADINGS.items()},
        levels=_by_name(LEVELS, document.lang),
        columns=_by_name(COLUMNS, document.lang),
        certainties=_by_name(CERTAINTIES, document.lang),
        baseline=baseline_text(document),
        operators=_operators(document),
        pages=[_page(document, model) for model in document.models],
    )


def _by_name(table: Mapping[Any, Words], language: str) -> dict[str, str]:
    """Return a table of words by the names of standings or certainties."""
    return {each.value: words.in_language(language) for each, words in table.items()}


def _operators(document: CheckDocument) -> list[str]:
    """Return operators that findings name, for the filter."""
    found = {each.op for model in document.models for each in model.all_findings if each.op}
    return sorted(found, key=str.lower)


def _page(document: CheckDocument, model: CheckedModel) -> dict[str, Any]:
    """Return all that the page says of one model."""
    rows = groups(model.all_findings)
    return {
        "model": model,
        "verdict": verdict_text(model, document.lang, document.cann),
        "lists": lists_text(document, model, document.lang),
        "bar": list(_bar(model)),
        "hint": hint_text(model, document.lang),
        "fix": fix_hint(document, model),
        "shape_option": shape_option(model.shape_hint) if model.shape_hint else "",
        "groups": [
            _group(document, group, unfolded=position < _OPEN_GROUPS)
            for position, group in enumerate(rows)
        ],
    }


def _bar(model: CheckedModel) -> Iterator[dict[str, Any]]:
    """Yield parts of the bar that shows the nodes by verdict, the best first; in percent."""
    start = 0.0
    for standing in COLUMNS:
        count = model.node_counts.get(standing.value, 0)
        if count and model.nodes:
            width = 100 * count / model.nodes
            yield {"level": standing.value, "x": f"{start:.3f}", "width": f"{width:.3f}"}
            start += width


def _group(document: CheckDocument, group: Group, *, unfolded: bool) -> dict[str, Any]:
    """Return a rule and its nodes."""
    first = group.first
    findings = group.findings
    return {
        "first": first,
        "headline": group.headline(document.lang),
        "count": len(findings),
        "known": all(found.known for found in findings),
        "open": unfolded
        and first.level == Standing.ERROR.value
        and len(findings) <= _OPEN_FINDINGS,
        "sightings": [
            {
                "count": len(sighting.findings),
                "observed": observed_text(sighting.findings[0], document.lang),
                "nodes": [
                    text for found in sighting.findings if (text := node_text(found, document.lang))
                ],
            }
            for sighting in group.sightings
        ],
    }
