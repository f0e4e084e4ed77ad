"""Signal networks that onnxruntime quantized: fixed, they stay models that onnxruntime opens."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantFormat, QuantType

import atc_py
from tests.networks.quantized import Scheme, Session, feeds_for, quantized

Network = tuple[list[onnx.NodeProto], dict[str, npt.NDArray[Any]]]

CHANNELS, FRAMES = 8, 12
node = helper.make_node


def weights(*dims: int) -> npt.NDArray[Any]:
    """Weights of a layer."""
    return np.random.default_rng(dims[-1]).normal(0, 0.3, dims).astype(np.float32)


def encoder() -> Network:
    """A convolution along time, its activation, a product of the frames."""
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c"], kernel_shape=[3], pads=[1, 1], strides=[2]),
        node("Sigmoid", ["c"], ["gate"]),
        node("Mul", ["c", "gate"], ["g"]),
        node("Transpose", ["g"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["t", "w2"], ["y"]),
    ]
    return nodes, {"w1": weights(12, CHANNELS, 3), "b1": weights(12), "w2": weights(12, 6)}


def gated() -> Network:
    """The convolution module of a Conformer: halves of the channels, a convolution of each channel."""
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["wide"], kernel_shape=[1]),
        node("Split", ["wide", "halves"], ["u", "v"], axis=1),
        node("Sigmoid", ["v"], ["gate"]),
        node("Mul", ["u", "gate"], ["g"]),
        node("Conv", ["g", "w2", "b2"], ["y"], kernel_shape=[5], pads=[2, 2], group=8),
    ]
    found = {"w1": weights(16, CHANNELS, 1), "b1": weights(16), "w2": weights(8, 1, 5)}
    return nodes, {**found, "b2": weights(8), "halves": np.array([8, 8])}


def pooled() -> Network:
    """Pools along time between a convolution and a transposed one."""
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c"], kernel_shape=[3], pads=[1, 1]),
        node("MaxPool", ["c"], ["m"], kernel_shape=[2], strides=[2]),
        node("AveragePool", ["m"], ["a"], kernel_shape=[2], strides=[2]),
        node("ConvTranspose", ["a", "w2", "b2"], ["y"], kernel_shape=[4], strides=[2]),
    ]
    found = {"w1": weights(8, CHANNELS, 3), "b1": weights(8), "w2": weights(8, 4, 4)}
    return nodes, {**found, "b2": weights(4)}


QDQ = Scheme("qdq", QuantFormat.QDQ, QuantType.QUInt8)
OPENED = Scheme("qoperator", QuantFormat.QOperator, per_channel=True)


def saved(network: Callable[[], Network], folder: Path, scheme: Scheme | None) -> Path:
    """The file of a network, quantized unless `scheme` is None."""
    nodes, constants = network()
    graph = helper.make_graph(
        nodes,
        network.__name__,
        [helper.make_tensor_value_info("x", 1, [1, CHANNELS, FRAMES])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "float.onnx"
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    if scheme is not None:
        quantized(path, folder / "int8.onnx", scheme)
        path = folder / "int8.onnx"
    return path


def deploys(path: Path) -> bool:
    """True if a file has operators of Ascend's form."""
    return any(each.op_type.startswith("Ascend") for each in onnx.load(path).graph.node)


@pytest.mark.parametrize("scheme", [QDQ, OPENED], ids=str)
@pytest.mark.parametrize("network", [encoder, gated, pooled])
@pytest.mark.parametrize(
    "options", [{}, {"for_cann": True}, {"all_findings": True, "keep_qdq": True}], ids=str
)
def test_fixed_file_is_opened_by_onnxruntime(
    network: Callable[[], Network], scheme: Scheme, options: dict[str, Any], tmp_path: Path
) -> None:
    """Nothing is left to refuse, and codes of the result are at most a few steps away."""
    path, fixed = saved(network, tmp_path, scheme), tmp_path / "fixed.onnx"
    done = atc_py.fix_model(path, fixed, seeds=1, simulate=False, operator_list="base", **options)
    assert (done.errors[1], done.left, deploys(fixed)) == (0, (), False)
    feeds = feeds_for(path, 1, 5)[0]
    wanted, found = (Session(each).run(feeds)["y"] for each in (path, fixed))
    assert np.abs(found - wanted).max() < 0.05 * np.abs(wanted).max()


def test_form_of_ascend_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    """Without QDQ the file has the toolkit's operators; so it has where rewritten layers are to go."""
    path, fixed = saved(gated, tmp_path, QDQ), tmp_path / "fixed.onnx"
    asked: tuple[dict[str, Any], ...] = ({"keep_qdq": False}, {"all_findings": True})
    for options in asked:
        atc_py.fix_model(path, fixed, seeds=0, **options)
        assert deploys(fixed)


@pytest.mark.parametrize("network", [encoder, gated, pooled])
def test_quantized_file_is_opened_by_onnxruntime(
    network: Callable[[], Network], tmp_path: Path
) -> None:
    """QDQ that is written here of float models along one axis."""
    path, written = saved(network, tmp_path, None), tmp_path / "qdq.onnx"
    samples = feeds_for(path, 2, 1)
    atc_py.quantize(path, written, format="qdq", data=samples)
    wanted, found = (Session(each).run(samples[0])["y"] for each in (path, written))
    assert np.abs(found - wanted).max() < 0.1 * np.abs(wanted).max()


def test_layers_of_the_file_stand_where_their_dtypes_are_defined_at_the_opset(
    tmp_path: Path,
) -> None:
    """QuantizeLinear takes float16 as of opset 19; the list has Swish at no opset."""
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 24]>
        g (float16[2,3] x) => (float[2,3] y) <float scale = {0.125}, int8 zero = {3}> {
            codes = QuantizeLinear(x, scale, zero)
            real = DequantizeLinear(codes, scale, zero)
            y = Swish(real)
        }""")
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    done = atc_py.fix_model(path, operator_list="cann-9.0")
    assert done.output is not None
    fixed = onnx.load(done.output)
    onnx.checker.check_model(fixed, full_check=True)
    assert fixed.opset_import[0].version < 19
    x = np.array([[-3, -0.5, 0], [0.25, 1, 12]], np.float16)
    (found,) = Session(done.output).run({"x": x}).values()
    steps = np.clip(np.rint(x.astype(np.float32) / 0.125) + 3, -128, 127) - 3
    real = steps * np.float32(0.125)
    np.testing.assert_allclose(found, real / (1 + np.exp(-real)), rtol=1e-5)
