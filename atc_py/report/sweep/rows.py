"""Rows of a sweep as JSON lines, CSV and Parquet, in the order of the grid."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from atc_py.diag import NO_PYARROW
from atc_py.report.tables import csv_cell
from atc_py.results.sweep import SweepRow
from atc_py.text import Text, plain_text

COLUMNS: Mapping[str, type] = {
    "model": str, "soc": str, "precision_mode": str, "list": str, "verdict": str, "standing": str,
    "reasons": str, "message": str, "fixed": bool, "file_bytes": int, "memory_bytes": int,
    "estimated_seconds": float, "evidence": str, "fits": bool, "worst_output": str, "cosine": float,
    "distance": float, "proposed": str, "report": str, "path": str, "digest": str,
}  # fmt: skip
"""Columns of the table, with the kind of their values."""


def worst_output(row: SweepRow) -> str | None:
    """The name of the output with the largest error; None without a comparison."""
    known = [output for output in row.outputs if output.distance is not None]
    found = max(known, key=lambda each: each.distance or 0.0, default=None)
    return None if found is None else found.name


def row_cells(row: SweepRow) -> dict[str, str | bool | int | float | None]:
    combination = row.combination
    return {
        "model": combination.model,
        "soc": combination.soc,
        "precision_mode": combination.precision_mode,
        "list": combination.operator_list,
        "verdict": row.verdict.value,
        "standing": row.standing,
        "reasons": " ".join(f"{code}:{count}" for code, count in row.reasons.items()),
        "message": row.message,
        "fixed": row.fixed,
        "file_bytes": row.file_bytes,
        "memory_bytes": row.memory_bytes,
        "estimated_seconds": row.estimated_seconds,
        "evidence": row.evidence,
        "fits": row.fits,
        "worst_output": worst_output(row),
        "cosine": row.cosine,
        "distance": row.distance,
        "proposed": row.proposed or None,
        "report": row.report,
        "path": row.path,
        "digest": row.digest,
    }


def sweep_lines(rows: Iterable[SweepRow]) -> bytes:
    """One JSON object a line: the columns, reasons as an object, and each output."""
    lines = []
    for row in rows:
        cells = {**row_cells(row), "reasons": row.reasons, "outputs": row.outputs}
        lines.append(msgspec.json.encode(cells, enc_hook=plain_text) + b"\n")
    return b"".join(lines)


def sweep_csv(rows: Iterable[SweepRow]) -> bytes:
    """The columns as RFC 4180 has them: a heading, commas, CR LF.

    A cell that a spreadsheet would take to be a formula begins with an apostrophe.
    """
    return _csv([*COLUMNS], (row_cells(row).values() for row in rows))


def measured_csv(rows: Iterable[tuple[SweepRow, float]]) -> bytes:
    """The seconds that each row took, which differ from run to run."""
    heads = ["model", "soc", "precision_mode", "list", "seconds"]
    cells = ((row_cells(row), round(seconds, 3)) for row, seconds in rows)
    return _csv(heads, ([*(row[name] for name in heads[:4]), took] for row, took in cells))


def _csv(heads: Sequence[str], rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(heads)
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode("utf-8")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return csv_cell(value) if isinstance(value, str) else repr(value)


def require_pyarrow() -> None:
    """Refuse to begin without the library.

    Raises:
        AtcError: NO_PYARROW.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise NO_PYARROW.error(Text("--parquet needs `pyarrow`, which is not installed")) from None
    del pa


def sweep_parquet(rows: Sequence[SweepRow]) -> bytes:
    """The columns of the table, the same bytes for the same rows."""
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    cells = [row_cells(row) for row in rows]
    table = pa.table({name: [cell[name] for cell in cells] for name in COLUMNS}, schema=schema)
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()
