"""Drafts of small models: values are made one by one, nodes name them."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from atc_py.tensor.dtypes import DType

_IR_VERSION = 8


class Draft:
    """A model under construction.

    Attributes:
        rng: makes every choice.
        opset: version of ONNX's own domain.
        made: names of the values that nodes give, in order.
    """

    def __init__(self, rng: random.Random, opset: int) -> None:
        self.rng = rng
        self.opset = opset
        self.made: list[str] = []
        self._inputs: dict[str, onnx.ValueInfoProto] = {}
        self._weights: dict[str, onnx.TensorProto] = {}
        self._nodes: list[onnx.NodeProto] = []

    def fed(self, shape: Sequence[int], dtype: str = "float32") -> str:
        """Return an input of the graph."""
        name = f"x{len(self._inputs)}"
        element = helper.np_dtype_to_tensor_dtype(DType(dtype).numpy)
        self._inputs[name] = helper.make_tensor_value_info(name, element, shape)
        return name

    def const(self, values: Any, dtype: str = "int64") -> str:
        """Return a constant of these values."""
        name = f"w{len(self._weights)}"
        array: npt.NDArray[Any] = np.asarray(values).astype(DType(dtype).numpy)
        self._weights[name] = numpy_helper.from_array(array, name)
        return name

    def weights(self, shape: Sequence[int], dtype: str = "float32") -> str:
        """Return a constant of small numbers."""
        count = int(np.prod([max(0, dim) for dim in shape]))
        numbers = np.arange(count) % 5 - 2
        return self.const(numbers.reshape([max(0, dim) for dim in shape]), dtype)

    def tensor(self, shape: Sequence[int], dtype: str = "float32") -> str:
        """Return a constant or an input of the graph."""
        make = self.weights if self.rng.random() < 0.5 else self.fed
        return make(shape, dtype)

    def list_of(self, values: Sequence[int], dtype: str = "int64") -> str:
        """Return a list of integers, now and then one that only the run knows."""
        if self.rng.random() < 0.06:
            return self.fed([len(values)], dtype)
        return self.const(list(values), dtype)

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        outputs: int = 1,
        domain: str = "",
        **attributes: Any,
    ) -> list[str]:
        """Return a node; the names of what it gives. Attributes that are None are left out."""
        names = [f"v{len(self.made) + position}" for position in range(outputs)]
        given = {name: value for name, value in attributes.items() if value is not None}
        inputs = list(inputs)
        while inputs and not inputs[-1]:
            inputs.pop()
        label = f"n{len(self._nodes)}"
        node = helper.make_node(op, inputs, names, label, domain=domain, **given)
        self._nodes.append(node)
        self.made += names
        return names

    def model(self, outputs: Sequence[str] | None = None) -> onnx.ModelProto:
        """Return the model; every value that no node reads is an output, unless some are named."""
        read = {name for node in self._nodes for name in node.input}
        names = outputs or [name for name in self.made if name not in read]
        graph = helper.make_graph(
            self._nodes,
            "draft",
            list(self._inputs.values()),
            [onnx.ValueInfoProto(name=name) for name in names],
            list(self._weights.values()),
        )
        opsets: Mapping[str, int] = {"": self.opset}
        opsets = {**opsets, **{node.domain: 1 for node in self._nodes if node.domain}}
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION)

    def type_of(self, name: str) -> tuple[str, list[int]] | None:
        """Return dtype and shape of a value by onnx's inference; None where it has none."""
        try:
            found = onnx.shape_inference.infer_shapes(self.model([name]), data_prop=True).graph
        except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
            return None
        for value in (*found.output, *found.input):
            type_ = value.type.tensor_type
            if value.name != name or not type_.HasField("shape"):
                continue
            dims = type_.shape.dim
            if all(dim.HasField("dim_value") and dim.dim_value >= 0 for dim in dims):
                dtype = helper.tensor_dtype_to_np_dtype(type_.elem_type)
                return str(dtype), [dim.dim_value for dim in dims]
        return None
