"""Networks as PyTorch and transformers build them, with random weights of a fixed seed.

Runs where torch and transformers are installed, which is not the environment of the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import nn

from tests.trained.exports import FEATURES

WORDS = 8000
"""How many words the networks for text know."""

_EAGER = {"attn_implementation": "eager"}
"""Attention in plain operators: what exporters of both kinds take."""


class _First(nn.Module):  # type: ignore[misc]
    """A module whose only result is the first one of another module.

    Attributes:
        inner: the other module.
        names: names of its arguments, in the order in which they come here.
    """

    def __init__(self, inner: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.inner, self.names = inner, names

    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        """Return the first result of the other module."""
        named = dict(zip(self.names, values, strict=True))
        return self.inner(**named, return_dict=False)[0]


def build(network: str) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    """Return a network, and an example of each of its inputs by name."""
    torch.manual_seed(20)
    made = _ARCHITECTURES[network]().eval()
    examples = {name: _example(*each) for name, each in FEATURES[network].items()}
    module = made if isinstance(made, _T5Decoder) else _First(made, tuple(examples))
    return module.eval(), examples


def _example(kind: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Return data of a kind."""
    return torch.ones(shape, dtype=torch.int64 if kind in {"words", "mask"} else torch.float32)


def _wav2vec2(norm: str) -> Any:
    """Return the encoder of speech: seven 1-D convolutions, and one that tells positions."""
    config = transformers.Wav2Vec2Config(
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
        feat_extract_norm=norm,
        do_stable_layer_norm=norm == "layer",
        conv_bias=norm == "layer",
        apply_spec_augment=False,
        **_EAGER,
    )
    return transformers.Wav2Vec2Model(config)


def _whisper() -> Any:
    """Return the encoder of Whisper's smallest model: two 1-D convolutions, and attention."""
    config = transformers.WhisperConfig(
        d_model=384,
        encoder_layers=4,
        encoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_layers=1,
        max_source_positions=500,
        **_EAGER,
    )
    return transformers.WhisperModel(config).get_encoder()


def _t5_config() -> Any:
    """Return the dims of the smallest T5, with fewer words."""
    return transformers.T5Config(
        vocab_size=WORDS, d_model=512, num_layers=4, num_heads=8, d_ff=1024, use_cache=False
    )


def _t5_encoder() -> Any:
    """Return the encoder of T5: attention with relative positions in buckets."""
    return transformers.T5EncoderModel(_t5_config())


def _t5_decoder() -> Any:
    """Return the decoder of T5 and its scores of words."""
    return _T5Decoder(transformers.T5ForConditionalGeneration(_t5_config()))


class _T5Decoder(nn.Module):  # type: ignore[misc]
    """The decoder of T5 with its last product, as it runs for each word."""

    def __init__(self, whole: Any) -> None:
        super().__init__()
        self.decoder, self.scores, self.scale = whole.decoder, whole.lm_head, 512**-0.5

    def forward(self, ids: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Return the scores of all words at every position."""
        found = self.decoder(input_ids=ids, encoder_hidden_states=states, return_dict=False)[0]
        return self.scores(found * self.scale)


def _deberta(version: int) -> Any:
    """Return DeBERTa of version 2, with its convolution beside the first layer, or of version 3."""
    form = {"conv_kernel_size": 3, "conv_act": "gelu"} if version == 2 else {}
    config = transformers.DebertaV2Config(
        vocab_size=WORDS,
        hidden_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=1024,
        max_position_embeddings=512,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        **form,
    )
    return transformers.DebertaV2Model(config)


def _efficientnet() -> Any:
    """Return EfficientNet-B0."""
    config = transformers.EfficientNetConfig(
        width_coefficient=1.0, depth_coefficient=1.0, hidden_dim=1280, image_size=224
    )
    model = transformers.EfficientNetModel(config)
    for each in model.modules():
        if isinstance(each, nn.BatchNorm2d):  # as after training, and not all alike
            nn.init.uniform_(each.running_mean, -0.1, 0.1)
            nn.init.uniform_(each.running_var, 0.5, 1.5)
    return model


_ARCHITECTURES: dict[str, Callable[[], Any]] = {
    "wav2vec2": lambda: _wav2vec2("group"),
    "wav2vec2_layer_norm": lambda: _wav2vec2("layer"),
    "whisper_encoder": _whisper,
    "t5_encoder": _t5_encoder,
    "t5_decoder": _t5_decoder,
    "deberta_v2": lambda: _deberta(2),
    "deberta_v3": lambda: _deberta(3),
    "efficientnet": _efficientnet,
}
