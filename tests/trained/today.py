"""Today's architectures, small and with random weights of a fixed seed, for PyTorch's two exporters.

Runs where torch, transformers and diffusers are installed, which is not the environment of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import diffusers
import torch
import transformers
from torch import nn

WORDS = 500
"""How many words the networks for text know."""


@dataclass(frozen=True)
class Network:
    """One architecture.

    Attributes:
        build: the module, with random weights.
        inputs: kind and dims of its inputs by name; kinds are those of `_example`.
        fixed: the other arguments.
        result: which result is compared; the first one by default.
    """

    build: Callable[[], nn.Module]
    inputs: Mapping[str, tuple[str, tuple[int, ...]]]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    result: int = 0


class _Result(nn.Module):  # type: ignore[misc]
    """A module with one result of another, which takes its arguments by position."""

    def __init__(self, inner: nn.Module, network: Network) -> None:
        super().__init__()
        self.inner, self.names = inner, tuple(network.inputs)
        self.fixed, self.result = dict(network.fixed), network.result

    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        """The chosen result."""
        named = dict(zip(self.names, values, strict=True))
        results = self.inner(**named, **self.fixed)
        return results if isinstance(results, torch.Tensor) else results[self.result]


def build(name: str) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    """A network, and an example of each of its inputs by name."""
    torch.manual_seed(48)
    network = NETWORKS[name]
    module = network.build().eval()
    for each in module.modules():
        if isinstance(each, (nn.BatchNorm1d, nn.BatchNorm2d)):  # as after training
            nn.init.uniform_(each.running_mean, -0.1, 0.1)
            nn.init.uniform_(each.running_var, 0.5, 1.5)
    examples = {key: _example(*each) for key, each in network.inputs.items()}
    return _Result(module, network).eval(), examples


def _example(kind: str, dims: tuple[int, ...]) -> torch.Tensor:
    if kind == "words":
        return torch.randint(3, WORDS, dims)
    if kind == "mask":
        return torch.ones(dims, dtype=torch.int64)
    if kind == "step":
        return torch.full(dims, 7, dtype=torch.int64)
    if kind == "nodes":
        return torch.randint(0, 12, dims)
    return torch.randn(dims) * (0.1 if kind == "sound" else 1.0)


def _of(model: str, **config: Any) -> Callable[[], nn.Module]:
    """What makes a network of transformers: `llama.LlamaModel`, with fields of its configuration."""

    def make() -> nn.Module:
        cls = getattr(transformers, model)
        return cls(cls.config_class(**config))

    return make


def _diffuser(model: str, **config: Any) -> Callable[[], nn.Module]:
    return lambda: getattr(diffusers, model)(**config)


_IDS = {"input_ids": ("words", (1, 16))}
_TEXT = {**_IDS, "attention_mask": ("mask", (1, 16))}
_IMAGE = {"pixel_values": ("image", (1, 3, 64, 64))}
_SOUND = {"input_values": ("sound", (1, 4000))}
_TUPLE = {"return_dict": False}
_NO_CACHE = {"use_cache": False, "return_dict": False}
_SMALL = {
    "vocab_size": WORDS,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 128,
}
_GROUPED = {
    **_SMALL,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_VISION = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "image_size": 64,
    "patch_size": 16,
}


def _decoder(model: str, **config: Any) -> Network:
    return Network(_of(model, **{**_GROUPED, **config}), _TEXT, _NO_CACHE)


def _encoder(model: str, **config: Any) -> Network:
    return Network(_of(model, **{**_SMALL, **config}), _TEXT, _TUPLE)


def _sight(model: str, **config: Any) -> Network:
    return Network(_of(model, **config), _IMAGE, _TUPLE)


class _Graph(nn.Module):  # type: ignore[misc]
    """Two layers of messages along edges, summed at their ends."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(16, 32), nn.Linear(32, 8)])

    def forward(self, features: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """Features of the nodes."""
        for layer in self.layers:
            sent = layer(features)[edges[0]]
            features = torch.zeros(12, sent.shape[1]).index_add(0, edges[1], sent).relu()
        return features


class _Recurrent(nn.Module):  # type: ignore[misc]
    """A spectrogram to scores of letters: convolution, LSTM in both directions, GRU."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(40, 64, 5, 2, 2)
        self.lstm = nn.LSTM(64, 32, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(64, 48, batch_first=True)
        self.scores = nn.Linear(48, 30)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logarithms of probabilities at each step."""
        hidden = self.conv(features).relu().transpose(1, 2)
        return self.scores(self.gru(self.lstm(hidden)[0])[0]).log_softmax(-1)


class _Cached(nn.Module):  # type: ignore[misc]
    """One step of a language model with its keys and values as inputs and outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = _of("LlamaForCausalLM", **_GROUPED)()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> torch.Tensor:
        """Scores of the next word."""
        cache = transformers.DynamicCache()
        for layer in range(2):
            cache.update(keys[layer], values[layer], layer)
        step = self.inner(
            input_ids=input_ids,
            attention_mask=attention_mask,
            past_key_values=cache,
            use_cache=True,
        )
        return step.logits


_BART = {
    "vocab_size": WORDS,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
_PAIR = {**_TEXT, "decoder_input_ids": ("words", (1, 8))}
_WAVES = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "conv_dim": (32, 32, 32),
    "conv_stride": (5, 4, 4),
    "conv_kernel": (10, 4, 4),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
_HIERARCHY = {"hidden_sizes": [16, 32, 64, 64], "depths": [1, 1, 2, 1]}

NETWORKS: dict[str, Network] = {
    "llama": _decoder("LlamaModel"),
    "llama_step": Network(
        _Cached,
        {
            "input_ids": ("words", (1, 1)),
            "attention_mask": ("mask", (1, 21)),
            "keys": ("activations", (2, 1, 2, 20, 16)),
            "values": ("activations", (2, 1, 2, 20, 16)),
        },
    ),
    "qwen2": _decoder("Qwen2Model"),
    "qwen3": _decoder("Qwen3Model", head_dim=16),
    "gemma3": _decoder("Gemma3TextModel", head_dim=16, sliding_window=8),
    "phi3": _decoder("Phi3Model"),
    "mixtral": _decoder("MixtralModel", num_local_experts=4),
    "olmo2": _decoder("Olmo2Model"),
    "stablelm": _decoder("StableLmModel"),
    "granite": _decoder("GraniteModel"),
    "cohere": _decoder("CohereModel"),
    "glm": _decoder("GlmModel", head_dim=16),
    "helium": _decoder("HeliumModel", head_dim=16),
    "gpt2": Network(
        _of("GPT2Model", vocab_size=WORDS, n_embd=64, n_layer=2, n_head=4), _TEXT, _NO_CACHE
    ),
    "gpt_neox": Network(_of("GPTNeoXModel", **_SMALL), _TEXT, _NO_CACHE),
    "opt": Network(
        _of(
            "OPTModel",
            vocab_size=WORDS,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            ffn_dim=128,
            word_embed_proj_dim=64,
        ),
        _TEXT,
        _NO_CACHE,
    ),
    "bloom": Network(
        _of("BloomModel", vocab_size=WORDS, hidden_size=64, n_layer=2, n_head=4), _TEXT, _NO_CACHE
    ),
    "falcon": Network(
        _of(
            "FalconModel",
            vocab_size=WORDS,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
        ),
        _TEXT,
        _NO_CACHE,
    ),
    "mamba": Network(
        _of("MambaModel", vocab_size=WORDS, hidden_size=32, num_hidden_layers=1, state_size=8),
        _IDS,
        _NO_CACHE,
    ),
    "bert": _encoder("BertModel"),
    "roberta": _encoder("RobertaModel"),
    "distilbert": Network(
        _of("DistilBertModel", vocab_size=WORDS, dim=64, n_layers=2, n_heads=4, hidden_dim=128),
        _TEXT,
        _TUPLE,
    ),
    "albert": _encoder("AlbertModel", embedding_size=32),
    "electra": _encoder("ElectraModel", embedding_size=32),
    "modernbert": _encoder("ModernBertModel", pad_token_id=0, reference_compile=False),
    "mpnet": _encoder("MPNetModel"),
    "convbert": _encoder("ConvBertModel", embedding_size=64),
    "roformer": _encoder("RoFormerModel", embedding_size=64),
    "deberta_v3": _encoder(
        "DebertaV2Model",
        relative_attention=True,
        position_buckets=32,
        pos_att_type=["p2c", "c2p"],
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        position_biased_input=False,
    ),
    "bart": Network(_of("BartModel", **_BART), _PAIR, _NO_CACHE),
    "t5": Network(
        _of("T5Model", vocab_size=WORDS, d_model=64, d_kv=16, num_layers=2, num_heads=4, d_ff=128),
        _PAIR,
        _NO_CACHE,
    ),
    "vit": _sight("ViTModel", **_VISION),
    "deit": _sight("DeiTModel", **_VISION),
    "beit": _sight("BeitModel", **_VISION, use_relative_position_bias=True),
    "dinov2": _sight("Dinov2Model", **{**_VISION, "image_size": 128}),
    "dinov3": _sight("DINOv3ViTModel", **_VISION),
    "swin": _sight(
        "SwinModel",
        image_size=64,
        patch_size=4,
        embed_dim=24,
        depths=[1, 2],
        num_heads=[2, 4],
        window_size=4,
    ),
    "swinv2": _sight(
        "Swinv2Model",
        image_size=64,
        patch_size=4,
        embed_dim=24,
        depths=[1, 2],
        num_heads=[2, 4],
        window_size=4,
    ),
    "convnext": _sight("ConvNextModel", **_HIERARCHY),
    "convnextv2": _sight("ConvNextV2Model", **_HIERARCHY),
    "mobilenet_v2": _sight("MobileNetV2Model", image_size=64),
    "mobilevit": _sight("MobileViTModel", image_size=64),
    "resnet": _sight("ResNetModel", embedding_size=16, **_HIERARCHY),
    "regnet": _sight(
        "RegNetModel",
        embedding_size=16,
        hidden_sizes=[16, 32, 64, 64],
        depths=[1, 1, 2, 1],
        groups_width=8,
    ),
    "poolformer": _sight("PoolFormerModel", **_HIERARCHY),
    "pvt_v2": _sight(
        "PvtV2Model",
        image_size=64,
        hidden_sizes=[16, 32, 64, 64],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 2, 4, 4],
    ),
    "focalnet": _sight(
        "FocalNetModel",
        image_size=64,
        embed_dim=24,
        depths=[1, 1],
        focal_levels=[2, 2],
        focal_windows=[3, 3],
    ),
    "segformer": _sight(
        "SegformerForSemanticSegmentation",
        hidden_sizes=[16, 32, 64, 64],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 2, 4, 4],
        decoder_hidden_size=32,
    ),
    "yolos": _sight(
        "YolosForObjectDetection", **{**_VISION, "image_size": [64, 64]}, num_detection_tokens=10
    ),
    "dpt": _sight(
        "DPTForDepthEstimation",
        **{**_VISION, "num_hidden_layers": 4},
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[16, 16, 32, 32],
        fusion_hidden_size=16,
    ),
    "swin2sr": _sight(
        "Swin2SRForImageSuperResolution",
        image_size=64,
        embed_dim=24,
        depths=[1, 1],
        num_heads=[2, 2],
        window_size=8,
    ),
    "detr": Network(
        _of(
            "DetrForObjectDetection",
            use_timm_backbone=False,
            use_pretrained_backbone=False,
            backbone=None,
            backbone_config=transformers.ResNetConfig(
                embedding_size=16,
                hidden_sizes=[16, 32, 64, 64],
                depths=[1, 1, 1, 1],
                out_features=["stage4"],
            ),
            d_model=32,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            num_queries=10,
        ),
        _IMAGE,
        _TUPLE,
    ),
    "rt_detr": Network(
        _of(
            "RTDetrForObjectDetection",
            d_model=32,
            encoder_hidden_dim=32,
            encoder_layers=1,
            encoder_attention_heads=2,
            decoder_layers=1,
            decoder_attention_heads=2,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            num_queries=10,
            encoder_in_channels=[32, 64, 64],
            decoder_in_channels=[32, 32, 32],
            backbone_config=transformers.RTDetrResNetConfig(
                embedding_size=16,
                hidden_sizes=[16, 32, 64, 64],
                depths=[1, 1, 1, 1],
                out_features=["stage2", "stage3", "stage4"],
                layer_type="basic",
            ),
        ),
        _IMAGE,
        _TUPLE,
    ),
    "videomae": Network(
        _of("VideoMAEModel", **_VISION, num_frames=4),
        {"pixel_values": ("image", (1, 4, 3, 64, 64))},
        _TUPLE,
    ),
    "siglip_vision": _sight("SiglipVisionModel", **_VISION),
    "clip_vision": _sight("CLIPVisionModel", **_VISION),
    "clip_text": Network(
        _of("CLIPTextModel", **_SMALL, eos_token_id=2, bos_token_id=1, pad_token_id=0),
        _TEXT,
        _TUPLE,
    ),
    "wav2vec2_conformer": Network(
        _of(
            "Wav2Vec2ConformerModel",
            **_WAVES,
            conv_depthwise_kernel_size=7,
            position_embeddings_type="relative",
        ),
        _SOUND,
        _TUPLE,
    ),
    "hubert": Network(_of("HubertModel", **_WAVES), _SOUND, _TUPLE),
    "wavlm": Network(_of("WavLMModel", **_WAVES), _SOUND, _TUPLE),
    "whisper_encoder": Network(
        lambda: _of(
            "WhisperModel",
            **{**_BART, "max_position_embeddings": 64},
            num_mel_bins=40,
            max_source_positions=100,
        )().get_encoder(),
        {"input_features": ("activations", (1, 40, 200))},
        _TUPLE,
    ),
    "whisper_decoder": Network(
        lambda: _of("WhisperModel", **_BART, max_target_positions=64)().get_decoder(),
        {"input_ids": ("words", (1, 8)), "encoder_hidden_states": ("activations", (1, 50, 64))},
        _NO_CACHE,
    ),
    "moonshine_encoder": Network(
        lambda: _of(
            "MoonshineModel",
            vocab_size=WORDS,
            hidden_size=64,
            intermediate_size=128,
            encoder_num_hidden_layers=2,
            decoder_num_hidden_layers=2,
            encoder_num_attention_heads=4,
            decoder_num_attention_heads=4,
        )().get_encoder(),
        _SOUND,
        _TUPLE,
    ),
    "ast": Network(
        _of(
            "ASTModel",
            **{k: v for k, v in _VISION.items() if k != "image_size"},
            num_mel_bins=64,
            max_length=128,
        ),
        {"input_values": ("activations", (1, 128, 64))},
        _TUPLE,
    ),
    "patchtst": Network(
        _of(
            "PatchTSTModel",
            num_input_channels=3,
            context_length=64,
            patch_length=8,
            patch_stride=8,
            d_model=32,
            num_attention_heads=4,
            num_hidden_layers=2,
            ffn_dim=64,
            use_cls_token=True,
        ),
        {"past_values": ("activations", (1, 64, 3))},
        _TUPLE,
    ),
    "unet": Network(
        _diffuser(
            "UNet2DConditionModel",
            sample_size=16,
            in_channels=4,
            out_channels=4,
            block_out_channels=(32, 64),
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
            layers_per_block=1,
            cross_attention_dim=32,
            attention_head_dim=8,
        ),
        {
            "sample": ("activations", (1, 4, 16, 16)),
            "timestep": ("step", (1,)),
            "encoder_hidden_states": ("activations", (1, 8, 32)),
        },
        _TUPLE,
    ),
    "vae_decoder": Network(
        lambda: (
            _diffuser(
                "AutoencoderKL",
                latent_channels=4,
                block_out_channels=(32, 64),
                down_block_types=("DownEncoderBlock2D",) * 2,
                up_block_types=("UpDecoderBlock2D",) * 2,
            )().decoder
        ),
        {"sample": ("activations", (1, 4, 16, 16))},
    ),
    "dit": Network(
        _diffuser(
            "DiTTransformer2DModel",
            num_attention_heads=2,
            attention_head_dim=16,
            in_channels=4,
            num_layers=2,
            sample_size=16,
            norm_num_groups=4,
            num_embeds_ada_norm=100,
        ),
        {
            "hidden_states": ("activations", (1, 4, 16, 16)),
            "timestep": ("step", (1,)),
            "class_labels": ("step", (1,)),
        },
        _TUPLE,
    ),
    "sd3": Network(
        _diffuser(
            "SD3Transformer2DModel",
            sample_size=16,
            patch_size=2,
            in_channels=4,
            num_layers=2,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=32,
            caption_projection_dim=32,
            pooled_projection_dim=32,
            out_channels=4,
            pos_embed_max_size=16,
        ),
        {
            "hidden_states": ("activations", (1, 4, 16, 16)),
            "encoder_hidden_states": ("activations", (1, 8, 32)),
            "pooled_projections": ("activations", (1, 32)),
            "timestep": ("step", (1,)),
        },
        _TUPLE,
    ),
    "flux": Network(
        _diffuser(
            "FluxTransformer2DModel",
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=32,
            pooled_projection_dim=32,
            axes_dims_rope=(4, 4, 8),
        ),
        {
            "hidden_states": ("activations", (1, 16, 16)),
            "encoder_hidden_states": ("activations", (1, 8, 32)),
            "pooled_projections": ("activations", (1, 32)),
            "timestep": ("activations", (1,)),
            "img_ids": ("activations", (16, 3)),
            "txt_ids": ("activations", (8, 3)),
        },
        _TUPLE,
    ),
    "graph": Network(_Graph, {"features": ("activations", (12, 16)), "edges": ("nodes", (2, 40))}),
    "recurrent": Network(_Recurrent, {"features": ("activations", (1, 40, 100))}),
}
"""By name."""
