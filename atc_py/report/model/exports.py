"""An exported model, as tables."""

from atc_py.report.tables import Table, format_bytes
from atc_py.results.conversion import Export
from atc_py.text import Text


def export_tables(done: Export) -> list[Table]:
    """The tables that `export` prints."""
    operators = sum(done.operators.values())
    rows = [
        ("SoC", done.soc),
        *((name.replace("_", " "), value) for name, value in sorted(done.options.items())),
        (
            "target operators",
            Text(
                "{operators} nodes of {count} operators",
                operators=operators,
                count=len(done.operators),
            ),
        ),
        (
            "ONNX",
            Text(
                "opset {opset}, {nodes} nodes, {functions} functions",
                opset=done.opset,
                nodes=done.nodes,
                functions=done.functions,
            ),
        ),
        ("output", f"{done.output} ({format_bytes(done.bytes)})"),
    ]
    if done.data is not None:
        rows.append(("constants", str(done.data)))
    return [Table("Result", ("", ""), tuple(rows))]
