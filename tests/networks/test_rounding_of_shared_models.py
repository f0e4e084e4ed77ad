"""Two networks whose error is large beside their range: that it is what roundings cost."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper

import atc_py
from tests.end_to_end import run_with_onnxruntime
from tests.networks.rounding import rounded_model, rounding_errors
from tests.networks.test_shared_models import MODELS
from tests.sampling import sampled

Array = npt.NDArray[Any]

MODES = ("force_fp16", "allow_fp32_to_fp16")
DEVIATIONS = 4
"""Of normal errors, one in 16,000 is beyond."""


def stored(name: str) -> tuple[onnx.ModelProto, dict[str, Array], Array]:
    """Return the model, its inputs, and onnxruntime's one output in float32."""
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the shared models are not here")
    with np.load(folder / "inputs.npz") as inputs, np.load(folder / "expected.npz") as expected:
        (output,) = expected.values()
        return onnx.load(folder / "model.onnx"), dict(inputs), output


def compiled(model: onnx.ModelProto, feeds: dict[str, Array], mode: str, folder: Path) -> Any:
    """Return all outputs on the simulated device."""
    onnx.save(model, folder / "model.onnx")
    atc_py.convert(folder / "model.onnx", folder / "model.om", precision_mode=mode)
    with atc_py.load(folder / "model.om") as loaded:
        return loaded.run(feeds)


@pytest.mark.parametrize("mode", MODES)
def test_gru_network_rounds_as_onnxruntime_between_casts_does(mode: str, tmp_path: Path) -> None:
    """Check that no state is rounded within a layer: both agree but for ties that sums decide."""
    model, feeds, _ = stored("gru_asr_opset13")
    (found,) = compiled(model, feeds, mode, tmp_path).values()
    (emulated,) = run_with_onnxruntime(rounded_model(model, mode), feeds).values()
    if mode == "force_fp16":
        assert (found != emulated).mean() < 0.01
    np.testing.assert_allclose(found, emulated, rtol=2.0**-10, atol=0)


def test_gru_network_errs_by_the_rounding_of_its_output(tmp_path: Path) -> None:
    """Check logarithms near -3.7 that span 0.35: half a spacing is 2.8e-3 of the span."""
    model, feeds, expected = stored("gru_asr_opset13")
    (found,) = compiled(model, feeds, "force_fp16", tmp_path).values()
    last = float(np.abs(expected.astype(np.float16) - expected).max())
    assert last > 0.9 * np.abs(found - expected).max()
    (unrounded,) = compiled(model, feeds, "allow_fp32_to_fp16", tmp_path).values()
    assert last > 9 * np.abs(unrounded - expected).max()


@pytest.mark.sweep
@pytest.mark.parametrize("mode", MODES)
def test_vit_errs_as_roundings_in_onnxruntime_do(mode: str, tmp_path: Path) -> None:
    """Check two logits, nearly equal by chance, so shares of their range are large."""
    model, feeds, expected = stored("vit_mini_opset13")
    (found,) = compiled(model, feeds, mode, tmp_path).values()
    errors = rounding_errors(model, feeds, mode, draws=24)
    deviation = np.sqrt((errors**2).mean())
    assert np.abs(found - expected).max() < DEVIATIONS * deviation
    assert DEVIATIONS * deviation < 0.02 * np.abs(expected).max()  # what is 2 % off fails


@pytest.mark.parametrize("mode", sampled(MODES[:1], MODES[1:]))
def test_every_product_of_vit_is_rounded_once(mode: str, tmp_path: Path) -> None:
    """Check each MatMul from its own inputs in float64: half a spacing, and sums in float32."""
    model, feeds, _ = stored("vit_mini_opset13")
    products = [node for node in model.graph.node if node.op_type == "MatMul"]
    weights = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    names = {name for node in products for name in (*node.input, *node.output)}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names - set(weights))
    values = {**weights, **compiled(model, feeds, mode, tmp_path)}
    assert len(products) == 24
    for node in products:
        a, b = (values[name].astype(np.float16).astype(np.float64) for name in node.input)
        exact, magnitudes = a @ b, np.abs(a) @ np.abs(b)
        half = np.spacing(np.abs(exact).astype(np.float16)).astype(np.float64) / 2
        sums = np.sqrt(a.shape[-1]) * 2.0**-24 * magnitudes
        assert (np.abs(values[node.output[0]] - exact) <= half + sums).all(), node.name
