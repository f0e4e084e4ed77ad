"""Targets of a quantization: least figures that every output of floats must have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atc_py.diag.codes import BAD_OPTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from atc_py.results.output_error import ErrorFigures

__all__ = ["FIGURES", "reaches_target", "read_target"]

FIGURES = ("cosine", "snr", "top1")
"""Figures of an output of which more is better."""

_LEAST = {"cosine": -1.0, "snr": -math.inf, "top1": 0.0}


def read_target(given: Iterable[str]) -> dict[str, float]:
    """Return least values by figure, from `figure=number` texts.

    Raises:
        AtcError: BAD_OPTION for another figure, one that comes twice, and a number that the figure
            cannot have.
    """
    found: dict[str, float] = {}
    for text in given:
        name, _, number = text.partition("=")
        if name not in FIGURES or name in found:
            raise BAD_OPTION.error(
                f"--target {text!r} names {'a figure twice' if name in found else 'no figure'}",
                help="write --target cosine=0.99, snr=20 or top1=0.99, each figure once",
            )
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = math.nan
        top = math.inf if name == "snr" else 1.0
        if not math.isfinite(found[name]) or not _LEAST[name] <= found[name] <= top:
            raise BAD_OPTION.error(
                f"--target {text!r}: {name} must be a finite number"
                + ("" if name == "snr" else f" from {_LEAST[name]:g} to 1"),
                help="write --target cosine=0.99, snr=20 or top1=0.99",
            )
    return found


def reaches_target(outputs: Mapping[str, ErrorFigures], target: Mapping[str, float]) -> bool:
    """Return True if every output has the least figures; one without rows has no top1 to miss."""
    return all(
        value is None or value >= least
        for each in outputs.values()
        for value, least in ((getattr(each, name), least) for name, least in target.items())
    )
