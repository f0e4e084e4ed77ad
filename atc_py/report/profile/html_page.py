"""A profile as one HTML file that needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.report.model.semantics import semantics_tables
from atc_py.report.page import render_page
from atc_py.report.profile.pictures import (
    Picture,
    graph_of,
    memory_of,
    roofline_of,
    timeline_of,
)
from atc_py.report.profile.text import (
    bound_text,
    calibration_tables,
    comparison_table,
    format_time,
    operator_rows,
    summary_rows,
    time_text,
)
from atc_py.report.tables import Table, format_bytes

if TYPE_CHECKING:
    from atc_py.cost.network import KernelCost, NetworkCost
    from atc_py.results.profile import Profile

__all__ = ["profile_html"]

_BOUNDS = (
    ("cube", "cube"), ("vector", "vector unit"), ("memory", "memory"), ("onchip", "on-chip moves"),
    ("launch", "launch"), ("aicpu", "AI CPU"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Section:
    """Section of the page for one SoC."""

    soc: str
    time: str
    summary: list[tuple[str, str]]
    operators: list[tuple[str, ...]]
    kernels: list[dict[str, object]]
    graph: Picture
    timeline: Picture
    roofline: Picture
    memory: Picture


def profile_html(done: Profile) -> str:
    """Return the page: totals, graph, timeline, roofline, memory and tables for each SoC.

    Raises:
        AtcError: BAD_TEMPLATE where the template is missing or does not render.
    """
    tables: list[Table] = [] if done.calibration is None else calibration_tables(done.calibration)
    tables += semantics_tables(done.semantics)
    if len(done.socs) > 1:
        tables.append(comparison_table(done))
    return render_page(
        "profile",
        model=str(done.model),
        tables=[
            {
                "title": table.title,
                "head": [heading for heading, _ in table.headings()],
                "rows": table.rows,
            }
            for table in tables
        ],
        bounds=_BOUNDS,
        sections=[_section(cost) for cost in done.costs],
    )


def _section(cost: NetworkCost) -> _Section:
    """Return one SoC."""
    return _Section(
        cost.soc.name, time_text(cost.time), summary_rows(cost), operator_rows(cost),
        [_row(cost, at, kernel) for at, kernel in enumerate(cost.kernels)],
        graph_of(cost), timeline_of(cost), roofline_of(cost), memory_of(cost),
    )  # fmt: skip


def _row(cost: NetworkCost, at: int, kernel: KernelCost) -> dict[str, object]:
    """Return a kernel's row in the table: texts, and the numbers that it is sorted by."""
    span = kernel.cost
    share = span.expected / cost.time.expected
    moved = span.read + span.written
    return {
        "at": at,
        "op": kernel.op,
        "name": ", ".join(kernel.origins) or kernel.name,
        "shapes": kernel.shapes,
        "formats": kernel.formats if kernel.has_blocks else "",
        "bound": bound_text(span),
        "kind": span.bound.replace("-", ""),
        "numbers": (
            (format_time(span.expected), span.expected),
            (format_time(span.low), span.low),
            (format_time(span.high), span.high),
            (f"{share:.1%}", share),
            (f"{span.utilization:.0%}", span.utilization),
            (format_bytes(moved), moved),
        ),
    }
