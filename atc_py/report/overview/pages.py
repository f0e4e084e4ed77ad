"""The page as `check`, `compare` and `profile` write it: with the parts that each of them has."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from atc_py.check.findings import CheckReport
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source.outline import ModelOutline
from atc_py.report.check.document import CheckDocument
from atc_py.report.check.json_document import check_document
from atc_py.report.overview.document import overview_document
from atc_py.report.overview.findings import BothChecks
from atc_py.report.overview.html_page import document_html, overview_html
from atc_py.results.compiled_model import CompiledModel
from atc_py.results.layer_comparison import LayerComparison
from atc_py.results.overview import Overview
from atc_py.results.profile import Profile


def check_html(
    document: CheckDocument,
    report: CheckReport | None = None,
    outlines: Mapping[str, ModelOutline] | None = None,
) -> str:
    """The page of a check.

    Args:
        document: the check in the language in which the page opens.
        report: what it was made from, for the other language; without it, the page has one.
        outlines: the graphs of the files, by their paths.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or does not render.
    """
    other = {"en": "zh", "zh": "en"}[document.lang]
    second = document if report is None else check_document(report, other)
    pair = (document, second) if document.lang == "en" else (second, document)
    checks = BothChecks(*pair, known=document)
    graphs = outlines or {}
    options = {f"--{name.replace('_', '-')}": (value,) for name, value in document.options.items()}
    models = []
    for at, model in enumerate(document.models):
        path = model.path if report is None else report.models[at].path
        done = Overview(Path(path), options, report, graphs.get(path))
        models.append(overview_document(done, checks, at))
    return document_html(models, document.lang)


def layers_html(
    done: LayerComparison,
    findings: Sequence[Diagnostic] = (),
    outline: ModelOutline | None = None,
    compiled: CompiledModel | None = None,
) -> str:
    """The page of a comparison.

    Args:
        done: the comparison.
        findings: why the command fails.
        outline: the graph of the file.
        compiled: the model that was compared.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or does not render.
    """
    return overview_html(
        Overview(
            done.model,
            outline=outline,
            compiled=compiled,
            comparison=done,
            missed=tuple(findings),
        )
    )


def profile_html(
    done: Profile,
    outline: ModelOutline | None = None,
    compiled: CompiledModel | None = None,
) -> str:
    """The page of a profile.

    Args:
        done: the estimates.
        outline: the graph of the file.
        compiled: the model on the first SoC for which it compiles.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or does not render.
    """
    return overview_html(Overview(done.model, outline=outline, compiled=compiled, profile=done))
