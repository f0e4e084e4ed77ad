"""The formats in which a plan can be had."""

import json
from collections.abc import Iterable

from atc_py.diag import Diagnostic
from atc_py.report.planning.tables import plan_lines
from atc_py.results.plan import DtypePlan

FORMATS = ("text", "json", "html")
"""Names of the formats."""


def render_plan(name: str, plan: DtypePlan, findings: Iterable[Diagnostic] = ()) -> str:
    """The plan in one of FORMATS; JSON also has why the command fails."""
    if name == "json":
        document = {**plan.as_json(), "diagnostics": [finding.as_json() for finding in findings]}
        return json.dumps(document, indent=2, allow_nan=False) + "\n"
    if name == "html":
        from atc_py.report.planning.html_page import plan_html  # jinja2 takes long to import

        return plan_html(plan)
    return "\n".join(plan_lines(plan)) + "\n"
