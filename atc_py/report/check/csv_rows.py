"""A check's report as CSV, one row a finding or note."""

import csv
import io

from atc_py.report.check.document import CheckDocument, CheckedModel, Found, Note
from atc_py.report.escape import csv_cell

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
