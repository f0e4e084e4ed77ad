"""Real networks in bfloat16: held to the bound of `run --expect`, which must not be too wide."""

from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.results.comparison import GRIDS, compare, default_tolerance, explained_share
from tests.networks.test_shared_models import MODELS
from tests.sampling import some

CASES = [
    (name, mode, soc)
    for name in ("espcn_opset12", "lstm_cls_opset11", "resnet_mini_opset9", "yolo_csp_opset11")
    for mode, soc in (
        ("allow_mix_precision_bf16", "Ascend910B3"),
        ("allow_mix_precision_bf16", "Ascend310B1"),
    )
]
"""Networks without MatMul, for which the list has float16 only; the vectors of the second SoC take
no bfloat16, but for a few operators."""


@pytest.mark.parametrize(("name", "mode", "soc"), some(CASES, 3))
def test_network_in_bfloat16_gives_its_expected_output(
    name: str, mode: str, soc: str, tmp_path: Path
) -> None:
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the shared models are not here")
    om = tmp_path / "model.om"
    atc_py.convert(folder / "model.onnx", om, precision_mode=mode, soc=soc, verify=True)
    with (
        np.load(folder / "inputs.npz") as inputs,
        np.load(folder / "expected.npz") as expected,
        atc_py.load(om) as model,
    ):
        found = model.run(dict(inputs))
        assert "bfloat16" in {tensor.dtype for tensor in model.description.tensors}
        assert default_tolerance(model.description) <= GRIDS["bfloat16"].cap
        for output, array in expected.items():
            share = explained_share(model.description, output, array)
            assert compare(output, found[output], array, share).passed
            wrong = array.copy()
            wrong.flat[0] += 2 * share * np.ptp(array)
            assert not compare(output, wrong, array, share).passed
