"""Outputs of a run compared with expected data, as a table."""

from collections.abc import Iterable

from atc_py.report.tables import Table
from atc_py.results.comparison import Comparison
from atc_py.text.language import spoken


def comparison_table(comparisons: Iterable[Comparison]) -> Table:
    """Return the table that `run --expect` prints."""
    rows = tuple(map(_output_row, comparisons))
    columns = (
        "output",
        "verdict",
        "error/range>",
        "tolerance>",
        "max error>",
        "cosine>",
        "argmax",
    )
    return Table("Compared with the expected data", columns, rows)


def _output_row(row: Comparison) -> tuple[str, ...]:
    """Return one output in the table."""
    if row.other_shapes is not None:
        return row.name, spoken("FAILED"), "-", "-", "-", "-", "-"
    return (
        row.name,
        spoken("ok" if row.passed else "FAILED"),
        f"{row.range_error:.2e}",
        f"{row.tolerance:.2e}",
        f"{row.max_error:.2e}",
        f"{row.cosine:.6f}",
        spoken("same" if row.same_argmax else "differs"),
    )
