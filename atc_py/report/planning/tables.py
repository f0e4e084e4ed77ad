"""A plan of dtypes as lines and tables, and in the format that is asked for."""

import json
import math
from collections.abc import Iterable
from typing import Any

from atc_py.cost.network import evidence_text
from atc_py.diag import Diagnostic
from atc_py.report.model.semantics import newer_texts
from atc_py.report.tables import Table, block_lines, first_names, format_time, visible
from atc_py.results.layer_comparison import least_text
from atc_py.results.plan import DtypePlan, PlanPoint
from atc_py.target import SocFamily, find_soc
from atc_py.text import COLON, COMMA, SEMICOLON, Text, plural
from atc_py.text.language import spoken

FORMATS = ("text", "json", "html")
"""Names of the formats."""


def render_plan(name: str, plan: DtypePlan, findings: Iterable[Diagnostic] = ()) -> str:
    if name == "json":
        document = {**plan.as_json(), "diagnostics": [finding.as_json() for finding in findings]}
        return json.dumps(document, indent=2, allow_nan=False) + "\n"
    if name == "html":
        return plan_html(plan)
    return "\n".join(block_lines(plan_blocks(plan, whole=True))) + "\n"


_FEW, _AROUND = 8, 3
_LEAST, _TENTH = 0.001, 0.1
_FIGURES = (
    "time>", "cosine>", "SNR dB>", "top-1>", "of the allowed error>", "casts>", "target",
)  # fmt: skip


def plan_blocks(plan: DtypePlan, *, whole: bool) -> list[str | Table]:
    """The report's lines and tables; without `whole` rows around the plan, and nodes of the largest error."""
    blocks: list[str | Table] = [visible(spoken(line)) for line in head_lines(plan)]
    for table in plan_tables(plan, whole=whole):
        if table.rows:
            blocks += ["", table]
    return blocks


def head_lines(plan: DtypePlan) -> list[str]:
    verdict, *others = verdict_lines(plan)
    return [Text("{model}: {verdict}", model=str(plan.model), verdict=verdict), *others]


def verdict_lines(plan: DtypePlan) -> list[str]:
    target = ", ".join(f"{name} >= {least_text(least)}" for name, least in plan.target.items())
    head = Text("target {target}: reached in {time} with {point}")
    if not plan.reached:
        head = Text(
            "target {target}: not reached by any assignment that was tried; the one with the "
            "smallest error has {point}"
        )
    time, point = format_time(plan.chosen.seconds), point_text(plan.chosen, plan)
    head = head.with_values(target=target, time=time, point=point)
    lines: list[str] = [head, _estimated(plan), SEMICOLON.join((_counted(plan), _searched(plan)))]
    lines += [text for _, text in newer_texts(plan.newer)]
    reasons: dict[str, list[str]] = {}
    for line, reason in plan.excluded:
        reasons.setdefault(reason, []).append(line)
    lines += [Text(reason) + COLON + first_names(names) for reason, names in reasons.items()]
    return lines


def _counted(plan: DtypePlan) -> Text:
    compiled = plural(
        plan.trials,
        "{n} assignment compiled (at most {limit})",
        "{n} assignments compiled (at most {limit})",
        limit=plan.limit,
    )
    if not plan.trials:
        return compiled
    runs = Text(
        "all ran on {samples}"
        if plan.runs == plan.trials
        else "{n} ran on {samples}, the others are slower or have no kernels",
        n=plan.runs,
        samples=_judged(plan),
    )
    if plan.judged < plan.samples:
        runs = Text("{runs}, and verified on all", runs=runs)
    return Text("{compiled}: {runs}", compiled=compiled, runs=runs)


def _judged(plan: DtypePlan) -> Text:
    if plan.judged < plan.samples:
        return Text("{judged} of {samples} samples", judged=plan.judged, samples=plan.samples)
    return plural(plan.samples, "{n} sample", "{n} samples")


def _searched(plan: DtypePlan) -> Text:
    count = sum(node.nodes for node in plan.nodes) or plan.candidates
    return plural(
        count,
        "{n} node to choose a dtype for, {how}",
        "{n} nodes to choose dtypes for, {how}",
        how=Text("all combinations tried" if plan.exhaustive else "not all combinations tried"),
    )


def point_text(point: PlanPoint, plan: DtypePlan) -> str:
    """`3 nodes in float32, all others in float16`."""
    sizes = {node.line: node.nodes for node in plan.nodes}
    counts: dict[str, int] = {}
    for line, dtype in point.dtypes.items():
        counts[dtype] = counts.get(dtype, 0) + sizes.get(line, 1)
    if point.int8:
        counts["int8"] = len(point.int8)
    if not counts:
        return Text("all nodes in float16")
    (dtype, count), *others = counts.items()
    if not others and len(point.dtypes) == plan.candidates:
        return Text("all {count} nodes in {dtype}", count=count, dtype=dtype)
    parts = (
        plural(count, "{n} layer in int8", "{n} layers in int8")
        if dtype == "int8"
        else plural(count, "{n} node in {dtype}", "{n} nodes in {dtype}", dtype=dtype)
        for dtype, count in counts.items()
    )
    return Text("{parts}, all others in float16", parts=Text(", ", context="nodes").join(parts))


def plan_tables(plan: DtypePlan, *, whole: bool = True) -> list[Table]:
    compared = tuple(
        (spoken(name), *_numbers(point))
        for name, point in _compared(plan).items()
        if point is not None
    )
    return [
        Table("Estimated time and measured error", ("", *_FIGURES), compared),
        _curve(plan, whole=whole),
        _nodes(plan, whole=whole),
    ]


def _compared(plan: DtypePlan) -> dict[str, PlanPoint | None]:
    return {
        "plan": plan.chosen,
        "all float16": plan.float16,
        "all float32": plan.float32,
        "fewest in float32": plan.suggested,
    }


def _curve(plan: DtypePlan, *, whole: bool) -> Table:
    shown = plan.curve
    if not whole:
        at = shown.index(plan.chosen) if plan.chosen in shown else 0
        first = max(0, at - _AROUND)
        shared = tuple(_compared(plan).values())
        shown = () if all(point in shared for point in shown) else shown[first : at + _AROUND + 1]
    rows = [(*_numbers(point), point_text(point, plan)) for point in shown]
    if 0 < len(shown) < len(plan.curve):
        rows.append((*[""] * len(_FIGURES), _left(len(plan.curve) - len(shown))))
    title = "Time against error: assignments that no other one beats in both"
    return Table(title, (*_FIGURES, "dtypes"), tuple(rows), said=(7,))


def _left(count: int) -> str:
    return spoken(Text("and {left} more (--verbose)", left=count))


def _nodes(plan: DtypePlan, *, whole: bool) -> Table:
    changed = [node for node in plan.nodes if node.dtype != "float16"]
    most = len(changed) if whole else _FEW
    if not whole:
        changed.sort(key=lambda node: -(node.error or 0.0))
    rows = [
        (
            node.line,
            node.op,
            str(node.nodes),
            node.dtype,
            "-" if node.error is None else _percent(node.error),
            "-" if node.saved is None else _signed_time(node.saved),
        )
        for node in changed[:most]
    ]
    if len(changed) > most:
        rows.append((_left(len(changed) - most), "", "", "", "", ""))
    rows += [(name, "", "", "int8", "", "") for name in plan.chosen.int8]
    columns = (
        "node",
        "operator",
        "nodes>",
        "dtype",
        "of the allowed error in float16>",
        "time saved in float16>",
    )
    return Table("Nodes that are not in float16", columns, tuple(rows))


def _numbers(point: PlanPoint) -> tuple[str, ...]:
    top1 = [output.top1 for output in point.outputs.values() if output.top1 is not None]
    lost = math.isinf(point.share)
    return (
        format_time(point.seconds),
        "-" if lost or math.isnan(point.cosine) else f"{point.cosine:.7f}",
        "-" if lost or math.isnan(point.snr) else f"{point.snr:.2f}",
        f"{min(top1):.2%}" if top1 else "-",
        spoken("values lost") if lost else _percent(point.share),
        str(point.casts),
        spoken("reached" if point.reached else "missed"),
    )


def _estimated(plan: DtypePlan) -> Text:
    points = {"all-float16": plan.float16, "all-float32": plan.float32}
    text = Text("{share} of the {name} time")
    parts = [
        text.with_values(share=f"{plan.chosen.seconds / point.seconds:.0%}", name=Text(name))
        for name, point in points.items()
        if point is not None and point.seconds
    ]
    head, soc = Text("estimated time on {soc}", soc=plan.soc), find_soc(plan.soc)
    if soc.family is not SocFamily.SIM:
        head = Text("{estimated} ({evidence})", estimated=head, evidence=evidence_text(soc))
    if not parts:
        return head
    return Text("{estimated}: {shares}", estimated=head, shares=COMMA.join(parts))


def _percent(share: float) -> str:
    """`12%` of the error that the target allows; `< 0.1%` of what rounds to nothing."""
    if share < _LEAST:
        return f"< {_LEAST:.1%}"
    if share > 1 / _TENTH:
        return f"{share:.3g}x"
    return f"{share:.1%}" if share < _TENTH else f"{share:.0%}"


def _signed_time(seconds: float) -> str:
    shown = format_time(abs(seconds))
    return f"-{shown}" if seconds < 0 and float(shown.split()[0]) else shown


WIDTH, HEIGHT = 480.0, 200.0
"""Size of the curve within its axes."""


def plan_html(plan: DtypePlan) -> str:
    from atc_py.report.page.rendering import plain_page  # jinja2 takes long to import

    marks, axes = _curve_marks(plan)
    return plain_page(
        "plan",
        lambda: {
            "model": str(plan.model),
            "verdict": verdict_lines(plan),
            "reached": plan.reached,
            "tables": [table.spoken().visible() for table in plan_tables(plan) if table.rows],
            "curve": marks,
            "axes": axes,
            "size": (f"{WIDTH:.0f}", f"{HEIGHT:.0f}"),
        },
    )


def _curve_marks(plan: DtypePlan) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The marks: time to the right, signal to noise upward; and the ends of both axes."""
    points = [point for point in plan.curve if math.isfinite(point.snr)]
    extra = (plan.float16, plan.float32, plan.suggested)
    points += [e for e in extra if e is not None and e not in points and math.isfinite(e.snr)]
    if not points:
        return [], {}
    times = [point.seconds for point in points]
    ratios = [point.snr for point in points]
    left, right, low, high = min(times), max(times), min(ratios), max(ratios)
    marks = []
    for point in sorted(points, key=lambda point: point.seconds):
        kind = "chosen" if point == plan.chosen else "supported" if point.reached else "error"
        x = WIDTH * (point.seconds - left) / ((right - left) or 1.0)
        y = HEIGHT * (high - point.snr) / ((high - low) or 1.0)
        title = _title(plan, point)
        marks.append({"x": f"{x:.1f}", "y": f"{y:.1f}", "kind": kind, "title": title})
    axes = {
        "left": format_time(left),
        "right": format_time(right),
        "low": f"{low:.1f} dB",
        "high": f"{high:.1f} dB",
    }
    return marks, axes


def _title(plan: DtypePlan, point: PlanPoint) -> str:
    named = {
        "the plan": plan.chosen,
        "all float16": plan.float16,
        "all float32": plan.float32,
        "fewest in float32": plan.suggested,
    }
    text = f"{format_time(point.seconds)}, {point.snr:.1f} dB: {spoken(point_text(point, plan))}"
    names = ", ".join(spoken(name) for name, other in named.items() if other == point)
    return f"{names}: {text}" if names else text
