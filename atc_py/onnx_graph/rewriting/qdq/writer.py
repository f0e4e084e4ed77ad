"""The rewritten graph: nodes that stay, nodes that replace others, new constants."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.ir import ConstData, DeferredConst, DenseConst
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.nodes import inner_names
from atc_py.onnx_graph.rewriting.graph_body import new_node
from atc_py.tensor.dtypes import DType


class Writer:
    """Gathers the nodes of a graph in order, and adds constants to it."""

    def __init__(self, graph: OnnxGraph) -> None:
        self.graph = graph  # where constants go; its nodes are those of the file until `finish`
        self.nodes: list[OnnxNode] = []  # what has been written
        self._taken = {*graph.inputs, *graph.consts, *graph.foreign, *graph.outputs}
        for node in graph.nodes:
            self._taken.update(node.reads, node.writes, inner_names(node.proto))

    def finish(self) -> None:
        self.graph.nodes = self.nodes

    def fresh(self, base: str) -> str:
        """An unused name: `base` if it is free."""
        name, count = base, 1
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name

    def const(self, base: str, data: ConstData | NDArray[Any]) -> str:
        name = self.fresh(base)
        if isinstance(data, (np.ndarray, np.generic)):
            data = DenseConst(np.asarray(data))
        self.graph.consts[name] = data
        return name

    def derived(
        self,
        base: str,
        source: ConstData,
        dtype: DType,
        compute: Callable[[NDArray[Any]], NDArray[Any]],
    ) -> str:
        """The name of a constant of the shape of `source`, computed whenever it is read."""
        return self.const(base, DeferredConst(dtype, source.shape, [source], compute, "codes"))

    def keep(self, node: OnnxNode) -> None:
        self.nodes.append(node)

    def op(
        self, origin: OnnxNode, op_type: str, inputs: Sequence[str], output: str, **attributes: Any
    ) -> str:
        """Write a new node of ONNX's own domain in place of `origin`; return its output's name."""
        self.again(origin, op_type, inputs, [output], **attributes)
        return output

    def again(
        self,
        origin: OnnxNode,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        without: Sequence[str] = (),
        with_own: bool = False,
        **attributes: Any,
    ) -> OnnxNode:
        """Write a new node of ONNX's own domain in place of `origin`, and return it.

        Index, name, place and what `origin` replaced are copied, and, if `with_own`, its attributes
        but those in `without`; `attributes` are further ones.
        """
        left_out = {*without, *attributes}
        own = (each for each in origin.proto.attribute if with_own and each.name not in left_out)
        opset = self.graph.opsets.get("", 0)
        node = new_node(origin, opset, op_type, inputs, outputs, attributes, own)
        self.nodes.append(node)
        return node
