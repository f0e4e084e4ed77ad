"""The page about a model, or several, as one HTML file that needs nothing else."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from atc_py.check.findings import CheckReport
from atc_py.onnx_graph.source import FileGraph
from atc_py.report.check.document import CheckDocument
from atc_py.report.check.json_document import check_document
from atc_py.report.page.document import page_json, summary_document
from atc_py.report.page.findings import BothChecks
from atc_py.report.page.rendering import embedded_json, page_script, render_page, script_part
from atc_py.report.page.words import name_text
from atc_py.results.summary import ModelSummary
from atc_py.system.cache_folders import templates_dir


def check_html(
    document: CheckDocument,
    report: CheckReport | None = None,
    file_graphs: Mapping[str, FileGraph] | None = None,
) -> str:
    """The page of a check; without the report it has the document's language alone."""
    other = {"en": "zh", "zh": "en"}[document.lang]
    second = document if report is None else check_document(report, other)
    pair = (document, second) if document.lang == "en" else (second, document)
    checks = BothChecks(*pair, known=document)
    graphs = file_graphs or {}
    options = {f"--{name.replace('_', '-')}": (value,) for name, value in document.options.items()}
    models = []
    for at, model in enumerate(document.models):
        path = model.path if report is None else report.models[at].path
        done = ModelSummary(Path(path), options, report, graphs.get(path))
        models.append(summary_document(done, checks, at))
    return document_html(models, document.lang)


SCRIPTS = (
    "words.js", "names.js", "model.js", "folding.js", "layout.js", "graph.js", "charts.js", "tables.js", "board.js",
    "panel.js", "verdict.js", "precision.js", "time.js", "findings.js", "main.js",
)  # fmt: skip
"""Parts of the page's script, in their order."""


def summary_html(done: ModelSummary, language: str = "en") -> str:
    return summaries_html([done], language)


def summaries_html(model_summaries: Sequence[ModelSummary], language: str = "en") -> str:
    documents = []
    for done in model_summaries:
        checks = None
        if done.check is not None:
            checks = BothChecks(check_document(done.check, "en"), check_document(done.check, "zh"))
        documents.append(summary_document(done, checks))
    return document_html(documents, language)


def document_html(models: Sequence[Mapping[str, object]], language: str = "en") -> str:
    folder = templates_dir() / "report" / "overview"
    script = page_script(folder / name for name in SCRIPTS)
    library = script_part(folder / "vendor" / "dagre.min.js")
    return render_page(
        "overview/page",
        (library, script),
        lang={"zh": "zh-CN"}.get(language, language),
        title=name_text(", ".join(dict.fromkeys(str(model["path"]) for model in models))),
        document=embedded_json(page_json(models, language).decode("utf-8")),
    )
