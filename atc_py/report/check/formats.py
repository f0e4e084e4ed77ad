"""The formats in which a check's report can be had."""

import csv
import io

from atc_py.check.findings import Standing
from atc_py.diag import ExitCode, find_code
from atc_py.report.check.document import CheckDocument, CheckedModel, Found, Note
from atc_py.report.tables import csv_cell
from atc_py.system.json_text import format_json


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
    if name == "sarif":
        from atc_py.report.check.sarif_log import check_sarif

        return check_sarif(document)
    return check_csv(document) if name == "csv" else format_json(document)


COLUMNS = (
    "model", "level", "code", "name", "node", "node_name", "op", "scope", "field", "observed",
    "allowed", "when", "message", "help", "rule", "source", "fingerprint", "known",
    "list", "taken_by", "fixed_by", "certainty",
)  # fmt: skip


def check_csv(document: CheckDocument) -> str:
    """The findings, then the notes, as RFC 4180 has it: a heading, commas, CR LF.

    Every finding is one line: control characters are escapes. A cell that a spreadsheet would
    take to be a formula begins with an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for model in document.models:
        for finding in model.all_findings:
            writer.writerow(_row(document, model, finding))
        for note in model.notes:
            writer.writerow(_note_row(document, model, note))
    return text.getvalue()


def _row(document: CheckDocument, model: CheckedModel, found: Found) -> list[str]:
    cells = {
        "model": model.path,
        "node": "" if found.node is None else str(found.node),
        "known": "yes" if found.known else "no",
        "list": document.operator_list,
        "taken_by": " ".join(found.taken_by),
        "fixed_by": " ".join(found.fixed_by),
        "certainty": found.certainty,
    }
    return [csv_cell(cells[name] if name in cells else getattr(found, name)) for name in COLUMNS]


def _note_row(document: CheckDocument, model: CheckedModel, note: Note) -> list[str]:
    cells = {
        "model": model.path,
        "level": "note",
        "name": note.name,
        "op": " ".join(note.operators),
        "message": note.text,
        "list": document.operator_list,
    }
    return [csv_cell(cells.get(name, "")) for name in COLUMNS]
