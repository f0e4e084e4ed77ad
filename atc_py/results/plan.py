"""The cheapest dtypes of a model's nodes that reach a target, and what was tried on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from atc_py.diag import Diagnostic
from atc_py.results.cann_nodes import NewerNodes
from atc_py.system.notebook import notebook_html


class OutputFigures(NamedTuple):
    """Error of an output over all samples that judge.

    Attributes:
        cosine: cosine similarity.
        snr: signal to noise, in dB.
        lost: share of values that are NaN or infinite though the original's are finite.
        top1: share of rows with the same best class; None of an output without scores.
    """

    cosine: float
    snr: float
    lost: float
    top1: float | None = None


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A line of the option files.

    Attributes:
        line: a node's name, or `OpType::T` for all nodes of an operator.
        op: operator on the device.
        nodes: how many nodes of the compiled model it is for.
        dtype: what they compute in.
        error: share of the allowed error that the node adds in float16, by its single trial; None
            where there was none.
        saved: seconds that float16 saves, by the cost model, casts left out; None where every assignment
            was tried, so that no line was modeled.
    """

    line: str
    op: str
    nodes: int
    dtype: str
    error: float | None
    saved: float | None


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """An assignment that was compiled and run.

    Attributes:
        dtypes: what lines compute in that are not in float16.
        seconds: estimated time of a run.
        share: error as a share of the allowed one: 1 or less reaches the target.
        outputs: figures by output.
        casts: Cast kernels in the compiled model.
        int8: layers on int8.
    """

    dtypes: Mapping[str, str]
    seconds: float
    share: float
    outputs: Mapping[str, OutputFigures]
    casts: int
    int8: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """True if the target is reached."""
        return self.share <= 1

    @property
    def snr(self) -> float:
        """Signal to noise of the worst output, in dB."""
        return min((each.snr for each in self.outputs.values()), default=float("nan"))

    @property
    def cosine(self) -> float:
        """Cosine of the worst output."""
        return min((each.cosine for each in self.outputs.values()), default=float("nan"))


@dataclass(frozen=True, slots=True)
class DtypePlan:
    """The result of planning dtypes.

    Attributes:
        model: the ONNX file.
        soc: SoC that it is planned for.
        target: least figures of every output.
        samples: how many samples there were.
        judged: how many of them judged each trial.
        chosen: the cheapest point that reaches the target; of none, the one of least error.
        float16: all nodes as the mode chooses them.
        float32: all nodes that can be in float32; None where that did not compile.
        suggested: the point of the fewest nodes in float32, as `compare --suggest` finds it; None where
            nothing has to be kept, or no set reaches the target.
        curve: points that no other one beats in both time and error, the quickest first.
        nodes: lines with their dtypes, those that differ from float16 first.
        own: lines of the user's own --keep-dtype file.
        custom: lines of the --customize-dtypes file.
        candidates: how many lines could be chosen.
        trials: compilations.
        runs: trials that ran on the device.
        limit: most compilations.
        exhaustive: True if every assignment was tried.
        excluded: lines that cannot be in another dtype, with the reasons.
        int8: layers that could be on int8.
        warnings: what is odd about the samples.
        newer: the nodes that later lists alone take.
    """

    model: Path
    soc: str
    target: Mapping[str, float]
    samples: int
    judged: int
    chosen: PlanPoint
    float16: PlanPoint
    float32: PlanPoint | None
    suggested: PlanPoint | None
    curve: tuple[PlanPoint, ...]
    nodes: tuple[PlannedNode, ...]
    own: tuple[str, ...]
    custom: tuple[str, ...]
    candidates: int
    trials: int
    runs: int
    limit: int
    exhaustive: bool
    excluded: tuple[tuple[str, str], ...] = ()
    int8: tuple[str, ...] = ()
    warnings: tuple[Diagnostic, ...] = field(default=())
    newer: NewerNodes = field(default_factory=dict)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    @property
    def reached(self) -> bool:
        """True if the target is reached."""
        return self.chosen.reached

    @property
    def keep_text(self) -> str:
        """The --keep-dtype file, the user's own lines first; empty where nothing is kept."""
        kept = [line for line, dtype in self.chosen.dtypes.items() if dtype == "float32"]
        return "".join(f"{line}\n" for line in (*self.own, *kept))

    @property
    def custom_text(self) -> str:
        """The --customize-dtypes file; empty where there is none."""
        return "".join(f"{line}\n" for line in self.custom)
