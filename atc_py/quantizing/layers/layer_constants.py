"""New constants for operands of nodes: a graph in which some nodes read others than before."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode
from atc_py.onnx_graph.rewriting.qdq.writer import Writer


class LayerConstants:
    """Constants by the operand that they are for, while a graph is rewritten.

    A constant that several nodes read is replaced for one of them alone.
    """

    def __init__(self, graph: WorkGraph) -> None:
        self._graph = graph
        self._arrays: dict[tuple[WorkNode, int], NDArray[Any]] = {}
        self._outputs: dict[WorkNode, tuple[str, ...]] = {}

    def read(self, node: WorkNode, position: int) -> NDArray[Any] | None:
        """An operand as an array; None where it is absent or not constant."""
        found = self._arrays.get((node, position))
        if found is not None:
            return found
        name = node.inputs[position] if position < len(node.inputs) else ""
        const = self._graph.consts.get(name)
        return None if const is None else np.array(const.numpy())

    def put(self, node: WorkNode, position: int, array: NDArray[Any]) -> None:
        """Give a node another constant as an operand."""
        self._arrays[node, position] = array

    def rename(self, node: WorkNode, outputs: tuple[str, ...]) -> None:
        """Give the results of a node other names."""
        self._outputs[node] = outputs

    def apply(self, gone: Collection[WorkNode] = ()) -> None:
        """Write the graph anew, without the nodes of `gone`."""
        writer = Writer(self._graph)
        changed = {node for node, _ in self._arrays} | self._outputs.keys()
        for node in self._graph.nodes:
            if node in gone:
                continue
            if node not in changed:
                writer.keep(node)
                continue
            inputs = list(node.inputs)
            for position in range(max(len(inputs), 3)):
                array = self._arrays.get((node, position))
                if array is not None:
                    inputs += [""] * (position + 1 - len(inputs))
                    base = inputs[position] or f"{node.outputs[0]}/bias"
                    inputs[position] = writer.const(f"{base}/prepared", array)
            outputs = self._outputs.get(node, node.outputs)
            writer.again(node, node.op_type, inputs, outputs, with_own=True)
            if not node.name:  # its results may have other names from now on
                made = writer.nodes[-1]
                made.name = made.proto.name = node.outputs[0]
        writer.finish()
