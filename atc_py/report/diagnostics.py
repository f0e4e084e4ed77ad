"""Diagnostics as text, and the page that explains a code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.report.escape import clipped

if TYPE_CHECKING:
    from atc_py.diag import Code, Diagnostic

__all__ = ["code_page", "diagnostic_text"]


def diagnostic_text(diagnostic: Diagnostic) -> str:
    """Return the finding as text for people: headline, place, rule, hint.

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


def code_page(code: Code) -> list[str]:
    """Return the lines that `explain` prints for a code."""
    return [
        f"{code.id} {code.name} ({code.severity.value}, exit status {int(code.exit)})",
        "",
        code.meaning,
        "",
        f"What to do: {code.remedy}",
    ]
