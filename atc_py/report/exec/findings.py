"""Findings that came from another process as JSON values, as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.report.escape import clipped

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["finding_text"]


def finding_text(finding: Mapping[str, Any]) -> str:
    """Return a finding as `diagnostic_text` has it."""
    place = finding.get("place") or {}
    where = ", ".join(str(value) for value in place.values())
    lines = [
        f"{finding['severity']}[{finding['code']} {finding['name']}]: {clipped(finding['message'])}"
    ]
    lines += [f"  --> {clipped(where)}"] if where else []
    return "\n".join([*lines, f"  help: {clipped(str(finding['help']))}"])
