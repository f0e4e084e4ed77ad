"""What a comparison must reach: `cosine=0.99` and the like, held to the model's outputs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atc_py.diag import Place
from atc_py.diag.codes import BAD_OPTION, BELOW_TARGET, DEVICE_FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from atc_py.diag import Diagnostic
    from atc_py.report.layers import LayerComparison

__all__ = ["METRICS", "missed_targets", "read_targets"]

METRICS = ("cosine", "snr")
"""Figures of which more is better."""


def read_targets(given: Iterable[str]) -> dict[str, float]:
    """Least values by figure, from `figure=number` texts.

    Raises:
        AtcError: BAD_OPTION for a figure that is not among METRICS, or no finite number.
    """
    found = {}
    for text in given:
        name, _, number = text.partition("=")
        if name not in METRICS:
            raise BAD_OPTION.error(
                f"--fail-under {text!r} names none of {', '.join(METRICS)}",
                help="write --fail-under cosine=0.99",
            )
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):
            raise BAD_OPTION.error(
                f"--fail-under {text!r} needs a finite number after the `=`",
                help=f"write --fail-under {name}=0.99",
            )
    return found


def missed_targets(done: LayerComparison, targets: Mapping[str, float]) -> list[Diagnostic]:
    """BELOW_TARGET for each output and figure that is below its target.

    A device that stopped is DEVICE_FAILED, whatever the targets. An output with values that are NaN or infinite, though the original's are finite, misses every
    target.
    """
    findings = []
    if done.stopped:
        findings.append(DEVICE_FAILED.diagnostic(done.stopped))
    for name, at in done.outputs.items():
        layer = done.layers[at]
        for metric, least in targets.items():
            value = layer.figures.cosine if metric == "cosine" else layer.figures.snr
            if value >= least and not layer.figures.lost_share:
                continue
            first = done.first_bad
            findings.append(
                BELOW_TARGET.diagnostic(
                    f"{metric} of {name} is {_shown(value, layer.figures.lost_share)}, "
                    f"at least {least:g} passes",
                    place=Place(field=f"output {name}"),
                    help="try another --precision-mode"
                    if first is None
                    else f"the first bad layer is {first.source}; try another --precision-mode",
                )
            )
    return findings


def _shown(value: float, lost: float) -> str:
    """A figure, with what it leaves out."""
    return f"{value:.6g}" + (f" with {lost:.3%} of the values NaN or infinite" if lost else "")
