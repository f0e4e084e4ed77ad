"""The formats in which a plan can be had."""

import json
from collections.abc import Iterable

from atc_py.diag import Diagnostic
from atc_py.report.planning.tables import plan_lines
from atc_py.results.layer import number_json
from atc_py.results.plan import DtypePlan, PlanPoint


def plan_json(plan: DtypePlan) -> dict[str, object]:
    """Convert the plan."""
    return {
        "model": str(plan.model),
        "soc": plan.soc,
        "target": dict(plan.target),
        "reached": plan.reached,
        "samples": {"count": plan.samples, "judged": plan.judged},
        "chosen": _point(plan.chosen),
        "float16": _point(plan.float16),
        "float32": _point(plan.float32),
        "suggested": _point(plan.suggested),
        "curve": [_point(each) for each in plan.curve],
        "nodes": [
            {
                "line": each.line,
                "op": each.op,
                "nodes": each.nodes,
                "dtype": each.dtype,
                "error": None if each.error is None else number_json(each.error),
                "saved_seconds": each.saved,
            }
            for each in plan.nodes
        ],
        "keep_dtype": plan.keep_text.splitlines(),
        "customize_dtypes": list(plan.custom),
        "candidates": plan.candidates,
        "excluded": [{"line": line, "reason": reason} for line, reason in plan.excluded],
        "trials": {"done": plan.trials, "runs": plan.runs, "limit": plan.limit},
        "exhaustive": plan.exhaustive,
        "newer": plan.newer,
        "warnings": [each.as_json() for each in plan.warnings],
    }


def _point(point: PlanPoint | None) -> dict[str, object] | None:
    """Convert an assignment that was tried; None of none."""
    if point is None:
        return None
    return {
        "seconds": point.seconds,
        "error_share": number_json(point.share),
        "reached": point.reached,
        "casts": point.casts,
        "dtypes": dict(point.dtypes),
        "int8": list(point.int8),
        "outputs": {
            name: {
                "cosine": number_json(each.cosine),
                "snr": number_json(each.snr),
                "lost": each.lost,
                "top1": each.top1,
            }
            for name, each in point.outputs.items()
        },
    }


FORMATS = ("text", "json", "html")
"""Names of the formats."""


def render_plan(name: str, plan: DtypePlan, findings: Iterable[Diagnostic] = ()) -> str:
    """The plan in one of FORMATS; JSON also has why the command fails."""
    if name == "json":
        document = {**plan_json(plan), "diagnostics": [each.as_json() for each in findings]}
        return json.dumps(document, indent=2, allow_nan=False) + "\n"
    if name == "html":
        from atc_py.report.planning.html_page import plan_html  # jinja2 takes long to import

        return plan_html(plan)
    return "\n".join(plan_lines(plan)) + "\n"
