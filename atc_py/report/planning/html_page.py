"""A plan of dtypes as one HTML file that needs nothing else."""

import math
from typing import Any

from atc_py.report.page.rendering import render_page
from atc_py.report.planning.tables import plan_tables, point_text, verdict_lines
from atc_py.results.plan import DtypePlan, PlanPoint
from atc_py.text import Text
from atc_py.text.language import spoken

WIDTH, HEIGHT = 720.0, 260.0
"""Size of the curve within its axes."""

_MICRO = 1e6


def plan_html(plan: DtypePlan) -> str:
    """The page: verdict, the curve of error against time, what is compared, lines.

    Raises:
        AtcError: BAD_TEMPLATE where the template is missing or does not render.
    """
    marks, axes = _curve(plan)
    return render_page(
        "plan",
        base="check",
        model=str(plan.model),
        verdict=verdict_lines(plan),
        reached=plan.reached,
        tables=[each.spoken().visible() for each in plan_tables(plan) if each.rows],
        curve=marks,
        axes=axes,
        size=(f"{WIDTH:.0f}", f"{HEIGHT:.0f}"),
    )


def _curve(plan: DtypePlan) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The marks: time to the right, signal to noise upward; and the ends of both axes."""
    points = [each for each in plan.curve if math.isfinite(each.snr)]
    extra = (plan.float16, plan.float32, plan.suggested)
    points += [e for e in extra if e is not None and e not in points and math.isfinite(e.snr)]
    if not points:
        return [], {}
    times = [each.seconds for each in points]
    ratios = [each.snr for each in points]
    left, right, low, high = min(times), max(times), min(ratios), max(ratios)
    marks = []
    for each in sorted(points, key=lambda point: point.seconds):
        kind = "chosen" if each == plan.chosen else "supported" if each.reached else "error"
        marks.append(
            {
                "x": f"{WIDTH * (each.seconds - left) / ((right - left) or 1.0):.1f}",
                "y": f"{HEIGHT * (high - each.snr) / ((high - low) or 1.0):.1f}",
                "kind": kind,
                "title": _title(plan, each),
            }
        )
    axes = {
        "left": Text("{left} us", left=f"{left * _MICRO:.1f}"),
        "right": Text("{left} us", left=f"{right * _MICRO:.1f}"),
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
    text = f"{point.seconds * _MICRO:.2f} us, {point.snr:.1f} dB: {spoken(point_text(point, plan))}"
    names = ", ".join(spoken(name) for name, each in named.items() if each == point)
    return f"{names}: {text}" if names else text
