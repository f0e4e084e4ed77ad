"""A few nodes that run by themselves on data that are given, with their constants read as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from atc_py.compare.float64_nodes import ExactNodes
from atc_py.compare.node_order import nodes_within, read_by
from atc_py.compare.reference_engines import (
    ReferenceEngine,
    start_onnx_reference,
    start_onnxruntime,
)
from atc_py.ir import ConstData, DenseConst
from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.rewriting.model_message import whole_node

FED_BYTES = 1 << 20
"""Size from which constants are fed: a model that holds them would be copied several times."""

_IR_VERSION = 8
_REASON = 200

Feeds = dict[str, "NDArray[Any]"]

ENGINES: Mapping[str, Callable[[onnx.ModelProto, tuple[str, ...]], ReferenceEngine]] = {
    "onnxruntime": partial(start_onnxruntime, threads=1),
    "onnx": start_onnx_reference,
}
"""How the engines start, by name, the one that is preferred first."""


class NotRunError(Exception):
    """Nodes that an engine does not run, with the reason."""


@dataclass(eq=False, slots=True)
class NodeGroup:
    """Some nodes, producers first.

    Attributes:
        nodes: their messages, with the data of their tensors.
        opsets: imported version of each domain.
        constants: the constants that they read.
        writes: the results that are looked at.
        reads: values that are fed.
    """

    nodes: Sequence[onnx.NodeProto]
    opsets: Mapping[str, int]
    constants: Mapping[str, ConstData]
    writes: tuple[str, ...]
    reads: tuple[str, ...] = ()
    _engines: dict[str, ReferenceEngine | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Gather what the nodes read from around them."""
        made = {name for node in self.nodes for name in node.output}
        read = dict.fromkeys(name for node in self.nodes for name in read_by(node) if name)
        read.update(dict.fromkeys(self.writes))
        self.constants = {name: self.constants[name] for name in read if name in self.constants}
        self.reads = tuple(name for name in read if name not in made and name not in self.constants)

    @property
    def operators(self) -> frozenset[str]:
        """Operators of the nodes and of those in graphs that they hold."""
        return frozenset(node.op_type for node in nodes_within(self.nodes))

    def run(self, feeds: Mapping[str, NDArray[Any]], engine: str) -> Feeds:
        """The results that are tensors.

        Raises:
            NotRunError: the engine does not run the nodes, or not on these data.
        """
        fed = {name: feeds[name] for name in self.reads}
        large = [own for own in self.constants.items() if constant_bytes(own[1]) >= FED_BYTES]
        fed.update((name, np.asarray(const.numpy())) for name, const in large)
        try:
            started = self._started(engine, fed)
            return started.run(fed)
        except NotRunError:
            raise
        except Exception as error:
            raise NotRunError(one_line(error)) from error
        finally:
            fed.clear()
            for _, const in large:
                const.release()

    def with_constants(self, changed: Callable[[NDArray[Any]], NDArray[Any]]) -> NodeGroup:
        """The same nodes with other constants.

        Args:
            changed: returns the data of a constant in their place.
        """
        constants: dict[str, ConstData] = {
            name: DenseConst(changed(np.asarray(const.numpy())))
            for name, const in self.constants.items()
        }
        return NodeGroup(self.nodes, self.opsets, constants, self.writes)

    def in_float64(
        self, name: str, feeds: Mapping[str, NDArray[Any]], found: NDArray[Any], *, alike: bool
    ) -> NDArray[np.float64] | None:
        """A result in float64, which tells whose rounding a difference is.

        Args:
            name: of the result.
            feeds: what the nodes read.
            found: the result as an engine has it.
            alike: whether it may differ by more than rounding does near 1.
        """
        if sum(map(constant_bytes, self.constants.values())) > FED_BYTES:
            return None
        constants = {
            each: numpy_helper.from_array(np.asarray(const.numpy()), each)
            for each, const in self.constants.items()
        }
        opsets = [helper.make_opsetid(domain, at) for domain, at in self.opsets.items()]
        nodes = ExactNodes(name, tuple(self.nodes), self.reads, constants, opsets)
        fed = {read: feeds[read] for read in self.reads if read in feeds}
        return nodes.run(fed, found, alike=alike)

    def close(self) -> None:
        """Give back what the engines hold; they start again when they are needed."""
        self._engines.clear()

    def _started(self, engine: str, fed: Mapping[str, NDArray[Any]]) -> ReferenceEngine:
        """The engine with the nodes; one that did not start once is not tried again."""
        result = self._engines.get(engine)
        if result is None:
            try:
                result = ENGINES[engine](self._model(fed), self.writes)
            except Exception as error:  # noqa: BLE001  (engines raise anything)
                result = one_line(error)
            self._engines[engine] = result
        if isinstance(result, str):
            raise NotRunError(result)
        return result

    def _model(self, fed: Mapping[str, NDArray[Any]]) -> onnx.ModelProto:
        graph = onnx.GraphProto(name="group", node=self.nodes)
        for name, array in fed.items():
            element = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(helper.make_tensor_value_info(name, element, array.shape))
        for name, const in self.constants.items():
            if name not in fed:
                graph.initializer.append(numpy_helper.from_array(np.asarray(const.numpy()), name))
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in self.writes)
        opsets = [helper.make_opsetid(domain, at) for domain, at in self.opsets.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)


def group_of(
    nodes: Iterable[WorkNode],
    opsets: Mapping[str, int],
    constants: Mapping[str, ConstData],
    writes: Iterable[str],
    tensors: TensorReader,
) -> NodeGroup:
    """Nodes of a working graph as a group.

    Args:
        nodes: producers first.
        opsets: imported version of each domain.
        constants: constants by name, others than those that the nodes read among them.
        writes: the results that are looked at.
        tensors: reads the tensors of the nodes' attributes.
    """
    protos = [whole_node(node.proto, tensors, node.place) for node in nodes]
    for proto in protos:
        proto.name = ""  # New nodes share the name of the node that they replaced.
    return NodeGroup(protos, opsets, constants, tuple(writes))


def constant_bytes(const: ConstData) -> int:
    """The size of a constant."""
    return int(np.prod(const.shape, dtype=np.float64)) * const.dtype.itemsize


def one_line(error: Exception) -> str:
    """An error of an engine in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:_REASON]


_TERMS: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "ReduceL1": np.abs,
    "ReduceL2": np.square,
    "ReduceSumSquare": np.square,
}
"""Reductions that add up what they compute of each element."""


def defined_elements(
    group: NodeGroup, feeds: Mapping[str, NDArray[Any]], result: NDArray[Any]
) -> NDArray[np.bool_] | None:
    """True for the elements of a result that ONNX defines; None for all.

    A Cast of floats to integers is undefined beyond the range of these, and so is a reduction of
    integers whose terms add up beyond it: onnxruntime saturates, other engines wrap around. Random
    numbers are the engine's own.
    """
    if len(group.nodes) != 1:
        return None
    (node,) = group.nodes
    if node.op_type.startswith("Random"):
        return np.zeros(result.shape, np.bool_)
    x = feeds.get(node.input[0]) if node.input else None
    if x is None or result.dtype.kind not in "iu":
        return None
    if node.op_type in _TERMS and x.dtype == result.dtype:
        return _sums_in_range(x, _TERMS[node.op_type], result)
    if node.op_type != "Cast" or x.dtype.kind != "f" or x.shape != result.shape:
        return None
    limits = np.iinfo(result.dtype)
    whole = np.trunc(x.astype(np.float64))
    return np.asarray((whole >= limits.min) & (whole <= limits.max))


def _sums_in_range(
    x: NDArray[Any], term: Callable[[NDArray[Any]], NDArray[Any]], result: NDArray[Any]
) -> NDArray[np.bool_]:
    """The sums of terms that are in range: each by itself where none is added, else all or none."""
    terms, most = term(x.astype(np.float64)), np.iinfo(result.dtype).max
    if result.size == x.size:
        return np.asarray(terms.reshape(result.shape) <= most)
    return np.full(result.shape, bool(terms.sum() <= most))
