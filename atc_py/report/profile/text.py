"""A profile as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atc_py.cost.estimate import Estimate
from atc_py.cost.factors import SHARES
from atc_py.cost.measurements import left_out_lines
from atc_py.cost.network import KernelCost, NetworkCost, TimeRange
from atc_py.options.gears import format_gear
from atc_py.report.model.gears import gear_shapes_text
from atc_py.report.model.semantics import newer_rows, semantics_tables
from atc_py.report.tables import Table, format_bytes, format_time
from atc_py.text import COMMA, Text
from atc_py.text.language import spoken

if TYPE_CHECKING:
    from atc_py.cost.calibration import Calibration, OperatorError
    from atc_py.results.profile import GearCost, Profile, SocProfile


SHOWN = 20
"""Kernels that the table lists; JSON, CSV and HTML have all."""

_NAME = 48
_BAR = 32
"""Length of the bar of the highest throughput."""

_LEAST = 0.005
"""Least share that is listed; a smaller one would show as 0 %."""

PIPE_NAMES = {
    "cube": "cube (M)",
    "vector": "vector (V)",
    "mte1": "L1 to L0 (MTE1)",
    "mte2": "into the core (MTE2)",
    "mte3": "out of the core (MTE3)",
    "fixp": "L0C out (FIXP)",
}


def time_text(span: TimeRange) -> str:
    low, high = format_time(span.low), format_time(span.high)
    return Text(
        "{time} (between {low} and {high})", time=format_time(span.expected), low=low, high=high
    )


def profile_tables(done: Profile, *, every: bool = False) -> list[Table]:
    tables = [] if done.calibration is None else calibration_tables(done.calibration)
    tables += semantics_tables(done.semantics)
    if len(done.socs) > 1:
        tables.append(comparison_table(done))
    for soc in done.socs:
        tables += _batch_tables(soc) or _gear_tables(soc.gears)
    for cost in done.costs:
        title = Text("{model} on {soc}", model=cost.model, soc=cost.soc.name)
        rows = (*newer_rows(done.newer), *_summary_rows(cost))
        tables.append(Table(title, ("", ""), rows))
        if cost.kernels:
            tables += [_operator_table(cost), _kernel_table(cost, every=every)]
    if done.measured is not None:
        from atc_py.report.board.times import time_tables

        tables += time_tables(done.measured, whole=every)
    return tables


def _gear_tables(gears: Sequence[GearCost]) -> list[Table]:
    if not gears:
        return []
    rows = tuple(
        (
            str(at),
            format_gear(gear.values),
            gear_shapes_text(gear.shapes),
            *map(format_time, (gear.cost.time.expected, gear.cost.time.low, gear.cost.time.high)),
            format_bytes(gear.cost.footprint.total),
            str(len(gear.cost.kernels)),
        )
        for at, gear in enumerate(gears)
    )
    head = ("gear>", "numbers", "inputs", "time>", "low>", "high>", "memory>", "kernels>")
    return [Table("Gears", head, rows)]


def _batch_tables(soc: SocProfile) -> list[Table]:
    best = soc.best
    if best is None:
        return []
    most = max(gear.throughput for gear in soc.gears)
    rows = tuple(
        (
            str(gear.samples),
            format_time(gear.cost.time.expected),
            f"{gear.throughput:,.0f}",
            "#" * max(1, round(_BAR * gear.throughput / most)),
            format_bytes(gear.cost.footprint.total),
            _batch_remark(gear, best),
        )
        for gear in soc.gears
    )
    title = Text("Batches on {soc}", soc=soc.soc)
    head = ("batch>", "time>", "samples/s>", "", "memory>", "")
    return [Table(title, head, rows, said=(5,))]


def _batch_remark(gear: GearCost, best: GearCost) -> str:
    if gear.cost.fits is False:
        return Text("does not fit")
    return Text("best") if gear is best else ""


def comparison_table(done: Profile) -> Table:
    rows: list[tuple[str, ...]] = []
    for soc in done.socs:
        cost = soc.cost
        if cost is None:
            rows.append((soc.soc, spoken(soc.verdict), "", "", "", "", ""))
            continue
        span = cost.time
        rows.append((
            soc.soc, spoken(soc.verdict), *map(format_time, (span.expected, span.low, span.high)),
            format_bytes(cost.footprint.total), str(len(cost.kernels)),
        ))  # fmt: skip
    head = ("SoC", "", "time>", "low>", "high>", "memory>", "kernels>")
    return Table("SoCs side by side", head, tuple(rows))


def _summary_rows(cost: NetworkCost) -> list[tuple[str, str]]:
    busy = COMMA.join(
        Text("{name} {share}", context="pipe", name=Text(PIPE_NAMES[name]), share=f"{share:.0%}")
        for name, share in cost.busy.items()
        if share >= _LEAST
    )
    kernels = Text("{count} for {nodes} operators", count=len(cost.kernels), nodes=cost.nodes)
    rows = [
        ("time", time_text(cost.time)),
        ("kernels", kernels),
        ("bound by", _bottleneck_shares(cost.kernels, cost.in_kernels)),
        ("pipes busy", busy or spoken("none")),
        ("memory", _memory_text(cost)),
    ]
    if cost.fits is False and cost.soc.memory is not None:
        text = Text("the {memory} of {soc} is too small for it")
        memory = format_bytes(cost.soc.memory)
        rows.append(("does not fit", text.with_values(memory=memory, soc=cost.soc.name)))
    return rows + [("" if at else "assumes", line) for at, line in enumerate(cost.assumptions())]


def bound_text(cost: Estimate) -> str:
    """The bottleneck; where that is the launch, also the next one."""
    if cost.bound == "launch":
        return Text(f"launch, then {cost.limiter}")
    return Text(cost.bound, context="share")


def _memory_text(cost: NetworkCost) -> str:
    memory = cost.footprint
    return Text(
        "{total}: weights {weights}, results {arena} ({planned}), inputs and outputs {ports}, "
        "workspace {workspace}",
        total=format_bytes(memory.total),
        weights=format_bytes(memory.weights),
        arena=format_bytes(memory.arena),
        planned=Text(
            "plan" if memory.planned else "by live ranges, without a plan", context="memory"
        ),
        ports=format_bytes(memory.ports),
        workspace=format_bytes(memory.workspace),
    )


def _bottleneck_shares(kernels: Sequence[KernelCost], whole: float) -> str:
    sums: dict[str, float] = {}
    for kernel in kernels:
        bound = kernel.cost.bound
        sums[bound] = sums.get(bound, 0.0) + kernel.cost.expected
    ranked = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    shares = (Text(name, context="share") + f" {seconds / whole:.0%}" for name, seconds in ranked)
    return COMMA.join(shares) or Text("nothing")


def _operator_table(cost: NetworkCost) -> Table:
    whole = cost.in_kernels
    rows: list[tuple[str, ...]] = []
    for op, kernels in cost.by_operator().items():
        seconds = sum(kernel.cost.expected for kernel in kernels)
        limit = sum(kernel.cost.limit for kernel in kernels)
        moved = sum(kernel.cost.read + kernel.cost.written for kernel in kernels)
        rows.append((
            op, str(len(kernels)), format_time(seconds), f"{seconds / whole:.1%}",
            _bottleneck_shares(kernels, seconds), f"{limit / seconds:.0%}", format_bytes(moved),
        ))  # fmt: skip
    head = ("operator", "kernels>", "time>", "share>", "bound by", "use of peak>", "bytes>")
    return Table("Operators", head, tuple(rows), said=(4,))


def _kernel_table(cost: NetworkCost, *, every: bool) -> Table:
    whole = cost.in_kernels
    ranked = sorted(range(len(cost.kernels)), key=lambda at: (-cost.kernels[at].cost.expected, at))
    rows = []
    for at in ranked[: None if every else SHOWN]:
        kernel = cost.kernels[at]
        span, name = kernel.cost, ", ".join(kernel.origins) or kernel.name
        rows.append((
            str(at), kernel.op, name if len(name) <= _NAME else f"...{name[3 - _NAME :]}",
            format_time(span.expected), f"{format_time(span.low)}..{format_time(span.high)}",
            f"{span.expected / whole:.1%}", bound_text(span),
            f"{span.utilization:.0%}",
            format_bytes(span.read + span.written),
        ))  # fmt: skip
    left = len(cost.kernels) - len(rows)
    title = "Kernels"
    if left:
        title = Text("Kernels that take longest ({left} more: -v lists all)", left=left)
    head = (
        "#>", "kernel", "computes", "time>", "range>", "share>", "bound by", "use of peak>",
        "bytes>",
    )  # fmt: skip
    return Table(title, head, tuple(rows), said=(6,))


def calibration_tables(done: Calibration) -> list[Table]:
    factors = done.fit.factors
    share = Text("{share} of its peak rate")
    error = Text("{before} before, {spread} after (root mean square)")
    rows = (
        *((name, share.with_values(share=f"{getattr(factors, name):.1%}")) for name in SHARES),
        ("launch", format_time(factors.launch)),
        ("error", error.with_values(before=f"{done.before:.1%}", spread=f"{done.fit.spread:.1%}")),
        *(("left out", line) for line in left_out_lines(done.left_out)),
    )
    title = Text("Factors refitted to {count} measurements on {soc}")
    tables = [
        Table(title.with_values(count=done.count, soc=done.soc), ("", ""), rows),
        _errors("Error by operator", "operator", done.operators),
    ]
    return [*tables, _errors("Error by file", "file", done.files)] if done.files else tables


def _errors(title: str, name: str, errors: Sequence[OperatorError]) -> Table:
    rows = tuple(
        (
            each.op,
            str(each.count),
            f"{each.before:.1%}",
            f"{each.after:.1%}",
            Text("better" if each.after <= each.before else "worse", context="error"),
        )
        for each in errors
    )
    return Table(title, (name, "count>", "before>", "after>", ""), rows)
