"""Models that onnxruntime quantized dynamically: fixed, they convert, and float16 holds their sums."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

import atc_py
from tests.end_to_end import run_with_atc_py, run_with_onnxruntime

Feeds = dict[str, npt.NDArray[Any]]

MODELS = Path(__file__).parents[3] / "shared" / "models"


def quantized(model: Path, path: Path) -> Path:
    """Return the file of a model with dynamic quantization."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnxruntime.quantization import quantize_dynamic

        quantize_dynamic(model, path)
    return path


def cosine(found: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> float:
    """Return the cosine of the angle between two results."""
    a, b = (each.astype(np.float64).ravel() for each in (found, wanted))
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def wide_product(folder: Path) -> tuple[Path, Feeds]:
    """Return a MatMul of 2048 products whose sums of codes are far over 65504, and what it is fed."""
    rng = np.random.default_rng(3)
    weights = rng.normal(0.02, 0.02, (2048, 8)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph(
        [node],
        "wide",
        [helper.make_tensor_value_info("x", 1, [4, 2048])],
        [helper.make_tensor_value_info("y", 1, [4, 8])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = folder / "wide.onnx"
    onnx.save(model, path)
    return path, {"x": rng.normal(0.5, 1, (4, 2048)).astype(np.float32)}


def small_lstm(folder: Path, ways: int = 1) -> tuple[Path, Feeds]:
    """Return an LSTM of 16 units over 6 steps, and what it is fed."""
    rng = np.random.default_rng(4)
    weights = {
        name: rng.normal(0, 0.3, dims).astype(np.float32)
        for name, dims in (("w", (ways, 64, 8)), ("r", (ways, 64, 16)), ("b", (ways, 128)))
    }
    way = ("forward", "bidirectional")[ways - 1]
    node = helper.make_node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=16, direction=way)
    graph = helper.make_graph(
        [node],
        "lstm",
        [helper.make_tensor_value_info("x", 1, [6, 1, 8])],
        [helper.make_tensor_value_info("y", 1, [6, ways, 1, 16])],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = folder / "lstm.onnx"
    onnx.save(model, path)
    return path, {"x": rng.normal(size=(6, 1, 8)).astype(np.float32)}


def shared(name: str) -> tuple[Path, Feeds]:
    """Return a shared network, and what it is fed."""
    if not MODELS.is_dir():
        pytest.skip("the shared models are not here")
    found = MODELS / name
    with np.load(found / "inputs.npz") as data:
        return found / "model.onnx", dict(data)


def convolutions(_folder: Path) -> tuple[Path, Feeds]:
    """Return a network of convolutions."""
    return shared("espcn_opset12")


def table_and_layers(_folder: Path) -> tuple[Path, Feeds]:
    """Return a network with a table, whose codes are dequantized after Gather, and LSTM layers."""
    return shared("lstm_cls_opset11")


@pytest.mark.parametrize("make", [wide_product, small_lstm, convolutions, table_and_layers])
def test_dynamic_quantization_is_fixed_for_both_precisions(make: Any, tmp_path: Path) -> None:
    """All errors go; results are those of onnxruntime in both precisions, and nothing is infinite."""
    source, feeds = make(tmp_path)
    path = quantized(source, tmp_path / "quantized.onnx")
    done = atc_py.fix_model(path, tmp_path / "fixed.onnx", approximate=True, seeds=1)
    assert done.errors[0] > 0
    assert (done.errors[1], done.left) == (0, ())
    wanted = run_with_onnxruntime(onnx.load(path), feeds)
    fixed = onnx.load(tmp_path / "fixed.onnx")
    exact = all(each.exactness != "approximate" for each in done.rewrites)
    for mode, least in (("allow_fp32_to_fp16", 0.9999 if exact else 0.999), ("force_fp16", 0.999)):
        found = run_with_atc_py(fixed, feeds, tmp_path, precision_mode=mode)
        for name, value in wanted.items():
            assert np.isfinite(found[name]).all()
            assert cosine(found[name], value) > least, (mode, name)


@pytest.mark.parametrize("ways", [1, 2])
def test_lstm_keeps_its_codes_where_nothing_approximate_is_allowed(
    ways: int, tmp_path: Path
) -> None:
    """X and the states are quantized as onnxruntime does; the proof finds no difference of a code."""
    source, feeds = small_lstm(tmp_path, ways)
    path, fixed = quantized(source, tmp_path / "quantized.onnx"), tmp_path / "fixed.onnx"
    done = atc_py.fix_model(path, fixed, seeds=1)
    assert [each.rules for each in done.rewrites] == [("dynamic-lstm-unroll",)]
    assert (done.errors[1], done.left) == (0, ())
    assert done.outputs["y"].error < 1e-5
    wanted = run_with_onnxruntime(onnx.load(path), feeds)["y"]
    assert cosine(run_with_onnxruntime(onnx.load(fixed), feeds)["y"], wanted) > 0.99999
