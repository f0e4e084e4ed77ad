"""A network on volumes: 3-D convolutions, pools, normalization, a skip connection, a classifier."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import DTypeLike, NDArray
from onnx import helper, numpy_helper

import atc_py
from atc_py.results.comparison import compare, default_tolerance
from tests.end_to_end import run_with_onnxruntime
from tests.failures import Failures
from tests.sampling import sampled

Array = NDArray[Any]

SHAPE = (1, 2, 4, 8, 6)
LIST = "cann-9.0"
KEEP = "must_keep_origin_dtype"


class Layers:
    """Nodes with random weights, each called like its result."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(1)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, Array] = {}

    def weight(self, name: str, *shape: int) -> str:
        """Return weights that keep the spread of what they are multiplied with."""
        spread = 1 / np.sqrt(np.prod(shape[1:]))
        self.weights[name] = (self.random.standard_normal(shape) * spread).astype(np.float32)
        return name

    def op(self, op_type: str, y: str, *inputs: str, **attributes: Any) -> str:
        """Add a node."""
        self.nodes.append(helper.make_node(op_type, inputs, [y], y, **attributes))
        return y

    def conv(self, y: str, x: str, *shape: int, **attributes: Any) -> str:
        """Add a convolution with a bias."""
        bias = self.weight(f"{y}.b", shape[0])
        return self.op("Conv", y, x, self.weight(f"{y}.w", *shape), bias, **attributes)

    def norm(self, y: str, x: str, channels: int) -> str:
        """Add a normalization with given statistics."""
        for part, low, high in (("s", 0.5, 1.5), ("b", -0.2, 0.2), ("m", -0.2, 0.2), ("v", 0.5, 2)):
            drawn = self.random.uniform(low, high, channels)
            self.weights[f"{y}.{part}"] = drawn.astype(np.float32)
        return self.op("BatchNormalization", y, x, *(f"{y}.{part}" for part in "sbmv"))

    def model(self, outputs: tuple[str, ...], dtype: DTypeLike) -> onnx.ModelProto:
        """Return the network in one dtype."""
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        graph = helper.make_graph(
            self.nodes,
            "volumetric",
            [helper.make_tensor_value_info("x", element, SHAPE)],
            [helper.make_tensor_value_info(name, element, None) for name in outputs],
            [numpy_helper.from_array(v.astype(dtype), k) for k, v in self.weights.items()],
        )
        opset = helper.make_opsetid("", 14)
        return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def network(dtype: DTypeLike = np.float32) -> onnx.ModelProto:
    """Return a small U-Net of volumes with a classifier in its middle."""
    n = Layers()
    first = n.op("Relu", "r1", n.norm("n1", n.conv("c1", "x", 16, 2, 3, 3, 3, pads=[1] * 6), 16))
    down = n.op("MaxPool", "down", first, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    wide = n.conv("c2", down, 32, 8, 3, 3, 3, pads=[1] * 6, group=2)
    more = n.conv("c3", wide, 32, 32, 2, 3, 3, pads=[1, 1, 2, 0, 1, 2], dilations=[1, 1, 2])
    joined = n.norm("n3", n.op("Add", "a3", more, wide), 32)
    middle = n.op("LeakyRelu", "r3", joined, alpha=0.1)
    filters = n.weight("up.w", 32, 16, 2, 2, 2)
    up = n.op("ConvTranspose", "up", middle, filters, kernel_shape=[2] * 3, strides=[2] * 3)
    skip = n.op("Concat", "skip", up, first, axis=1)
    n.op("Sigmoid", "mask", n.conv("c4", skip, 4, 32, 1, 1, 1))
    mean = n.op("AveragePool", "mean", middle, kernel_shape=[2, 2, 2], strides=[1, 2, 1])
    flat = n.op("Flatten", "flat", n.op("GlobalAveragePool", "gap", mean))
    n.op("Gemm", "scores", flat, n.weight("fc.w", 32, 5))
    return n.model(("mask", "scores"), dtype)


def feeds() -> dict[str, Array]:
    return {"x": np.random.default_rng(2).standard_normal(SHAPE).astype(np.float32)}


def test_check_takes_the_network_with_rewrites(tmp_path: Path) -> None:
    onnx.save(network(), tmp_path / "net.onnx")
    report = atc_py.check_models(tmp_path / "net.onnx", operator_list=LIST)
    (model,) = report.models
    own = [each for each in model.findings if not each.certainty]
    rewritten = {each.rule.split("/")[0] for each in own}
    assert {each.standing.value for each in own} == {"rewrite"}
    assert rewritten == {"AveragePool", "BatchNormalization", "Conv", "MaxPool"}


@pytest.mark.parametrize("soc", sampled(["sim", "Ascend310P3"], ["Ascend910B3", "Ascend310"]))
def test_network_agrees_with_onnxruntime(tmp_path: Path, soc: str) -> None:
    """Check float32 in two modes, and float16 whose dtypes are kept, within the bounds of `run`."""
    cases: list[tuple[str, DTypeLike]] = [
        ("force_fp16", np.float32),
        ("allow_fp32_to_fp16", np.float32),
        (KEEP, np.float16),
    ]
    expected = run_with_onnxruntime(network(), feeds())
    om = tmp_path / "net.om"
    with Failures() as failures:
        for mode, dtype in cases:
            with failures.of(mode):
                onnx.save(network(dtype), tmp_path / "net.onnx")
                path = tmp_path / "net.onnx"
                atc_py.convert(path, om, operator_list=LIST, precision_mode=mode, soc=soc)
                given = {"x": feeds()["x"].astype(dtype)}
                with atc_py.load(om) as model:
                    found = model.run(given)
                    tolerance = default_tolerance(model.description)
                for name, wanted in expected.items():
                    result = compare(name, found[name], wanted, tolerance)
                    assert result.passed, result
                with atc_py.load(om, storage="exact") as model:
                    stored = model.run(given)
                for name, plain in found.items():
                    np.testing.assert_array_equal(stored[name], plain)


def test_convolutions_of_volumes_keep_their_blocks(tmp_path: Path) -> None:
    """Check that functions between convolutions of a SoC with groups need no conversion."""
    onnx.save(network(), tmp_path / "net.onnx")
    om = tmp_path / "net.om"
    atc_py.convert(tmp_path / "net.onnx", om, operator_list=LIST, soc="Ascend310P3")
    with atc_py.load(om) as model:
        nodes = model.description.nodes
        tensors = model.description.tensors
    convolutions = [node for node in nodes if node.op.startswith("Conv3D")]
    assert len(convolutions) == 5
    for node in convolutions:
        found = [tensors[at].storage for at in (*node.inputs[:2], *node.outputs)]
        assert [each.format for each in found if each is not None] == [
            "NDC1HWC0", "FRACTAL_Z_3D", "NDC1HWC0",
        ]  # fmt: skip
    assert not any(node.op == "BatchNorm" for node in nodes)
