"""What a step of quantization gained at a model's outputs, and how much of it was kept."""

from atc_py.system.structs import Result


class StepGain(Result, frozen=True):
    """A step whose parts were judged on samples.

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
    parts: int
    kept: int
    gain: float | None = None
    whole_gain: float | None = None
    left_out: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The step as JSON values."""
        return {
            "name": self.name,
            "parts": self.parts,
            "kept": self.kept,
            "gain": self.gain,
            "whole_gain": self.whole_gain,
            "left_out": list(self.left_out),
        }


class RangeTrial(Result, frozen=True):
    """The ranges that calibrators proposed for a tensor.

    Attributes:
        tensor: its name.
        chosen: the calibrator whose range was taken.
        errors: noise to signal at the results of the layers that read it, summed up over them, by
            calibrator.
    """

    tensor: str
    chosen: str
    errors: dict[str, float]

    def as_json(self) -> dict[str, object]:
        """The trial as JSON values."""
        return {"tensor": self.tensor, "chosen": self.chosen, "errors": dict(self.errors)}
