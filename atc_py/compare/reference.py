"""The original model, run in step with the compiled one: node by node, with every result available.

The graph is cut into pieces of a few nodes. A piece runs when one of its results is asked for,
once, on the results of the pieces before it, so all results can be seen and few are held.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx
from numpy.typing import NDArray

from atc_py.compare.changed_constants import with_constants
from atc_py.compare.float64_nodes import ExactNodes, exact_nodes
from atc_py.compare.node_order import producers_first, read_by
from atc_py.compare.piece import Piece, piece_of
from atc_py.compare.reference_engines import (
    ReferenceEngine,
    start_onnx_reference,
    start_onnxruntime,
)
from atc_py.diag import BAD_MODEL, REFERENCE_FAILED, AtcError, Place
from atc_py.onnx_graph.reading.mapped import reading_errors
from atc_py.onnx_graph.reading.onnx_file import balanced_values
from atc_py.system.input_files import check_regular
from atc_py.text import SEMICOLON, Text

_NODES = 32
"""Nodes of a piece; fewer hold less, more start less often."""

WEIGHT_BYTES = 1 << 30
"""Bytes of weights of a piece, unless one node has more; protobuf writes 2 GiB at most."""

_NEVER_CUT = frozenset(
    {"ConcatFromSequence", "If", "Loop", "Optional", "OptionalGetElement", "OptionalHasElement"}
    | {"Scan", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase"}
    | {"SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence"}
)
"""Operators with values that are not tensors, or with graphs inside."""


class Amendment(Protocol):
    """Values that replace those of the model's own run.

    Attributes:
        reads: what each amended value is computed from, by its name.
    """

    reads: Mapping[str, Collection[str]]

    def amended(
        self, name: str, value: NDArray[Any], feeds: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        """The replacement of `value`, called `name`; `feeds` has what it is computed from."""
        ...


class ReferenceModel:
    """An ONNX model in pieces.

    Attributes:
        path: the file.
        form: the form that runs, where that is not the file's own; empty where it is.
        bound: inputs that are not fed but filled with one value, by name.
        nodes: its nodes, in the file's order; functions that the model defines are inlined.
        inputs: names of the inputs.
        outputs: names of the outputs.
        constants: initializers by name.
        makers: the nodes that run, by their results.
        pieces: the nodes that run, producers first.
        amendment: values that its runs take from elsewhere; None where they take none.
        scaled: values that the compiled model has with other numbers, channel by channel; they are
            not compared.
    """

    def __init__(
        self,
        path: Path,
        proto: onnx.ModelProto,
        weight_bytes: int = WEIGHT_BYTES,
        amendment: Amendment | None = None,
        piece_nodes: int = _NODES,
    ) -> None:
        self.path = path
        self.form = ""
        self.scaled: frozenset[str] = frozenset()
        self.bound: Mapping[str, float] = {}
        self.amendment = amendment
        self._proto = proto
        self._weight_limit = weight_bytes
        self._piece_nodes = piece_nodes
        self.nodes: Sequence[onnx.NodeProto] = tuple(proto.graph.node)
        self.makers = {name: node for node in proto.graph.node for name in node.output if name}
        self.constants = {each.name: each for each in proto.graph.initializer}
        self.inputs = tuple(
            each.name for each in proto.graph.input if each.name not in self.constants
        )
        self.outputs = tuple(each.name for each in proto.graph.output)
        self._engines: dict[int, ReferenceEngine] = {}
        self.pieces = self._pieces_of(weight_bytes)

    def with_amendment(self, amendment: Amendment) -> ReferenceModel:
        """Copy the model; runs of the copy take some values from `amendment`."""
        found = ReferenceModel(self.path, self._proto, self._weight_limit, amendment)
        found.form, found.nodes, found.bound = self.form, self.nodes, self.bound
        return found

    def node_by_node(
        self, change: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    ) -> ReferenceModel:
        """Copy the model, with a piece for each node; `change` replaces each float constant."""
        proto = self._proto if change is None else with_constants(self._proto, change)
        found = ReferenceModel(self.path, proto, self._weight_limit, piece_nodes=1)
        found.form, found.nodes, found.bound = self.form, self.nodes, self.bound
        return found

    def standing_for(self, other: ReferenceModel, form: str) -> ReferenceModel:
        """Present this model as `other`, of which it is the form called `form`.

        It has the path and the nodes of the other, whose values have the same names; what runs is
        this one.
        """
        self.path, self.form, self.nodes = other.path, form, other.nodes
        return self

    @property
    def opsets(self) -> Sequence[onnx.OperatorSetIdProto]:
        """Versions of operators that the model imports."""
        found: Sequence[onnx.OperatorSetIdProto] = self._proto.opset_import
        return found

    @property
    def running_nodes(self) -> Sequence[onnx.NodeProto]:
        """The nodes that run."""
        found: Sequence[onnx.NodeProto] = self._proto.graph.node
        return found

    @property
    def balanced(self) -> frozenset[str]:
        """The values that the file says were scaled when it was quantized."""
        return balanced_values(self._proto)

    @property
    def can_be_amended(self) -> bool:
        """True if a value can be changed between its maker and its readers."""
        return not any(node.op_type in _NEVER_CUT for node in self.makers.values())

    def exact_nodes(self, value: str, among: Collection[str]) -> ExactNodes | None:
        """Collect the nodes that make `value`, to be run alone; None where no node makes it.

        Args:
            value: its name.
            among: values on the way to it whose makers belong to them.
        """
        opsets = self._proto.opset_import
        return exact_nodes(value, among, self.makers, self.constants, opsets)

    def constant(self, name: str) -> NDArray[Any] | None:
        """The constant of an initializer or a Constant node; None for other names."""
        if name in self.constants:
            return onnx.numpy_helper.to_array(self.constants[name])
        maker = self.makers.get(name)
        if maker is not None and maker.op_type == "Constant":
            for attribute in maker.attribute:
                if attribute.name == "value":
                    return onnx.numpy_helper.to_array(attribute.t)
        return None

    def as_declared(self, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """`feeds` in the dtypes that the file declares, and the bound inputs.

        A compiled model may take other dtypes. Open dims of bound inputs are 1.
        """
        declared = {
            each.name: each.type.tensor_type.elem_type
            for each in self._proto.graph.input
            if each.type.HasField("tensor_type")
        }
        bound = {
            each.name: np.full(
                [dim.dim_value or 1 for dim in each.type.tensor_type.shape.dim],
                self.bound[each.name],
            )
            for each in self._proto.graph.input
            if each.name in self.bound
        }
        return {
            name: np.asarray(array, onnx.helper.tensor_dtype_to_np_dtype(declared[name]))
            for name, array in (*feeds.items(), *bound.items())
            if name in declared
        }

    def constant_shape(self, name: str) -> tuple[int, ...] | None:
        """The dims of initializer `name`; None if `name` is not an initializer."""
        found = self.constants.get(name)
        return None if found is None else tuple(found.dims)

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the engines that have run pieces so far."""
        return tuple(sorted({engine.name for engine in self._engines.values()}))

    def run_piece(self, at: int, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Results of the piece at `at`; those that are not tensors are left out.

        Raises:
            AtcError: REFERENCE_FAILED where neither onnxruntime nor onnx's evaluator runs it,
                MEMORY_LIMIT where its values take too much.
        """
        if at in self._engines:
            # Of other data, the engine may refuse some, and the other one is tried again.
            with suppress(Exception):
                return self._engines[at].run(feeds)
        self._engines[at], found = self._started(self.pieces[at], feeds)
        return found

    def _started(
        self, piece: Piece, feeds: Mapping[str, NDArray[Any]]
    ) -> tuple[ReferenceEngine, dict[str, NDArray[Any]]]:
        """The first engine that runs `piece`, and its results."""
        reasons = []
        model = self._model_of(piece, feeds)
        for start in (start_onnxruntime, start_onnx_reference):
            try:
                engine = start(model, piece.writes)
                return engine, engine.run(feeds)
            except AtcError:  # noqa: PERF203  (both raise anything)
                raise
            except Exception as error:  # noqa: BLE001
                reasons.append(" ".join(f"{type(error).__name__}: {error}".split())[:200])
        ops = ", ".join(dict.fromkeys(node.op_type for node in piece.nodes))
        raise REFERENCE_FAILED.error(
            Text(
                "neither engine runs the nodes {ops} of the original: {reasons}",
                ops=ops[:200],
                reasons=SEMICOLON.join(reasons),
            ),
            place=Place(str(self.path)),
        )

    def _pieces_of(self, weight_bytes: int) -> tuple[Piece, ...]:
        """All nodes, in pieces; one piece where values cannot pass between pieces.

        A piece ends with the node of an amended value, so that its readers come in a later one.
        """
        nodes = producers_first(self._proto.graph.node, {*self.inputs, *self.constants, ""})
        if any(node.op_type in _NEVER_CUT for node in nodes):
            return (piece_of(nodes, self.constants),)
        amended = self.amendment.reads.keys() if self.amendment else ()
        pieces: list[list[onnx.NodeProto]] = []
        held, ended = 0, True
        for node in nodes:
            size = sum(self._weight_bytes(name) for name in node.input)
            if ended or len(pieces[-1]) == self._piece_nodes or held + size > weight_bytes:
                pieces.append([])
                held = 0
            pieces[-1].append(node)
            held += size
            ended = any(name in amended for name in node.output)
        return tuple(piece_of(each, self.constants) for each in pieces)

    def _weight_bytes(self, name: str) -> int:
        """Bytes of initializer `name` as protobuf writes it; 0 where it is none."""
        return self.constants[name].ByteSize() if name in self.constants else 0

    def _model_of(self, piece: Piece, feeds: Mapping[str, NDArray[Any]]) -> onnx.ModelProto:
        """A model of the piece alone; the types of its inputs are those of `feeds`."""
        model = onnx.ModelProto(ir_version=self._proto.ir_version)
        model.opset_import.extend(self._proto.opset_import)
        graph = model.graph
        graph.name = "piece"
        graph.node.extend(piece.nodes)
        for name in piece.reads:
            element = onnx.helper.np_dtype_to_tensor_dtype(feeds[name].dtype)
            graph.input.append(onnx.helper.make_tensor_value_info(name, element, feeds[name].shape))
        used = {name for node in piece.nodes for name in read_by(node)}
        graph.initializer.extend(self.constants[n] for n in sorted(used) if n in self.constants)
        graph.sparse_initializer.extend(self._proto.graph.sparse_initializer)
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in piece.writes)
        return model


class ReferenceRun:
    """One run of the original; results are computed on demand.

    Attributes:
        seconds: time in the pieces so far.
        peak: most bytes of inputs and results that were held at once.
        total: bytes of all inputs, and of all results so far.
    """

    def __init__(self, model: ReferenceModel, feeds: Mapping[str, NDArray[Any]]) -> None:
        self._model = model
        self._held = model.as_declared(feeds)
        self._next = 0
        self._awaited: Counter[str] = Counter()
        self._reads = Counter(name for piece in model.pieces for name in piece.reads)
        if model.amendment is not None:
            self._reads.update(name for reads in model.amendment.reads.values() for name in reads)
        self.seconds = 0.0
        self.peak = self.total = sum(array.nbytes for array in self._held.values())

    def expect(self, names: Mapping[str, int]) -> None:
        """Keep each of `names` until it has been released that many times."""
        self._awaited.update(names)

    def value(self, name: str) -> NDArray[Any] | None:
        """The value called `name`; None where the model makes no tensor of that name."""
        there = name in self._held or name in self._model.makers
        while there and name not in self._held and self._next < len(self._model.pieces):
            self._run_next_piece()
        return self._held.get(name)

    def release(self, name: str) -> None:
        """Release `name` after one look at it."""
        self._awaited[name] -= 1
        self._drop(name)

    def _run_next_piece(self) -> None:
        at, piece = self._next, self._model.pieces[self._next]
        self._next += 1
        started = time.perf_counter()
        made = self._model.run_piece(at, {name: self._held[name] for name in piece.reads})
        self.seconds += time.perf_counter() - started
        self._held.update(made)
        self.total += sum(array.nbytes for array in made.values())
        self.peak = max(self.peak, sum(array.nbytes for array in self._held.values()))
        self._reads.subtract(piece.reads)
        for name in (*made, *piece.reads, *self._put_amended(made)):
            self._drop(name)

    def _put_amended(self, made: Collection[str]) -> list[str]:
        """Put amended values in place of those among `made`; return what they were computed from."""
        amendment = self._model.amendment
        read: list[str] = []
        if amendment is None:
            return read
        for name in made:
            if name in amendment.reads:
                feeds = {each: self._held[each] for each in amendment.reads[name]}
                self._held[name] = amendment.amended(name, self._held[name], feeds)
                self._reads.subtract([*feeds])
                read += feeds
        return read

    def _drop(self, name: str) -> None:
        """Release `name` if no reader needs it any more."""
        if self._reads[name] <= 0 and self._awaited[name] <= 0:
            self._held.pop(name, None)


def open_reference(path: Path) -> ReferenceModel:
    """The ONNX model in the file at `path`, ready to run.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE; BAD_MODEL if onnx cannot load it.
    """
    from onnx import inliner

    with reading_errors(path):
        check_regular(path.stat().st_mode)
    try:
        proto = onnx.load(path)
        if proto.functions:
            proto = inliner.inline_local_functions(proto)
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise BAD_MODEL.error(
            Text("onnx cannot load it: {text}", text=text), place=Place(str(path))
        ) from error
    return ReferenceModel(path, proto)
