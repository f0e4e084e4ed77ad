"""A quantized model that was rewritten into another form, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.report.tables import Table, format_bytes
from atc_py.source import Outcome

if TYPE_CHECKING:
    from atc_py.results.quantization import Quantization

__all__ = ["quantization_tables"]

_OUTCOMES = {Outcome.FLOAT: "in floats", Outcome.KEPT: "unchanged"}


def quantization_tables(done: Quantization) -> list[Table]:
    """Return the tables that `quantize` prints."""
    before, after = format_bytes(done.bytes_before), format_bytes(done.bytes_after)
    rows = [
        ("layers on int8", f"{done.integer_layers} of {done.layers}"),
        *([("biases read", done.read_as.text.en)] if done.read_as is not None else []),
        *([("biases written", done.written_as.value)] if done.written_as is not None else []),
        ("opset", str(done.opset)),
        ("model", f"{done.model} ({before})"),
        ("output", f"{done.output} ({after})"),
    ]
    if done.data is not None:
        rows.append(("weights", str(done.data)))
    others = _other_nodes_table(done)
    return [*([others] if others.rows else []), Table("Result", ("", ""), tuple(rows))]


def _other_nodes_table(done: Quantization) -> Table:
    """Return the table of nodes that are not on int8, with reasons."""
    rows = tuple(
        (
            str(node.index),
            node.name,
            node.op_type,
            _OUTCOMES[node.outcome],
            "" if node.reason is None else node.reason.en,
        )
        for node in done.nodes
        if node.outcome is not Outcome.INTEGER
    )
    return Table("Not on int8", ("node>", "name", "operator", "", "because"), rows)
