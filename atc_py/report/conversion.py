"""The record of one conversion, and its tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atc_py.report.conversion_check import finding_json
from atc_py.report.diagnostics import diagnostic_json
from atc_py.report.quantised_layers import quantised_json, quantised_rows
from atc_py.report.tables import Table, format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from atc_py.check.findings import ModelCheck
    from atc_py.diag import Diagnostic

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
    """

    model: Path
    output: Path
    check: ModelCheck
    facts: Facts
    stages: tuple[Stage, ...]
    weights_out: int
    file_bytes: int
    warnings: tuple[Diagnostic, ...] = ()

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
        ("kernel stubs", str(facts.kernels)),
        ("weights", f"{before} in the ONNX file, {after} compiled"),
        ("output", f"{done.output} ({format_bytes(done.file_bytes)})"),
    )
    return Table("Result", ("", ""), rows)
