"""Records in an offline model's report: read back by their schemas; dtypes and layout as tables."""

import functools
import re
from collections.abc import Mapping
from typing import TypedDict, TypeVar, cast

from atc_py.diag import OM_CONTENT, Place
from atc_py.report.tables import Table, format_bytes
from atc_py.results.cann_nodes import recorded
from atc_py.text import Text, written_text


class _Dtypes(TypedDict):
    """Dtypes of inputs, null where one is absent, and of outputs."""

    inputs: list[str | None]
    outputs: list[str | None]


class _Node(TypedDict):
    name: str
    op: str
    engine: str | None
    origin: _Dtypes
    chosen: _Dtypes
    rule: str


_Cast = TypedDict(
    "_Cast", {"name": str, "tensor": str, "from": str, "to": str, "reason": str}
)  # `from` cannot be a name in a class


class PrecisionRecord(TypedDict):
    """The record, as the precision pass writes it into the report."""

    nodes: list[_Node]
    casts: list[_Cast]


def precision_tables(precision_record: PrecisionRecord) -> list[Table]:
    nodes = tuple(
        (
            node["name"],
            node["op"],
            node["engine"] or "-",
            _dtypes(node["origin"]),
            _dtypes(node["chosen"]),
            recorded_text(node["rule"]),
        )
        for node in precision_record["nodes"]
    )
    casts = tuple(
        (row["name"], row["tensor"], f"{row['from']} > {row['to']}", recorded_text(row["reason"]))
        for row in precision_record["casts"]
    )
    head = ("node", "operator", "engine", "in the model", "compiled", "rule")
    heads = ("cast", "of", "dtypes", "why")
    return [
        Table(Text("Precision of {count} nodes", count=len(nodes)), head, nodes, said=(5,)),
        Table(Text("{count} casts", count=len(casts)), heads, casts, said=(3,)),
    ]


def _dtypes(sides: _Dtypes) -> str:
    """`float32,float32 > float32`; a dtype that a whole side shares is written once."""
    return f"{_dtypes_of_side(sides['inputs'])} > {_dtypes_of_side(sides['outputs'])}"


def _dtypes_of_side(dtypes: list[str | None]) -> str:
    present = [dtype for dtype in dtypes if dtype is not None]
    return ",".join(dict.fromkeys(present) if len(set(present)) == 1 else present) or "-"


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


def layout_tables(layout_record: LayoutRecord) -> list[Table]:
    values = tuple((name, str(count)) for name, count in layout_record["values"].items())
    rows = tuple(
        (
            row["name"],
            f"{row['from']} > {row['to']}",
            format_bytes(row["bytes"]),
            recorded_text(row["reason"]),
        )
        for row in layout_record["trans_data"]
    )
    head = ("TransData", "storage", "moved>", "why")
    return [
        Table("How values are stored", ("format", "values>"), values),
        Table(Text("{count} TransData", count=len(rows)), head, rows, said=(3,)),
    ]


def conversions_text(operators: Mapping[str, int]) -> str:
    return Text(
        "{operators} TransData, {operators_2} Cast",
        operators=operators.get("TransData", 0),
        operators_2=operators.get("Cast", 0),
    )


Record = TypeVar("Record")


def read_record(report: Mapping[str, object], name: str, schema: type[Record], file: str) -> Record:
    """The record called `name`, validated against its schema.

    Raises:
        AtcError: OM_CONTENT where the report has none, or one that does not follow its schema.
    """
    record = report.get(name)
    if not isinstance(record, dict):
        raise OM_CONTENT.error(
            Text("the report has no record of {name}", name=name),
            place=Place(file, field="report.json"),
            help=Text("convert the model again with this version of atc-py"),
        )
    recorded(report, name, schema, file)
    return cast("Record", record)


_TEMPLATES = (
    "output {name} is {dtype}: {reason}",
    "{node} ({op}) takes {dtype} on {engine}: {rule}",
    "{given}; {taken}",
    "input {name} is fed as {format}",
    "{node} gives {format}",
    "{names} takes {format}",
    "{names} take {format}",
    "{where}, as in the model",
    "{where}, but with integers, as in the model",
    "{where}, but without a kernel for {narrow}",
    "{where}, nothing before it, as in the model",
    "{where}, nothing before it",
    "{where}, {dtype} as {op} before it",
    "{where}, {dtype}",
    "{op} of {name}",
    "{mode}: {place} list of {of}",
    "{mode}: {place} list",
    "{mode}: as in the model, else bfloat16",
    "{mode}: as in the model, else float16",
    "{mode}: float16 on the cube",
    "{mode}: 16 bits into the cube, float32 out",
    "{mode}: floats become float32",
)


def recorded_text(sentence: str) -> Text:
    """A reason as the text that it was written from, or as a text of its own."""
    written = written_text(sentence)
    if written is not None:
        return written
    for template in _TEMPLATES:
        found = _pattern(template).fullmatch(sentence)
        if found is not None:
            values = {
                name: recorded_text(value) if " " in value else value
                for name, value in found.groupdict().items()
            }
            return Text(template).with_values(**values)
    return Text(sentence)


@functools.cache
def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile(
        "".join(f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts)),
        re.DOTALL,
    )
