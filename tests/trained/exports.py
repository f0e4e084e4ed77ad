"""The networks that PyTorch exports: their names, opsets and files, beside the wheels."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tests.trained.wheels import cache_folder

Features = dict[str, tuple[str, tuple[int, ...]]]
"""Kind of data and dims by input."""

_TEXT: Features = {"input_ids": ("words", (1, 48)), "attention_mask": ("mask", (1, 48))}

FEATURES: dict[str, Features] = {
    "wav2vec2": {"input_values": ("sound", (1, 8000))},
    "wav2vec2_layer_norm": {"input_values": ("sound", (1, 8000))},
    "whisper_encoder": {"input_features": ("activations", (1, 80, 1000))},
    "t5_encoder": _TEXT,
    "t5_decoder": {
        "decoder_input_ids": ("words", (1, 16)),
        "encoder_hidden_states": ("activations", (1, 48, 512)),
    },
    "deberta_v2": _TEXT,
    "deberta_v3": _TEXT,
    "efficientnet": {"pixel_values": ("image", (1, 3, 224, 224))},
}
"""By network and input: the kind of its data, and its dims."""

OPSETS = {True: (14, 17), False: (18,)}
"""Opsets of the exporter that traces, and of the other one."""


@dataclass(frozen=True)
class Export:
    """One network as one exporter writes it.

    Attributes:
        network: the name of the architecture.
        traced: whether the tracing exporter wrote it.
        opset: of the file.
    """

    network: str
    traced: bool
    opset: int

    @property
    def name(self) -> str:
        """The name on the page."""
        return f"{self.network} {'traced' if self.traced else 'dynamo'} {self.opset}"

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.name.replace(' ', '-')}.onnx"


EXPORTS = tuple(
    Export(network, traced, opset)
    for network, (traced, opsets) in product(FEATURES, OPSETS.items())
    for opset in opsets
)


def export_path(export: Export) -> Path:
    """Return the place of an export, where it may not be yet."""
    return cache_folder() / "exports" / export.file


TODAY_OPSETS = {"traced": 17, "dynamo": 20}
"""By exporter: the opset at which it writes the networks of `today`."""


def today_path(network: str, exporter: str) -> Path:
    """Return the place of an export of `today`, where it may not be yet."""
    return cache_folder() / "today" / f"{network}-{exporter}.onnx"
