"""Choices of how a float model is quantized."""

from __future__ import annotations

import msgspec

from atc_py.calibration.ranges import RangeSettings
from atc_py.system.structs import Result

__all__ = ["QuantizeSettings"]


class QuantizeSettings(Result, frozen=True, kw_only=True):
    """Choices of how a float model is quantized.

    Attributes:
        calibrator: name of the calibrator of the layers' data.
        ranges: choices of calibrators.
        weights: how scales of weights are chosen.
        executor: the engine that runs the samples: one of EXECUTORS.
        skip: layers that stay in floats: names, or `OpType::T` for all of one operator.
        skip_first: how many layers stay in floats, of those that read an input of the model.
        skip_last: how many layers stay in floats, of those after which no layer follows.
        resume: file that holds histograms between runs; "" for none.
    """

    calibrator: str = "min-max"
    ranges: RangeSettings = msgspec.field(default_factory=RangeSettings)
    weights: str = "min-max"
    executor: str = "auto"
    skip: tuple[str, ...] = ()
    skip_first: int = 0
    skip_last: int = 0
    resume: str = ""
