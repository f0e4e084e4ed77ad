"""Networks in each precision mode, and quantized ones, on both devices."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import atc_py
from tests.device.ort.twin import REFUSED, twinned
from tests.networks.quantized import Scheme, feeds_for
from tests.networks.test_quantized_networks import NETWORKS, SCHEMES, made
from tests.networks.test_shared_models import CASES, MODELS
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="the shared networks are not there")

BFLOAT16 = [(name, "allow_mix_precision_bf16") for name in ("resnet_mini_opset9", "espcn_opset12")]
ALWAYS = {
    ("bert_mini_opset13", "force_fp16"),
    ("espcn_opset12", "must_keep_origin_dtype"),
    ("gru_asr_opset13", "allow_fp32_to_fp16"),
    ("resnet_mini_opset9", "force_fp16"),
}


@pytest.fixture(autouse=True)
def _nothing_is_refused() -> Iterator[None]:
    """Check that every model of a test has an ONNX form."""
    before = {op: len(reasons) for op, reasons in REFUSED.items()}
    yield
    assert {op: len(reasons) for op, reasons in REFUSED.items()} == before


def _chosen() -> list[object]:
    """Return the modes of each network, a few of which are tried always."""
    every = [*CASES, *BFLOAT16]
    return sampled(sorted(ALWAYS), (case for case in every if case not in ALWAYS))


@pytest.mark.parametrize(("name", "mode"), _chosen())
def test_network_agrees_on_both_devices(name: str, mode: str, tmp_path: Path) -> None:
    om = tmp_path / "model.om"
    soc = "Ascend910B1" if mode.endswith("bf16") else "sim"
    atc_py.convert(MODELS / name / "model.onnx", om, precision_mode=mode, soc=soc)
    with (
        twinned(),
        np.load(MODELS / name / "inputs.npz") as inputs,
        atc_py.load(om) as model,
    ):
        model.run(dict(inputs))


@pytest.mark.parametrize(
    ("name", "scheme"),
    sampled(
        [(NETWORKS[0], SCHEMES[1])],
        [(name, scheme) for name in NETWORKS for scheme in SCHEMES[:3]],
    ),
    ids=str,
)
def test_quantized_network_agrees_on_both_devices(
    name: str, scheme: Scheme, tmp_path: Path
) -> None:
    source, target = made(name, scheme, tmp_path)
    om = tmp_path / "model.om"
    atc_py.convert(target, om)
    with twinned(), atc_py.load(om) as model:
        for feeds in feeds_for(source, 2, 5):
            model.run(feeds)
