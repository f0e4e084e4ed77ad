"""The cheapest dtypes of a model's nodes that reach a target, and what was tried on the way."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from atc_py.diag import Diagnostic
from atc_py.results.cann_nodes import NewerNodes
from atc_py.system.json_text import finite, json_values
from atc_py.system.notebook import notebook_html
from atc_py.system.structs import Ratio, Result


class OutputFigures(Result, frozen=True):
    """Error of an output over all samples that judge.

    Attributes:
        cosine: cosine similarity.
        snr: signal to noise, in dB.
        lost: share of values that are NaN or infinite though the original's are finite.
        top1: share of rows with the same best class; None of an output without scores.
    """

    cosine: Ratio
    snr: Ratio
    lost: float
    top1: float | None = None


class PlannedNode(Result, frozen=True):
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
    saved: float | None = msgspec.field(name="saved_seconds")


class PlanPoint(Result, frozen=True):
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

    def as_json(self) -> dict[str, object]:
        """The point as JSON values, and whether it reaches the target."""
        return {
            "seconds": self.seconds,
            "error_share": finite(self.share),
            "reached": self.reached,
            "casts": self.casts,
            "dtypes": dict(self.dtypes),
            "int8": list(self.int8),
            "outputs": json_values(self.outputs),
        }

    @property
    def snr(self) -> float:
        """Signal to noise of the worst output, in dB."""
        return min((output.snr for output in self.outputs.values()), default=float("nan"))

    @property
    def cosine(self) -> float:
        """Cosine of the worst output."""
        return min((output.cosine for output in self.outputs.values()), default=float("nan"))


class DtypePlan(Result, frozen=True):
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
    warnings: tuple[Diagnostic, ...] = msgspec.field(default=())
    newer: NewerNodes = msgspec.field(default_factory=dict)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def as_json(self) -> dict[str, object]:
        return {
            "model": str(self.model),
            "soc": self.soc,
            "target": dict(self.target),
            "reached": self.reached,
            "samples": {"count": self.samples, "judged": self.judged},
            "chosen": json_values(self.chosen),
            "float16": json_values(self.float16),
            "float32": json_values(self.float32),
            "suggested": json_values(self.suggested),
            "curve": json_values(self.curve),
            "nodes": json_values(self.nodes),
            "keep_dtype": self.keep_text.splitlines(),
            "customize_dtypes": list(self.custom),
            "candidates": self.candidates,
            "excluded": [{"line": line, "reason": reason} for line, reason in self.excluded],
            "trials": {"done": self.trials, "runs": self.runs, "limit": self.limit},
            "exhaustive": self.exhaustive,
            "newer": self.newer,
            "warnings": json_values(self.warnings),
        }

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
