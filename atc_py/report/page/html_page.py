"""The page about a model, or several, as one HTML file that needs nothing else."""

from collections.abc import Mapping, Sequence

from atc_py.report.check.json_document import check_document
from atc_py.report.page.document import page_json, summary_document
from atc_py.report.page.findings import BothChecks
from atc_py.report.page.rendering import embedded_json, page_script, render_page, script_part
from atc_py.report.page.words import name_text
from atc_py.results.summary import ModelSummary
from atc_py.system.resources import templates_dir

SCRIPTS = (
    "words.js", "names.js", "model.js", "folding.js", "layout.js", "graph.js", "charts.js", "tables.js",
    "panel.js", "verdict.js", "precision.js", "time.js", "findings.js", "main.js",
)  # fmt: skip
"""Parts of the page's script, in their order."""


def summary_html(done: ModelSummary, language: str = "en") -> str:
    """The page about one model.

    Args:
        done: what is known of it.
        language: the language in which the page opens.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or does not render.
    """
    return summaries_html([done], language)


def summaries_html(found: Sequence[ModelSummary], language: str = "en") -> str:
    """The page about one model, or about its gears.

    Args:
        found: what is known of each.
        language: the language in which the page opens.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or does not render.
    """
    return document_html([_document(each) for each in found], language)


def _document(done: ModelSummary) -> dict[str, object]:
    checks = None
    if done.check is not None:
        checks = BothChecks(check_document(done.check, "en"), check_document(done.check, "zh"))
    return summary_document(done, checks)


def document_html(models: Sequence[Mapping[str, object]], language: str = "en") -> str:
    """The page about models whose documents are given.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or does not render.
    """
    folder = templates_dir() / "report" / "overview"
    script = page_script(folder / name for name in SCRIPTS)
    library = script_part(folder / "vendor" / "dagre.min.js")
    return render_page(
        "overview/page",
        scripts=(library, script),
        lang={"zh": "zh-CN"}.get(language, language),
        title=name_text(", ".join(dict.fromkeys(str(each["path"]) for each in models))),
        document=embedded_json(page_json(models, language).decode("utf-8")),
    )
