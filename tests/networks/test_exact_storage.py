"""Real networks and quantized ones run with every tensor in its storage format, bit by bit."""

from pathlib import Path

import pytest

import atc_py
from atc_py.pipeline.running.feeds import random_feeds
from tests.device.stored_models import assert_same_bits
from tests.networks.quantized import Scheme, prepared, quantized
from tests.networks.test_shared_models import MODELS, NAMES
from tests.sampling import sampled, some

WIDE = ("mobilenetv2_opset13", "swin_mini_opset13")
"""Networks with grouped layers, and with most changes of format."""

HEAVY = ("mobilenetv2_opset13", "unet_opset13", "yolo_csp_opset11", "bert_mini_opset11")
"""Networks that take long, or whose layers others have as well."""


def check(source: Path, om: Path, soc: str, mode: str) -> None:
    """Compile a network and hold both ways to store against each other, twice."""
    atc_py.convert(source, om, soc=soc, precision_mode=mode)
    with atc_py.load(om) as logical, atc_py.load(om, storage="exact") as exact:
        tensors = logical.description.tensors
        assert any(tensor.storage is not None for tensor in tensors)
        for seed in range(2):
            feeds = random_feeds(logical.inputs, seed)
            assert_same_bits(exact.run(feeds), logical.run(feeds))


LIGHT = [name for name in NAMES if name not in HEAVY]


@pytest.mark.parametrize(
    ("name", "soc", "mode"),
    sampled(
        [
            *((each, "Ascend310P3", "force_fp16") for each in some(LIGHT, 2)),
            (WIDE[0], "sim", "allow_fp32_to_fp16"),
        ],
        [
            *((name, "Ascend310P3", "force_fp16") for name in HEAVY),
            (WIDE[1], "sim", "allow_fp32_to_fp16"),
        ],
    ),
)
def test_stored_tensors_give_the_same_bits(name: str, soc: str, mode: str, tmp_path: Path) -> None:
    if not MODELS.is_dir():
        pytest.skip("the shared models are not here")
    check(MODELS / name / "model.onnx", tmp_path / "model.om", soc, mode)


@pytest.mark.parametrize(
    ("name", "soc"),
    sampled(
        [("resnet_mini_opset9", "Ascend310P3")],
        [("vit_mini_opset13", "Ascend310P3"), ("vit_mini_opset13", "Ascend910B3")],
    ),
)
def test_stored_tensors_of_quantized_networks_give_the_same_bits(
    name: str, soc: str, tmp_path: Path
) -> None:
    if not MODELS.is_dir():
        pytest.skip("the shared models are not here")
    source, target = tmp_path / "float.onnx", tmp_path / "quantized.onnx"
    prepared(MODELS / name / "model.onnx", source)
    quantized(source, target, Scheme("qdq"))
    check(target, tmp_path / "model.om", soc, "force_fp16")
