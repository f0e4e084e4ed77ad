"""An asymmetric network in the deploy form as AMCT writes it, and the floats that it stands for.

As AMCT's published passes have it: scale_d = (max - min) / 255 and offset_d = -128 - round(min /
scale_d) of data, 0 among them; scale_w = max |w| / 127 of each output channel, offset_w 0.
AscendQuant has 1 / scale_d and offset_d, AscendDequant words with the bits of scale_w * scale_d,
and the int32 bias is round(b / (scale_w * scale_d)) and nothing more: a layer without bias has none.
Of MatMul the bias is an Add of int32 before AscendDequant. Its fake-quant twin rounds data to
(clip(round(x / scale_d) + offset_d) - offset_d) * scale_d and weights to their steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]


INPUT = (2, 20, 12, 12)
"""The shape of what the network is fed."""

Side = Literal["float", "twin", "deploy"]


@dataclass
class _Steps:
    """Scale and offset of data."""

    scale: float = 1.0
    offset: int = 0

    def calibrate(self, data: Array) -> None:
        """Find both from the least and the greatest of the data."""
        low, high = min(float(data.min()), 0.0), max(float(data.max()), 0.0)
        self.scale = float(np.float32((high - low) / 255))
        self.offset = int(-128 - np.rint(low / self.scale))

    def rounded(self, data: Array) -> Array:
        """Return the data rounded to their steps."""
        codes = np.clip(np.rint(data / self.scale) + self.offset, -128, 127)
        found: Array = (codes - self.offset) * self.scale
        return found


@dataclass
class Network:
    """Each kind of layer, with and without bias, after movement, pooling and joined data.

    Attributes:
        seed: of its weights.
    """

    seed: int = 0
    _sides: dict[Side, _Writer | _Runner] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the weights and calibrate."""
        self._weights: dict[str, Array] = {}
        self._steps: dict[str, _Steps] = {}
        self._random = np.random.default_rng(self.seed)
        self._run(_Runner(self, calibrates=True), self.data(0))

    def data(self, seed: int) -> Array:
        """Return the data it is fed: numbers that are mostly above 0, as after a ReLU."""
        random = np.random.default_rng([self.seed, seed])
        found: Array = np.abs(random.standard_normal(INPUT)) - 0.2
        return found.astype(np.float32)

    def floats(self, data: Array) -> Array:
        """Return the network on floats."""
        return np.asarray(self._run(_Runner(self), data))

    def twin(self, data: Array) -> Array:
        """Return the fake-quant network."""
        return np.asarray(self._run(_Runner(self, rounds=True), data))

    def deploy(self) -> onnx.ModelProto:
        """Return the deploy form."""
        writer = _Writer(self)
        y = self._run(writer, "x")
        return writer.model(y)

    def weights(self, name: str, *shape: int, axis: int = 0) -> Array:
        """Return a layer's float weights: the sign of the channels' means alternates."""
        if name not in self._weights:
            means = self._random.uniform(0.2, 0.6, shape[axis])
            means[::2] *= -1
            along = [-1 if at == axis else 1 for at in range(len(shape))]
            found = self._random.standard_normal(shape) + means.reshape(along)
            self._weights[name] = found / np.sqrt(np.prod(shape) / shape[axis])
        return self._weights[name]

    def steps(self, name: str) -> _Steps:
        """Return the steps of the data of a layer."""
        return self._steps.setdefault(name, _Steps())

    def _run(self, on: Any, x: Any) -> Any:
        """Return the network, in numbers or as nodes."""
        x = on.conv("stem", x, self.weights("stem", 24, 20, 3, 3), self.weights("stem.b", 24))
        x = on.relu(x)
        depth = on.conv("depth", x, self.weights("depth", 24, 1, 3, 3), None, group=24)
        twos = on.conv("groups", x, self.weights("groups", 24, 12, 1, 1), None, group=2)
        x = on.join("join", on.relu(depth), on.relu(twos))
        x = on.conv("after", x, self.weights("after", 16, 48, 3, 3), None, pads=0)
        x = on.pool("pool", on.relu(x))
        x = on.transposed(
            "up", x, self.weights("up", 16, 18, 2, 2, axis=1), self.weights("up.b", 18)
        )
        x = on.rows("rows", on.relu(x))
        x = on.product("mix", x, self.weights("mix", 18, 32, axis=1), self.weights("mix.b", 32))
        x = on.product("bare", x, self.weights("bare", 32, 17, axis=1), None)
        return on.gemm("head", on.mean(on.relu(x)), self.weights("head", 10, 17))


def _convolved(x: Array, w: Array, group: int, pads: int) -> Array:
    """Return a convolution."""
    x = np.pad(x, ((0, 0), (0, 0), (pads,) * 2, (pads,) * 2))
    taps = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    parts = zip(np.split(taps, group, 1), np.split(w, group, 0), strict=True)
    return np.concatenate([np.einsum("nchwij,ocij->nohw", *part) for part in parts], 1)


def _channel_scale(w: Array, axis: int) -> Array:
    """Return the scale of each output channel."""
    others = tuple(at for at in range(w.ndim) if at != axis)
    found: Array = np.abs(w).max(axis=others, keepdims=True) / 127
    return found.astype(np.float32)


class _Runner:
    """The network in numbers.

    Args:
        network: its weights and steps.
        calibrates: find the steps.
        rounds: round data and weights to their steps.
    """

    def __init__(self, network: Network, *, calibrates: bool = False, rounds: bool = False) -> None:
        self._network = network
        self._calibrates = calibrates
        self._rounds = rounds

    def _into(self, name: str, x: Array) -> Array:
        steps = self._network.steps(name)
        if self._calibrates:
            steps.calibrate(x)
        return steps.rounded(x) if self._rounds else x

    def _with(self, w: Array, axis: int) -> Array:
        if not self._rounds:
            return w
        scale = _channel_scale(w, axis)
        return np.asarray(np.clip(np.rint(w / scale), -128, 127) * np.float64(scale))

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0)

    def mean(self, x: Array) -> Array:
        return np.asarray(x.mean(axis=1))

    def conv(
        self, name: str, x: Array, w: Array, b: Array | None, group: int = 1, pads: int = -1
    ) -> Array:
        pads = w.shape[2] // 2 if pads < 0 else pads
        y = _convolved(self._into(name, x), self._with(w, 0), group, pads)
        return y if b is None else y + b[:, None, None]

    def transposed(self, name: str, x: Array, w: Array, b: Array) -> Array:
        x = self._into(name, x)
        wide = np.zeros((*x.shape[:2], *(2 * dim - 1 for dim in x.shape[2:])))
        wide[:, :, ::2, ::2] = x
        turned = self._with(w, 1).transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
        return _convolved(wide, turned, 1, 1) + b[:, None, None]

    def join(self, name: str, *parts: Array) -> Array:
        return self._into(name, np.concatenate(parts, 1))

    def pool(self, name: str, x: Array) -> Array:
        x = self._into(name, x)
        found: Array = x.reshape(*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2)
        return np.asarray(found.max(axis=(3, 5)))

    def rows(self, name: str, x: Array) -> Array:
        x = self._into(name, x)
        return np.asarray(x.reshape(*x.shape[:2], -1).transpose(0, 2, 1))

    def product(self, name: str, x: Array, w: Array, b: Array | None) -> Array:
        product = self._into(name, x) @ self._with(w, 1)
        return np.asarray(product if b is None else product + b)

    def gemm(self, name: str, x: Array, w: Array) -> Array:
        return np.asarray(self._into(name, x) @ self._with(w, 0).T)


class _Writer:
    """The network as nodes of the deploy form."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._nodes: list[onnx.NodeProto] = []
        self._consts: dict[str, Array] = {}
        self._steps_of: dict[str, _Steps] = {}

    def model(self, y: str) -> onnx.ModelProto:
        """Return the model."""
        port = helper.make_tensor_value_info
        graph = helper.make_graph(
            self._nodes,
            "deploy",
            [port("x", onnx.TensorProto.FLOAT, INPUT)],
            [port(y, onnx.TensorProto.FLOAT, [INPUT[0], 10])],
            [numpy_helper.from_array(array, name) for name, array in self._consts.items()],
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 11)],
            ir_version=8,
            producer_name="pytorch",
        )

    def _op(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"{op}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def _const(self, name: str, array: Array) -> str:
        self._consts[name] = np.asarray(array)
        return name

    def _quant(self, x: str, steps: _Steps) -> str:
        if x in self._steps_of:  # codes already
            return x
        more = {"dst_type": "INT8"}
        quant = self._op(
            "AscendQuant", [x], scale=1 / steps.scale, offset=float(steps.offset), **more
        )
        self._steps_of[quant] = steps
        return quant

    def _layer(
        self, op: str, name: str, x: str, w: Array, b: Array | None, axis: int, **attributes: Any
    ) -> str:
        q = self._quant(x, self._network.steps(name))
        scale = _channel_scale(w, axis)
        codes = np.clip(np.rint(w / scale), -128, 127).astype(np.int8)
        factors = (scale.reshape(-1) * self._steps_of[q].scale).astype(np.float32)
        inputs = [q, self._const(f"{name}.weight", codes)]
        bias = None if b is None else np.rint(b / factors.astype(np.float64)).astype(np.int32)
        if bias is not None and op != "MatMul":
            inputs.append(self._const(f"{name}.bias", bias))
        sums = self._op(op, inputs, **attributes)
        if bias is not None and op == "MatMul":
            sums = self._op("Add", [sums, self._const(f"{name}.bias", bias)])
        words = self._const(f"{name}.param", factors.view(np.uint32).astype(np.uint64))
        return self._op("AscendDequant", [sums, words], dtype=0)

    def relu(self, x: str) -> str:
        return self._op("Relu", [x])

    def mean(self, x: str) -> str:
        return self._op("ReduceMean", [x], axes=[1], keepdims=0)

    def conv(
        self, name: str, x: str, w: Array, b: Array | None, group: int = 1, pads: int = -1
    ) -> str:
        pads = w.shape[2] // 2 if pads < 0 else pads
        kernel = list(w.shape[2:])
        more = {"group": group, "pads": [pads] * 4, "kernel_shape": kernel}
        return self._layer("Conv", name, x, w, b, 0, **more)

    def transposed(self, name: str, x: str, w: Array, b: Array) -> str:
        more = {"strides": [2, 2], "kernel_shape": [2, 2]}
        return self._layer("ConvTranspose", name, x, w, b, 1, **more)

    def join(self, name: str, *parts: str) -> str:
        steps = self._network.steps(name)
        joined = self._op("Concat", [self._quant(part, steps) for part in parts], axis=1)
        self._steps_of[joined] = steps
        return joined

    def pool(self, name: str, x: str) -> str:
        steps = self._network.steps(name)
        numbers = {"scale": steps.scale, "offset": float(steps.offset)}
        x = self._op("AscendAntiQuant", [self._quant(x, steps)], **numbers)
        pooled = self._op("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
        return self._quant(pooled, steps)

    def rows(self, name: str, x: str) -> str:
        steps = self._network.steps(name)
        shape = self._const(f"{name}.shape", np.array([0, 0, -1]))
        rows = self._op("Reshape", [self._quant(x, steps), shape])
        turned = self._op("Transpose", [rows], perm=[0, 2, 1])
        self._steps_of[turned] = steps
        return turned

    def product(self, name: str, x: str, w: Array, b: Array | None) -> str:
        return self._layer("MatMul", name, x, w, b, 1)

    def gemm(self, name: str, x: str, w: Array) -> str:
        return self._layer("Gemm", name, x, w, None, 0, transB=1)
