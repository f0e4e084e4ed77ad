"""Exit status of a check, derived from its report."""

from atc_py.check.findings import Standing
from atc_py.diag import ExitCode
from atc_py.diag.codes import find_code
from atc_py.report.check.document import CheckDocument, Found


def exit_status(document: CheckDocument, fail_on: Standing) -> int:
    """0, or the worst status of a finding that counts.

    Findings of severity `fail_on` or higher count unless a baseline knows them; what could not be
    read counts always.
    """
    statuses = [
        _status(found, fail_on, fault=fault)
        for model in document.models
        for fault, several in ((True, model.faults), (False, model.findings))
        for found in several
    ]
    return max(statuses, default=int(ExitCode.DONE))


def _status(found: Found, fail_on: Standing, *, fault: bool) -> int:
    code = find_code(found.code)
    status = ExitCode.MODEL if code is None or not fault else code.exit
    if status not in {ExitCode.DONE, ExitCode.MODEL}:
        return int(status)
    counts = not found.known and Standing(found.level).reaches(fail_on)
    return int(ExitCode.MODEL if counts else ExitCode.DONE)
