"""A model in the making: nodes one after the other, with constants as initializers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.bench.models import IR_VERSION

OPSET = 13


class ModelBuilder:
    """A model in the making.

    Attributes:
        nodes: what was added.
        last: the result added last; at first the input.
        spine: a result to come back to; the input until it is set.
    """

    def __init__(self, dims: Sequence[int], dtype: int = TensorProto.FLOAT) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.last = self.spine = "x"
        self._input = helper.make_tensor_value_info("x", dtype, dims)
        self._constants: list[onnx.TensorProto] = []

    def constant(self, array: Any) -> str:
        """Return a new initializer; floats are float32."""
        found = np.asarray(array)
        if found.dtype.kind == "f":
            found = found.astype(np.float32)
        self._constants.append(numpy_helper.from_array(found, f"c{len(self._constants)}"))
        return self._constants[-1].name

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Return a new node on `inputs`, or on the last result."""
        return self._append(op, inputs or (self.last,), attributes)

    def source(self, op: str, **attributes: Any) -> str:
        """Return a new node without inputs."""
        return self._append(op, (), attributes)

    def finished(self, outputs: Sequence[str]) -> onnx.ModelProto:
        """Return the model that returns `outputs`, of dims that their makers know."""
        graph = helper.make_graph(
            self.nodes,
            "grown",
            [self._input],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self._constants,
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)

    def _append(self, op: str, inputs: Sequence[str], attributes: dict[str, Any]) -> str:
        """Return the result of a new node."""
        self.last = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [self.last], **attributes))
        return self.last
