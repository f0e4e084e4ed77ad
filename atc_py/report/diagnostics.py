"""Diagnostics as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import COLON, Severity, Words
from atc_py.diag.language import language, spoken_diagnostic
from atc_py.report.escape import clipped

if TYPE_CHECKING:
    from atc_py.diag import Diagnostic

__all__ = ["diagnostic_text"]

_LEVELS = {
    Severity.ERROR: Words("error", "错误"),
    Severity.WARNING: Words("warning", "警告"),
    Severity.NOTE: Words("note", "说明"),
}
_RULE, _HELP = Words("rule", "规则"), Words("help", "建议")


def diagnostic_text(diagnostic: Diagnostic) -> str:
    """Return the finding as text for people: headline, place, rule, hint.

    A finding without a help of its own shows what its code's page says.

    Control characters that a model's names may carry are shown as escapes, and of what is too long
    to read the ends.
    """
    code, said, diagnostic = diagnostic.code, language(), spoken_diagnostic(diagnostic)
    level = _LEVELS[code.severity].in_language(said)
    lines = [f"{level}[{code.id} {code.name}]: {clipped(diagnostic.message)}"]
    if diagnostic.place is not None and str(diagnostic.place):
        lines.append(f"  --> {clipped(str(diagnostic.place))}")
    if diagnostic.rule is not None:
        lines.append(f"  {(_RULE + COLON).in_language(said)}{clipped(diagnostic.rule)}")
    lines.append(f"  {(_HELP + COLON).in_language(said)}{clipped(diagnostic.help or '')}")
    return "\n".join(lines)
