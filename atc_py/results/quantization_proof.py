"""What int8 costs a model and what it gains: errors, the way to a target, sizes and times."""

from collections.abc import Mapping

import msgspec

from atc_py.results.output_error import ErrorFigures
from atc_py.system.structs import Count, Result, Share


class ValueShares(Result, frozen=True):
    """The values of a tensor in bins of one width, as shares.

    Attributes:
        low: lower bound of the first bin.
        high: upper bound of the last one.
        shares: share of the values in each bin.
    """

    low: float
    high: float
    shares: tuple[Share, ...]


class LayerCost(Result, frozen=True):
    """The error that one layer on int8 makes; ratios and gains are in dB.

    Attributes:
        name: of the layer.
        data_snr: signal to noise of its data as codes, in dB, by the histogram; None where its
            numbers come from a record, and so is the next.
        clipped: share of the values of its data that are outside the range of the codes.
        result: the error of its result, for data as in floats.
        outputs_snr: the least of the model's outputs with this layer alone on int8, in dB; None
            where that was not measured.
        range_gain: by how much the chosen range lowers the noise of its data, over that of the lowest
            and highest value, by the histogram in dB; None as for `data_snr`.
        values: the values of its data; None where they come from a record.
    """

    name: str
    data_snr: float | None
    clipped: Share | None
    result: ErrorFigures
    outputs_snr: float | None = None
    range_gain: float | None = None
    values: ValueShares | None = msgspec.field(name="histogram", default=None)


class FallBackPoint(Result, frozen=True):
    """The model with some of its layers in floats.

    Attributes:
        int8: number of layers on int8.
        floats: names of the layers that were put back to floats.
        outputs: errors of the model's outputs.
        reached: whether these meet the target.
        microseconds: estimated time on the SoC; None where it was not estimated.
    """

    int8: Count
    floats: tuple[str, ...]
    outputs: Mapping[str, ErrorFigures]
    reached: bool
    microseconds: float | None = None


class FallBack(Result, frozen=True):
    """The search for the fewest layers that must stay in floats.

    Attributes:
        target: least figures of every output.
        reached: whether a set of layers was found with which they are met.
        order: layers, those that cost the most first.
        floats: the layers that stay in floats, in that order.
        minimal: whether none of these could be put on int8 again.
        points: the sets that were tried, most layers on int8 first.
        trials: how many sets were tried.
    """

    target: Mapping[str, float]
    reached: bool
    order: tuple[str, ...]
    floats: tuple[str, ...]
    minimal: bool
    points: tuple[FallBackPoint, ...]
    trials: Count


class Speed(Result, frozen=True):
    """Estimated microseconds on a SoC.

    Attributes:
        soc: its name.
        float16: microseconds of the float model, in float16.
        int8: microseconds of the model with layers on int8.
    """

    soc: str
    float16: float = msgspec.field(name="float16_us")
    int8: float = msgspec.field(name="int8_us")


class QuantizationProof(Result, frozen=True):
    """Errors and gains that were measured.

    Attributes:
        samples: how many samples they were measured on.
        outputs: errors of the model's outputs with all chosen layers on int8, in float32 between.
        layers: what each layer costs, producers first.
        fall_back: the way to the target; None without one.
        device: errors of the outputs of the compiled model on the simulated device; None where it
            was not run.
        speed: estimated times; None where they were not estimated.
    """

    samples: Count
    outputs: Mapping[str, ErrorFigures]
    layers: tuple[LayerCost, ...]
    fall_back: FallBack | None = msgspec.field(name="target", default=None)
    device: Mapping[str, ErrorFigures] | None = None
    speed: Speed | None = None
