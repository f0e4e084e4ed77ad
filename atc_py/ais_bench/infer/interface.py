"""The interface at the place where ais_bench has it."""

from __future__ import annotations

from atc_py.ais_bench.interface import InferSession, MemorySummary, MultiDeviceSession

__all__ = ["InferSession", "MemorySummary", "MultiDeviceSession"]
