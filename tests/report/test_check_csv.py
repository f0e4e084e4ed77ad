"""A check's report as CSV."""

import csv
import io

import pytest

from atc_py.check.findings import ModelCheck
from atc_py.report.check.formats import COLUMNS, check_csv
from atc_py.report.check.json_document import check_document
from atc_py.system.structs import replace
from atc_py.text import verbatim
from tests.report.check_samples import (
    STRIDES,
    at,
    faulty,
    hostile,
    mixed,
    model_check,
    report,
    unreadable,
)


def rows_of(*models: ModelCheck) -> list[dict[str, str]]:
    text = check_csv(check_document(report(*models)))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_row_is_a_finding() -> None:
    rows = rows_of(mixed(), faulty(), unreadable())
    assert len(rows) == 7 + 2 + 1
    found = next(row for row in rows if row["node"] == "17")
    assert (found["model"], found["level"], found["observed"], found["known"]) == (
        "nets/resnet.onnx", "error", "[1, 64]", "no",
    )  # fmt: skip
    assert found["fingerprint"] == STRIDES.fingerprint


def test_heading_stands_also_without_findings() -> None:
    assert check_csv(check_document(report(model_check()))) == ",".join(COLUMNS) + "\r\n"


def test_lines_end_as_the_standard_says() -> None:
    text = check_csv(check_document(report(mixed(), hostile())))
    assert text.count("\r\n") == text.count("\n") == 1 + 7 + 1


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t=", "\u00a0@"])
def test_cell_is_never_a_formula(start: str) -> None:
    text = f"{start}cmd|'/c calc'!A0"
    finding = replace(at(STRIDES, 1, text, text), rule=text, scope=text)
    row = rows_of(model_check(replace(finding, help=verbatim(text))))[0]
    for name in ("node_name", "observed", "rule", "scope", "help"):
        assert row[name].lstrip()[:1] not in {"=", "+", "-", "@"}


def test_numbers_and_plain_text_are_left_alone() -> None:
    row = rows_of(model_check(at(STRIDES, 3, "a=b")))[0]
    assert (row["node"], row["node_name"]) == ("3", "a=b")
