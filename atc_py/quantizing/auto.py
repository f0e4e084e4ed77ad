"""The calibrator `auto`: for each tensor the range that errs least at the results of its readers.

Every calibrator proposes a range. The layers that read the tensor are computed with each of them,
their weights quantized, beside the result in floats, in one run over a few samples; the range with
the least sum of relative errors of their results is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.ranges import CALIBRATORS, Range
from atc_py.quantizing.calibrate.scales import activation_scale
from atc_py.quantizing.calibrate.value_range import RangeOptions
from atc_py.quantizing.calibrated import Calibrated, CalibratedLayer
from atc_py.quantizing.numbers import LayerNumbers
from atc_py.quantizing.trial_model import form_errors
from atc_py.results.output_error import ErrorSums
from atc_py.results.quantization import RangeTrial

Feeds = Mapping[str, NDArray[Any]]


AUTO = "auto"
"""Its name among the calibrators."""

AUTO_SAMPLES = 4
"""Samples on which layers are computed with every range."""

_AMONG = ("min-max", "mse", "percentile", "ifmr")
"""The calibrators that propose ranges; the first is taken where several err alike."""


def with_best_ranges(
    found: Calibrated,
    numbers: LayerNumbers,
    feeds: Sequence[Feeds],
    tell: Callable[[str], None],
) -> Calibrated:
    """The calibration with the best range of each tensor.

    Args:
        found: the calibration with some range of each tensor.
        numbers: makes the numbers of a layer with a range.
        feeds: samples on which layers are computed.
        tell: called with the progress.

    Raises:
        AtcError: what the executor raises.
    """
    tell("choose ranges")
    settings = found.settings.ranges
    histograms = {each.tensor: each.histogram for each in found.layers}
    proposed = {
        tensor: _proposed(histogram, settings)
        for tensor, histogram in histograms.items()
        if histogram is not None
    }
    tried = {
        each.name: [numbers.with_range(each.layer, one) for one in proposed[each.tensor].ranges]
        for each in found.layers
        if each.tensor in proposed and len(proposed[each.tensor].ranges) > 1
    }
    if not tried:
        return found
    sets = [
        found.with_layers([_at(tried, each, at) for each in found.layers]).forms()
        for at in range(max(map(len, tried.values())))
    ]
    forms = {name: [sets[at][name] for at in range(len(each))] for name, each in tried.items()}
    errors = form_errors(found, forms, feeds, found.settings.executor)
    trials = _trials([each for each in found.layers if each.name in tried], proposed, errors)
    best = {each.tensor: proposed[each.tensor].places[each.chosen] for each in trials}
    layers = [_at(tried, each, best.get(each.tensor, 0)) for each in found.layers]
    return found.with_layers(layers).having(trials=trials)


def _trials(
    layers: Sequence[CalibratedLayer],
    proposed: Mapping[str, _Proposed],
    errors: Mapping[str, Sequence[ErrorSums]],
) -> list[RangeTrial]:
    sums: dict[str, list[float]] = {}
    for each in layers:
        own = [error.noise for error in errors[each.name]]
        known = sums.setdefault(each.tensor, [0.0] * len(own))
        sums[each.tensor] = [a + b for a, b in zip(known, own, strict=True)]
    found = []
    for tensor, each_sum in sums.items():
        by_name = {name: each_sum[at] for name, at in proposed[tensor].places.items()}
        best = min(by_name, key=by_name.__getitem__)
        found.append(RangeTrial(tensor, best, by_name))
    return found


def _at(
    tried: Mapping[str, Sequence[CalibratedLayer]], layer: CalibratedLayer, at: int
) -> CalibratedLayer:
    """A layer with one of the ranges that were tried; with the last one if there are fewer."""
    if layer.name not in tried:
        return layer
    return tried[layer.name][min(at, len(tried[layer.name]) - 1)]


class _Proposed(NamedTuple):
    """The ranges that calibrators choose for a tensor.

    Attributes:
        ranges: those of equal scales once.
        places: where the range of each calibrator is among them.
    """

    ranges: list[Range]
    places: dict[str, int]


def _proposed(histogram: Histogram, settings: RangeOptions) -> _Proposed:
    found: dict[tuple[float, int], Range] = {}
    places: dict[str, int] = {}
    for name in _AMONG:
        chosen = CALIBRATORS[name].range_of(histogram, settings)
        if not math.isfinite(chosen.high - chosen.low):
            continue
        scale = activation_scale(chosen, symmetric=settings.symmetric)
        key = (scale.scale, scale.offset)
        found.setdefault(key, chosen)
        places[name] = list(found).index(key)
    return _Proposed(list(found.values()), places)
