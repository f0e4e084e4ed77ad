"""A model with all of some layers on int8, in which an input chooses between two forms of each.

So one model tells whether a step of quantization, and which of its parts, serves the outputs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.measured import OWN, SWITCHES, FormWriter
from atc_py.quantizing.layers.qdq_nodes import Int8Layer
from atc_py.system.atomic_files import atomic_write


class SwitchedForm(msgspec.Struct, frozen=True, eq=False):
    """A layer on int8, and what a switch changes about it.

    Attributes:
        switch: position of its switch.
        off: its form with the switch off.
        on: its form with the switch on; None where that is `off` with `addend`.
        factors: what the data of `on` are divided by, in a shape that broadcasts; None for nothing.
        addend: what is added to the result with the switch on, in a shape that broadcasts; None for
            nothing.
    """

    switch: int
    off: Int8Layer
    on: Int8Layer | None = None
    factors: NDArray[Any] | None = None
    addend: NDArray[Any] | None = None


def write_switched(
    model: FloatModel, output: Path, forms: Sequence[SwitchedForm], count: int
) -> None:
    """Write the model with layers on int8, and the input SWITCHES, a bool for each of `count` parts.

    Args:
        model: the float model, of an opset with QuantizeLinear.
        output: the file, in the folder of the model, so that weights beside it are found.
        forms: the layers.
        count: number of switches.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    proto = onnx.load(model.file.path, load_external_data=False)
    writer = _SwitchWriter(proto.graph)
    own = {each.off.layer.node.outputs[0]: each for each in forms}
    nodes = [*proto.graph.node]
    del proto.graph.node[:]
    for node in nodes:
        found = own.get(node.output[0]) if node.output else None
        if found is None:
            proto.graph.node.append(node)
        else:
            writer.switched(node, found)
    switches = helper.make_tensor_value_info(SWITCHES, TensorProto.BOOL, [count])
    proto.graph.input.append(switches)
    with atomic_write(output, durable=False) as file:
        file.write(proto.SerializeToString())


class _SwitchWriter:
    """Writer of layers whose form is chosen in each run."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._writer = FormWriter(graph)
        self._count = 0

    def switched(self, node: onnx.NodeProto, found: SwitchedForm) -> None:
        base, writer = f"{OWN}/{self._count}", self._writer
        self._count += 1
        index = writer.constant(f"{base}/at", np.array(found.switch, np.int64))
        on = writer.op("Gather", [SWITCHES, index], f"{base}/switch_on")
        result = writer.form(node, f"{base}/off", found.off, codes=False)
        if found.on is not None:
            other = writer.form(
                node, f"{base}/on", found.on, data=self._data(node, base, found), codes=False
            )
            self._choose([on, other, result], node.output[0], base)
        elif found.addend is not None:
            none = writer.constant(f"{base}/none", np.zeros((), np.float32))
            addend = writer.constant(f"{base}/addend", found.addend.astype(np.float32))
            more = writer.op("Where", [on, addend, none], f"{base}/more")
            self._append("Add", [result, more], node.output[0], f"{base}/sum")
        else:
            self._append("Identity", [result], node.output[0], f"{base}/result_of_form")

    def _data(self, node: onnx.NodeProto, base: str, found: SwitchedForm) -> str:
        """Write the data divided by factors; return their name, "" where they stay."""
        if found.factors is None:
            return ""
        inverse = (1.0 / found.factors.astype(np.float64)).astype(np.float32)
        name = self._writer.constant(f"{base}/inverse", inverse)
        return self._writer.op("Mul", [node.input[0], name], f"{base}/divided")

    def _choose(self, inputs: Sequence[str], output: str, base: str) -> None:
        self._append("Where", inputs, output, f"{base}/switch")

    def _append(self, op_type: str, inputs: Sequence[str], output: str, name: str) -> None:
        """Write a node whose result has the name of the layer's."""
        self._graph.node.append(helper.make_node(op_type, list(inputs), [output], name))
