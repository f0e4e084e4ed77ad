"""The figures of layers sample by sample, as the page shows them."""

import math

from atc_py.report.layers.text import number_text
from atc_py.report.overview.words import in_both
from atc_py.results.layer import number_json
from atc_py.results.layer_comparison import LayerComparison
from atc_py.results.sample_spread import QUANTILES, FigureSpread


def spreads_json(done: LayerComparison) -> dict[str, object]:
    """Return the figures over samples, nothing for one sample.

    A layer is [position, cosine, distance, SNR], and each of these [mean, worst, position of the
    worst sample's name, a value for each share].
    """
    if not done.spreads:
        return {}
    names: dict[str, int] = {}
    rows = [
        [
            at,
            *(_figure(each, names) for each in (spread.cosine, spread.distance, spread.snr)),
        ]
        for at, spread in done.spreads.items()
    ]
    return {
        "spreads": {
            "shares": list(QUANTILES),
            "exact": all(each.exact for each in done.spreads.values()),
            "names": [in_both(name) for name in names],
            "layers": rows,
        }
    }


def _figure(found: FigureSpread, names: dict[str, int]) -> list[object]:
    """Return one figure; the name of its worst sample gets a position in `names`."""
    at = names.setdefault(found.sample, len(names))
    mean, worst, *quantiles = map(_number, (found.mean, found.worst, *found.quantiles))
    return [mean, worst, at, *quantiles]


def _number(value: float) -> object:
    """Return a number; as text if it is infinite, None for NaN."""
    return number_text(value) if math.isinf(value) else number_json(value)
