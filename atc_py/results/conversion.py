"""Record of a conversion: files, stages, counts, sizes, memory, time, fusions; and of an export."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from atc_py.check.findings import ModelCheck
from atc_py.cost.network import TimeRange
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source import BiasConvention, Outcome
from atc_py.passes.base import PassFusions
from atc_py.results.cann_nodes import NEWER, CannSemantics, NewerNodes
from atc_py.results.fixing import FixedNode
from atc_py.results.memory_facts import MemoryFacts
from atc_py.system.json_text import json_values
from atc_py.system.structs import Result


class FusionEffect(Result, frozen=True):
    """A pass that a user may switch off, with its record.

    Attributes:
        name: the pass.
        atc_names: ATC's names for it.
        is_ub: it is one of ATC's UB fusions.
        record: what it found.
    """

    name: str
    atc_names: tuple[str, ...]
    is_ub: bool
    record: PassFusions


def fusions_json(effects: Iterable[FusionEffect]) -> dict[str, object]:
    """All passes in the sections of ATC's fusion_result.json, with nearest misses."""
    sections: dict[bool, dict[str, object]] = {False: {}, True: {}}
    for effect in effects:
        record, miss = effect.record, effect.record.nearest
        row: dict[str, object] = {
            "atc_names": list(effect.atc_names),
            "match_times": record.matched,
            "effect_times": record.effective,
        }
        if miss is not None:
            row["nearest_miss"] = {
                "reason": miss.reason,
                "node": miss.node,
                "from": list(miss.origins),
                "depth": miss.depth,
                "anchor": miss.anchor or miss.node,
            }
        sections[effect.is_ub][effect.name] = row
    return {"graph_fusion": sections[False], "ub_fusion": sections[True]}


class Export(Result, frozen=True):
    """Record of an export.

    Attributes:
        model: the file that was read.
        output: the ONNX file that was written.
        data: the file with its constants beside it; None where the model holds them itself.
        soc: the SoC that the graph was compiled for.
        options: the compilation's options.
        opset: the version of ONNX's operators that the written model imports.
        operators: how many nodes of each target operator it computes.
        functions: how many functions it has; none of a flat model.
        nodes: how many nodes its graph has.
        bytes: size of the files written.
        warnings: what was assumed of an offline model of Huawei's atc, and left out of it.
    """

    model: Path
    output: Path
    data: Path | None
    soc: str
    options: Mapping[str, str]
    opset: int
    operators: Mapping[str, int]
    functions: int
    nodes: int
    bytes: int
    warnings: tuple[Diagnostic, ...] = ()


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
        semantics: the nodes that compute what a release of CANN makes of them; None where all
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
            **({} if self.fixed is None else {"fixed": json_values(self.fixed)}),
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

    values: tuple[int, ...] = msgspec.field(name="gear")
    shapes: Mapping[str, tuple[int, ...]] = msgspec.field(name="inputs")
    nodes: int
    memory: MemoryFacts | None


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
            "findings": {standing.value: count for standing, count in self.check.counts.items()},
            "warnings": json_values(self.warnings),
            **_quantized_json(self.check),
            "semantics": None,
            **self.facts.as_json(),
            "stages": {stage.name: stage.seconds for stage in self.stages},
            "weights_out": self.weights_out,
            "file_bytes": self.file_bytes,
            "memory": json_values(self.memory),
            "estimated_time": None if self.time is None else msgspec.structs.asdict(self.time),
            "gears": json_values(self.gears),
        }


def _quantized_json(check: ModelCheck) -> dict[str, object]:
    """Count layers, those on int8, and others with reasons; empty for other models."""
    if not check.layers:
        return {}
    rest = [layer for layer in check.layers if layer.outcome is not Outcome.INTEGER]
    floats = [
        {
            "node": node.index,
            "name": node.name,
            "op_type": node.op_type,
            "reason": node.reason.en if node.reason else "",
        }
        for node in rest
    ]
    layers = len(check.layers)
    counts = {"layers": layers, "on_int8": layers - len(rest), "on_floats": floats}
    return {"quantized": counts}
