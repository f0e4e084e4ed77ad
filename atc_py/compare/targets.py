"""What a comparison must reach: `cosine=0.99` and the like, held to the model's outputs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atc_py.diag import Place
from atc_py.diag.codes import BAD_OPTION, BELOW_TARGET, DEVICE_FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from atc_py.diag import Diagnostic
    from atc_py.results.layers import Layer, LayerComparison

__all__ = ["METRICS", "missed_by_all", "missed_targets", "reaches", "read_targets", "targets_text"]

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


def reaches(done: LayerComparison, targets: Mapping[str, float]) -> bool:
    """Whether every output is there and meets its targets; without targets, whether none is bad.

    A model in which the device computes nothing hands out what it is fed, and misses nothing.
    """
    if done.stopped or (done.layers and not done.outputs):
        return False
    layers = [done.layers[at] for at in done.outputs.values()]
    if not targets:
        return not any(layer.faults for layer in layers)
    return not any(_misses(layer, targets) for layer in layers)


def targets_text(targets: Mapping[str, float]) -> str:
    """The targets in words."""
    if not targets:
        return "no output is bad"
    return ", ".join(
        f"{name} of every output at least {least:g}" for name, least in targets.items()
    )


def missed_targets(done: LayerComparison, targets: Mapping[str, float]) -> list[Diagnostic]:
    """BELOW_TARGET for each output and figure that is below its target.

    A device that stopped is DEVICE_FAILED, whatever the targets. An output with values that are
    NaN or infinite, though the original's are finite, misses every target.
    """
    findings = []
    if done.stopped:
        findings.append(DEVICE_FAILED.diagnostic(done.stopped))
    for name, at in done.outputs.items():
        layer = done.layers[at]
        for metric, value in _misses(layer, targets).items():
            findings.append(
                BELOW_TARGET.diagnostic(
                    f"{metric} of {name} is {_shown(value, layer.figures.lost_share)}, "
                    f"at least {targets[metric]:g} passes",
                    place=Place(field=f"output {name}"),
                    help=_way_out(done),
                )
            )
    return findings


def missed_by_all(done: LayerComparison) -> list[Diagnostic]:
    """BELOW_TARGET where a search found no set of nodes that reaches the target."""
    found = done.suggestion
    if found is None or found.reached:
        return []
    return [
        BELOW_TARGET.diagnostic(
            f"no set of nodes kept in float32 reaches the target ({found.target})",
            help="try another --precision-mode",
        )
    ]


def _way_out(done: LayerComparison) -> str:
    """What to do about a miss."""
    if done.suggestion is not None and done.suggestion.reached:
        return "keep the nodes of the suggestion in float32"
    way = "try --suggest FILE" if done.suggestion is None else "try another --precision-mode"
    first = done.first_bad
    return way if first is None else f"the first bad layer is {first.source}; {way}"


def _misses(layer: Layer, targets: Mapping[str, float]) -> dict[str, float]:
    """The figures of an output that are below their targets, by name."""
    found = {"cosine": layer.figures.cosine, "snr": layer.figures.snr}
    return {
        name: found[name]
        for name, least in targets.items()
        if not found[name] >= least or layer.figures.lost_share
    }


def _shown(value: float, lost: float) -> str:
    """A figure, with what it leaves out."""
    return f"{value:.6g}" + (f" with {lost:.3%} of the values NaN or infinite" if lost else "")
