"""How the biases of int8 layers were read: in the report of a compilation, and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.options.compile_options import QuantBias
from atc_py.source import BiasConvention, BiasSource

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["bias_json", "bias_rows"]

_KEY = "quant_bias"


def bias_json(convention: BiasConvention | None) -> dict[str, object]:
    """The convention and what said so; empty for a model without layers that were int8 before."""
    return {} if convention is None else {_KEY: convention.as_json()}


def bias_rows(report: Mapping[str, object]) -> list[tuple[str, str]]:
    """The line of a summary from such a report; none where it says nothing, or nothing known."""
    found = report.get(_KEY)
    if not isinstance(found, dict):
        return []
    try:
        convention = BiasConvention(
            QuantBias(found.get("convention")), BiasSource(found.get("source"))
        )
    except ValueError:
        return []
    return [("biases of int8 layers", convention.text.en)]
