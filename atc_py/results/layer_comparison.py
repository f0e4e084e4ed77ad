"""A compiled model compared with its original, layer by layer, and the nodes to keep in float32.

Over 400 lines: a comparison is one document.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from atc_py.diag import Diagnostic
from atc_py.results.cann_nodes import CannSemantics, NewerNodes, semantics_json
from atc_py.results.judgment import MagnitudeHistogram, Ranking, SampleSpread
from atc_py.results.layer import Layer, OwnError
from atc_py.system.json_text import finite, json_values, plain_values
from atc_py.system.notebook import notebook_html
from atc_py.system.structs import Result
from atc_py.text import Text


class Alone(Result, frozen=True):
    """Node or result of one side without a counterpart on the other.

    Attributes:
        name: the node's name, or its first output's.
        op: its operator.
        reason: why.
    """

    name: str
    op: str
    reason: str


class KeptNode(Result, frozen=True):
    """A line of the file.

    Attributes:
        line: a node's name, or `OpType::T` for all nodes of an operator.
        op: operator on the device.
        nodes: how many nodes of the compiled model it keeps.
        engine: where the first of them runs when it is kept.
    """

    line: str
    op: str
    nodes: int
    engine: str


class Excluded(Result, frozen=True):
    """A node that cannot be kept.

    Attributes:
        line: its name, or `OpType::T`.
        op: operator on the device.
        reason: why.
    """

    line: str
    op: str
    reason: str


class Suggestion(Result, frozen=True):
    """Result of the search for nodes to keep.

    Attributes:
        target: the target of the search, in words.
        needed: True if the model missed it to begin with.
        reached: True if it is reached with `kept`.
        kept: nodes to keep in addition to those that the user keeps already.
        own: lines of the user's own file.
        smallest: True if every smaller set of nodes was tried.
        minimal: True if `kept` was tried without each of its lines.
        candidates: how many lines there were to choose from.
        excluded: nodes that cannot be kept.
        trials: compilations that were tried.
        limit: how many could have been.
        before: the model without the suggestion.
        after: the model with it; where the target is out of reach, with all candidates kept.
        out_of_reach: True if no set of nodes reaches the target.
        samples: how many samples judged each trial.
    """

    target: str
    needed: bool
    reached: bool
    kept: tuple[KeptNode, ...]
    own: tuple[str, ...]
    smallest: bool
    minimal: bool
    candidates: int
    excluded: tuple[Excluded, ...]
    trials: int
    limit: int
    before: LayerComparison
    after: LayerComparison
    out_of_reach: bool = False
    samples: int = 1

    @property
    def text(self) -> str:
        """The --keep-dtype file: one line a node, the user's own first."""
        return "".join(f"{line}\n" for line in (*self.own, *(node.line for node in self.kept)))

    def as_json(self) -> dict[str, object]:
        """The fields as JSON values, both comparisons as far as their outputs."""
        sides = {"before": self.before, "after": self.after}
        return {
            "target": self.target,
            "needed": self.needed,
            "reached": self.reached,
            "out_of_reach": self.out_of_reach,
            "smallest": self.smallest,
            "minimal": self.minimal,
            "keep": plain_values(self.kept),
            "excluded": plain_values(self.excluded),
            "candidates": self.candidates,
            "trials": {"done": self.trials, "limit": self.limit},
            "samples": self.samples,
            **{
                name: {
                    "stopped": side.stopped or None,
                    "outputs": {name: _output_json(side, name) for name in side.outputs},
                }
                for name, side in sides.items()
            },
        }


class LayerComparison(Result, frozen=True):
    """Comparison of a compiled model with its original.

    Attributes:
        model: the ONNX file.
        soc: SoC that it was compiled for.
        precision_mode: how dtypes could change.
        samples: how many inputs were run.
        engines: the engines that ran the original.
        layers: in the order in which the device computes them.
        outputs: positions in `layers` of the model's outputs, by the output's name.
        device_alone: results of the device that the original does not have.
        original_alone: nodes of the original without a result on the device.
        reference_seconds: time of the original.
        device_seconds: time of the device's kernels.
        seconds: time of the whole, without compilation.
        peak_bytes: most bytes of the original's inputs and results that were held at once.
        total_bytes: bytes of all its inputs and results in one run.
        stopped: why the device did not come to the end; empty where it did.
        suggestion: nodes to keep in float32, if a search was requested.
        histograms: of the worst layers, by their positions, where samples were taken.
        warnings: what is odd about the data that was given.
        targets: least `cosine` and `snr` of every output; empty where none were given.
        uncompared: outputs that could not be compared, and why.
        rankings: agreement on the best class, by outputs that hold scores of classes.
        own_errors: errors of the original's own, which were taken out.
        original_form: the form in which the original ran, where that is not the file's own: `qdq`
            for a file in the deploy form.
        semantics: the nodes that compute what a release of CANN makes of them; None where all
            compute what ONNX defines.
        newer: the nodes that later lists alone take.
        device: the device that ran the compiled model.
        spreads: the figures sample by sample, by positions in `layers`, of several samples.

    Example:
        >>> import atc_py
        >>> done = atc_py.compare_model("model.onnx", samples=2, targets={"cosine": 0.999})
        >>> output = done.layers[done.outputs["y"]]
        >>> done.samples, output.dtype
        (2, 'float32')
    """

    model: Path
    soc: str
    precision_mode: str
    samples: int
    engines: tuple[str, ...]
    layers: tuple[Layer, ...]
    outputs: dict[str, int]
    device_alone: tuple[Alone, ...]
    original_alone: tuple[Alone, ...]
    reference_seconds: float
    device_seconds: float
    seconds: float
    peak_bytes: int
    total_bytes: int
    stopped: str = ""
    suggestion: Suggestion | None = None
    histograms: Mapping[int, MagnitudeHistogram] = msgspec.field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    targets: Mapping[str, float] = msgspec.field(default_factory=dict)
    uncompared: Mapping[str, str] = msgspec.field(default_factory=dict)
    rankings: Mapping[str, Ranking] = msgspec.field(default_factory=dict)
    own_errors: tuple[OwnError, ...] = ()
    original_form: str = ""
    semantics: CannSemantics | None = None
    newer: NewerNodes = msgspec.field(default_factory=dict)
    device: str = "sim"
    spreads: Mapping[int, SampleSpread] = msgspec.field(default_factory=dict)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def as_json(self) -> dict[str, object]:
        """The whole comparison as JSON values; texts are in English."""
        first = self.first_failing
        unmatched = [name for name in self.uncompared if name not in self.outputs]
        return {
            "model": str(self.model),
            "soc": self.soc,
            "precision_mode": self.precision_mode,
            "samples": self.samples,
            "stopped": self.stopped or None,
            "engines": list(self.engines),
            "device": self.device,
            "original_form": self.original_form or None,
            "first_bad": None if first is None else first.node,
            "verdict": _verdict_json(self),
            **semantics_json(self.semantics),
            "newer": self.newer,
            "outputs": {name: _output_json(self, name) for name in (*self.outputs, *unmatched)},
            "own_errors": plain_values(self.own_errors),
            "layers": [_layer_json(self, layer, at) for at, layer in enumerate(self.layers)],
            "device_alone": plain_values(self.device_alone),
            "original_alone": plain_values(self.original_alone),
            "seconds": {
                "original": self.reference_seconds,
                "device": self.device_seconds,
                "all": self.seconds,
            },
            "warnings": json_values(self.warnings),
            "bytes": {"held": self.peak_bytes, "all": self.total_bytes},
            "suggestion": json_values(self.suggestion),
        }

    @property
    def passed(self) -> bool | None:
        """True if the outputs meet the targets; None where there are none."""
        if not self.targets:
            return None
        return not self.stopped and not misses_of(self, self.targets)

    @property
    def first_failing(self) -> Layer | None:
        """The failing layer that comes first on the way to a failing output.

        If no output fails, it is the first layer that fails at all, in the order of execution.
        """
        starts = (self.layers[at].start for at in self.outputs.values())
        known = [start for start in starts if start is not None]
        failing = (layer for layer in self.layers if layer.faults)
        return self.layers[min(known)] if known else next(failing, None)

    def worst(self) -> list[Layer]:
        """All layers, those of the largest error first."""
        return sorted(self.layers, key=lambda layer: (-layer.judged_error, layer.index))

    def root_of(self, layer: Layer) -> Layer | None:
        """The layer that introduced the error of `layer`."""
        return None if layer.root is None else self.layers[layer.root]


class TargetMiss(Result, frozen=True):
    """An output that misses a target.

    Attributes:
        output: its name.
        figure: `cosine` or `snr`; empty where the output was not compared.
        value: the figure; None where there is none.
        least: least value that passes; None if there is no figure.
        lost: share of values that are NaN or infinite though the original's are finite.
        reason: why it was not compared; empty where it was.
    """

    output: str
    figure: str
    value: float | None
    least: float | None
    lost: float = 0.0
    reason: str = ""

    @property
    def sentence(self) -> Text:
        """The miss in words."""
        if self.value is None:
            return Text(
                "{output} was not compared: {reason}", output=self.output, reason=self.reason
            )
        template = "{figure} of {output} is {shown}, but must be at least {least}"
        if self.lost:
            template = (
                "{figure} of {output} is {shown} with {lost} of the values NaN or infinite, but "
                "must be at least {least}"
            )
        shown, least = f"{self.value:.6g}", self.least or 0.0
        if self.value < least <= float(shown):
            shown = repr(self.value)  # exact enough to read as below the target
        return Text(
            template,
            figure=self.figure,
            output=self.output,
            shown=shown,
            lost=f"{self.lost:.3%}",
            least=least_text(least),
        )


def _output_json(done: LayerComparison, name: str) -> dict[str, object]:
    reason = done.uncompared.get(name)
    output: dict[str, object] = {"node": None, "compared": reason is None, "reason": reason}
    if name in done.outputs:
        layer = done.layers[done.outputs[name]]
        figures = layer.judged._asdict() | {
            "max_absolute": layer.figures.max_absolute,
            "lost": layer.figures.lost_share,
        }
        output |= {"node": layer.node, **finite(figures), "faults": list(layer.faults)}
    return output | {
        "classes": json_values(done.rankings.get(name)),
        "over_samples": json_values(done.spreads.get(done.outputs.get(name, -1))),
    }


def _verdict_json(done: LayerComparison) -> dict[str, object]:
    misses = [
        {
            "output": miss.output,
            "figure": miss.figure or None,
            "value": finite(miss.value),
            "least": miss.least,
            "text": miss.sentence,
        }
        for miss in misses_of(done, done.targets)
    ]
    return {"targets": dict(done.targets), "passed": done.passed, "misses": misses}


def _layer_json(done: LayerComparison, layer: Layer, at: int) -> dict[str, object]:
    root = done.root_of(layer)
    return {
        "index": layer.index,
        "node": layer.node,
        "op": layer.op,
        "dtype": layer.dtype,
        "shape": list(layer.shape),
        "source": layer.source,
        "source_op": layer.source_op,
        "source_at": layer.source_at,
        "value": layer.value,
        "birth": layer.origin.value,
        "root": None if root is None else root.node,
        "rolled_back": layer.rolled_back,
        "deviating": plain_values(layer.deviating),
        "faults": list(layer.faults),
        "cancels": layer.cancels,
        "within_floor": layer.within_floor,
        "original_corrected": layer.own is not None,
        "grid": plain_values(layer.grid),
        "moved_steps": layer.moved_steps if layer.grid is not None else None,
        "steps": layer.steps,
        "over_samples": json_values(done.spreads.get(at)),
        **plain_values(layer.figures),
    }


def least_text(value: float) -> str:
    """A target in the fewest digits that identify it."""
    return repr(float(value)).removesuffix(".0")


def missed_figures(layer: Layer, targets: Mapping[str, float]) -> dict[str, float]:
    """The figures of an output that are below their targets, by name.

    Values that are NaN or infinite, though the original's are finite, miss every target.
    """
    figures = {"cosine": layer.judged.cosine, "snr": layer.judged.snr}
    return {
        name: figures[name]
        for name, least in targets.items()
        if not figures[name] >= least or layer.figures.lost_share
    }


def misses_of(done: LayerComparison, targets: Mapping[str, float]) -> list[TargetMiss]:
    """The missed targets, output by output; none without targets."""
    if not targets:
        return []
    misses = [TargetMiss(name, "", None, None, reason=why) for name, why in done.uncompared.items()]
    for name, at in done.outputs.items():
        layer = done.layers[at]
        misses += [
            TargetMiss(name, figure, value, targets[figure], layer.figures.lost_share)
            for figure, value in missed_figures(layer, targets).items()
            if name not in done.uncompared
        ]
    return misses
