"""A model on int8 compared with the float model that it was quantized from."""

from pathlib import Path

import onnx
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.onnx_graph.reading.onnx_file import balanced_values
from tests.quantizing.float_networks import conv_network, samples_of

SAMPLES = samples_of(4, 1, 3, 16, 16)
SHAPE = "x:1,3,16,16"


def quantized(folder: Path, opset: int = 13) -> tuple[Path, Path]:
    """Return a float network and its deploy form."""
    model, int8 = conv_network(folder / "float.onnx", opset=opset), folder / "int8.onnx"
    atc_py.quantize(model, int8, data=SAMPLES, measure=0)
    return model, int8


@pytest.mark.parametrize("opset", [9, 11, 13])
def test_deploy_form_finds_its_own_reference(tmp_path: Path, opset: int) -> None:
    """Old opsets have no scales by channel; what means the same is run at a newer one."""
    _, int8 = quantized(tmp_path, opset)
    done = atc_py.compare_model(int8, inputs=SAMPLES[0], input_shape=SHAPE)
    assert done.original_form == "qdq"
    assert done.layers[done.outputs["y"]].judged.distance < 0.02


def test_values_of_the_float_model_are_compared_by_name(tmp_path: Path) -> None:
    model, int8 = quantized(tmp_path)
    done = atc_py.compare_model(int8, inputs=SAMPLES[0], input_shape=SHAPE, reference=model)
    own = atc_py.compare_model(int8, inputs=SAMPLES[0], input_shape=SHAPE)
    output, exact = (each.layers[each.outputs["y"]].judged for each in (done, own))
    assert 0.001 < output.distance < 0.1
    assert output.distance > exact.distance
    assert {each.value for each in done.layers} & {
        name for node in onnx.load(model).graph.node for name in node.output
    }
    reasons = {each.reason for each in done.device_alone}
    assert "the reference has no value of that name" in reasons


def test_balanced_values_are_not_compared(tmp_path: Path) -> None:
    model, int8 = quantized(tmp_path)
    names = balanced_values(onnx.load(int8))
    done = atc_py.compare_model(int8, inputs=SAMPLES[0], input_shape=SHAPE, reference=model)
    assert not names & {each.value for each in done.layers}
    assert all(each.judged.distance < 0.2 for each in done.layers)


def test_reference_with_other_ports_is_refused(tmp_path: Path) -> None:
    model, int8 = quantized(tmp_path)
    proto = onnx.load(model)
    proto.graph.input[0].name = "other"
    for node in proto.graph.node:
        node.input[:] = ["other" if name == "x" else name for name in node.input]
    onnx.save(proto, tmp_path / "other.onnx")
    with pytest.raises(AtcError, match="takes other"):
        atc_py.compare_model(
            int8, inputs=SAMPLES[0], input_shape=SHAPE, reference=tmp_path / "other.onnx"
        )
