"""The page as `check`, `compare` and `profile` write it: with the parts that each of them has."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from atc_py.check.findings import CheckReport
from atc_py.diag import Diagnostic
from atc_py.report.check.document import CheckDocument
from atc_py.report.check.json_document import check_document
from atc_py.report.page.document import summary_document
from atc_py.report.page.findings import BothChecks
from atc_py.report.page.html_page import document_html, summary_html
from atc_py.results.compiled_model import CompiledModel
from atc_py.results.layer_comparison import LayerComparison
from atc_py.results.profile import Profile
from atc_py.results.summary import ModelSummary
from atc_py.source.file_graph import FileGraph


def check_html(
    document: CheckDocument,
    report: CheckReport | None = None,
    file_graphs: Mapping[str, FileGraph] | None = None,
) -> str:
    """The page of a check.

    Args:
        document: the check in the language in which the page opens.
        report: what it was made from, for the other language; without it, the page has one.
        file_graphs: the graphs of the files, by their paths.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or does not render.
    """
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


def layers_html(
    done: LayerComparison,
    findings: Sequence[Diagnostic] = (),
    file_graph: FileGraph | None = None,
    compiled: CompiledModel | None = None,
) -> str:
    """The page of a comparison.

    Args:
        done: the comparison.
        findings: why the command fails.
        file_graph: the graph of the file.
        compiled: the model that was compared.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or does not render.
    """
    return summary_html(
        ModelSummary(
            done.model,
            file_graph=file_graph,
            compiled=compiled,
            comparison=done,
            missed=tuple(findings),
        )
    )


def profile_html(
    done: Profile,
    file_graph: FileGraph | None = None,
    compiled: CompiledModel | None = None,
) -> str:
    """The page of a profile.

    Args:
        done: the estimates.
        file_graph: the graph of the file.
        compiled: the model on the first SoC for which it compiles.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or does not render.
    """
    return summary_html(
        ModelSummary(done.model, file_graph=file_graph, compiled=compiled, profile=done)
    )
