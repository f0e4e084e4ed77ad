"""Real networks as PyTorch exported them, where they are beside the checkout."""

from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.results.comparison import compare, explained_share
from tests.sampling import sampled

MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "models"
SMALLEST_FLOAT16 = 2.0**-24
NAMES = (
    "bert_mini_opset11",
    "bert_mini_opset13",
    "espcn_opset12",
    "gru_asr_opset13",
    "lstm_cls_opset11",
    "mobilenetv2_opset13",
    "resnet_mini_opset9",
    "swin_mini_opset13",
    "unet_opset13",
    "vit_mini_opset13",
    "yolo_csp_opset11",
)
IN_FLOAT32 = {
    "espcn_opset12",
    "lstm_cls_opset11",
    "mobilenetv2_opset13",
    "resnet_mini_opset9",
    "unet_opset13",
    "yolo_csp_opset11",
}
"""Networks without MatMul, for which the list has float16 only."""

KEEP = "must_keep_origin_dtype"
CASES = [
    (name, mode)
    for name in NAMES
    for mode in ("force_fp16", "allow_fp32_to_fp16", KEEP)
    if mode != KEEP or name in IN_FLOAT32
]
ALWAYS = [
    of_one[at % len(of_one)]
    for at, name in enumerate(NAMES)
    for of_one in ([case for case in CASES if case[0] == name],)
]
"""Each network in one of its modes."""


def test_every_network_is_here() -> None:
    if not MODELS.is_dir():
        pytest.skip("the shared models are not here")
    assert set(NAMES) == {path.parent.name for path in MODELS.glob("*/model.onnx")}


@pytest.mark.parametrize(
    ("name", "mode"), sampled(ALWAYS, [case for case in CASES if case not in ALWAYS])
)
def test_exported_network_gives_its_expected_output(name: str, mode: str, tmp_path: Path) -> None:
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the shared models are not here")
    om = tmp_path / "model.om"
    atc_py.convert(folder / "model.onnx", om, precision_mode=mode, verify=True)
    with (
        np.load(folder / "inputs.npz") as inputs,
        np.load(folder / "expected.npz") as expected,
        atc_py.load(om) as model,
    ):
        found = model.run(dict(inputs))
        for output, array in expected.items():
            if mode != KEEP and np.abs(array).max() < SMALLEST_FLOAT16 / 2:
                assert not found[output].any()  # float16 has nothing between 0 and 2^-24
                continue
            tolerance = explained_share(model.description, output, array)
            result = compare(output, found[output], array, tolerance)
            assert result.passed, result
