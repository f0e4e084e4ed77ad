"""What a step of quantization gained at a model's outputs, and how much of it was kept."""

from atc_py.system.structs import Count, Ratio, Result


class StepGain(Result, frozen=True):
    """A step that was judged by the outputs: what is kept of it, and what it gains in dB.

    Attributes:
        name: `equalize`, `smooth` or `correct_bias`.
        parts: how many tensors or layers it could change.
        kept: how many of them it changes.
        gain: by how much the noise at the model's outputs falls with what is kept, in dB; None where
            it was not measured.
        whole_gain: the same with all parts; below 0 where they make the outputs worse.
        left_out: names of the parts that are not kept.
    """

    name: str
    parts: Count
    kept: Count
    gain: float | None = None
    whole_gain: float | None = None
    left_out: tuple[str, ...] = ()


class RangeTrial(Result, frozen=True):
    """The ranges that calibrators proposed for a tensor, with noise to signal of each.

    Attributes:
        tensor: its name.
        chosen: the calibrator whose range was taken.
        errors: noise to signal at the results of the layers that read it, summed up over them, by
            calibrator.
    """

    tensor: str
    chosen: str
    errors: dict[str, Ratio]
