"""A few nodes that run by themselves on data that are given, with their constants read as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from atc_py.ir import ConstData, DeferredConst
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.nodes import nodes_within
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.rewriting.model_message import whole_node
from atc_py.onnx_graph.running.engines import NodeEngine, start_onnx_reference, start_onnxruntime
from atc_py.onnx_graph.source import SourceNode
from atc_py.text import Text

FED_BYTES = 1 << 20
"""Size from which constants are fed: a model that holds them would be copied several times."""

_REASON = 200

Feeds = dict[str, "NDArray[Any]"]


class NotRunError(Exception):
    """Nodes that an engine does not run, with the reason; what the engine raised is the cause."""


@dataclass(frozen=True, slots=True)
class PieceSettings:
    """Settings that the pieces of one model share."""

    opsets: Mapping[str, int]  # imported version of each domain
    tensors: TensorReader  # reads the tensors of the nodes' attributes
    fed_bytes: int | None = FED_BYTES  # size from which constants are fed; None where none is
    threads: int = 1  # threads of onnxruntime within a node; 0 for as many as this work may use
    ir_version: int = 8  # of the models that engines are given
    # initializers that are no constants, such as strings, by name
    others: Mapping[str, onnx.TensorProto] = field(default_factory=dict)
    # whether nodes keep their names; new nodes share that of the node that they replaced
    named: bool = False


ENGINES: Mapping[str, Callable[[onnx.ModelProto, tuple[str, ...], int], NodeEngine]] = {
    "onnxruntime": start_onnxruntime,
    "onnx": lambda model, writes, _threads: start_onnx_reference(model, writes),
}
"""How the engines start, by name, the one that is preferred first."""


@dataclass(eq=False, slots=True)
class Piece:
    """Some nodes, producers first."""

    nodes: Sequence[OnnxNode]
    constants: Mapping[str, ConstData]
    writes: tuple[str, ...]  # the results that are looked at
    settings: PieceSettings  # what it shares with other pieces
    reads: tuple[str, ...] = ()  # values that are fed
    _engines: dict[str, NodeEngine | Exception] = field(default_factory=dict)

    def __post_init__(self) -> None:
        made = {name for node in self.nodes for name in node.writes}
        read = dict.fromkeys(name for node in self.nodes for name in node.reads)
        read.update(dict.fromkeys(self.writes))
        self.constants = {
            name: self.constants[name]
            for name in read
            if name in self.constants and name not in made
        }
        known = (made, self.constants, self.settings.others)
        self.reads = tuple(name for name in read if not any(name in names for names in known))

    @property
    def operators(self) -> frozenset[str]:
        """Operators of the nodes and of those in graphs that they hold."""
        return frozenset(node.op_type for node in nodes_within(node.proto for node in self.nodes))

    @property
    def constant_bytes(self) -> int:
        return sum(map(constant_bytes, self.constants.values()))

    def run(self, feeds: Mapping[str, NDArray[Any]], engine: str) -> Feeds:
        """The results that are tensors; NotRunError if the engine does not run on these data."""
        missing = next((name for name in self.reads if name not in feeds), None)
        if missing is not None:
            raise NotRunError(Text("there are no data for {name}", name=repr(missing)))
        fed = {name: feeds[name] for name in self.reads}
        least = self.settings.fed_bytes
        large = [
            (name, const)
            for name, const in self.constants.items()
            if least is not None and constant_bytes(const) >= least
        ]
        try:
            fed.update((name, np.asarray(const.numpy())) for name, const in large)
            return self._started(engine, fed).run(fed)
        except NotRunError:
            raise
        except Exception as error:
            raise NotRunError(one_line(error)) from error
        finally:
            fed.clear()
            for _, const in large:
                const.release()

    def with_constants(self, changed: Callable[[NDArray[Any]], NDArray[Any]]) -> Piece:
        """The same nodes with float constants that `changed` makes of the data of theirs."""
        return Piece(
            self.nodes, changed_floats(self.constants, changed), self.writes, self.settings
        )

    def close(self) -> None:
        """Give back what the engines hold; they start again when they are needed."""
        self._engines.clear()

    def _started(self, engine: str, fed: Mapping[str, NDArray[Any]]) -> NodeEngine:
        """The engine with the nodes; one that did not start once is not tried again."""
        result = self._engines.get(engine)
        if result is None:
            try:
                result = ENGINES[engine](self._model(fed), self.writes, self.settings.threads)
            except Exception as error:  # noqa: BLE001  (engines raise anything)
                result = error.with_traceback(None)
            self._engines[engine] = result
        if isinstance(result, Exception):
            raise NotRunError(one_line(result)) from result
        return result

    def _model(self, fed: Mapping[str, NDArray[Any]]) -> onnx.ModelProto:
        settings = self.settings
        graph = onnx.GraphProto(name="piece", node=self.whole_nodes)
        for name, array in fed.items():
            element = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(helper.make_tensor_value_info(name, element, array.shape))
        for name, const in self.constants.items():
            if name not in fed:
                graph.initializer.append(numpy_helper.from_array(np.asarray(const.numpy()), name))
                const.release()
        read = {name for node in self.nodes for name in node.reads}
        graph.initializer.extend(
            settings.others[name] for name in sorted(read & settings.others.keys())
        )
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in self.writes)
        opsets = [helper.make_opsetid(domain, at) for domain, at in settings.opsets.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=settings.ir_version)

    @property
    def whole_nodes(self) -> Sequence[onnx.NodeProto]:
        """The nodes with all data inside, not to be changed."""
        whole = [whole_node(node.proto, self.settings.tensors, node.place) for node in self.nodes]
        if self.settings.named:
            return whole
        unnamed: Sequence[onnx.NodeProto] = onnx.GraphProto(node=whole).node
        for proto in unnamed:
            proto.name = ""
        return unnamed


def changed_floats(
    constants: Mapping[str, ConstData], changed: Callable[[NDArray[Any]], NDArray[Any]]
) -> dict[str, ConstData]:
    """Constants of which the floats are computed from those given whenever they are read."""
    return {
        name: DeferredConst(const.dtype, const.shape, [const], changed, "changed")
        if const.dtype.is_float
        else const
        for name, const in constants.items()
    }


def constant_bytes(const: ConstData) -> int:
    return prod(const.shape) * const.dtype.itemsize


def one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_REASON]


# Bounds of what is run on drawn data by itself, as nobody has asked for the run -------------------

_MOST_WEIGHTS = 512 << 20
"""Bytes of constants."""

_MOST_VALUES = 1 << 24
"""Elements that are fed and that all nodes together may write."""

_MOST_WORK = 1 << 30
"""Products that all nodes together may sum up."""

_FILTERED = {"Conv": 0, "ConvTranspose": 1}
"""The axis of a filter along which results are its own."""

_UNBOUNDED = frozenset({"If", "Loop", "Scan"})
"""Operators whose work does not follow from dims."""


def is_short(
    piece: Piece, inputs: Mapping[str, Iterable[object] | None], nodes: Iterable[SourceNode]
) -> bool:
    """True if all dims are known, and data and work are small; others' operators are not known.

    `inputs` are fed, with their dims, and all that the piece reads is among them; `nodes` are those
    of the piece with what is known of their values.
    """
    if not inputs.keys() >= {*piece.reads} or piece.constant_bytes > _MOST_WEIGHTS:
        return False
    if piece.operators & _UNBOUNDED:
        return False
    values, work = sum(_count(dims or ()) for dims in inputs.values()), 0
    for node in nodes:
        if node.domain or not history().versions(node.op_type):
            return False
        for value in node.outputs:
            if value is None:
                continue
            if value.dims is None or None in value.dims:
                return False
            values += _count(value.dims)
            work += _count(value.dims) * _products(node)
    return values <= _MOST_VALUES and work <= _MOST_WORK


def _count(dims: Iterable[object]) -> int:
    return prod(dim for dim in dims if isinstance(dim, int))


def _products(node: SourceNode) -> int:
    """Terms that an element of a result sums up, at most: those of a filter, a window, a row."""
    window = node.attributes.get("kernel_shape")
    most = _count(window) if isinstance(window, list | tuple) else 1
    for value in node.inputs[1:]:
        dims = () if value is None or value.dims is None else value.dims
        if node.op_type in _FILTERED and len(dims) > 1:
            most = max(most, _count(dims) // max(dims[_FILTERED[node.op_type]] or 1, 1))
        most = max(most, *(dim or 1 for dim in dims[-2:]), 1)
    return most
