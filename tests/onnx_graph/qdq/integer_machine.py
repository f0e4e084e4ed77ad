"""Int8 layers in exact Python and int64 arithmetic: what the imported nodes compute.

Of the data of a layer with constant weights that AscendDequant reads, the offset of its AscendQuant
is taken off, as the compiler does it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.onnx_graph.source import SourceModel, SourceNode
from atc_py.tensor.scale_words import decode_graph

Wide = npt.NDArray[np.int64]


def convolution(x: Wide, w: Wide, strides: list[int], group: int) -> Wide:
    """Return a convolution of padded data."""
    taps = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    taps = taps[:, :, :: strides[0], :: strides[1]]
    parts = zip(np.split(taps, group, 1), np.split(w, group, 0), strict=True)
    return np.concatenate([np.einsum("nchwij,ocij->nohw", *part) for part in parts], 1)


def transposed_convolution(x: Wide, w: Wide, stride: int, zero: int = 0) -> Wide:
    """Return a transposed convolution; where no element of `x` meets a tap, `zero` does."""
    rows, columns = w.shape[2:]
    batch, channels, height, width = x.shape
    dims = [(dim - 1) * stride + 1 for dim in (height, width)]
    wide = np.full((batch, channels, *dims), zero, np.int64)
    wide[:, :, ::stride, ::stride] = x
    around = [(0, 0), (0, 0), (rows - 1,) * 2, (columns - 1,) * 2]
    wide = np.pad(wide, around, constant_values=zero)
    return convolution(wide, w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1], [1, 1], 1)


def sums_of(model: SourceModel, feeds: Mapping[str, npt.NDArray[Any]]) -> Wide:
    """Return the int32 sums that the one AscendDequant of a model reads."""
    machine = _Machine(model, feeds)
    for node in model.nodes:
        if node.op_type == "AscendDequant":
            assert node.inputs[0] is not None
            return machine.values[node.inputs[0].name]
        machine.run(node)
    raise AssertionError("no AscendDequant")


class _Machine:
    """Runs nodes in a row."""

    def __init__(self, model: SourceModel, feeds: Mapping[str, npt.NDArray[Any]]) -> None:
        self.values: dict[str, Wide] = {
            name: array.astype(np.int64) for name, array in feeds.items()
        }
        self._zero: dict[str, int] = {}
        dequant = next(node for node in model.nodes if node.op_type == "AscendDequant")
        words = dequant.inputs[1]
        assert words is not None
        assert words.const is not None
        self._offset_w = decode_graph(words.const.numpy().astype(np.uint64)).offset_w

    def run(self, node: SourceNode) -> None:
        """Compute a node's output."""
        names = [value.name if value else "" for value in node.inputs]
        arrays = [self._array(value) for value in node.inputs]
        output = node.outputs[0]
        assert output is not None
        attributes: dict[str, Any] = dict(node.attributes)
        self.values[output.name] = getattr(self, f"_{node.op_type.lower()}")(
            arrays, attributes, names
        )
        if self._has_weights(node):
            self.values[output.name] -= self._offsets(node.op_type, arrays[1], attributes, names[0])
        if node.op_type == "AscendQuant":
            self._zero[output.name] = int(attributes["offset"])
        elif node.op_type == "Reshape":
            self._zero[output.name] = self._zero.get(names[0], 0)
        dtype = output.required_dtype
        limits = np.iinfo(dtype.numpy) if dtype.is_integer else np.iinfo(np.int64)
        found = self.values[output.name]
        assert limits.min <= found.min()
        assert found.max() <= limits.max

    def _has_weights(self, node: SourceNode) -> bool:
        """Return True if it is a layer, and none of the products that sum up zero points."""
        if node.op_type not in {"Conv", "ConvTranspose", "Gemm", "MatMul"}:
            return False
        data, weights = node.inputs[:2]
        assert data is not None
        assert weights is not None
        return data.const is None and weights.const is not None and "/zeros" not in weights.name

    def _offsets(self, op: str, w: Wide, more: dict[str, Any], data: str) -> Wide:
        """Return the offset of the data times the sum of the weights, a channel."""
        zero = self._zero.get(data, 0)
        if op == "MatMul":
            stacked = w.ndim > 2
            return np.asarray(zero * (w - self._offset_w).sum(axis=-2, keepdims=stacked))
        axis = {"Conv": 0, "ConvTranspose": 1, "Gemm": 0 if more.get("transB") else 1}[op]
        rows = np.moveaxis(w, axis, 0).reshape(w.shape[axis], -1)
        apart = rows - np.broadcast_to(self._offset_w, len(rows))[:, None]
        sums: Wide = zero * apart.sum(axis=1)
        return sums.reshape(-1, 1, 1) if op.startswith("Conv") else sums

    def _array(self, value: Any) -> Wide:
        if value.const is not None:
            return np.asarray(value.const.numpy()).astype(np.int64)
        return self.values[value.name]

    def _cast(self, arrays: list[Wide], _: dict[str, Any], __: list[str]) -> Wide:
        return arrays[0]

    def _sub(self, arrays: list[Wide], _: dict[str, Any], __: list[str]) -> Wide:
        return arrays[0] - arrays[1]

    def _add(self, arrays: list[Wide], _: dict[str, Any], __: list[str]) -> Wide:
        return arrays[0] + arrays[1]

    def _reshape(self, arrays: list[Wide], _: dict[str, Any], __: list[str]) -> Wide:
        return arrays[0].reshape(arrays[1])

    def _ascendquant(self, arrays: list[Wide], more: dict[str, Any], _: list[str]) -> Wide:
        assert (more["scale"], more["sqrt_mode"]) == (1.0, 0)
        return arrays[0] + int(more["offset"])

    def _matmul(self, arrays: list[Wide], _: dict[str, Any], names: list[str]) -> Wide:
        # Only the weights of the product itself are offset, not what sums up zero points.
        offset = 0 if any("/zeros" in name for name in names) else self._offset_w
        return np.asarray(arrays[0] @ (arrays[1] - offset))

    def _gemm(self, arrays: list[Wide], more: dict[str, Any], _: list[str]) -> Wide:
        a, b = arrays[:2]
        a = a.T if more.get("transA") else a
        b = b.T if more.get("transB") else b
        assert not {"alpha", "beta"} & set(more)
        product = np.asarray(a @ (b - self._offset_w))
        return product + arrays[2] if len(arrays) > 2 else product

    def _conv(self, arrays: list[Wide], more: dict[str, Any], names: list[str]) -> Wide:
        pads = more.get("pads", [0] * 4)
        around = [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])]
        x = np.pad(arrays[0], around, constant_values=self._zero.get(names[0], 0))
        w = arrays[1] - self._offset_w.reshape(-1, 1, 1, 1)
        found = convolution(x, w, more.get("strides", [1, 1]), more.get("group", 1))
        return found + arrays[2].reshape(-1, 1, 1) if len(arrays) > 2 else found

    def _convtranspose(self, arrays: list[Wide], more: dict[str, Any], names: list[str]) -> Wide:
        w = arrays[1] - self._offset_w.reshape(1, -1, 1, 1)
        zero = self._zero.get(names[0], 0)
        found = transposed_convolution(arrays[0], w, more["strides"][0], zero)
        return found + arrays[2].reshape(-1, 1, 1) if len(arrays) > 2 else found
