"""A float model with int8 forms of its layers beside them, to measure or to choose between these.

Each layer is computed in floats and in one or more int8 forms from the same data.

- Measured, sums of squares, or means of each output channel, are outputs, so that no large tensor
  leaves the model.
- Switched, an input of the model for each switch says which of two forms the layers after it read:
  the error that any set of layers, or parts of a step, makes at the model's outputs takes one run, and
  no new model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from atc_py.quantizing.calibrate.weights import dequantized_weights
from atc_py.system.atomic_files import atomic_write

if TYPE_CHECKING:
    from atc_py.quantizing.layers.float_model import FloatModel
    from atc_py.quantizing.layers.qdq_nodes import Int8Layer

OWN = "atc_py"
"""Start of the names of new values."""


def switch_name(at: int) -> str:
    """The input, a bool, that says whether a switch is on."""
    return f"{OWN}/switches/{at}"


_AXES_ARE_INPUTS = 18
"""The opset since which ReduceMean takes its axes as an input."""


class LayerSums(NamedTuple):
    """Names of the sums that a measured model gives of one layer, in the order of its forms."""

    signal: str  # sum of squares of the result in floats
    noise: tuple[str, ...]  # sums of squares of the difference, of each int8 form
    power: tuple[str, ...]  # sums of squares of the result of each int8 form


class ErrorNames(NamedTuple):
    """Names of what a model says of the error of one layer."""

    mean: str  # mean of the int8 form's result less that in floats, for each output channel
    squares: str  # mean of its square
    size: str  # number of elements of the result


class SwitchedForm(msgspec.Struct, frozen=True, eq=False):
    """A layer whose form a switch chooses; with one form, it has an addend with the switch on."""

    switch: int
    off: Int8Layer | None  # its form with the switch off; None for the one in floats
    on: Int8Layer | None = None  # its form with the switch on; None where that is `off`
    # what is added to the result with the switch on, in a shape that broadcasts; None for nothing
    addend: NDArray[Any] | None = None

    @property
    def result(self) -> str:
        """The value that the layer makes."""
        return next(form for form in (self.off, self.on) if form).result


def write_measured(
    model: FloatModel, output: Path, forms: Mapping[str, Sequence[Int8Layer]]
) -> dict[str, LayerSums]:
    """Write the model with int8 forms beside its layers; return the sums by the layer's name.

    The model is of an opset with scales for each channel, `output` in its folder, so that weights
    beside it are found.
    """
    sums: dict[str, LayerSums] = {}

    def measure(at: int, name: str, writer: FormWriter, node: onnx.NodeProto) -> None:
        sums[name] = writer.measured(node, at, forms[name])

    places = {
        own[0].result: partial(measure, at, name) for at, (name, own) in enumerate(forms.items())
    }
    _rewrite(model, output, places)
    return {name: sums[name] for name in forms if name in sums}


def write_mean_errors(
    model: FloatModel, output: Path, forms: Mapping[str, Int8Layer]
) -> dict[str, ErrorNames]:
    """Write the model with int8 forms of layers by key; return the names of their errors by key.

    Each form reads what the layer in floats reads, so that its error is its own. The model is of an
    opset with QuantizeLinear, `output` in its folder.
    """
    opset = model.graph.opsets.get("", 0)
    by_result: dict[str, list[str]] = {}
    for key, form in forms.items():
        by_result.setdefault(form.result, []).append(key)
    errors: dict[str, ErrorNames] = {}

    def compare(keys: Sequence[str], writer: FormWriter, node: onnx.NodeProto) -> None:
        writer.keep(node)
        for key in keys:
            base = f"{OWN}/mean_errors/{len(errors)}"
            errors[key] = writer.mean_errors(node, base, forms[key], opset)

    _rewrite(model, output, {name: partial(compare, keys) for name, keys in by_result.items()})
    return errors


def write_switched(
    model: FloatModel, output: Path, forms: Sequence[SwitchedForm], count: int
) -> None:
    """Write the model with forms of layers, and a switch for each of `count` parts.

    So one model tells whether a step of quantization, and which of its parts, serves the outputs.
    It is of an opset with QuantizeLinear, `output` in its folder.
    """

    def choose(at: int, form: SwitchedForm, writer: FormWriter, node: onnx.NodeProto) -> None:
        writer.chosen_form(node, f"{OWN}/{at}", form)

    places = {form.result: partial(choose, at, form) for at, form in enumerate(forms)}
    _rewrite(model, output, places, count)


def _rewrite(
    model: FloatModel,
    output: Path,
    places: Mapping[str, Callable[[FormWriter, onnx.NodeProto], None]],
    switches: int = 0,
) -> None:
    """Write the model, with `places` in place of the nodes that make these values."""
    proto = onnx.load(model.file.path, load_external_data=False)
    writer = FormWriter(proto.graph)
    nodes = [*proto.graph.node]
    del proto.graph.node[:]
    for node in nodes:
        places.get(node.output[0] if node.output else "", FormWriter.keep)(writer, node)
    proto.graph.input.extend(
        helper.make_tensor_value_info(switch_name(at), TensorProto.BOOL, [])
        for at in range(switches)
    )
    with atomic_write(output, durable=False) as file:
        file.write(proto.SerializeToString())


def write_watched(model: Path, output: Path, names: Iterable[str]) -> None:
    """Write the model, in its folder, with values that nodes make as its only outputs."""
    proto = onnx.load(model, load_external_data=False)
    types = {info.name: info for info in (*proto.graph.value_info, *proto.graph.output)}
    del proto.graph.output[:]
    proto.graph.output.extend(types.get(name, onnx.ValueInfoProto(name=name)) for name in names)
    with atomic_write(output, durable=False) as file:
        file.write(proto.SerializeToString())


class FormWriter:
    """Writer of layers with their int8 forms into a graph."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph

    def keep(self, node: onnx.NodeProto) -> None:
        self._graph.node.append(node)

    def measured(self, node: onnx.NodeProto, at: int, forms: Sequence[Int8Layer]) -> LayerSums:
        """Write a layer in floats, its forms, and the sums; return their names."""
        plain = node.output[0]
        self.keep(node)
        results = [self._form(node, f"{OWN}/{at}/{k}", form) for k, form in enumerate(forms)]
        noise = [self._squares(self._op("Sub", [y, plain], f"{y}/error")) for y in results]
        power = [self._squares(y) for y in results]
        signal = self._op("ReduceSumSquare", [plain], f"{OWN}/{at}/signal", keepdims=0)
        return LayerSums(signal, tuple(noise), tuple(power))

    def chosen_form(self, node: onnx.NodeProto, base: str, form: SwitchedForm) -> None:
        """Write a layer whose form is chosen in each run."""
        value, on = node.output[0], switch_name(form.switch)
        if form.off is None:
            result = f"{base}/float"
            plain = onnx.NodeProto()
            plain.CopyFrom(node)
            plain.output[0] = plain.name = result
            self.keep(plain)
        else:
            result = self._form(node, f"{base}/off", form.off, codes=False)
        if form.on is not None:
            other = self._form(node, f"{base}/on", form.on, codes=form.off is None)
            self._append("Where", [on, other, result], value, f"{base}/switch")
        elif form.addend is not None:
            none = self._constant(f"{base}/none", np.zeros((), np.float32))
            addend = self._constant(f"{base}/addend", form.addend.astype(np.float32))
            more = self._op("Where", [on, addend, none], f"{base}/more")
            self._append("Add", [result, more], value, f"{base}/sum")
        else:
            self._append("Identity", [result], value, f"{base}/result_of_form")

    def mean_errors(
        self, node: onnx.NodeProto, base: str, form: Int8Layer, opset: int
    ) -> ErrorNames:
        """Write a form of `node` and the means of its error; return their names."""
        layer = form.layer
        result = self._form(node, base, form, codes=False)
        error = self._op("Sub", [result, node.output[0]], f"{base}/error")
        size = self._op("Size", [error], f"{base}/size")
        axes = [0, *range(2, len(layer.shape))]
        if layer.kind in {"Gemm", "MatMul"}:
            rows = self._constant(f"{base}/rows", np.array([-1, layer.channels], np.int64))
            error, axes = self._op("Reshape", [error, rows], f"{base}/matrix"), [0]
        squares = self._op("Mul", [error, error], f"{base}/squares")

        def mean(name: str, output: str) -> str:
            if opset < _AXES_ARE_INPUTS:
                return self._op("ReduceMean", [name], output, axes=axes, keepdims=0)
            along = self._constant(f"{output}_axes", np.array(axes, np.int64))
            return self._op("ReduceMean", [name, along], output, keepdims=0)

        return ErrorNames(mean(error, f"{base}/mean"), mean(squares, f"{base}/power"), size)

    def _form(self, node: onnx.NodeProto, base: str, form: Int8Layer, *, codes: bool = True) -> str:
        """Write one int8 form of a layer; return its result.

        `codes`: weights are dequantized in the model, which takes less room, else before.
        """
        data = self._divided(node, base, form.factors)
        scale = self._constant(f"{base}/scale", np.array(form.data.scale, np.float32))
        zero = self._constant(f"{base}/offset", np.array(form.data.offset, np.int8))
        steps = self._op("QuantizeLinear", [data, scale, zero], f"{base}/codes")
        real = self._op("DequantizeLinear", [steps, scale, zero], f"{base}/data")
        inputs, result = [real], f"{base}/result"
        if not form.layer.is_pool:
            inputs += [self._weights(base, form, codes=codes), *node.input[2:]]
        bias = "" if form.bias is None else self._constant(f"{base}/bias", form.bias)
        if bias and form.layer.kind != "MatMul":
            inputs = [*inputs[:2], bias]
        made = onnx.NodeProto()
        made.CopyFrom(node)
        made.name = f"{base}/layer"
        del made.input[:], made.output[:]
        made.input.extend(inputs)
        made.output.append(result)
        self.keep(made)
        if bias and form.layer.kind == "MatMul":
            return self._op("Add", [result, bias], f"{base}/corrected")
        return result

    def _weights(self, base: str, form: Int8Layer, *, codes: bool) -> str:
        axis, name = form.layer.axis if np.ndim(form.scale) else None, f"{base}/weights"
        if not codes:
            return self._constant(name, dequantized_weights(form.codes, form.scale, axis))
        weights = self._constant(f"{base}/w", form.codes)
        scale = self._constant(f"{base}/w_scale", np.asarray(form.scale, np.float32))
        own: dict[str, Any] = {} if axis is None else {"axis": axis}
        return self._op("DequantizeLinear", [weights, scale], name, **own)

    def _divided(self, node: onnx.NodeProto, base: str, factors: NDArray[Any] | None) -> str:
        if factors is None:
            return str(node.input[0])
        inverse = (1.0 / factors.astype(np.float64)).astype(np.float32)
        name = self._constant(f"{base}/inverse", inverse)
        return self._op("Mul", [node.input[0], name], f"{base}/divided")

    def _squares(self, name: str) -> str:
        return self._op("ReduceSumSquare", [name], f"{name}/squares", keepdims=0)

    def _op(self, op_type: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        return self._append(op_type, inputs, output, output, **attributes)

    def _append(
        self, op_type: str, inputs: Sequence[str], output: str, name: str, **attributes: Any
    ) -> str:
        self.keep(helper.make_node(op_type, inputs, [output], name, **attributes))
        return output

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        self._graph.initializer.append(numpy_helper.from_array(array, name))
        return name
