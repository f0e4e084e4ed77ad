"""What `convert` says of the check that it runs first: the findings that `check` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.findings import CheckReport
from atc_py.report.check.json_document import check_document
from atc_py.report.check.text import finding_lines
from atc_py.report.diagnostics import diagnostic_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atc_py.check.findings import ModelCheck
    from atc_py.diag import Diagnostic

__all__ = ["found_lines"]


def found_lines(check: ModelCheck, missing: Iterable[Diagnostic] = ()) -> list[str]:
    """The findings by rule, the worst first, and operators that do not compile yet.

    Args:
        check: of the model.
        missing: operators that are on the list and do not compile yet.
    """
    (model,) = check_document(CheckReport((check,), "", "")).models
    lines = [*finding_lines(model, "en")]
    for diagnostic in missing:
        lines += ["", diagnostic_text(diagnostic)]
    return lines[1:]
