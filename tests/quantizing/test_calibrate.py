"""Float models through calibration to int8, in both forms."""

from pathlib import Path

import onnx
import pytest

from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing.calibrate.value_range import ValueRange, activation_scale
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.options import CalibrationOptions
from tests.quantizing.float_networks import (
    conv_network,
    relative_error,
    run_ort,
    run_sim,
    samples_of,
)


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("executor", ["ort", "sim"])
def test_network_runs_on_int8_in_both_forms(tmp_path: Path, opset: int, executor: str) -> None:
    model = conv_network(tmp_path / "float.onnx", opset=opset)
    samples = samples_of(4, 1, 3, 16, 16)
    with calibrate(model, ArraySamples(samples), CalibrationOptions(executor=executor)) as found:
        assert [layer.layer.kind for layer in found.layers] == ["Conv", "Conv", "Conv", "Gemm"]
        qdq, ascend = tmp_path / "qdq.onnx", tmp_path / "ascend.onnx"
        found.written(qdq, form="qdq")
        found.written(ascend)
    expected = run_ort(model, samples[0])[0]
    onnx.checker.check_model(onnx.load(qdq))
    assert relative_error(run_ort(qdq, samples[0])[0], expected) < 0.03
    assert relative_error(run_sim(ascend, samples[0])[0], expected) < 0.03
    assert [node.op_type for node in onnx.load(ascend).graph.node].count("AscendQuant") == 4


def test_chosen_layers_alone_are_on_int8(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "float.onnx")
    with calibrate(model, ArraySamples(samples_of(2, 1, 3, 16, 16)), CalibrationOptions()) as found:
        found.written(tmp_path / "two.onnx", layers={"c1_Conv", "y_Gemm"})
    nodes = onnx.load(tmp_path / "two.onnx").graph.node
    assert [node.op_type for node in nodes].count("AscendDequant") == 2


def test_ranges_are_those_of_all_samples(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "float.onnx")
    samples = samples_of(3, 2, 3, 16, 16)
    with calibrate(model, ArraySamples(samples), CalibrationOptions(calibrator="min-max")) as found:
        first = found.layers[0]
    low = min(float(each["x"].min()) for each in samples)
    high = max(float(each["x"].max()) for each in samples)
    assert first.data == activation_scale(ValueRange(low, high))
