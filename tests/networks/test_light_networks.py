"""The nine light networks of the onnx package: shipped outputs, and random weights."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper

import atc_py
from atc_py.results.comparison import FLOAT32_TOLERANCE, compare, default_tolerance
from tests.bench.models import LIGHT, randomised_light
from tests.end_to_end import run_with_onnxruntime
from tests.sampling import sampled

Array = npt.NDArray[Any]

NETWORKS = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)
HEAVY = ("bvlc_alexnet", "densenet121", "inception_v1", "resnet50", "vgg19", "zfnet512")
"""Networks that take seconds, and whose layers the others have as well or nearly."""

SAMPLED = sampled((name for name in NETWORKS if name not in HEAVY), HEAVY)
SHAPE = (1, 3, 224, 224)


def ramp() -> npt.NDArray[np.float32]:
    """Return the input for which onnx ships outputs."""
    count = int(np.prod(SHAPE))
    return (np.arange(count).reshape(SHAPE) / count).astype(np.float32)


def shipped_output(name: str) -> npt.NDArray[Any]:
    """Return the output that onnx ships beside the network."""
    data = (LIGHT / f"light_{name}_output_0.pb").read_bytes()
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def run_compiled(path: Path, om: Path, x: Array, mode: str) -> tuple[Array, float]:
    """Return the one output of the compiled network for `x`, and its mode's tolerance."""
    atc_py.convert(path, om, precision_mode=mode)
    with atc_py.load(om) as model:
        (port,) = model.inputs
        (found,) = model.run({port.name: x}).values()
        return found, default_tolerance(model.description)


SHIPPED = [name for name in NETWORKS if name not in {"squeezenet", "vgg19"}]
"""Without SqueezeNet, whose softmax is of values about 9e9: their last place is 1024, so that the
order in which a machine's BLAS adds decides what it gives."""


@pytest.mark.parametrize(
    "name",
    sampled(
        [name for name in SHIPPED if name not in HEAVY],
        [*(name for name in SHIPPED if name in HEAVY), "vgg19"],
    ),
)
def test_light_network_gives_its_shipped_output(name: str, tmp_path: Path) -> None:
    path = LIGHT / f"light_{name}.onnx"
    found, tolerance = run_compiled(path, tmp_path / "m.om", ramp(), "must_keep_origin_dtype")
    result = compare(name, found, shipped_output(name), tolerance)
    assert result.passed, result
    assert tolerance == FLOAT32_TOLERANCE


def test_squeezenet_gives_the_values_before_its_softmax(tmp_path: Path) -> None:
    model = onnx.load(LIGHT / "light_squeezenet.onnx")
    softmax = model.graph.node.pop()
    assert softmax.op_type == "Softmax"
    model.graph.output[0].name = softmax.input[0]
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    found, tolerance = run_compiled(path, tmp_path / "m.om", ramp(), "must_keep_origin_dtype")
    (expected,) = run_with_onnxruntime(model, {image_of(model): ramp()}).values()
    result = compare("values", found, expected, tolerance)
    assert result.passed, result
    assert np.ptp(expected) == np.ptp(shipped_output("squeezenet")) == 0


@pytest.mark.parametrize("name", SAMPLED)
def test_light_network_in_float16_gives_its_shipped_output_unless_it_overflows(
    name: str, tmp_path: Path
) -> None:
    """Check shipped weights, all one constant; in some networks values pass 65504 with them."""
    path = LIGHT / f"light_{name}.onnx"
    found, tolerance = run_compiled(path, tmp_path / "m.om", ramp(), "force_fp16")
    if largest_activation(path) > float(np.finfo(np.float16).max):
        assert np.isnan(found).all()
        return
    result = compare(name, found, shipped_output(name), tolerance)
    assert result.passed, result


def largest_activation(path: Path) -> float:
    """Return the largest magnitude that any convolution, matrix product or sum gives in float32."""
    model = onnx.load(path)
    wanted = {"Conv", "Gemm", "Sum", "BatchNormalization"}
    names = [node.output[0] for node in model.graph.node if node.op_type in wanted]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    outputs = run_with_onnxruntime(model, {image_of(model): ramp()})
    return max(float(np.abs(outputs[name]).max()) for name in names)


def image_of(model: onnx.ModelProto) -> str:
    """Return the only input that is not a weight."""
    fixed = {weight.name for weight in model.graph.initializer}
    (image,) = (value.name for value in model.graph.input if value.name not in fixed)
    return str(image)


@pytest.mark.parametrize("name", SAMPLED)
def test_light_network_with_random_weights_agrees_with_onnxruntime(
    name: str, tmp_path: Path
) -> None:
    model = randomised_light(name)
    path, om = tmp_path / "model.onnx", tmp_path / "model.om"
    onnx.save(model, path)
    x = np.random.default_rng(7).standard_normal(SHAPE, dtype=np.float32)
    feed = {model.graph.input[0].name: x}
    (expected,) = run_with_onnxruntime(model, feed).values()
    for mode in ("must_keep_origin_dtype", "force_fp16"):
        found, tolerance = run_compiled(path, om, x, mode)
        result = compare(mode, found, expected, tolerance)
        assert result.passed, result
        assert np.argmax(found) == np.argmax(expected), result
        assert not compare(mode, found, _two_percent_off(expected), tolerance).passed


def _two_percent_off(expected: Array) -> Array:
    """Return expected data with one element off by 2 % of the range; no tolerance may pass it."""
    wrong: Array = expected.copy()
    wrong.flat[0] += 0.02 * np.ptp(expected)
    return wrong


def test_random_weights_tell_classes_apart() -> None:
    """Check that outputs differ: a network with all outputs alike would hide a swapped axis."""
    model = randomised_light("squeezenet")
    x = np.random.default_rng(7).standard_normal(SHAPE, dtype=np.float32)
    (output,) = run_with_onnxruntime(model, {model.graph.input[0].name: x}).values()
    assert np.ptp(output) > 10 * output.mean()
