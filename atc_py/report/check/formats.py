"""The formats in which a check's report can be had."""

from atc_py.check.findings import Standing
from atc_py.diag import ExitCode, find_code
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


FORMATS = ("text", "json", "sarif", "junit", "html", "csv")
"""Names of the formats."""


def render_check(
    name: str, document: CheckDocument, fail_on: Standing, *, verbose: bool = False
) -> str:
    """The report in one of FORMATS; JUnit shows what fails, and verbose text names every node."""
    # Each format is imported for itself: jinja2 and the parser of XML take long.
    if name == "text":
        from atc_py.report.check.text import check_text

        return check_text(document, verbose=verbose)
    if name == "junit":
        from atc_py.report.check.junit_xml import check_junit

        return check_junit(document, fail_on)
    if name == "html":
        from atc_py.report.page.html_page import check_html

        return check_html(document)
    from atc_py.report.check.csv_rows import check_csv
    from atc_py.report.check.json_document import check_json
    from atc_py.report.check.sarif_log import check_sarif

    plain = {"json": check_json, "sarif": check_sarif, "csv": check_csv}
    return plain[name](document)
