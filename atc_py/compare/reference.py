"""The original model in pieces of a few nodes, of which every result can be seen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx
from numpy.typing import NDArray

from atc_py.diag import REFERENCE_FAILED, AtcError, Place
from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.onnx_file import OnnxFile, balanced_values
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.rewriting.model_message import whole_tensor
from atc_py.onnx_graph.running.piece import (
    ENGINES,
    NotRunError,
    Piece,
    PieceSettings,
    changed_floats,
    constant_bytes,
)
from atc_py.system.structs import replace
from atc_py.text import SEMICOLON, Text, error_text

_NODES = 32
"""Nodes of a piece; fewer hold less, more start less often."""

_PREFERRED = next(iter(ENGINES))

_FED_BYTES = 1 << 16
"""Size from which `ReferenceModel.feed_constants` feeds constants."""

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
    """An ONNX model in pieces, whose weights are read from its file as pieces run.

    Attributes:
        form: the form that runs, where that is not the file's own; empty where it is.
        bound: inputs that are not fed but filled with one value, by name.
        nodes: its nodes, in the file's order; functions that the model defines are inlined.
        constants: initializers by name, large ones without their data.
        weight_bytes: most bytes of weights of a piece, and of pieces that run as one.
        pieces: the nodes that run, producers first.
        joins: by the position of the first of the pieces that run as one, the position after them,
            and what they are together; None for one alone. Runs find it out.
        amendment: values that its runs take from elsewhere; None where they take none.
        scaled: values that the compiled model has with other numbers, channel by channel; they are
            not compared.
    """

    def __init__(
        self,
        file: OnnxFile,
        weight_bytes: int = WEIGHT_BYTES,
        fed_bytes: int | None = None,
        amendment: Amendment | None = None,
    ) -> None:
        """Cut a model into pieces of at most `weight_bytes` of weights, unless one node has more.

        Weights from `fed_bytes` on are fed, not held by the engines; None for none.
        """
        self.file, self.path = file, file.path
        self.form = ""
        self.scaled: frozenset[str] = frozenset()
        self.bound: Mapping[str, float] = {}
        self.amendment = amendment
        self.weight_bytes = weight_bytes
        self.graph: OnnxGraph = file.graph({})
        self._can_be_cut = not any(node.op_type in _NEVER_CUT for node in self.graph.nodes)
        self.nodes: Sequence[OnnxNode] = sorted(file.nodes, key=lambda node: node.index)
        self.constants = {tensor.name: tensor for tensor in file.proto.graph.initializer}
        self.inputs = tuple(declared.name for declared in file.inputs)
        self.outputs = file.outputs
        self._weights = {**file.contents.weights, **dict(self._constant_nodes())}
        self._settings = PieceSettings(
            opsets=file.opsets,
            tensors=file.tensors,
            fed_bytes=fed_bytes,
            threads=0,
            ir_version=file.proto.ir_version,
            others={
                name: whole_tensor(self.constants[name], file.tensors, Place(str(file.path)))
                for name in file.contents.foreign
            },
            named=True,
        )
        self._engines: dict[Piece, str] = {}
        self._parts: dict[int, tuple[Piece, ...]] = {}
        self.joins: dict[int, tuple[int, Piece | None]] = {}
        self.pieces = self._pieces_of()

    def feed_constants(self) -> None:
        """Feed large constants, as is best for few runs; call it before the first.

        An engine that holds them copies and packs them when it starts, which takes as long as some
        ten runs. Sums of packed constants are added up in another order.
        """
        self._settings = replace(self._settings, fed_bytes=_FED_BYTES)
        for piece in self.pieces:
            piece.settings = self._settings

    def with_amendment(self, amendment: Amendment) -> ReferenceModel:
        """Copy the model; runs of the copy take some values from `amendment`."""
        fed_bytes = self._settings.fed_bytes
        result = ReferenceModel(self.file, self.weight_bytes, fed_bytes, amendment)
        result.form, result.nodes, result.bound = self.form, self.nodes, self.bound
        return result

    def cut(
        self,
        groups: Iterable[Sequence[OnnxNode]],
        change: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
    ) -> ReferenceModel:
        """The model in other pieces: one for each group of nodes, of what others read.

        `change` replaces each float initializer.
        """
        weights = self._weights if change is None else changed_floats(self._weights, change)
        writes = ((group, self._read_by_others(group)) for group in groups)
        pieces = tuple(Piece(g, weights, w, self._settings) for g, w in writes)
        result = copy(self)
        vars(result).update(pieces=pieces, _weights=weights, _engines={}, _parts={}, joins={})
        return result

    def _read_by_others(self, group: Sequence[OnnxNode]) -> tuple[str, ...]:
        """The results of some nodes that others read, or that are returned; all where none is."""
        own, made = set(group), [name for node in group for name in node.writes]
        read = [n for n in made if n in self.outputs or not own >= {*self.graph.uses(n)}]
        return tuple(read or made)

    def standing_for(self, other: ReferenceModel, form: str) -> ReferenceModel:
        """Present this model as `other`, of which it is the form called `form`.

        It has the path and the nodes of the other, whose values have the same names; what runs is
        this one.
        """
        self.path, self.form, self.nodes = other.path, form, other.nodes
        return self

    @property
    def balanced(self) -> frozenset[str]:
        """The values that the file says were scaled when it was quantized."""
        return balanced_values(self.file.proto)

    @property
    def can_be_amended(self) -> bool:
        """True if a value can be changed between its maker and its readers."""
        return self._can_be_cut

    def is_there(self, name: str) -> bool:
        """True for an input, and for a value that a node makes."""
        return name in self.inputs or self.graph.producer(name) is not None

    def makers_of(self, value: str, among: Collection[str]) -> Piece | None:
        """The nodes that make `value`, to be run alone; None where no node makes it.

        Makers of the values in `among`, which are on the way to it, belong to them.
        """
        chosen: set[OnnxNode] = set()
        waiting = [value]
        while waiting:
            node = self.graph.producer(waiting.pop())
            if node is not None and node not in chosen:
                chosen.add(node)
                waiting += [name for name in node.reads if name in among]
        nodes = [node for node in self.graph.nodes if node in chosen]
        return Piece(nodes, self._weights, (value,), self._settings) if nodes else None

    def constant(self, name: str) -> NDArray[Any] | None:
        """The constant of an initializer or a Constant node; None for other names."""
        const = self._weights.get(name)
        return None if const is None else np.asarray(const.numpy())

    def made_constant(self, name: str) -> NDArray[Any] | None:
        """The result of a Constant node; None for other names."""
        return None if self.graph.producer(name) is None else self.constant(name)

    def _constant_nodes(self) -> Iterator[tuple[str, ConstData]]:
        """Yield the results of Constant nodes that are tensors; engines take them for weights."""
        place = Place(str(self.path))
        for node in self.graph.nodes:
            for attribute in node.proto.attribute if node.op_type == "Constant" else ():
                if attribute.name == "value" and dtype_of_element(attribute.t.data_type):
                    const = self.file.tensors.const(attribute.t, place)
                    yield from ((name, const) for name in node.writes[:1])

    def as_declared(self, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """`feeds` in the dtypes that the file declares, and the bound inputs.

        A compiled model may take other dtypes. Open dims of bound inputs are 1.
        """
        declared = {
            value.name: value.type.tensor_type
            for value in self.file.proto.graph.input
            if value.type.HasField("tensor_type")
        }
        bound = {
            name: np.full([dim.dim_value or 1 for dim in declared[name].shape.dim], number)
            for name, number in self.bound.items()
            if name in declared
        }
        return {
            name: np.asarray(array, onnx.helper.tensor_dtype_to_np_dtype(declared[name].elem_type))
            for name, array in (*feeds.items(), *bound.items())
            if name in declared
        }

    def constant_shape(self, name: str) -> tuple[int, ...] | None:
        tensor = self.constants.get(name)
        return None if tensor is None else tuple(tensor.dims)

    @property
    def engines(self) -> tuple[str, ...]:
        return tuple(sorted(set(self._engines.values())))

    def run_piece(self, at: int, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Results of the piece at `at`; those that are not tensors are left out.

        Raises:
            AtcError: REFERENCE_FAILED where neither onnxruntime nor onnx's evaluator runs it,
                MEMORY_LIMIT where its values take too much.
        """
        piece = self.pieces[at]
        if at not in self._parts:
            try:
                return self._run(piece, feeds, (_PREFERRED,))
            except NotRunError:
                piece.close()
                # Beside others, onnxruntime takes a Slice of what is fed, as of sizes, for empty. Some
                # operators it takes with constants alone.
                groups = [[node] for node in piece.nodes] if self.can_be_amended else [piece.nodes]
                inside = replace(self._settings, fed_bytes=None)
                self._parts[at] = tuple(self._piece(group, inside) for group in groups)
        held, results = dict(feeds), dict[str, NDArray[Any]]()
        for part in self._parts[at]:
            try:
                made = self._run(part, held, ENGINES)
            except NotRunError as error:
                ops = ", ".join(dict.fromkeys(node.op_type for node in part.nodes))
                raise REFERENCE_FAILED.error(
                    Text(
                        "neither engine runs the nodes {ops} of the original: {reasons}",
                        ops=ops[:200],
                        reasons=error_text(error),
                    ),
                    place=Place(str(self.path)),
                ) from error
            held.update(made)
            results.update(made)
        return results

    def joined(self, first: int, stop: int) -> Piece:
        """The pieces from `first` to `stop` as one."""
        pieces = self.pieces[first:stop]
        nodes = [node for piece in pieces for node in piece.nodes]
        writes = tuple(name for piece in pieces for name in piece.writes)
        return Piece(nodes, self._weights, writes, self._settings)

    def run_joined(
        self, piece: Piece, feeds: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]] | None:
        """Results of some pieces as one; None where the preferred engine does not run them so."""
        try:
            return self._run(piece, feeds, (_PREFERRED,))
        except (AtcError, NotRunError):
            piece.close()
            return None

    def _run(
        self, piece: Piece, feeds: Mapping[str, NDArray[Any]], engines: Iterable[str]
    ) -> dict[str, NDArray[Any]]:
        """Results of a piece by the first engine that runs it."""
        if piece in self._engines:
            # Of other data, the engine may refuse some, and the other one is tried again.
            with suppress(NotRunError):
                return piece.run(feeds, self._engines[piece])
            piece.close()
        reasons = []
        for engine in engines:
            try:
                results = piece.run(feeds, engine)
            except NotRunError as error:
                if isinstance(error.__cause__, AtcError):
                    raise error.__cause__ from None
                reasons.append(error_text(error))
                continue
            self._engines[piece] = engine
            return results
        raise NotRunError(SEMICOLON.join(reasons))

    def _pieces_of(self) -> tuple[Piece, ...]:
        """All nodes, in pieces; one piece where values cannot pass between pieces.

        A piece ends with the node of an amended value, so that its readers come in a later one.
        """
        if not self.can_be_amended:
            return (self._piece(self.graph.nodes),)
        amended = self.amendment.reads.keys() if self.amendment else ()
        pieces: list[list[OnnxNode]] = []
        held, ended = 0, True
        for node in self.graph.nodes:
            if all(name in self._weights for name in node.writes):  # a Constant
                continue
            size = sum(
                constant_bytes(self._weights[name])
                for name in node.input_names
                if name in self._weights
            )
            if ended or len(pieces[-1]) == _NODES or held + size > self.weight_bytes:
                pieces.append([])
                held = 0
            pieces[-1].append(node)
            held += size
            ended = any(name in amended for name in node.output_names)
        return tuple(map(self._piece, pieces))

    def _piece(self, nodes: Sequence[OnnxNode], settings: PieceSettings | None = None) -> Piece:
        writes = dict.fromkeys(name for node in nodes for name in node.writes)
        return Piece(nodes, self._weights, tuple(writes), settings or self._settings)


def open_reference(path: Path) -> ReferenceModel:
    """The ONNX model in the file at `path`, ready to run."""
    return ReferenceModel(read_model(path, lenient=True))
