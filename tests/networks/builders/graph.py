"""A graph that is written node by node, and the usual blocks of networks on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]


IR_VERSION = 7
IR_OF_OPSET_15 = 8

FUSED_NORM = 17
"""Opset since which LayerNormalization is one operator."""


class Net:
    """Nodes in the order in which they are written; values are known by their names.

    A branch of an If is a `Net` without inputs, made by `branch`; it shares the counter of names
    with the graph around it, so that names of both never clash.
    """

    def __init__(self, name: str, opset: int, seed: int = 0) -> None:
        self.name = name
        self.opset = opset
        self.random = np.random.default_rng(seed)
        self._count = [0]
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._final: dict[str, str] = {}

    def branch(self, name: str) -> Net:
        """Return an empty graph for one branch of an If in this graph."""
        inner = Net(name, self.opset)
        inner.random, inner._count = self.random, self._count
        return inner

    # Values -----------------------------------------------------------------------------------

    def input(self, name: str, dtype: npt.DTypeLike, shape: Sequence[int | str]) -> str:
        """Return a graph input."""
        self._inputs.append(_declared(name, dtype, shape))
        return name

    def output(
        self, name: str, value: str, dtype: npt.DTypeLike, shape: Sequence[int | str]
    ) -> None:
        """Add a graph output: `value`, which is called `name` in the end."""
        self._final[name] = value
        self._outputs.append(_declared(name, dtype, shape))

    def const(self, values: Any, dtype: npt.DTypeLike = np.float32) -> str:
        """Return an initializer."""
        name = self._fresh("const")
        self._constants.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def longs(self, *values: int) -> str:
        """Return a vector of int64."""
        return self.const(list(values), np.int64)

    def weights(self, *shape: int, scale: float | None = None) -> str:
        """Return random weights; by default products keep the spread of what they multiply.

        That holds for [out, in, ...]; matrices that stand on the right of a product give a scale.
        """
        if scale is None:
            scale = float(np.prod(shape[1:])) ** -0.5
        return self.const(self.random.standard_normal(shape) * scale)

    # Nodes ------------------------------------------------------------------------------------

    def op(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Return a node with one output, whose name is returned."""
        return self.ops(op_type, *inputs, count=1, **attributes)[0]

    def ops(self, op_type: str, *inputs: str, count: int, **attributes: Any) -> list[str]:
        """Return a node with `count` outputs."""
        label = self._fresh(op_type)
        outputs = [label] if count == 1 else [f"{label}_{at}" for at in range(count)]
        self._nodes.append(helper.make_node(op_type, inputs, outputs, name=label, **attributes))
        return outputs

    def choose(self, condition: str, then: Net, otherwise: Net) -> str:
        """Return an If with one output."""
        return self.choices(condition, then, otherwise)[0]

    def choices(self, condition: str, then: Net, otherwise: Net) -> list[str]:
        """Return an If; both branches have the same number of outputs."""
        return self.ops(
            "If",
            condition,
            count=len(then._outputs),
            then_branch=then.graph(),
            else_branch=otherwise.graph(),
        )

    def unsqueeze(self, x: str, *axes: int) -> str:
        """Return unsqueeze in the form of the opset."""
        if self.opset < 13:
            return self.op("Unsqueeze", x, axes=list(axes))
        return self.op("Unsqueeze", x, self.longs(*axes))

    def squeeze(self, x: str, *axes: int) -> str:
        """Return squeeze in the form of the opset."""
        if self.opset < 13:
            return self.op("Squeeze", x, axes=list(axes))
        return self.op("Squeeze", x, self.longs(*axes))

    def dim(self, x: str, axis: int) -> str:
        """Return one dim of x as a vector of one int64, as PyTorch's `x.size` exports."""
        shape = self.op("Shape", x)
        return self.unsqueeze(self.op("Gather", shape, self.const(axis, np.int64), axis=0), 0)

    def view(self, x: str, *dims: int | str) -> str:
        """Reshape to numbers and to dims that `dim` gave, joined at run time."""
        parts = [self.longs(e) if isinstance(e, int) else e for e in dims]
        return self.op("Reshape", x, self.op("Concat", *parts, axis=0))

    def linear(self, x: str, width: int, out: int, *, scale: float | None = None) -> str:
        """Return MatMul and Add, as a linear layer on a stack of matrices exports."""
        spread = width**-0.5 if scale is None else scale
        product = self.op("MatMul", x, self.weights(width, out, scale=spread))
        return self.op("Add", product, self.weights(out, scale=0.1))

    def layer_norm(self, x: str, width: int) -> str:
        """Return LayerNormalization of the last axis, in parts before opset 17."""
        if self.opset >= FUSED_NORM:
            factors, offset = self._near_one(width), self.weights(width, scale=0.1)
            return self.op("LayerNormalization", x, factors, offset, epsilon=1e-5)
        centered = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        squares = self.op("Pow", centered, self.const(2.0))
        variance = self.op("ReduceMean", squares, axes=[-1])
        deviation = self.op("Sqrt", self.op("Add", variance, self.const(1e-5)))
        scaled = self.op("Mul", self.op("Div", centered, deviation), self._near_one(width))
        return self.op("Add", scaled, self.weights(width, scale=0.1))

    def conv_bn_relu(self, x: str, channels: tuple[int, int], kernel: int, stride: int = 1) -> str:
        """Return conv without bias, BatchNormalization, Relu; from and to numbers of channels."""
        width, out = channels
        y = self.op(
            "Conv",
            x,
            self.weights(out, width, kernel, kernel, scale=(2.0 / (width * kernel**2)) ** 0.5),
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[kernel // 2] * 4,
        )
        mean, variance = self.weights(out, scale=0.1), self._near_one(out)
        offset = self.weights(out, scale=0.1)
        y = self.op("BatchNormalization", y, self._near_one(out), offset, mean, variance)
        return self.op("Relu", y)

    # The whole --------------------------------------------------------------------------------

    def graph(self) -> onnx.GraphProto:
        """Return the whole, to be asked for once; an output not made here gets an Identity."""
        for name, value in self._final.items():
            if not self._rename(value, name):
                copy = helper.make_node("Identity", [value], [name], name=f"out_{name}")
                self._nodes.append(copy)
        return helper.make_graph(
            self._nodes, self.name, self._inputs, self._outputs, self._constants
        )

    def model(self) -> onnx.ModelProto:
        """Return the graph as a model that onnx finds valid, shapes inferred strictly."""
        model = helper.make_model(
            self.graph(),
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=IR_VERSION if self.opset < 15 else IR_OF_OPSET_15,
        )
        onnx.checker.check_model(model, full_check=True)
        return model

    def _rename(self, old: str, new: str) -> bool:
        """Rename a value everywhere; refused where no node here makes it or a branch reads it."""
        made = any(old in node.output for node in self._nodes)
        if not made or any(_reads_within(node, old) for node in self._nodes):
            return False
        for node in self._nodes:
            for names in (node.input, node.output):
                names[:] = [new if name == old else name for name in names]
        return True

    def _near_one(self, count: int) -> str:
        """Return factors between 0.8 and 1.2."""
        return self.const(self.random.uniform(0.8, 1.2, count))

    def _fresh(self, label: str) -> str:
        """Return a name that no other value has."""
        self._count[0] += 1
        return f"{label}_{self._count[0]}"


def _reads_within(node: onnx.NodeProto, name: str) -> bool:
    """Return True if a branch of the node, at any depth, reads `name`."""
    graphs = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    inner = [each for graph in graphs for each in graph.node]
    return any(name in each.input or _reads_within(each, name) for each in inner)


def _declared(name: str, dtype: npt.DTypeLike, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    """Return the declaration of a graph input or output."""
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(shape)
    )
