"""A float model with the int8 forms of its layers beside them, to measure what each costs.

Each layer is computed in floats and in one or more int8 forms from the same data. Measured, sums of
squares are outputs, so that no large tensor leaves the model. Switched, an input of the model says
for each layer which form the layers after it read: the error that any set of layers makes at the
model's outputs takes one run, and no new model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

SWITCHES = f"{OWN}/switches"
"""The input that says of each layer whether it is on int8."""


class LayerSums(msgspec.Struct, frozen=True):
    """Names of the sums that a measured model gives of one layer, in the order of its forms.

    Attributes:
        signal: sum of squares of the result in floats.
        noise: sums of squares of the difference, of each int8 form.
        power: sums of squares of the result of each int8 form.
    """

    signal: str
    noise: tuple[str, ...]
    power: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return (self.signal, *self.noise, *self.power)


def write_measured(
    model: FloatModel,
    output: Path,
    forms: Mapping[str, Sequence[Int8Layer]],
    *,
    switched: bool = False,
) -> dict[str, LayerSums]:
    """Write the model with int8 forms beside its layers; return the sums by the layer's name.

    With `switched` there are no sums: the model takes SWITCHES, a bool for each of `forms` in their
    order, True where later layers read the first int8 form.

    Args:
        model: the float model, of an opset with scales for each channel.
        output: the file, in the folder of the model, so that weights beside it are found.
        forms: int8 forms by the name of the layer.
        switched: whether forms are switched, or measured.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    proto = onnx.load(model.file.path, load_external_data=False)
    writer = FormWriter(proto.graph)
    names = {each[0].layer.node.outputs[0]: name for name, each in forms.items()}
    nodes = [*proto.graph.node]
    del proto.graph.node[:]
    found: dict[str, LayerSums] = {}
    order = {name: at for at, name in enumerate(forms)}
    for node in nodes:
        name = names.get(node.output[0]) if node.output else None
        if name is None:
            proto.graph.node.append(node)
        elif switched:
            writer.switched(node, order[name], forms[name][0])
        else:
            found[name] = writer.measured(node, order[name], forms[name])
    if switched:
        switches = helper.make_tensor_value_info(SWITCHES, TensorProto.BOOL, [len(forms)])
        proto.graph.input.append(switches)
    with atomic_write(output, durable=False) as file:
        file.write(proto.SerializeToString())
    return {name: found[name] for name in forms if name in found}


class FormWriter:
    """Writer of layers with their int8 forms into a graph."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph

    def measured(self, node: onnx.NodeProto, at: int, forms: Sequence[Int8Layer]) -> LayerSums:
        """Write a layer in floats, its forms, and the sums; return their names."""
        plain = node.output[0]
        self._graph.node.append(node)
        results = [self.form(node, f"{OWN}/{at}/{k}", form) for k, form in enumerate(forms)]
        noise = [self._squares(self.op("Sub", [each, plain], f"{each}/error")) for each in results]
        power = [self._squares(each) for each in results]
        signal = self.op("ReduceSumSquare", [plain], f"{OWN}/{at}/signal", keepdims=0)
        return LayerSums(signal, tuple(noise), tuple(power))

    def switched(self, node: onnx.NodeProto, at: int, form: Int8Layer) -> None:
        """Write a layer in floats and in a form, of which a switch chooses."""
        base, value = f"{OWN}/{at}", node.output[0]
        plain = onnx.NodeProto()
        plain.CopyFrom(node)
        plain.output[0] = plain.name = f"{base}/float"
        self._graph.node.append(plain)
        result = self.form(node, base, form)
        index = self.constant(f"{base}/at", np.array(at, np.int64))
        on = self.op("Gather", [SWITCHES, index], f"{base}/on")
        inputs = [on, result, plain.output[0]]
        self._graph.node.append(helper.make_node("Where", inputs, [value], f"{base}/switch"))

    def form(
        self,
        node: onnx.NodeProto,
        base: str,
        form: Int8Layer,
        *,
        data: str = "",
        codes: bool = True,
    ) -> str:
        """Write one int8 form of a layer; return its result.

        Args:
            node: the layer.
            base: start of the names of new values.
            form: its numbers.
            data: what it reads in place of its own data; "" for these.
            codes: weights are dequantized in the model, which takes less room; else before.
        """
        scale = self.constant(f"{base}/scale", np.array(form.data.scale, np.float32))
        zero = self.constant(f"{base}/offset", np.array(form.data.offset, np.int8))
        steps = self.op("QuantizeLinear", [data or node.input[0], scale, zero], f"{base}/codes")
        real = self.op("DequantizeLinear", [steps, scale, zero], f"{base}/data")
        weights = self._weights(base, form) if codes else self._real_weights(base, form)
        inputs, result = [real, weights, *node.input[2:]], f"{base}/result"
        bias = "" if form.bias is None else self.constant(f"{base}/bias", form.bias)
        if bias and form.layer.kind != "MatMul":
            inputs = [*inputs[:2], bias]
        made = onnx.NodeProto()
        made.CopyFrom(node)
        made.name = f"{base}/layer"
        del made.input[:], made.output[:]
        made.input.extend(inputs)
        made.output.append(result)
        self._graph.node.append(made)
        if bias and form.layer.kind == "MatMul":
            return self.op("Add", [result, bias], f"{base}/corrected")
        return result

    def _weights(self, base: str, form: Int8Layer) -> str:
        """Write weights that the model dequantizes; return their name."""
        weights = [
            self.constant(f"{base}/w", form.codes),
            self.constant(f"{base}/w_scale", np.asarray(form.scale, np.float32)),
        ]
        axis: dict[str, Any] = {"axis": form.layer.axis} if np.ndim(form.scale) else {}
        return self.op("DequantizeLinear", weights, f"{base}/weights", **axis)

    def _real_weights(self, base: str, form: Int8Layer) -> str:
        """Write dequantized weights; return their name."""
        axis = form.layer.axis if np.ndim(form.scale) else None
        return self.constant(f"{base}/weights", dequantized_weights(form.codes, form.scale, axis))

    def _squares(self, name: str) -> str:
        return self.op("ReduceSumSquare", [name], f"{name}/squares", keepdims=0)

    def op(self, op_type: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """Write a node with one result; return that."""
        self._graph.node.append(helper.make_node(op_type, inputs, [output], output, **attributes))
        return output

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Add a constant; return its name."""
        self._graph.initializer.append(numpy_helper.from_array(array, name))
        return name
