"""Records of one process: the models of its sessions, where they ran, and what differed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class UseRecord:
    """Runs of a model in one place, and their seconds."""

    runs: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.runs += 1
        self.seconds += seconds


@dataclass(slots=True)
class CompilationRecord:
    """One compilation: the shapes of all inputs by name, and its seconds."""

    shapes: dict[str, list[int]]
    seconds: float


@dataclass(slots=True)
class RefusalRecord:
    """Reason why a model ran in onnxruntime."""

    findings: list[dict[str, Any]]  # diagnostics as JSON values
    # the shapes of the inputs that were refused; None for the whole model
    shapes: dict[str, list[int]] | None = None


_SUMS = ("runs", "other_shapes", "product", "npu_square", "square", "rows", "equal_rows")
"""The attributes of `OutputSums` that add up."""


@dataclass(slots=True)
class OutputSums:
    """Comparison of one output over all runs in shadow."""

    npu_dtype: str  # of the simulated NPU's result
    dtype: str  # of onnxruntime's
    runs: int = 0  # runs that were compared
    other_shapes: int = 0  # runs in which the shapes differ; nothing else of them is in the sums
    product: float = 0.0  # sum of products of the two
    npu_square: float = 0.0  # sum of squares of the NPU's
    square: float = 0.0  # sum of squares of onnxruntime's
    least_cosine: float = 1.0  # the lowest cosine of one run
    largest_error: float = 0.0  # the largest absolute difference; inf where only one is finite
    rows: int = 0  # rows along the last axis in which an argmax was looked for
    equal_rows: int = 0  # those in which it is the same

    def merge(self, other: OutputSums) -> None:
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.least_cosine = min(self.least_cosine, other.least_cosine)
        self.largest_error = max(self.largest_error, other.largest_error)


@dataclass(slots=True)
class ModelRecord:
    """A model in one process."""

    file: str  # the file's path; empty for a model given as bytes
    digest: str  # SHA-256 of the model
    name: str = ""  # name of its graph
    size: int = 0  # its bytes
    sessions: int = 0  # sessions that were created of it
    npu: UseRecord = field(default_factory=UseRecord)  # runs on the simulated NPU
    onnxruntime: UseRecord = field(default_factory=UseRecord)  # runs in onnxruntime instead
    shadow: UseRecord = field(default_factory=UseRecord)  # runs in onnxruntime beside the NPU
    # those of the simulated sessions, in order
    compilations: list[CompilationRecord] = field(default_factory=list)
    refusals: list[RefusalRecord] = field(default_factory=list)  # why it ran in onnxruntime
    # what was said of the program's session options and providers
    remarks: list[str] = field(default_factory=list)
    outputs: dict[str, OutputSums] = field(default_factory=dict)  # comparisons by output


@dataclass(slots=True)
class ProcessRecord:
    """A process that had a session."""

    pid: int
    parent: int
    command: list[str]
    python: str
    models: list[ModelRecord] = field(default_factory=list)


def cosine(product: float, npu_square: float, square: float) -> float:
    """The cosine of two vectors of which the sums of products are given; 1 for two of zeros."""
    if not npu_square or not square:
        return float(npu_square == square)
    return min(product / (math.sqrt(npu_square) * math.sqrt(square)), 1.0)
