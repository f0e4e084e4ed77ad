"""A run as tables."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from atc_py.options.gears import format_gear
from atc_py.report.model.semantics import semantics_tables
from atc_py.report.tables import Table, format_bytes, format_seconds
from atc_py.results.comparison import Comparison
from atc_py.results.run import NodeTime, Run
from atc_py.text import Text
from atc_py.text.language import spoken

_COMPARED = (
    "output", "verdict", "error/range>", "tolerance>", "max error>", "cosine>", "argmax",
)  # fmt: skip


def comparison_table(comparisons: Iterable[Comparison]) -> Table:
    rows = tuple(map(_output_row, comparisons))
    return Table("Compared with the expected data", _COMPARED, rows)


def _output_row(row: Comparison) -> tuple[str, ...]:
    if row.other_shapes is not None:
        return row.name, spoken("FAILED"), "-", "-", "-", "-", "-"
    return (
        row.name,
        spoken("ok" if row.passed else "FAILED"),
        f"{row.range_error:.2e}",
        f"{row.tolerance:.2e}",
        f"{row.max_error:.2e}",
        f"{row.cosine:.6f}",
        spoken("same" if row.same_argmax else "differs"),
    )


def run_tables(done: Run) -> list[Table]:
    tables = [*semantics_tables(done.semantics), _outputs(done)]
    if done.nodes:
        tables.append(_times(done.nodes))
    if done.comparisons:
        tables.append(comparison_table(done.comparisons))
    return tables


def _outputs(done: Run) -> Table:
    rows = tuple(
        (
            name,
            array.dtype.name,
            ",".join(str(dim) for dim in array.shape),
            *_range(array),
            str(done.files.get(name, "")),
        )
        for name, array in done.outputs.items()
    )
    title = Text("Outputs, after {time}", time=format_seconds(done.seconds))
    if done.gear is not None:
        title = Text(
            "Outputs of gear {gear}, after {time}",
            gear=format_gear(done.gear),
            time=format_seconds(done.seconds),
        )
    return Table(title, ("name", "dtype", "shape", "min>", "max>", "argmax>", "file"), rows)


def _range(array: npt.NDArray[np.generic]) -> tuple[str, str, str]:
    if not array.size:
        return "", "", ""
    numbers = (
        array if array.dtype.kind in "fiub" else array.astype(np.float32)
    )  # of 16 bits or less
    return f"{float(numbers.min()):.6g}", f"{float(numbers.max()):.6g}", str(int(numbers.argmax()))


def _times(nodes: Iterable[NodeTime]) -> Table:
    totals: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for node in nodes:
        total = totals[node.op, node.engine]
        total[0] += node.seconds
        total[1] += 1
        total[2] += node.output_bytes
    ranked = sorted(totals.items(), key=lambda item: -item[1][0])
    rows = tuple(
        (op, engine, f"{count:.0f}", format_seconds(seconds), format_bytes(int(size)))
        for (op, engine), (seconds, count, size) in ranked
    )
    title = "Time on this machine by operator"
    return Table(title, ("operator", "engine", "nodes>", "time>", "results>"), rows)
