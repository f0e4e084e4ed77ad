"""The formats in which a layer-by-layer comparison can be had."""

import json
from collections.abc import Iterable

from atc_py.diag import Diagnostic
from atc_py.report.layers.csv_rows import layers_csv
from atc_py.report.layers.json_document import layers_json
from atc_py.report.layers.text import layers_text
from atc_py.results.compiled_model import CompiledModel
from atc_py.results.layer_comparison import LayerComparison
from atc_py.source.outline import ModelOutline

FORMATS = ("text", "json", "csv", "html")
"""Names of the formats."""


def render_layers(
    name: str,
    done: LayerComparison,
    findings: Iterable[Diagnostic] = (),
    outline: ModelOutline | None = None,
    compiled: CompiledModel | None = None,
) -> str:
    """Render the comparison as text.

    Args:
        name: the format, one of FORMATS.
        done: the comparison.
        findings: why the command fails; JSON and HTML have them too.
        outline: the graph of the file, which HTML draws.
        compiled: the model that was compared, which HTML draws.
    """
    if name == "json":
        listed = [found.as_json() for found in findings]
        document = {**layers_json(done), "diagnostics": listed}
        return json.dumps(document, indent=2, allow_nan=False) + "\n"
    if name == "csv":
        return layers_csv(done)
    if name == "html":
        from atc_py.report.overview.pages import layers_html  # jinja2 takes long to import

        return layers_html(done, tuple(findings), outline, compiled)
    return layers_text(done)
