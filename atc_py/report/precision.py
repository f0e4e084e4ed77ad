"""What `info --precision` says: dtypes of every node, the rule that chose them, and every Cast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Place
from atc_py.diag.codes import OM_CONTENT
from atc_py.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["precision_json", "precision_tables"]


def precision_json(report: Mapping[str, object], file: str) -> Mapping[str, Any]:
    """The record of precision in an offline model's report.

    Raises:
        AtcError: OM_CONTENT where the report has none.
    """
    found = report.get("precision")
    if not isinstance(found, dict) or not {"nodes", "casts"} <= found.keys():
        raise OM_CONTENT.error(
            "the report has no record of precision",
            place=Place(file),
            help="convert the model again with this version of atc-py",
        )
    return found


def precision_tables(found: Mapping[str, Any]) -> list[Table]:
    """The record as tables: nodes, then casts."""
    nodes = tuple(
        (
            each["name"],
            each["op"],
            each["engine"],
            _dtypes(each["origin"]),
            _dtypes(each["chosen"]),
            each["rule"],
        )
        for each in found["nodes"]
    )
    casts = tuple(
        (each["name"], each["tensor"], f"{each['from']} > {each['to']}", each["reason"])
        for each in found["casts"]
    )
    head = ("node", "operator", "engine", "in the model", "compiled", "rule")
    return [
        Table(f"Precision of {len(nodes)} nodes", head, nodes),
        Table(f"{len(casts)} casts", ("cast", "of", "dtypes", "why"), casts),
    ]


def _dtypes(sides: Mapping[str, Any]) -> str:
    """`float32,float32 > float32`; a dtype that all of a side have stands once."""
    return " > ".join(_side(sides[name]) for name in ("inputs", "outputs"))


def _side(dtypes: list[str | None]) -> str:
    """The dtypes of inputs or of outputs."""
    present = [each for each in dtypes if each is not None]
    return ",".join(dict.fromkeys(present) if len(set(present)) == 1 else present) or "-"
