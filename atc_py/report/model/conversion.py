"""The record of one conversion, and its tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from atc_py.report.diagnostics import diagnostic_json
from atc_py.report.model.conversion_check import finding_json
from atc_py.report.model.fusions import fusions_json
from atc_py.report.model.layout import conversions_text
from atc_py.report.model.memory_tables import memory_row
from atc_py.report.model.quantized_layers import quantised_json, quantised_rows
from atc_py.report.profile.text import time_text
from atc_py.report.tables import Table, format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from atc_py.check.findings import ModelCheck
    from atc_py.cost.network import Span
    from atc_py.diag import Diagnostic
    from atc_py.report.model.fusions import FusionEffect
    from atc_py.report.model.memory_tables import MemoryFacts

__all__ = ["Conversion", "Facts", "PassEffect", "Stage", "conversion_tables"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of compilation and how long it took, in seconds."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class PassEffect:
    """A pass and how many changes it made."""

    name: str
    changes: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What compilation made of a model; the same for every conversion of it with these options.

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
    precision: Mapping[str, object] = field(default_factory=dict)
    layout: Mapping[str, object] = field(default_factory=dict)
    fusions: tuple[FusionEffect, ...] = ()
    launches: int = 0
    launches_unfused: int = 0

    def as_json(self) -> dict[str, object]:
        """The facts as JSON values; this is the offline model's own report."""
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
        }


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a conversion did.

    Attributes:
        model: the ONNX file.
        output: the offline model that was written.
        check: what holding the model against the operator list found.
        facts: what compilation made of the model.
        stages: in the order in which they ran.
        weights_out: bytes of weights in the offline model.
        file_bytes: size of the offline model.
        warnings: what passes found that does not stop the conversion.
        memory: what the model needs of the device's memory.
        time: the estimated time of a run, in seconds.
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
    time: Span | None = None

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON values; seconds are floats."""
        return {
            "model": str(self.model),
            "output": str(self.output),
            "findings": finding_json(self.check),
            "warnings": [diagnostic_json(each) for each in self.warnings],
            **quantised_json(self.check),
            **self.facts.as_json(),
            "stages": {stage.name: stage.seconds for stage in self.stages},
            "weights_out": self.weights_out,
            "file_bytes": self.file_bytes,
            "memory": None if self.memory is None else self.memory.as_json(),
            "estimated_time": None if self.time is None else asdict(self.time),
        }


def conversion_tables(done: Conversion) -> list[Table]:
    """The tables that `convert` prints."""
    return [_stages(done), _operators(done.facts), _summary(done)]


def _stages(done: Conversion) -> Table:
    """Stages with their times."""
    rows = [(stage.name, format_seconds(stage.seconds)) for stage in done.stages]
    rows.append(("total", format_seconds(sum(stage.seconds for stage in done.stages))))
    return Table("Stages", ("stage", "time>"), tuple(rows))


def _operators(facts: Facts) -> Table:
    """ONNX operators beside target operators, both sorted by count."""
    before, after = _ranked(facts.source_operators), _ranked(facts.target_operators)
    height = max(len(before), len(after))
    blank = ("", "")
    rows = [
        (before[i] if i < len(before) else blank) + (after[i] if i < len(after) else blank)
        for i in range(height)
    ]
    return Table(
        f"Operators: {facts.file_nodes} nodes in the file, "
        f"{sum(facts.source_operators.values())} after folding constants, "
        f"{sum(facts.target_operators.values())} compiled",
        ("ONNX", "count>", "target", "count>"),
        tuple(rows),
    )


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Operators and counts, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(name, str(count)) for name, count in ranked]


def _summary(done: Conversion) -> Table:
    """Where nodes run, what became of the weights, and the file."""
    facts = done.facts
    engines = ", ".join(f"{name} {count}" for name, count in sorted(facts.engines.items()))
    changed = ", ".join(f"{e.name} {e.changes}" for e in facts.passes if e.changes)
    before, after = format_bytes(facts.weights_in), format_bytes(done.weights_out)
    rows = (
        ("SoC", facts.soc),
        ("precision mode", facts.precision_mode),
        ("engines (nodes)", engines),
        ("passes (changes)", changed or "none"),
        *quantised_rows(done.check),
        ("launches", _launches_text(facts)),
        ("conversions left", conversions_text(facts.target_operators)),
        ("kernel stubs", str(facts.kernels)),
        ("weights", f"{before} in the ONNX file, {after} compiled"),
        *memory_row(done.memory),
        *([] if done.time is None else [("estimated time", time_text(done.time))]),
        ("output", f"{done.output} ({format_bytes(done.file_bytes)})"),
    )
    return Table("Result", ("", ""), rows)


def _launches_text(facts: Facts) -> str:
    """Kernel launches of a run, beside the nodes that they execute."""
    nodes = sum(count for engine, count in facts.engines.items() if engine != "local")
    text = f"{facts.launches} for {nodes} nodes" if facts.launches != nodes else str(nodes)
    return f"{text}; {facts.launches_unfused} kernels before any pass"
