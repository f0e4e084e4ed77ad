"""The result of AIPP on one picture: the tensor, and what each step did to the channels."""

from pathlib import Path
from typing import Any

import msgspec
from numpy.typing import NDArray

from atc_py.diag import Diagnostic
from atc_py.options.aipp import AippSettings
from atc_py.system.json_text import json_values
from atc_py.system.structs import Result


class ChannelRange(Result, frozen=True):
    """Smallest, largest and mean value of a channel."""

    least: float = msgspec.field(name="min")
    most: float = msgspec.field(name="max")
    mean: float


class AippStep(Result, frozen=True):
    """A step of AIPP.

    Attributes:
        name: of the step.
        dtype: of its result.
        shape: of its result, [C, H, W].
        channels: the values of each channel.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    channels: tuple[ChannelRange, ...]


class AippPreview(Result, frozen=True):
    """Result of AIPP on one picture.

    Attributes:
        config: the configuration file.
        picture: the picture file.
        settings: those that the device computed with.
        steps: the picture and every step that is switched on.
        tensor: [1, C, H, W], float16 or uint8.
        output: the file that the tensor was written to, or None.
        warnings: about the configuration.
    """

    config: Path
    picture: Path
    settings: AippSettings
    steps: tuple[AippStep, ...]
    tensor: NDArray[Any]
    output: Path | None
    warnings: tuple[Diagnostic, ...]

    def as_json(self) -> dict[str, object]:
        """The steps as JSON values; the tensor itself is left out."""
        return {
            "config": str(self.config),
            "picture": str(self.picture),
            "settings": self.settings.attributes(),
            "steps": json_values(self.steps),
            "dtype": self.tensor.dtype.name,
            "shape": list(self.tensor.shape),
            "output": json_values(self.output),
            "warnings": json_values(self.warnings),
        }
