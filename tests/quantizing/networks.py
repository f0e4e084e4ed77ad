"""Float networks to quantize, and draws of data for them: the shared ones, and those of wheels.

Samples for calibration and for measuring are different draws of the same data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tests.trained.natural import activations, image, mask, words
from tests.trained.subjects import SUBJECTS

Array = npt.NDArray[Any]
Draw = Callable[[int], Array]


MODELS = Path(__file__).resolve().parents[2] / ".." / "shared" / "models"

CALIBRATION, MEASURED = range(1, 17), range(101, 109)
"""Seeds of the samples that ranges are chosen on, and of those that errors are measured on."""

_PACKAGES = {"rapidocr-onnxruntime", "nudenet", "silero-vad"}


@dataclass(frozen=True)
class FloatNetwork:
    """A float model.

    Attributes:
        name: of the model.
        find: returns its file, which may be put into the folder.
        is_at_hand: whether the file is on this machine.
        draws: by input, what draws its data for a seed.
    """

    name: str
    find: Callable[[Path], Path]
    is_at_hand: bool
    draws: Mapping[str, Draw] = field(hash=False)

    def samples(self, seeds: range) -> list[dict[str, Array]]:
        """Return a sample for each seed."""
        return [{name: draw(seed) for name, draw in self.draws.items()} for seed in seeds]


def _shared(name: str, **draws: Draw) -> FloatNetwork:
    """Return one of the shared networks."""
    path = MODELS / name / "model.onnx"
    return FloatNetwork(name, lambda _folder: path, path.is_file(), draws)


_picture = partial(image, low=-1.0)
_bert: dict[str, Draw] = {
    "input_ids": words(1, 64, count=1000),
    "attention_mask": mask(1, 64),
}

NETWORKS = (
    _shared("bert_mini_opset11", **_bert),
    _shared("bert_mini_opset13", **_bert),
    _shared("espcn_opset12", input=image(1, 1, 64, 64)),
    _shared("gru_asr_opset13", input=activations(50, 2, 80)),
    _shared("lstm_cls_opset11", input=words(4, 32, count=1000)),
    _shared("mobilenetv2_opset13", input=_picture(1, 3, 224, 224)),
    _shared("resnet_mini_opset9", pixel_values=_picture(1, 3, 224, 224)),
    _shared("swin_mini_opset13", pixel_values=_picture(1, 3, 112, 112)),
    _shared("unet_opset13", input=_picture(1, 3, 128, 128)),
    _shared("vit_mini_opset13", pixel_values=_picture(1, 3, 224, 224)),
    _shared("yolo_csp_opset11", input=image(1, 3, 320, 320)),
    *(
        FloatNetwork(each.name, each.path, each.is_at_hand, each.draws)
        for each in SUBJECTS
        if isinstance(each.source, tuple) and each.source[0].package in _PACKAGES
    ),
)
