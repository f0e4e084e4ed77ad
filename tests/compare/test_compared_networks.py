"""Exported networks through the comparison: it runs on all, and its cost is stated."""

from pathlib import Path

import pytest

import atc_py
from tests.sampling import some

MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "models"
NAMES = (
    "bert_mini_opset11", "espcn_opset12", "gru_asr_opset13", "lstm_cls_opset11",
    "resnet_mini_opset9", "unet_opset13", "vit_mini_opset13", "yolo_csp_opset11",
)  # fmt: skip
"""Networks whose outputs float16 keeps."""


@pytest.mark.parametrize("name", some(NAMES, 2))
def test_exported_network_is_compared_and_its_outputs_are_close(name: str) -> None:
    path = MODELS / name / "model.onnx"
    if not path.is_file():
        pytest.skip("the shared models are not here")
    done = atc_py.compare_model(path)
    assert done.outputs
    for at in done.outputs.values():
        assert done.layers[at].figures.cosine > 0.999
        assert not done.layers[at].faults
    assert done.peak_bytes > 0
    assert done.reference_seconds + done.device_seconds < done.seconds


def test_mask_of_a_transformer_goes_with_its_softmax_and_overflows_nowhere() -> None:
    path = MODELS / "bert_mini_opset11" / "model.onnx"
    if not path.is_file():
        pytest.skip("the shared models are not here")
    done = atc_py.compare_model(path)
    assert "ScaledMaskedSoftmax" in {layer.op for layer in done.layers}
    assert done.first_failing is None


def test_means_of_a_normalization_that_cancel_are_not_called_bad() -> None:
    path = MODELS / "swin_mini_opset13" / "model.onnx"
    if not path.is_file():
        pytest.skip("the shared models are not here")
    done = atc_py.compare_model(path)
    assert done.first_failing is None
    assert not any(layer.faults for layer in done.layers)
