"""Diagnostics as text and JSON, and the page that explains a code."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from atc_py.report.escape import clipped

if TYPE_CHECKING:
    from atc_py.diag import Code, Diagnostic

__all__ = ["code_json", "code_page", "diagnostic_json", "diagnostic_text"]


def diagnostic_text(diagnostic: Diagnostic) -> str:
    """The finding as people read it: headline, place, rule, way out.

    A finding without a help of its own shows what its code's page says.

    Control characters that a model's names may carry are shown as escapes, and of what is too long
    to read the ends.
    """
    code = diagnostic.code
    lines = [f"{code.severity.value}[{code.id} {code.name}]: {clipped(diagnostic.message)}"]
    if diagnostic.place is not None and str(diagnostic.place):
        lines.append(f"  --> {clipped(str(diagnostic.place))}")
    if diagnostic.rule is not None:
        lines.append(f"  rule: {clipped(diagnostic.rule)}")
    lines.append(f"  help: {clipped(diagnostic.help or code.remedy)}")
    return "\n".join(lines)


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, object]:
    """The finding as JSON values."""
    code, place = diagnostic.code, diagnostic.place
    found = {} if place is None else {k: v for k, v in asdict(place).items() if v is not None}
    return {
        "code": code.id,
        "name": code.name,
        "severity": code.severity.value,
        "message": diagnostic.message,
        "place": found,
        "rule": diagnostic.rule,
        "help": diagnostic.help,
    }


def code_json(code: Code) -> dict[str, object]:
    """A code as JSON values."""
    return {
        "code": code.id,
        "name": code.name,
        "severity": code.severity.value,
        "exit": int(code.exit),
        "meaning": code.meaning,
        "remedy": code.remedy,
    }


def code_page(code: Code) -> list[str]:
    """What `explain` prints of a code."""
    return [
        f"{code.id} {code.name} ({code.severity.value}, exit status {int(code.exit)})",
        "",
        code.meaning,
        "",
        f"What to do: {code.remedy}",
    ]
