"""The tables of a sweep: the HTML page, and Parquet."""

import csv
import io
import json
import re
import sys
from typing import Any

import pytest

from atc_py.diag import AtcError
from atc_py.report.sweep.html_page import sweep_html
from atc_py.report.sweep.reasons import reason_counts, reasons_table, rows_table
from atc_py.report.sweep.rows import (
    COLUMNS,
    require_pyarrow,
    row_cells,
    sweep_csv,
    sweep_lines,
    sweep_parquet,
)
from atc_py.results.sweep import Combination, SweepOutput, SweepRow, SweepVerdict
from atc_py.system.structs import replace

HOSTILE = "</script><script>alert(1)</script>\u202e\u2028"

ROWS = [
    SweepRow(
        combination=Combination("a/b", "sim", "force_fp16", "base"),
        path="zoo/a/b.onnx",
        verdict=SweepVerdict.COMPILES,
        standing="supported",
        file_bytes=10,
        memory_bytes=20,
        estimated_seconds=1e-4,
        fits=True,
        outputs=(
            SweepOutput("y", 0.9, 10.0, 0.2, 0.1, 0.0),
            SweepOutput("z", None, None, None, None, 0.5),
        ),
        cosine=0.9,
        distance=0.2,
        report="reports/a b#.html",
        digest="d",
    ),
    SweepRow(
        combination=Combination(HOSTILE, "sim", "force_fp16", "base"),
        path=HOSTILE,
        verdict=SweepVerdict.REFUSED,
        standing="error",
        reasons={"ATC3001": 2},
        message="LayerNormalization is not on the operator list",
        message_zh="LayerNormalization 不在算子清单中",
    ),
]


def document_of(page: str) -> dict[str, Any]:
    """Return the JSON document in a page."""
    found = re.search(r'<script type="application/json" id="document">(.*?)</script>', page)
    assert found is not None
    document: dict[str, Any] = json.loads(found[1])
    return document


def test_page_has_the_rows_and_needs_nothing_else() -> None:
    page = sweep_html(ROWS, "zh").decode("utf-8")
    assert len(page) < 60_000
    assert "default-src &#39;none&#39;" in page
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert page.count("<script") == 2  # the document and one script
    document = document_of(page)
    assert (document["lang"], document["models"], document["compiles"]) == ("zh", 2, 1)
    assert document["reasons"] == [["ATC3001", "ATC3001 unknown-operator", 1]]
    first, second = document["rows"]
    assert first["report"] == "reports/a%20b%23.html"
    assert first["output"] == "y"
    assert second["message"] == [ROWS[1].message, ROWS[1].message_zh]
    assert "\u202e" not in page


def test_page_of_many_rows_stays_small() -> None:
    page = sweep_html(ROWS * 2000)
    assert len(page) < 2_000_000


def test_lines_are_the_same_each_time() -> None:
    assert sweep_lines(ROWS) == sweep_lines(list(ROWS))
    first, second = (json.loads(line) for line in sweep_lines(ROWS).splitlines())
    assert first["outputs"][1]["cosine"] is None
    assert second["reasons"] == {"ATC3001": 2}


@pytest.mark.parametrize("start", ["=", " =", "@", "  +"])
def test_no_cell_is_a_formula_also_after_blanks(start: str) -> None:
    (row,) = csv.DictReader(
        io.StringIO(sweep_csv([replace(ROWS[0], path=f"{start}cmd()")]).decode())
    )
    assert row["path"].startswith("'")


def test_parquet_has_the_columns_with_their_kinds() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(sweep_parquet(ROWS)))
    assert table.column_names == [*COLUMNS]
    assert table.to_pylist() == [row_cells(row) for row in ROWS]
    assert str(table.schema.field("file_bytes").type) == "int64"
    assert sweep_parquet(ROWS) == sweep_parquet(ROWS)


def test_missing_pyarrow_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(AtcError, match="ATC1092"):
        require_pyarrow()


def refused(model: str, soc: str, *codes: str) -> SweepRow:
    """Return a row that has findings of some codes."""
    return SweepRow(
        combination=Combination(model, soc, "force_fp16", "base"),
        path=f"{model}.onnx",
        verdict=SweepVerdict.REFUSED,
        reasons=dict.fromkeys(codes, 3),
        message=f"{codes[0]} in {model}",
    )


def test_reasons_count_rows_and_models_and_show_the_first_message() -> None:
    rows = [
        ROWS[0],
        refused("a", "sim", "ATC4001", "ATC3001"),
        refused("b", "sim", "ATC3001"),
        refused("b", "Ascend310P3", "ATC3001"),
    ]
    counts = [(each.code, each.rows, each.models) for each in reason_counts(rows)]
    assert counts == [("ATC3001", 3, 2), ("ATC4001", 1, 1)]
    table = reasons_table(rows)
    assert table is not None
    assert table.title == "Reasons"
    assert table.rows[0] == ("ATC3001 unknown-operator", "3", "2", "b: ATC3001 in b")
    assert table.rows[1][1:] == ("1", "1", "a: ATC4001 in a")
    assert reasons_table(ROWS[:1]) is None


def test_few_rows_are_printed_with_what_differs_between_them() -> None:
    rows = [refused("a", "sim", "ATC3001"), refused("b", "Ascend310P3", "ATC3001")]
    table = rows_table(rows)
    assert table is not None
    assert table.columns == ("model", "SoC", "verdict")
    assert table.rows[1] == ("b", "Ascend310P3", "does not compile")
    assert rows_table(rows * 11) is None


def test_table_of_reasons_has_the_most_frequent_codes() -> None:
    rows = [
        refused(f"m{at}", "sim", *(f"X{code:02}" for code in range(at, 12))) for at in range(12)
    ]
    table = reasons_table(rows)
    assert table is not None
    assert table.title == "Reasons: the 10 most frequent of 12 codes"
    assert [each[:2] for each in table.rows] == [
        (f"X{at:02}", str(at + 1)) for at in range(11, 1, -1)
    ]
