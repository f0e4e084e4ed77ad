"""A float model with int8 forms of its layers beside them, and the mean error of each channel."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from atc_py.quantizing.calibrate.weights import dequantized_weights
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.qdq_nodes import Int8Layer
from atc_py.system.atomic_files import atomic_write

_OWN = "atc_py/mean_errors"
"""Start of the names of new values."""

_AXES_ARE_INPUTS = 18
"""The opset since which ReduceMean takes its axes as an input."""


class ErrorNames(msgspec.Struct, frozen=True):
    """Names of what a model says of the error of one layer.

    Attributes:
        mean: mean of the int8 form's result less that in floats, for each output channel.
        squares: mean of its square.
        size: number of elements of the result.
    """

    mean: str
    squares: str
    size: str

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return (self.mean, self.squares, self.size)


class FormBeside(msgspec.Struct, frozen=True, eq=False):
    """An int8 form of a layer beside the layer in floats.

    Attributes:
        key: its name; no other form has it.
        form: its numbers.
        factors: what its data are divided by before, in a shape that broadcasts; None for nothing.
    """

    key: str
    form: Int8Layer
    factors: NDArray[Any] | None = None


def write_mean_errors(
    model: FloatModel, output: Path, forms: Sequence[FormBeside]
) -> dict[str, ErrorNames]:
    """Write the model with int8 forms of layers, and return the names of their errors by key.

    Each form reads what the layer in floats reads, so that its error is its own.

    Args:
        model: the float model, of an opset with QuantizeLinear.
        output: the file, in the folder of the model, so that weights beside it are found.
        forms: the layers' int8 forms.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    proto = onnx.load(model.file.path, load_external_data=False)
    opset = model.graph.opsets.get("", 0)
    own: dict[str, list[FormBeside]] = {}
    for each in forms:
        own.setdefault(each.form.layer.node.outputs[0], []).append(each)
    nodes = [*proto.graph.node]
    del proto.graph.node[:]
    found: dict[str, ErrorNames] = {}
    for node in nodes:
        proto.graph.node.append(node)
        for beside in own.get(node.output[0], ()) if node.output else ():
            writer = _ErrorWriter(proto.graph, f"{_OWN}/{len(found)}", opset)
            found[beside.key] = writer.write(node, beside)
    with atomic_write(output, durable=False) as file:
        file.write(proto.SerializeToString())
    return found


class _ErrorWriter:
    """Writer of the int8 form of one layer, and of its error."""

    def __init__(self, graph: onnx.GraphProto, base: str, opset: int) -> None:
        self._graph, self._base, self._opset = graph, base, opset

    def write(self, node: onnx.NodeProto, beside: FormBeside) -> ErrorNames:
        """Write the form of `node`; return the names of its error."""
        form = beside.form
        data = self._data(node, beside)
        error = self._op("Sub", [self._form(node, form, data), node.output[0]], "error")
        size = self._op("Size", [error], "size")
        rank = len(form.layer.shape)
        axes = [0, *range(2, rank)]
        if form.layer.kind in {"Gemm", "MatMul"}:
            rows = self._constant("rows", np.array([-1, form.layer.channels], np.int64))
            error, axes = self._op("Reshape", [error, rows], "matrix"), [0]
        squares = self._op("Mul", [error, error], "squares")
        return ErrorNames(self._mean(error, axes, "mean"), self._mean(squares, axes, "power"), size)

    def _data(self, node: onnx.NodeProto, beside: FormBeside) -> str:
        """Write the data of the form, divided by factors where it has some."""
        if beside.factors is None:
            return str(node.input[0])
        inverse = (1.0 / beside.factors.astype(np.float64)).astype(np.float32)
        return self._op("Mul", [node.input[0], self._constant("inverse", inverse)], "divided")

    def _form(self, node: onnx.NodeProto, form: Int8Layer, data: str) -> str:
        """Write the int8 form; return the name of its result."""
        scale = self._constant("scale", np.array(form.data.scale, np.float32))
        zero = self._constant("offset", np.array(form.data.offset, np.int8))
        codes = self._op("QuantizeLinear", [data, scale, zero], "codes")
        real = self._op("DequantizeLinear", [codes, scale, zero], "data")
        # Weights are dequantized here, once, and not in each run.
        axis = form.layer.axis if np.ndim(form.scale) else None
        weights = self._constant("weights", dequantized_weights(form.codes, form.scale, axis))
        made = onnx.NodeProto()
        made.CopyFrom(node)
        made.name = f"{self._base}/layer"
        made.input[0], made.input[1] = real, weights
        made.output[0] = f"{self._base}/result"
        self._graph.node.append(made)
        return str(made.output[0])

    def _mean(self, name: str, axes: list[int], output: str) -> str:
        """Write the mean over `axes`."""
        if self._opset < _AXES_ARE_INPUTS:
            return self._op("ReduceMean", [name], output, axes=axes, keepdims=0)
        along = self._constant(f"{output}_axes", np.array(axes, np.int64))
        return self._op("ReduceMean", [name, along], output, keepdims=0)

    def _op(self, op_type: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """Write a node with one result; return that."""
        name = f"{self._base}/{output}"
        self._graph.node.append(helper.make_node(op_type, inputs, [name], name, **attributes))
        return name

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        """Add a constant; return its name."""
        full = f"{self._base}/{name}"
        self._graph.initializer.append(numpy_helper.from_array(array, full))
        return full
