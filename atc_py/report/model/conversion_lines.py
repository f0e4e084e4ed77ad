"""A conversion in five lines: result, size, launches, estimated time, warnings by count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.findings import Standing
from atc_py.diag import COMMA, SEMICOLON
from atc_py.diag.language import language, spoken
from atc_py.report.escape import clipped
from atc_py.report.profile.text import time_text
from atc_py.report.tables import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atc_py.results.conversion import Conversion

__all__ = ["conversion_lines"]

_WARNED = {
    Standing.ERROR: "unsupported",
    Standing.UNKNOWN: "not decided",
    Standing.PARSER: "that CANN's parser refuses",
    Standing.LIST: "taken against the list",
    Standing.ACCURACY: "with other accuracy",
}
"""Levels of findings that may need action; the others are for information."""

_INFORMED = {Standing.REWRITE: "rewritten", Standing.AICPU: "on the AI CPU"}


def conversion_lines(done: Conversion) -> list[str]:
    """Return the five lines that `convert` prints."""
    facts = done.facts
    gears = f", {len(done.gears)} gears" if done.gears else ""
    weights = f"{format_bytes(done.weights_out)} of weights"
    rows = (
        ("size", f"{format_bytes(done.file_bytes)}; {weights}"),
        ("launches", f"{facts.launches} a run{_largest(done)}"),
        ("estimate", _estimate(done)),
        ("warnings", _warnings(done)),
    )
    files = f"{clipped(str(done.model))}: converted to {clipped(str(done.output))}"
    return [
        f"{files} ({facts.soc}, {facts.precision_mode}{gears})",
        *(f"  {name:<8}  {text}" for name, text in rows),
    ]


def _estimate(done: Conversion) -> str:
    """Return the estimated time of a run, or that there is none."""
    if done.time is None:
        return "none: the model leaves dims to each run"
    return time_text(done.time) + _largest(done)


def _largest(done: Conversion) -> str:
    """Return which gear figures are for, where there are several."""
    return ", largest gear" if done.gears else ""


def _warnings(done: Conversion) -> str:
    """Return `1 warning, 2 with other accuracy; for information: 3 rewritten; -v lists them`.

    Warnings of the conversion come first, then nodes' findings by level.
    """
    counts = done.check.counts
    warned = [f"{counts[each]} {text}" for each, text in _WARNED.items() if each in counts]
    if own := len(done.warnings):
        warned.insert(0, f"{own} {'warning' if own == 1 else 'warnings'}")
    informed = [f"{counts[each]} {text}" for each, text in _INFORMED.items() if each in counts]
    for name, operators in done.check.newer.items():
        informed.append(f"{sum(operators.values())} taken by {name} alone")
    parts = [_listed(warned) if warned else spoken("none")]
    if informed:
        parts.append(spoken(f"for information: {_listed(informed)}"))
    if warned or informed:
        parts.append(spoken("-v lists them"))
    return SEMICOLON.in_language(language()).join(parts)


def _listed(counts: Iterable[str]) -> str:
    """Return counts side by side, in the language of the commands."""
    return COMMA.in_language(language()).join(map(spoken, counts))
