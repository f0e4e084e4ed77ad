"""Findings that came from another process as JSON values, as text for people."""

from collections.abc import Mapping
from typing import Any

from atc_py.diag import Severity
from atc_py.report.diagnostics import help_text, level_text
from atc_py.report.escape import clipped
from atc_py.text.language import spoken


def finding_text(finding: Mapping[str, Any]) -> str:
    """A finding as `diagnostic_text` has it."""
    place = finding.get("place") or {}
    where = ", ".join(
        spoken(value if isinstance(value, str) else str(value)) for value in place.values()
    )
    level = level_text(Severity(finding["severity"]))
    message = clipped(spoken(finding["message"]))
    lines = [f"{level}[{finding['code']} {finding['name']}]: {message}"]
    lines += [f"  --> {clipped(where)}"] if where else []
    return "\n".join([*lines, f"  {help_text(clipped(spoken(finding['help'] or '')))}"])
