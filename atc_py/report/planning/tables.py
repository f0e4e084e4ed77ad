"""A plan of dtypes as lines and tables."""

import math

from atc_py.report.escape import visible
from atc_py.report.model.semantics import newer_texts
from atc_py.report.tables import Table, plain_lines
from atc_py.results.layer_comparison import least_text
from atc_py.results.plan import DtypePlan, PlanPoint
from atc_py.text import COLON, COMMA, SEMICOLON, Text, plural
from atc_py.text.language import spoken

_SHOWN = 30
_MICRO = 1e6


def plan_lines(plan: DtypePlan) -> list[str]:
    """The whole report in plain text."""
    lines = [visible(spoken(line)) for line in verdict_lines(plan)]
    for table in plan_tables(plan):
        if table.rows:
            lines += ["", *plain_lines(table)]
    return lines


def verdict_lines(plan: DtypePlan) -> list[str]:
    """The first lines: what the plan is, what it saves, how thorough the search was."""
    target = ", ".join(f"{name} >= {least_text(least)}" for name, least in plan.target.items())
    if plan.reached:
        head = Text(
            "target {target}: reached in {time} by {point}",
            target=target,
            time=_micro(plan.chosen),
            point=point_text(plan.chosen, plan),
        )
    else:
        head = Text(
            "target {target}: missed by every assignment that was tried; the least error "
            "has {point}",
            target=target,
            point=point_text(plan.chosen, plan),
        )
    lines: list[str] = [head, _estimated(plan), SEMICOLON.join((_counted(plan), _searched(plan)))]
    lines += [text for _, text in newer_texts(plan.newer)]
    reasons: dict[str, list[str]] = {}
    for line, reason in plan.excluded:
        reasons.setdefault(reason, []).append(line)
    lines += [Text(reason) + COLON + _first_names(names) for reason, names in reasons.items()]
    return lines


def _counted(plan: DtypePlan) -> Text:
    """Return how many compilations were run on how many samples."""
    runs = plural(plan.runs, "{n} run on {samples}", "{n} runs on {samples}", samples=_judged(plan))
    if plan.judged < plan.samples:
        runs = Text("{runs}, and verified on all", runs=runs)
    return Text(
        "{trials} compilations of at most {limit}, {runs}",
        trials=plan.trials,
        limit=plan.limit,
        runs=runs,
    )


def _judged(plan: DtypePlan) -> Text:
    if plan.judged < plan.samples:
        return Text(
            "{judged} of {samples} samples",
            judged=plan.judged,
            samples=plan.samples,
        )
    return plural(plan.samples, "{n} sample", "{n} samples")


def _searched(plan: DtypePlan) -> Text:
    template = "{n} lines to choose from, not every assignment was tried"
    if plan.exhaustive:
        template = "{n} lines to choose from, every assignment was tried"
    return Text(template, n=plan.candidates)


def point_text(point: PlanPoint, plan: DtypePlan) -> str:
    """`3 lines in float32, all others in float16`."""
    counts: dict[str, int] = {}
    for dtype in point.dtypes.values():
        counts[dtype] = counts.get(dtype, 0) + 1
    if point.int8:
        counts["int8"] = len(point.int8)
    if not counts:
        return Text("all nodes in float16")
    (dtype, count), *others = counts.items()
    if not others and count == plan.candidates and dtype in point.dtypes.values():
        return Text("all {count} lines in {dtype}", count=count, dtype=dtype)
    parts = (
        plural(count, "{n} layer in int8", "{n} layers in int8")
        if dtype == "int8"
        else plural(count, "{n} line in {dtype}", "{n} lines in {dtype}", dtype=dtype)
        for dtype, count in counts.items()
    )
    return Text("{parts}, all others in float16", parts=Text(", ", context="lines").join(parts))


def plan_tables(plan: DtypePlan) -> list[Table]:
    """The tables: what is compared, the curve, and the lines."""
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
            "-" if each.saved is None else Text("{left} us", left=f"{each.saved * _MICRO:.2f}"),
        )
        for each in changed[:_SHOWN]
    ]
    if len(changed) > _SHOWN:
        rows.append(
            (spoken(Text("and {left} more", left=len(changed) - _SHOWN)), "", "", "", "", "")
        )
    rows += [(name, "", "", "int8", "", "") for name in plan.chosen.int8]
    columns = ("line", "operator", "nodes>", "dtype", "error in float16>", "float16 saves>")
    return Table("Lines that are not in float16", columns, tuple(rows))


def _numbers(point: PlanPoint) -> tuple[str, ...]:
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


def _estimated(plan: DtypePlan) -> Text:
    points = {"all float16": plan.float16, "all float32": plan.float32}
    parts = [
        Text(
            "{share} of the time of {name}",
            share=f"{plan.chosen.seconds / point.seconds:.3f}",
            name=Text(name),
        )
        for name, point in points.items()
        if point is not None and point.seconds
    ]
    head = Text("estimated for {soc}", soc=plan.soc)
    if not parts:
        return head
    return Text("{estimated}: {shares}", estimated=head, shares=COMMA.join(parts))


def _micro(point: PlanPoint) -> str:
    return Text("{left} us", left=f"{point.seconds * _MICRO:.2f}")


def _first_names(names: list[str], most: int = 5) -> str:
    """The first names, and how many more there are."""
    left = len(names) - most
    return ", ".join(names[:most]) + (Text(" and {left} more", left=left) if left > 0 else "")
