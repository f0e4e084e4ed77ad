"""Small quantized models for tests, built in a few lines, and what becomes of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import SourceModel, SourceNode
from tests.end_to_end import run_with_atc_py, run_with_onnxruntime

Array = npt.NDArray[Any]


ELEMENTS = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float16): TensorProto.FLOAT16,
    np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.uint8): TensorProto.UINT8,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.int16): TensorProto.INT16,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.bool_): TensorProto.BOOL,
}


class Sketch:
    """A model that is put together node by node; names are given or counted.

    Attributes:
        opset: of ONNX's own domain.
    """

    def __init__(self, opset: int = 13) -> None:
        self.opset = opset
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._weights: dict[str, Array] = {}
        self._foreign: list[onnx.TensorProto] = []

    def input(
        self, name: str, shape: Sequence[int | str], dtype: npt.DTypeLike = np.float32
    ) -> str:
        """Return an input of the model."""
        element = ELEMENTS[np.dtype(dtype)]
        self._inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def output(self, name: str, dtype: npt.DTypeLike = np.float32) -> str:
        """Hand a tensor out."""
        element = ELEMENTS[np.dtype(dtype)]
        self._outputs.append(helper.make_tensor_value_info(name, element, None))
        return name

    def weight(self, array: Any, dtype: npt.DTypeLike = np.float32, name: str = "") -> str:
        """Return an initializer."""
        name = name or f"w{len(self._weights)}"
        self._weights[name] = np.asarray(array, dtype)
        return name

    def foreign(self, tensor: onnx.TensorProto) -> None:
        """Add an initializer of an element type that numpy does not have."""
        self._foreign.append(tensor)

    def op(
        self,
        op_type: str,
        *inputs: str,
        to: str | Sequence[str] = "",
        domain: str = "",
        **more: Any,
    ) -> str:
        """Return a node named after its operator; the name of its first output."""
        count = len(self._nodes)
        outputs = [to] if isinstance(to, str) else list(to)
        outputs = [name or f"t{count}" for name in outputs]
        node = helper.make_node(
            op_type, inputs, outputs, name=f"{op_type}_{count}", domain=domain, **more
        )
        self._nodes.append(node)
        return outputs[0]

    def set(self, output: str, name: str, value: Any) -> None:
        """Give the node that writes `output` another attribute."""
        (node,) = (each for each in self._nodes if output in each.output)
        node.attribute.append(helper.make_attribute(name, value))

    def scales(self, scale: Any, zero: Any, kind: npt.DTypeLike) -> tuple[str, str]:
        """Return initializers for scale and zero point."""
        return self.weight(scale), self.weight(zero, kind)

    def q(
        self,
        x: str,
        scale: Any,
        zero: Any = 0,
        kind: npt.DTypeLike = np.int8,
        to: str = "",
        **more: Any,
    ) -> str:
        """Return QuantizeLinear."""
        return self.op("QuantizeLinear", x, *self.scales(scale, zero, kind), to=to, **more)

    def dq(
        self,
        x: str,
        scale: Any,
        zero: Any = 0,
        kind: npt.DTypeLike = np.int8,
        to: str = "",
        **more: Any,
    ) -> str:
        """Return DequantizeLinear."""
        return self.op("DequantizeLinear", x, *self.scales(scale, zero, kind), to=to, **more)

    def qdq(self, x: str, scale: Any, zero: Any = 0, kind: npt.DTypeLike = np.int8) -> str:
        """Return QuantizeLinear and DequantizeLinear."""
        return self.dq(self.q(x, scale, zero, kind), scale, zero, kind)

    def model(self) -> onnx.ModelProto:
        """Return the model."""
        graph = helper.make_graph(
            self._nodes,
            "sketch",
            self._inputs,
            self._outputs,
            [
                *(numpy_helper.from_array(array, name) for name, array in self._weights.items()),
                *self._foreign,
            ],
        )
        domains = dict.fromkeys(("", *(node.domain for node in self._nodes)))
        imports = [helper.make_opsetid(each, 1 if each else self.opset) for each in domains]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)

    def _saved(self, folder: Path) -> Path:
        """Return the model in a file."""
        path = folder / "model.onnx"
        onnx.save(self.model(), path)
        return path

    def folded(self, folder: Path, **shapes: tuple[int, ...]) -> FoldedModel:
        """Return the model after import and folding."""
        return read_model(self._saved(folder)).fold(shapes)

    def source(self, folder: Path, **shapes: tuple[int, ...]) -> SourceModel:
        """Return the model as lowering sees it."""
        return self.folded(folder, **shapes).to_source()

    def view(self, folder: Path) -> SourceModel:
        """Return the model as checking sees it, open dims left open."""
        from atc_py.onnx_graph.reading.onnx_file import surveyed

        return surveyed(read_model(self._saved(folder), lenient=True), {}).source

    def run(
        self, folder: Path, feeds: Mapping[str, Array], **options: Any
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the results of the model in atc-py and onnxruntime."""
        model = self.model()
        return run_with_atc_py(model, feeds, folder, **options), run_with_onnxruntime(model, feeds)


def operators(model: SourceModel) -> list[str]:
    """Return the operators of a model, in order."""
    return [node.op_type for node in model.nodes]


def node_of(model: SourceModel, op_type: str, position: int = 0) -> SourceNode:
    """Return the node of that operator, or the one at a position among them."""
    return [node for node in model.nodes if node.op_type == op_type][position]


def const_of(node: SourceNode, position: int) -> Array:
    """Return a constant among a node's inputs."""
    value = node.inputs[position]
    assert value is not None
    assert value.const is not None, f"{value.name} is not constant"
    return value.const.numpy()


def attributes_of(node: SourceNode) -> dict[str, Any]:
    """Return a node's attributes."""
    return dict(node.attributes)
