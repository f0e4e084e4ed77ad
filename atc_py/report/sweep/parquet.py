"""Rows of a sweep as a Parquet file, which pyarrow writes."""

import io
from collections.abc import Sequence

from atc_py.diag import NO_PYARROW
from atc_py.report.sweep.rows import COLUMNS, row_cells
from atc_py.results.sweep import SweepRow
from atc_py.text import Text


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
