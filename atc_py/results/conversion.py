"""Record of a conversion: files, stages, counts, sizes, memory and estimated time."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from atc_py.check.findings import ModelCheck
from atc_py.cost.network import TimeRange
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source import BiasConvention, Outcome
from atc_py.results.cann_nodes import NEWER, CannSemantics, NewerNodes
from atc_py.results.fixed_nodes import FixedNode
from atc_py.results.fusions import FusionEffect, fusions_json
from atc_py.results.memory_facts import MemoryFacts
from atc_py.system.structs import Result


class Stage(Result, frozen=True):
    """A stage of compilation and how long it took, in seconds."""

    name: str
    seconds: float


class PassEffect(Result, frozen=True):
    """A pass and how many changes it made."""

    name: str
    changes: int


class Facts(Result, frozen=True):
    """Facts about a compiled model; the same for every conversion of it with these options.

    Attributes:
        soc: the SoC that it is for.
        precision_mode: how dtypes could change.
        file_nodes: nodes in the ONNX file.
        source_operators: ONNX operator to count, after constants were folded.
        target_operators: target operator to count.
        engines: engine to count of nodes.
        kernels: number of distinct kernel stubs.
        weights_in: bytes of weights in the ONNX file and the files beside it.
        passes: in the order in which they ran.
        precision: the dtypes of each node with the rule that chose them, and the casts, as JSON.
        layout: how values are stored, and each TransData with its reason, as JSON.
        fusions: what each pass found that a user may switch off.
        launches: kernel launches of a run.
        launches_unfused: kernels of the graph as it was lowered, before any pass.
        bias_convention: of a model whose layers were int8 already, how their biases were read.
        fixed: the nodes that rules rewrote before compilation; None where no rule could apply.
        semantics: the nodes that compute what a generation of CANN makes of them; None where all
            compute what ONNX defines.
        newer: the nodes that later lists alone take.
    """

    soc: str
    precision_mode: str
    file_nodes: int
    source_operators: Mapping[str, int]
    target_operators: Mapping[str, int]
    engines: Mapping[str, int]
    kernels: int
    weights_in: int
    passes: tuple[PassEffect, ...]
    precision: Mapping[str, object] = msgspec.field(default_factory=dict)
    layout: Mapping[str, object] = msgspec.field(default_factory=dict)
    fusions: tuple[FusionEffect, ...] = ()
    launches: int = 0
    launches_unfused: int = 0
    bias_convention: BiasConvention | None = None
    fixed: tuple[FixedNode, ...] | None = None
    semantics: CannSemantics | None = None
    newer: NewerNodes = msgspec.field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """The facts as JSON values; this is the offline model's own report."""
        convention = self.bias_convention
        return {
            "soc": self.soc,
            "precision_mode": self.precision_mode,
            "file_nodes": self.file_nodes,
            "source_operators": dict(self.source_operators),
            "target_operators": dict(self.target_operators),
            "engines": dict(self.engines),
            "kernels": self.kernels,
            "weights_in": self.weights_in,
            "passes": {effect.name: effect.changes for effect in self.passes},
            "precision": dict(self.precision),
            "layout": dict(self.layout),
            "launches": self.launches,
            "launches_unfused": self.launches_unfused,
            "fusion_result": fusions_json(self.fusions),
            **({} if convention is None else {"quant_bias": convention.as_json()}),
            **({} if self.fixed is None else {"fixed": [each.as_json() for each in self.fixed]}),
            **({} if self.semantics is None else self.semantics.as_json()),
            **({NEWER: self.newer} if self.newer else {}),
        }


class GearFacts(Result, frozen=True):
    """Figures of one gear of a model with gears.

    Attributes:
        values: its numbers.
        shapes: of the inputs.
        nodes: of its graph.
        memory: its need of device memory.
    """

    values: tuple[int, ...]
    shapes: Mapping[str, tuple[int, ...]]
    nodes: int
    memory: MemoryFacts | None

    def as_json(self) -> dict[str, object]:
        """The figures as JSON values."""
        return {
            "gear": list(self.values),
            "inputs": {name: list(shape) for name, shape in self.shapes.items()},
            "nodes": self.nodes,
            "memory": None if self.memory is None else self.memory.as_json(),
        }


class Conversion(Result, frozen=True):
    """Record of a conversion.

    Attributes:
        model: the ONNX file.
        output: the offline model that was written.
        check: the findings of the check against the operator list.
        facts: facts about the compiled model.
        stages: in the order in which they ran.
        weights_out: bytes of weights in the offline model.
        file_bytes: size of the offline model.
        warnings: what passes found that does not stop the conversion.
        memory: the model's need of device memory.
        time: the estimated time of a run, in seconds.
        gears: of a model with gears, their figures; facts, memory and time are those of the largest.
    """

    model: Path
    output: Path
    check: ModelCheck
    facts: Facts
    stages: tuple[Stage, ...]
    weights_out: int
    file_bytes: int
    warnings: tuple[Diagnostic, ...] = ()
    memory: MemoryFacts | None = None
    time: TimeRange | None = None
    gears: tuple[GearFacts, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON values; seconds are floats."""
        return {
            "model": str(self.model),
            "output": str(self.output),
            "findings": _findings_json(self.check),
            "warnings": [each.as_json() for each in self.warnings],
            **_quantized_json(self.check),
            "semantics": None,
            **self.facts.as_json(),
            "stages": {stage.name: stage.seconds for stage in self.stages},
            "weights_out": self.weights_out,
            "file_bytes": self.file_bytes,
            "memory": None if self.memory is None else self.memory.as_json(),
            "estimated_time": None if self.time is None else msgspec.structs.asdict(self.time),
            "gears": [each.as_json() for each in self.gears],
        }


def _findings_json(check: ModelCheck) -> dict[str, int]:
    return {standing.value: count for standing, count in check.counts.items()}


def _quantized_json(check: ModelCheck) -> dict[str, object]:
    """Count layers, those on int8, and others with reasons; empty for other models."""
    if not check.layers:
        return {}
    rest = [each for each in check.layers if each.outcome is not Outcome.INTEGER]
    floats = [
        {
            "node": each.index,
            "name": each.name,
            "op_type": each.op_type,
            "reason": each.reason.en if each.reason else "",
        }
        for each in rest
    ]
    layers = len(check.layers)
    found = {"layers": layers, "on_int8": layers - len(rest), "on_floats": floats}
    return {"quantized": found}
