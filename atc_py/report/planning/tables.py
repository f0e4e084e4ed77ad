"""A plan of dtypes as lines and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atc_py.diag.language import spoken, spoken_parts
from atc_py.report.escape import visible
from atc_py.report.tables import Table, plain_lines
from atc_py.results.layer_comparison import least_text

if TYPE_CHECKING:
    from atc_py.results.plan import DtypePlan, PlanPoint

__all__ = ["plan_lines", "plan_tables", "point_text", "verdict_lines"]

_SHOWN = 30
_MICRO = 1e6


def plan_lines(plan: DtypePlan) -> list[str]:
    """Return the whole report in plain text."""
    lines = [spoken_parts(visible(line)) for line in verdict_lines(plan)]
    for table in plan_tables(plan):
        if table.rows:
            lines += ["", *plain_lines(table)]
    return lines


def verdict_lines(plan: DtypePlan) -> list[str]:
    """Return the first lines: what the plan is, what it saves, how thorough the search was."""
    target = ", ".join(f"{name} >= {least_text(least)}" for name, least in plan.target.items())
    if plan.reached:
        head = (
            f"target {target}: reached in {_micro(plan.chosen)} by {point_text(plan.chosen, plan)}"
        )
    else:
        head = (
            f"target {target}: missed by every assignment that was tried; the least error has "
            f"{point_text(plan.chosen, plan)}"
        )
    lines = [head, f"estimated for {plan.soc}{_compared(plan)}"]
    judged = f"{plan.samples} sample{'s' if plan.samples != 1 else ''}"
    if plan.judged < plan.samples:
        judged = f"{plan.judged} of {plan.samples} samples, and verified on all"
    counts = f"{plan.trials} compilations of at most {plan.limit}, {plan.runs} run{'s' if plan.runs != 1 else ''} on {judged}"
    how = "every assignment was tried" if plan.exhaustive else "not every assignment was tried"
    lines.append(f"{counts}; {plan.candidates} lines to choose from, {how}")
    reasons: dict[str, list[str]] = {}
    for line, reason in plan.excluded:
        reasons.setdefault(reason, []).append(line)
    lines += [f"{reason}: {_first_names(names)}" for reason, names in reasons.items()]
    return lines


def point_text(point: PlanPoint, plan: DtypePlan) -> str:
    """Return `3 lines in float32, all others in float16`."""
    counts: dict[str, int] = {}
    for dtype in point.dtypes.values():
        counts[dtype] = counts.get(dtype, 0) + 1
    if point.int8:
        counts["int8"] = len(point.int8)
    if not counts:
        return "all nodes in float16"
    (dtype, count), *others = counts.items()
    if not others and count == plan.candidates and dtype in point.dtypes.values():
        return f"all {count} lines in {dtype}"
    parts = (
        f"{count} {'layer' if dtype == 'int8' else 'line'}{'s' if count != 1 else ''} in {dtype}"
        for dtype, count in counts.items()
    )
    return f"{', '.join(parts)}, all others in float16"


def plan_tables(plan: DtypePlan) -> list[Table]:
    """Return the tables: what is compared, the curve, and the lines."""
    return [_compared_table(plan), _curve(plan), _nodes(plan)]


def _compared_table(plan: DtypePlan) -> Table:
    """Tabulate the plan beside all float16, all float32 and the fewest nodes in float32."""
    points = {
        "plan": plan.chosen,
        "all float16": plan.float16,
        "all float32": plan.float32,
        "fewest in float32": plan.suggested,
    }
    rows = [(spoken(name), *_numbers(point)) for name, point in points.items() if point is not None]
    columns = ("", "time>", "cosine>", "SNR dB>", "top-1>", "error of allowed>", "casts>", "target")
    return Table("Estimated time and measured error", columns, tuple(rows))


def _curve(plan: DtypePlan) -> Table:
    """Tabulate the points that no other one beats."""
    shown = plan.curve[:_SHOWN]
    rows = tuple((*_numbers(point), point_text(point, plan)) for point in shown)
    title = "Error against time: no assignment that was tried is better in both"
    columns = ("time>", "cosine>", "SNR dB>", "top-1>", "error of allowed>", "casts>", "target", "")
    return Table(title, columns, rows, said=(7,))


def _nodes(plan: DtypePlan) -> Table:
    """Tabulate the lines that are not in float16."""
    changed = [each for each in plan.nodes if each.dtype != "float16"]
    rows = [
        (
            each.line,
            each.op,
            str(each.nodes),
            each.dtype,
            "-" if each.error is None else f"{each.error:.3g}",
            "-" if each.saved is None else f"{each.saved * _MICRO:.2f} us",
        )
        for each in changed[:_SHOWN]
    ]
    if len(changed) > _SHOWN:
        rows.append((spoken(f"and {len(changed) - _SHOWN} more"), "", "", "", "", ""))
    rows += [(name, "", "", "int8", "", "") for name in plan.chosen.int8]
    columns = ("line", "operator", "nodes>", "dtype", "error in float16>", "float16 saves>")
    return Table("Lines that are not in float16", columns, tuple(rows))


def _numbers(point: PlanPoint) -> tuple[str, ...]:
    """Return the figures of a point, those of its worst output."""
    top1 = [each.top1 for each in point.outputs.values() if each.top1 is not None]
    lost = math.isinf(point.share)
    return (
        _micro(point),
        "-" if lost or math.isnan(point.cosine) else f"{point.cosine:.7f}",
        "-" if lost or math.isnan(point.snr) else f"{point.snr:.2f}",
        f"{min(top1):.2%}" if top1 else "-",
        spoken("values lost") if lost else f"{point.share:.3g}",
        str(point.casts),
        spoken("reached" if point.reached else "missed"),
    )


def _compared(plan: DtypePlan) -> str:
    """Return how the plan's time compares with those of one dtype."""
    points = {"all float16": plan.float16, "all float32": plan.float32}
    parts = [
        f"{plan.chosen.seconds / point.seconds:.3f} of the time of {name}"
        for name, point in points.items()
        if point is not None and point.seconds
    ]
    return f": {', '.join(parts)}" if parts else ""


def _micro(point: PlanPoint) -> str:
    """Return the time of a point."""
    return f"{point.seconds * _MICRO:.2f} us"


def _first_names(names: list[str], most: int = 5) -> str:
    """Return the first names, and how many more there are."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")
