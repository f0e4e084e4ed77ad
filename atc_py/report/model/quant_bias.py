"""The convention of the biases of int8 layers in reports."""

from collections.abc import Mapping

from atc_py.onnx_graph.source import BiasConvention, BiasSource
from atc_py.options.compile_options import QuantBias
from atc_py.text.language import language

_KEY = "quant_bias"


def bias_json(convention: BiasConvention | None) -> dict[str, object]:
    """The convention and its source; empty where no layer was int8 in the file."""
    return {} if convention is None else {_KEY: convention.as_json()}


def bias_rows(report: Mapping[str, object]) -> list[tuple[str, str]]:
    """The line of a summary for such a report; none where it names no known convention."""
    found = report.get(_KEY)
    if not isinstance(found, dict):
        return []
    try:
        convention = BiasConvention(
            QuantBias(found.get("convention")), BiasSource(found.get("source"))
        )
    except ValueError:
        return []
    return [("biases of int8 layers", convention.text.in_language(language()))]
