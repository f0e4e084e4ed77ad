"""The record of a profile: what a model costs on one SoC or several."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import field

from atc_py.cost.calibration import Calibration
from atc_py.cost.network import NetworkCost
from atc_py.diag import Diagnostic
from atc_py.results.board_times import BoardTimes
from atc_py.results.cann_nodes import CannSemantics, NewerNodes
from atc_py.system.notebook import notebook_html
from atc_py.system.structs import Result
from atc_py.text import Text

_ALIKE = 0.02
"""Share by which throughputs differ that estimates do not tell apart.

docs/measured.md says how often the batch that is chosen so is the best one on boards.
"""


def best_of(batches: Sequence[tuple[int, float]]) -> int:
    """Position of the smallest batch whose throughput is not below the highest one.

    Args:
        batches: (samples of a run, samples a second), at least one.
    """
    most = max(rate for _, rate in batches) * (1 - _ALIKE)
    return min(
        (at for at, (_, rate) in enumerate(batches) if rate >= most), key=lambda at: batches[at][0]
    )


class GearCost(Result, frozen=True):
    """Cost of one gear of an offline model with gears.

    Attributes:
        values: its numbers.
        shapes: of the inputs.
        cost: what its graph costs.
        samples: of a run, where gears decide the batch; else 0.
    """

    values: tuple[int, ...]
    shapes: Mapping[str, tuple[int, ...]]
    cost: NetworkCost
    samples: int = 0

    @property
    def throughput(self) -> float:
        """Samples a second that are expected; 0 where gears do not decide the batch."""
        return self.samples / self.cost.time.expected


class SocProfile(Result, frozen=True):
    """A model on one SoC.

    Attributes:
        soc: the SoC's name.
        cost: what the model costs there, or None where it does not compile for it.
        refusals: why it does not.
        semantics: the nodes that compute what a release of CANN makes of them, None without any.
        gears: the cost of every gear of an offline model with gears; `cost` is that of one of them.
        newer: the nodes that later lists alone take.
    """

    soc: str
    cost: NetworkCost | None
    refusals: tuple[Diagnostic, ...] = ()
    semantics: CannSemantics | None = None
    gears: tuple[GearCost, ...] = ()
    newer: NewerNodes = field(default_factory=dict)

    @property
    def best(self) -> GearCost | None:
        """The smallest batch that reaches the highest throughput of those that memory holds."""
        batches = [gear for gear in self.gears if gear.samples and gear.cost.fits is not False]
        if not batches:
            return None
        return batches[best_of([(gear.samples, gear.throughput) for gear in batches])]

    @property
    def verdict(self) -> str:
        """True if the model fits, in words."""
        if self.cost is None:
            return Text("does not compile: {message}", message=self.refusals[0].message)
        fits = self.cost.fits
        if fits is None:
            return "compiles; size of device memory not published"
        return "fits" if fits else "compiles, but device memory is too small"


class Profile(Result, frozen=True):
    """A model on one SoC or several.

    Attributes:
        model: the file.
        socs: in the order in which they were asked for.
        calibration: result of refitting the factors, if requested.
        measured: times of a board on the first of the SoCs, if there are some.
    """

    model: Path
    socs: tuple[SocProfile, ...]
    calibration: Calibration | None = None
    measured: BoardTimes | None = None

    def _repr_html_(self) -> str:
        return notebook_html(self)

    @property
    def costs(self) -> tuple[NetworkCost, ...]:
        """Costs on the SoCs for which the model compiles."""
        return tuple(soc.cost for soc in self.socs if soc.cost is not None)

    @property
    def semantics(self) -> CannSemantics | None:
        """The nodes that compute what CANN makes of them; they are the same on every SoC."""
        return next((soc.semantics for soc in self.socs if soc.cost is not None), None)

    @property
    def newer(self) -> NewerNodes:
        """The nodes that later lists alone take; they are the same on every SoC."""
        return next((soc.newer for soc in self.socs if soc.cost is not None), {})
