"""Lines of `convert` for the check that it runs first: the findings that `check` gives."""

from collections.abc import Iterable

from msgspec.structs import replace

from atc_py.check.findings import CheckReport, ModelCheck, Standing
from atc_py.diag import Diagnostic, Severity
from atc_py.report.check.document import CheckedModel
from atc_py.report.check.json_document import check_document
from atc_py.report.check.text import finding_lines
from atc_py.report.diagnostics import diagnostic_text
from atc_py.text import plural
from atc_py.text.language import language, spoken


def found_lines(check: ModelCheck) -> list[str]:
    """List the findings of a model that compiles, by rule, the worst first."""
    return [*finding_lines(_document(check), language())][1:]


def refusal_lines(check: ModelCheck, missing: Iterable[Diagnostic] = ()) -> list[str]:
    """List the findings of a model that does not compile, by rule, the errors last.

    Args:
        check: of the model.
        missing: operators that are on the list and do not compile yet.
    """
    model = _document(check)
    errors = tuple(each for each in model.findings if each.level == Standing.ERROR.value)
    others = tuple(each for each in model.findings if each.level != Standing.ERROR.value)
    lines = [
        *finding_lines(replace(model, faults=(), findings=others), language()),
        *finding_lines(replace(model, findings=errors), language()),
    ]
    for diagnostic in missing:
        lines += ["", diagnostic_text(diagnostic)]
    return lines[1:]


def closing_line(diagnostics: Iterable[Diagnostic]) -> str:
    """`not converted: 6 errors`."""
    count = sum(each.code.severity is Severity.ERROR for each in diagnostics)
    return spoken(plural(count, "not converted: {n} error", "not converted: {n} errors"))


def _document(check: ModelCheck) -> CheckedModel:
    (model,) = check_document(CheckReport((check,), "", ""), language()).models
    return model
