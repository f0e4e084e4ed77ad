"""Errors as a share of what a target allows: they add up, and 1 or less reaches the target."""

import math
from collections.abc import Mapping

from atc_py.compare.targets import reaches
from atc_py.results.layer_comparison import LayerComparison

_LEAST = 1e-30


def error_share(cosine: float, snr: float, targets: Mapping[str, float]) -> float:
    """The largest share of the figures; infinite for NaN.

    Noise of one node hardly depends on that of another, so its energy, which is what both
    figures fall by, is the sum of what the nodes add.
    """
    shares = [0.0]
    if "cosine" in targets:
        shares.append((1 - cosine) / max(1 - targets["cosine"], _LEAST))
    if "snr" in targets:
        # The exponent is bounded, so that no error overflows.
        shares.append(0.0 if snr == math.inf else 10 ** (min(targets["snr"] - snr, 3000.0) / 10))
    return math.inf if any(math.isnan(each) for each in shares) else max(shares)


def share_of_comparison(done: LayerComparison, targets: Mapping[str, float]) -> float:
    """The share of the worst output; it is 1 or less just where the target is reached."""
    if done.stopped or done.uncompared or (done.layers and not done.outputs):
        return math.inf
    worst = 0.0
    for at in done.outputs.values():
        layer = done.layers[at]
        if layer.figures.lost_share:
            return math.inf
        worst = max(worst, error_share(layer.judged.cosine, layer.judged.snr, targets))
    if reaches(done, targets):
        return min(worst, 1.0)
    return max(worst, math.nextafter(1.0, 2.0))
