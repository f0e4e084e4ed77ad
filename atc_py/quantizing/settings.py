"""Choices of how a float model is quantized."""

from pathlib import Path

import msgspec

from atc_py.quantizing.calibrate.amct_choices import AmctConfig, LayerChoice
from atc_py.quantizing.calibrate.value_range import RangeSettings
from atc_py.system.structs import Result


class QuantizeSettings(Result, frozen=True, kw_only=True):
    """Choices of how a float model is quantized.

    Attributes:
        calibrator: name of the calibrator of the layers' data.
        ranges: choices of calibrators.
        weights: how scales of weights are chosen: one of WEIGHT_METHODS.
        executor: the engine that runs the samples: one of EXECUTORS.
        skip: layers that stay in floats: names, or `OpType::T` for all of one operator.
        skip_first: layers with fewer than so many layers in a row before them stay in floats.
        skip_last: layers with fewer than so many layers in a row after them stay in floats.
        fold_norms: fold BatchNormalization into the convolution before it.
        equalize: balance channels between layers that follow one another.
        smooth: move range from the data of products after a normalization into their weights.
        correct_bias: take the mean error of each output channel off the bias.
        resume: file that keeps histograms between runs; None for none.
        config: choices of a configuration of Ascend's quantizer, which precede `calibrator` and
            `ranges`; None for none.
    """

    calibrator: str = "min-max"
    ranges: RangeSettings = msgspec.field(default_factory=RangeSettings)
    weights: str = "min-max"
    executor: str = "auto"
    skip: tuple[str, ...] = ()
    skip_first: int = 0
    skip_last: int = 0
    fold_norms: bool = True
    equalize: bool = True
    smooth: bool = True
    correct_bias: bool = True
    resume: Path | None = None
    config: AmctConfig | None = None

    def choice_of(self, name: str, kind: str) -> LayerChoice | None:
        """Return how a layer is quantized; None where the configuration leaves it in floats."""
        if self.config is not None:
            return self.config.choice_for(name, kind)
        return LayerChoice(calibrator=self.calibrator, settings=self.ranges)
