"""Search for the fewest layers that must stay in floats so that the outputs reach a target.

Each layer is first put on int8 alone: the noise that it makes at the outputs is its cost. Noises
add up, nearly, so layers go back to floats in the order of their costs until the target is reached;
the number is found by bisection. Then each of them, the cheapest first, is put on int8 once more
and stays there if the target is still reached, so that a layer in the middle of the order does not
stay in floats for nothing.

With processes, sets that the search will ask for unless one before them changes its course are tried
ahead; it finds the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from atc_py.quantizing.targets import reaches_target
from atc_py.quantizing.trial_model import TrialModel
from atc_py.results.quantization import FallBack, FallBackPoint
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.system.jobs.task_executor import TaskExecutor


RANKING_SAMPLES = 2
"""Samples on which single layers are tried, one run of the model for each."""

_CURVE = 6
"""Points of the curve, between all layers on int8 and none, that are tried for its sake."""


def cost_order(
    trials: TrialModel, tell: Callable[[str], None], tasks: TaskExecutor | None = None
) -> tuple[tuple[str, ...], dict[str, float]]:
    """The layers, those that cost the most first, and the least ratio of outputs of each, in dB.

    `tasks` tries layers at the same time.
    """

    def told(number: int) -> None:
        tell(
            Text(
                "target: layer {number} of {count} alone on int8",
                number=number,
                count=len(trials.layers),
            )
        )

    if tasks is not None:
        trials.make_ahead(tasks, ([name] for name in trials.layers), RANKING_SAMPLES, told)
    noise: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for number, name in enumerate(trials.layers, 1):
        if tasks is None:
            told(number)
        errors = trials.errors({name}, RANKING_SAMPLES)
        noise[name] = sum(error.noise for error in errors.values())
        ratios[name] = min((error.figures().snr for error in errors.values()), default=0.0)
    return tuple(sorted(noise, key=lambda name: -noise[name])), ratios


def fall_back(
    trials: TrialModel,
    target: Mapping[str, float],
    order: Sequence[str],
    tell: Callable[[str], None],
    tasks: TaskExecutor | None = None,
) -> FallBack:
    """The search; its last layers on int8 are all that are not among `floats`.

    `order` has the layers that cost the most first; `tasks` tries sets of layers at the same time.
    """
    search = _Search(trials, target, order, tell, tasks)
    floats = [] if search.try_floats(()).reached else search.fewest_first()
    search.draw_curve()
    # Shares of rows do not rise with every layer in floats: bisection may pass over what reaches.
    reaching = [trial.floats for trial in search.curve() if trial.reached and trial.int8]
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
    """Sets of layers in floats that were tried."""

    def __init__(
        self,
        trials: TrialModel,
        target: Mapping[str, float],
        order: Sequence[str],
        tell: Callable[[str], None],
        tasks: TaskExecutor | None,
    ) -> None:
        # by the names of the layers in floats
        self.points: dict[frozenset[str], FallBackPoint] = {}
        self._trials, self._target, self._order, self._tell = trials, target, order, tell
        self._tasks = tasks

    def try_ahead(self, sets: Iterable[Iterable[str]]) -> None:
        """Try the first of some sets of layers in floats at the same time, as many as run at once."""
        if self._tasks is None:
            return
        unknown = (group for group in map(frozenset, sets) if group not in self.points)
        chosen = [*islice(unknown, self._tasks.jobs)]
        if len(chosen) > 1:
            self._tell(Text("target: {n} sets of layers at the same time", n=len(chosen)))
            self._trials.make_ahead(self._tasks, map(self._on_int8, chosen))

    def _on_int8(self, floats: frozenset[str]) -> list[str]:
        return [name for name in self._order if name not in floats]

    def try_floats(self, floats: Iterable[str]) -> FallBackPoint:
        chosen = frozenset(floats)
        if chosen not in self.points:
            names = tuple(name for name in self._order if name in chosen)
            self._tell(
                Text(
                    "target: {count} of {count_2} layers in floats",
                    count=len(names),
                    count_2=len(self._order),
                )
            )
            outputs = self._trials.figures(self._on_int8(chosen))
            self.points[chosen] = FallBackPoint(
                int8=len(self._order) - len(names),
                floats=names,
                outputs=outputs,
                reached=reaches_target(outputs, self._target),
            )
        return self.points[chosen]

    def fewest_first(self) -> list[str]:
        """The first layers of the order whose return to floats reaches the target."""
        low, high = 1, len(self._order)
        while low < high:
            middle = (low + high) // 2
            self.try_ahead(self._order[:count] for count in _middles(low, high))
            if self.try_floats(self._order[:middle]).reached:
                high = middle
            else:
                low = middle + 1
        return list(self._order[:low])

    def thinned(self, floats: Sequence[str]) -> list[str]:
        """`floats` without the layers that can be on int8, the cheapest of them first."""
        left = list(floats)
        for at, name in enumerate(reversed(floats)):
            self.try_ahead(
                [name for name in left if name != later] for later in [*reversed(floats)][at:]
            )
            rest = [other for other in left if other != name]
            if self.try_floats(rest).reached:
                left = rest
        return left

    def draw_curve(self) -> None:
        counts = [1 << at for at in range(_CURVE) if 1 << at < len(self._order)]
        for at, count in enumerate(counts):
            self.try_ahead(self._order[:count] for count in counts[at:])
            self.try_floats(self._order[:count])

    def curve(self) -> tuple[FallBackPoint, ...]:
        """All points, those with the most layers on int8 first."""
        return tuple(sorted(self.points.values(), key=lambda point: -point.int8))


def _middles(low: int, high: int) -> Iterator[int]:
    """Yield the middle of a range, then those of its halves, and so on."""
    waiting = deque([(low, high)])
    while waiting:
        first, last = waiting.popleft()
        if first < last:
            middle = (first + last) // 2
            yield middle
            waiting += [(first, middle), (middle + 1, last)]
