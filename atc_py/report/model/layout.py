"""Tables and JSON of `info --layout`: how values are stored, and why each TransData is there."""

from collections.abc import Mapping
from typing import TypedDict

from atc_py.report.model.recorded_reasons import recorded_text
from atc_py.report.model.records import read_record
from atc_py.report.tables import Table, format_bytes
from atc_py.text import Text

_TransData = TypedDict(
    "_TransData",
    {
        "name": str,
        "tensor": str,
        "from": str,
        "to": str,
        "bytes": int,
        "given_by": str,
        "taken_by": list[str],
        "reason": str,
    },
)  # `from` cannot be a name in a class


class LayoutRecord(TypedDict):
    """The record, as the conversion writes it into the report."""

    values: dict[str, int]
    trans_data: list[_TransData]


def layout_json(report: Mapping[str, object], file: str) -> LayoutRecord:
    """The record of layout in an offline model's report.

    Raises:
        AtcError: OM_CONTENT where the report has none, or one that does not follow its schema.
    """
    return read_record(report, "layout", LayoutRecord, file)


def layout_tables(found: LayoutRecord) -> list[Table]:
    """The record as tables: formats with how many values have them, then TransData."""
    values = tuple((name, str(count)) for name, count in found["values"].items())
    rows = tuple(
        (
            each["name"],
            f"{each['from']} > {each['to']}",
            format_bytes(each["bytes"]),
            recorded_text(each["reason"]),
        )
        for each in found["trans_data"]
    )
    head = ("TransData", "storage", "moved>", "why")
    return [
        Table("How values are stored", ("format", "values>"), values),
        Table(Text("{count} TransData", count=len(rows)), head, rows, said=(3,)),
    ]


def conversions_text(operators: Mapping[str, int]) -> str:
    """The conversions among target operators, counted, for a summary."""
    return Text(
        "{operators} TransData, {operators_2} Cast",
        operators=operators.get("TransData", 0),
        operators_2=operators.get("Cast", 0),
    )
