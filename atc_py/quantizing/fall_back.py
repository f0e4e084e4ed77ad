"""Search for the fewest layers that must stay in floats so that the outputs reach a target.

Each layer is first put on int8 alone: the noise that it makes at the outputs is its cost. Noises
add up, nearly, so layers go back to floats in the order of their costs until the target is reached;
the number is found by bisection. Then each of them, the cheapest first, is put on int8 once more
and stays there if the target is still reached, so that a layer in the middle of the order does not
stay in floats for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.quantizing.targets import reaches_target
from atc_py.results.quantization_proof import FallBack, FallBackPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from atc_py.quantizing.trial_model import TrialModel

__all__ = ["cost_order", "fall_back"]

_RANKING_SAMPLES = 2
"""Samples on which single layers are tried, one run of the model for each."""

_CURVE = 6
"""Points of the curve, between all layers on int8 and none, that are tried for its sake."""


def cost_order(
    trials: TrialModel, tell: Callable[[str], None]
) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return the layers, those that cost the most first, and the least ratio of outputs of each, in dB.

    Raises:
        AtcError: what the executor raises.
    """
    noise: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for at, name in enumerate(trials.layers):
        tell(f"target: layer {at + 1} of {len(trials.layers)} alone on int8")
        found = trials.errors({name}, _RANKING_SAMPLES)
        noise[name] = sum(each.noise for each in found.values())
        ratios[name] = min((each.figures().snr for each in found.values()), default=0.0)
    return tuple(sorted(noise, key=lambda name: -noise[name])), ratios


def fall_back(
    trials: TrialModel,
    target: Mapping[str, float],
    order: Sequence[str],
    tell: Callable[[str], None],
) -> FallBack:
    """Return the search; its last layers on int8 are all that are not among `floats`.

    Args:
        trials: the model.
        target: least figures of every output.
        order: layers, those that cost the most first.
        tell: called with the progress.

    Raises:
        AtcError: what the executor raises.
    """
    search = _Search(trials, target, order, tell)
    floats = [] if search.try_floats(()).reached else search.fewest_first()
    search.draw_curve()
    # Shares of rows do not rise with every layer in floats: bisection may pass over what reaches.
    reaching = [each.floats for each in search.curve() if each.reached and each.int8]
    reached = bool(reaching)
    floats = list(reaching[0]) if reached else floats
    floats = search.thinned(floats) if reached else floats
    return FallBack(
        target=dict(target),
        reached=reached,
        order=tuple(order),
        floats=tuple(floats),
        minimal=reached,
        points=search.curve(),
        trials=len(search.points),
    )


class _Search:
    """Sets of layers in floats that were tried.

    Attributes:
        points: by the names of the layers in floats.
    """

    def __init__(
        self,
        trials: TrialModel,
        target: Mapping[str, float],
        order: Sequence[str],
        tell: Callable[[str], None],
    ) -> None:
        self.points: dict[frozenset[str], FallBackPoint] = {}
        self._trials, self._target, self._order, self._tell = trials, target, order, tell

    def try_floats(self, floats: Iterable[str]) -> FallBackPoint:
        """Return the model with layers in floats and all others on int8."""
        chosen = frozenset(floats)
        if chosen not in self.points:
            names = tuple(name for name in self._order if name in chosen)
            self._tell(f"target: {len(names)} of {len(self._order)} layers in floats")
            outputs = self._trials.figures([name for name in self._order if name not in chosen])
            self.points[chosen] = FallBackPoint(
                int8=len(self._order) - len(names),
                floats=names,
                outputs=outputs,
                reached=reaches_target(outputs, self._target),
            )
        return self.points[chosen]

    def fewest_first(self) -> list[str]:
        """Return the first layers of the order whose return to floats reaches the target."""
        low, high = 1, len(self._order)
        while low < high:
            middle = (low + high) // 2
            if self.try_floats(self._order[:middle]).reached:
                high = middle
            else:
                low = middle + 1
        return list(self._order[:low])

    def thinned(self, floats: Sequence[str]) -> list[str]:
        """Return `floats` without the layers that can be on int8, the cheapest of them first."""
        left = list(floats)
        for name in reversed(floats):
            rest = [each for each in left if each != name]
            if self.try_floats(rest).reached:
                left = rest
        return left

    def draw_curve(self) -> None:
        """Try numbers of layers in floats that double, for the curve."""
        count = 1
        for _ in range(_CURVE):
            if count >= len(self._order):
                break
            self.try_floats(self._order[:count])
            count *= 2

    def curve(self) -> tuple[FallBackPoint, ...]:
        """Return all points, those with the most layers on int8 first."""
        return tuple(sorted(self.points.values(), key=lambda each: -each.int8))
