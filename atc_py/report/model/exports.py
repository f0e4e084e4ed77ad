"""An exported model, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.report.tables import Table, format_bytes

if TYPE_CHECKING:
    from atc_py.results.export import Export

__all__ = ["export_tables"]


def export_tables(done: Export) -> list[Table]:
    """Return the tables that `export` prints."""
    operators = sum(done.operators.values())
    rows = [
        ("SoC", done.soc),
        *((name.replace("_", " "), value) for name, value in sorted(done.options.items())),
        ("target operators", f"{operators} nodes of {len(done.operators)} operators"),
        ("ONNX", f"opset {done.opset}, {done.nodes} nodes, {done.functions} functions"),
        ("output", f"{done.output} ({format_bytes(done.bytes)})"),
    ]
    if done.data is not None:
        rows.append(("constants", str(done.data)))
    return [Table("Result", ("", ""), tuple(rows))]
