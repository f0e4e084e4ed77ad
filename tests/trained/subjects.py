"""The models that `fix` is measured on: those of wheels, and PyTorch's exports."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from atc_py.options.keywords import RuleKeywords
from tests.trained.exports import EXPORTS, FEATURES, Export, export_path
from tests.trained.models import RATE, TRAINED, TrainedModel
from tests.trained.natural import (
    activations,
    constant,
    digits,
    file_bytes,
    image,
    mask,
    sound,
    state,
    words,
)
from tests.trained.wheels import Wheel, extract, is_cached

Array = npt.NDArray[Any]
Draw = Callable[[int], Array]


@dataclass(frozen=True)
class Subject:
    """A model, and the data that it gets in use.

    Attributes:
        name: on the page; no two have the same.
        source: the wheel with its member, or the export.
        draws: by input, what draws its data for a seed.
        rules: options of `fix` that say more about its inputs.
    """

    name: str
    source: tuple[Wheel, str] | Export
    draws: Mapping[str, Draw] = field(hash=False)
    rules: RuleKeywords = field(hash=False)

    @property
    def is_at_hand(self) -> bool:
        """Whether the file is on this machine."""
        if isinstance(self.source, Export):
            return export_path(self.source).is_file()
        return is_cached(self.source[0])

    def path(self, folder: Path) -> Path:
        """Return the file, which may be put into `folder`."""
        if isinstance(self.source, Export):
            return export_path(self.source)
        return extract(*self.source, folder)

    def feeds(self, seed: int) -> dict[str, Array]:
        """Return data of all inputs."""
        return {name: draw(seed) for name, draw in self.draws.items()}


_ASR = next(model.wheel for model in TRAINED if model.wheel.package == "onnx-asr")
_SPECTRA = ("gigaam_v2", "gigaam_v3", "kaldi", "nemo80", "nemo128", "whisper80", "whisper128")
_RATES = (
    *("8_16", "11_16", "22_16", "24_16", "32_16", "44_16", "48_16"),
    *("11_8", "16_8", "22_8", "24_8", "32_8", "44_8", "48_8"),
)
_PREPROCESSORS = (
    *(f"{name}{form}" for name in _SPECTRA for form in ("", "_conv")),
    "wespeaker",
    *(f"resample_{each}" for each in _RATES),
)
"""The files of onnx-asr that turn sound into what its recognizers take."""


def _of_wheel(model: TrainedModel) -> Subject:
    """Return a model of the page about trained models."""
    given = {name: make() for name, make in model.data.items()}
    makers: dict[str, Callable[..., Draw]] = {
        "x": digits,
        "images": image,
        "bytes": file_bytes,
        "input": sound,
        "sr": partial(constant, RATE),
    }
    draws = {name: makers.get(name, state)(*array.shape) for name, array in given.items()}
    return Subject(model.name, (model.wheel, model.member), draws, model.rules)


def _preprocessor(name: str) -> Subject:
    """Return a model of onnx-asr for a second of sound."""
    draws = {"waveforms": sound(1, RATE), "waveforms_lens": constant(RATE, 1)}
    rules: RuleKeywords = {"ranges": {"waveforms_lens": (0, RATE)}}
    member = f"onnx_asr/preprocessors/data/{name}.onnx"
    return Subject(name, (_ASR, member), draws, rules)


def _exported(export: Export) -> Subject:
    """Return a network as PyTorch exports it."""
    makers: dict[str, Callable[..., Draw]] = {
        "sound": sound,
        "image": partial(image, low=-1.0),
        "words": partial(words, count=8000),
        "mask": mask,
        "activations": activations,
    }
    features = FEATURES[export.network]
    draws = {name: makers[kind](*shape) for name, (kind, shape) in features.items()}
    ranges = {"words": (0, 7999), "mask": (0, 1)}
    known = {name: ranges[kind] for name, (kind, _) in features.items() if kind in ranges}
    return Subject(export.name, export, draws, {"ranges": known} if known else {})


SUBJECTS = (
    *(_of_wheel(model) for model in TRAINED if model.wheel != _ASR),
    *map(_preprocessor, _PREPROCESSORS),
    *map(_exported, EXPORTS),
)
