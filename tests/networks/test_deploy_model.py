"""A deploy model with scales from calibration, beside its twin in floats that quantizes and undoes it.

The twin is numpy: every tensor that the deploy model holds in int8 is rounded to its grid, weights
too, and everything else is float64. Where the device quantizes in float16, so does the twin: that
moves some values to the next step of the grid, and a random classifier adds such steps up. Where
the device takes convolutions of at most 16 input channels back to float16, which are all three of
them, the twin does not round their data.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

import atc_py

Array = npt.NDArray[Any]

node = helper.make_node

STEPS = 255
"""Steps of a quantized range, from -128 to 127."""


def convolved(x: Array, w: Array, b: Array, stride: int) -> Array:
    """Return a 3 x 3 convolution with a border of one zero."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    result: Array = np.einsum("nchwij,ocij->nohw", windows[:, :, ::stride, ::stride], w)
    return result + b[:, None, None]


class Layer:
    """A layer of the float network with weights as training leaves them, and its calibration."""

    def __init__(self, generator: np.random.Generator, shape: tuple[int, ...]) -> None:
        fan_in = int(np.prod(shape[1:]))
        spread = generator.uniform(0.3, 1.7, (shape[0], *(1,) * (len(shape) - 1)))
        self.weights: Array = generator.standard_normal(shape) * spread * np.sqrt(2 / fan_in)
        self.bias: Array = generator.standard_normal(shape[0]) * 0.1
        axes = tuple(range(1, len(shape)))
        self.weight_scale: Array = np.abs(self.weights).max(axis=axes, keepdims=True) / 127
        self.scale = 1.0
        self.offset = 0

    def calibrate(self, data: Array) -> None:
        """Scale and offset of the data from their least and greatest values, zero among them."""
        low, high = min(float(data.min()), 0.0), max(float(data.max()), 0.0)
        self.scale = float(np.float32((high - low) / STEPS))
        self.offset = round(-128 - low / self.scale)

    @property
    def integers(self) -> Array:
        """The weights in int8."""
        steps: Array = np.rint(self.weights / self.weight_scale)
        return steps.astype(np.int8)

    @property
    def factors(self) -> Array:
        """The worth of each channel's sums."""
        return (self.weight_scale.reshape(-1) * self.scale).astype(np.float32)

    def integer_bias(self, *, folded: bool) -> Array:
        """Return the bias in sums; with `folded` less what the data's offset adds to them."""
        sums = self.integers.reshape(len(self.bias), -1).sum(axis=1, dtype=np.int64)
        bias: Array = np.rint(self.bias / self.factors) - (self.offset * sums if folded else 0)
        return bias.astype(np.int32)

    def quantized(self, data: Array, *, half: bool) -> Array:
        """Return the data rounded to the grid, in floats; with `half` by steps found in float16."""
        if half:
            scaled: Array = data.astype(np.float16) * np.float16(1 / self.scale)
            moved: Array = scaled + np.float16(self.offset)
        else:
            moved = data / self.scale + self.offset
        steps = np.clip(np.rint(moved.astype(np.float64)), -128, 127)
        found: Array = (steps - self.offset) * self.scale
        return found

    @property
    def rounded_weights(self) -> Array:
        """The weights rounded to their grid, in floats."""
        return self.integers * self.weight_scale


class Network:
    """Three convolutions with a residual branch, a mean over the image, a classifier."""

    def __init__(self, seed: int) -> None:
        generator = np.random.default_rng(seed)
        shapes = [(8, 3, 3, 3), (8, 8, 3, 3), (16, 8, 3, 3), (10, 16)]
        self.layers = [Layer(generator, shape) for shape in shapes]
        self.result = Layer(generator, (1, 1))
        self.data: Array = generator.standard_normal((4, 3, 16, 16)).astype(np.float32)
        self._run(self.data)

    def twin(self, x: Array, *, half: bool, rolled_back: bool = False) -> Array:
        """Return the float network with every quantized tensor rounded to its grid."""
        return self._run(x, quantize=True, half=half, rolled_back=rolled_back)

    def _run(
        self, x: Array, *, quantize: bool = False, half: bool = False, rolled_back: bool = False
    ) -> Array:
        """Return one run; without quantization it calibrates."""

        def convolving(layer: Layer, data: Array) -> Array:
            return data if rolled_back else into(layer, data)

        def into(layer: Layer, data: Array) -> Array:
            if quantize:
                return layer.quantized(data, half=half)
            layer.calibrate(data)
            return data

        def weights(layer: Layer) -> Array:
            return layer.rounded_weights if quantize else layer.weights

        stem, block, down, head = self.layers
        first = np.maximum(convolved(convolving(stem, x), weights(stem), stem.bias, 1), 0)
        kept = into(block, first)
        data = convolving(block, first)
        second = np.maximum(convolved(data, weights(block), block.bias, 1), 0) + kept
        third = np.maximum(convolved(convolving(down, second), weights(down), down.bias, 2), 0)
        pooled = into(head, third.mean(axis=(2, 3)))
        result: Array = pooled @ weights(head).T + head.bias
        if not quantize:
            self.result.calibrate(result)
        return result

    def deploy(self, *, folded: bool = False) -> onnx.ModelProto:
        """Return the deploy model: integer layers between AscendQuant and AscendDequant."""
        stem, block, down, head = self.layers
        consts: dict[str, Array] = {}

        def quant(layer: Layer, x: str, y: str) -> onnx.NodeProto:
            scale = 1 / layer.scale
            return node("AscendQuant", [x], [y], scale=scale, offset=float(layer.offset))

        def put(layer: Layer, name: str) -> list[str]:
            consts[f"{name}.w"] = layer.integers
            consts[f"{name}.b"] = layer.integer_bias(folded=folded)
            consts[f"{name}.d"] = layer.factors.view(np.uint32).astype(np.uint64)
            return [f"{name}.w", f"{name}.b"]

        pads: dict[str, Any] = {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
        nodes = [
            quant(stem, "x", "x8"),
            node("Conv", ["x8", *put(stem, "stem")], ["s0"], **pads),
            node("AscendDequant", ["s0", "stem.d"], ["f0"], relu_flag=1),
            quant(block, "f0", "f8"),
            node("Conv", ["f8", *put(block, "block")], ["s1"], **pads),
            node("AscendDequant", ["s1", "block.d"], ["f1"]),
            node("Relu", ["f1"], ["r1"]),
            node("AscendAntiQuant", ["f8"], ["a1"], scale=block.scale, offset=float(block.offset)),
            node("Add", ["r1", "a1"], ["t1"]),
            quant(down, "t1", "t8"),
            node("Conv", ["t8", *put(down, "down")], ["s2"], strides=[2, 2], **pads),
            node("AscendDequant", ["s2", "down.d"], ["f2"]),
            node("Relu", ["f2"], ["r2"]),
            node("GlobalAveragePool", ["r2"], ["p2"]),
            node("Flatten", ["p2"], ["v2"]),
            quant(head, "v2", "v8"),
            node("Gemm", ["v8", *put(head, "head")], ["s3"], transB=1),
            node("AscendDequant", ["s3", "head.d"], ["y"]),
        ]
        graph = helper.make_graph(
            nodes,
            "deploy",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, self.data.shape)],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4, 10])],
            [numpy_helper.from_array(array, name) for name, array in consts.items()],
        )
        imports = [helper.make_opsetid("", 13)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("soc", ["sim", "Ascend310P3", "Ascend310", "Ascend950PR_9599"])
def test_deploy_model_agrees_with_its_twin_to_one_step(seed: int, soc: str, tmp_path: Path) -> None:
    network = Network(seed)
    path = tmp_path / "deploy.onnx"
    onnx.save(network.deploy(), path)
    atc_py.convert(path, tmp_path / "deploy.om", soc=soc, verify=True)
    with atc_py.load(tmp_path / "deploy.om") as model:
        found = model.run({"x": network.data})["y"]
    rolled_back = soc in {"Ascend310P3", "Ascend310"}
    twin = network.twin(network.data, half=soc != "Ascend950PR_9599", rolled_back=rolled_back)
    off = np.abs(found - twin) / network.result.scale
    assert off.max() <= 1


def test_the_convention_of_biases_changes_no_number(tmp_path: Path) -> None:
    network = Network(0)
    found = []
    for convention in ("unfolded", "folded"):
        path = tmp_path / f"{convention}.onnx"
        onnx.save(network.deploy(folded=convention == "folded"), path)
        atc_py.convert(path, path.with_suffix(".om"), quant_bias=convention)
        with atc_py.load(path.with_suffix(".om")) as model:
            found.append(model.run({"x": network.data})["y"])
    assert found[0].tolist() == found[1].tolist()


def test_twin_itself_is_quantized() -> None:
    network = Network(0)
    exact = network._run(network.data)
    steps = np.abs(network.twin(network.data, half=False) - exact) / network.result.scale
    assert steps.max() > 1  # or the comparison above would say nothing
