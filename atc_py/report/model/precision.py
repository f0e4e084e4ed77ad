"""Tables and JSON of `info --precision`: dtypes of every node, the rule that chose them, and every Cast."""

from collections.abc import Mapping
from typing import TypedDict

from atc_py.report.model.recorded_reasons import recorded_text
from atc_py.report.model.records import read_record
from atc_py.report.tables import Table
from atc_py.text import Text


class _Dtypes(TypedDict):
    """Dtypes of inputs, null where one is absent, and of outputs."""

    inputs: list[str | None]
    outputs: list[str | None]


class _Node(TypedDict):
    """Decision on one node."""

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


def precision_json(report: Mapping[str, object], file: str) -> PrecisionRecord:
    """The record of precision in an offline model's report.

    Raises:
        AtcError: OM_CONTENT where the report has none, or one that does not follow its schema.
    """
    return read_record(report, "precision", PrecisionRecord, file)


def precision_tables(found: PrecisionRecord) -> list[Table]:
    """The record as tables: nodes, then casts."""
    nodes = tuple(
        (
            each["name"],
            each["op"],
            each["engine"] or "-",
            _dtypes(each["origin"]),
            _dtypes(each["chosen"]),
            recorded_text(each["rule"]),
        )
        for each in found["nodes"]
    )
    casts = tuple(
        (
            each["name"],
            each["tensor"],
            f"{each['from']} > {each['to']}",
            recorded_text(each["reason"]),
        )
        for each in found["casts"]
    )
    head = ("node", "operator", "engine", "in the model", "compiled", "rule")
    return [
        Table(Text("Precision of {count} nodes", count=len(nodes)), head, nodes, said=(5,)),
        Table(
            Text("{count} casts", count=len(casts)),
            ("cast", "of", "dtypes", "why"),
            casts,
            said=(3,),
        ),
    ]


def _dtypes(sides: _Dtypes) -> str:
    """`float32,float32 > float32`; a dtype that a whole side shares is written once."""
    return f"{_dtypes_of_side(sides['inputs'])} > {_dtypes_of_side(sides['outputs'])}"


def _dtypes_of_side(dtypes: list[str | None]) -> str:
    """The dtypes of inputs or of outputs."""
    present = [each for each in dtypes if each is not None]
    return ",".join(dict.fromkeys(present) if len(set(present)) == 1 else present) or "-"
