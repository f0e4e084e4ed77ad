"""The differences of two offline models as one HTML file that needs nothing else."""

from atc_py.report.diff.tables import diff_tables, score_text
from atc_py.report.page.rendering import render_page
from atc_py.results.model_diff import ModelDiff


def diff_html(diff: ModelDiff) -> str:
    """The page: the score, and each table.

    Raises:
        AtcError: BAD_TEMPLATE where the template is missing or does not render.
    """
    tables = [table.visible() for table in diff_tables(diff)]
    return render_page(
        "diff",
        base="check",
        score=score_text(diff),
        first=diff.first.model,
        second=diff.second.model,
        tables=[
            {"title": table.title, "headings": table.headings(), "rows": table.rows}
            for table in tables
        ],
    )
