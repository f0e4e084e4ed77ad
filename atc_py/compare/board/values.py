"""Results of a board by the values of the original that they stand for.

A result of an op is a node's result by the attributes that atc writes to dumps and to the JSON of the
model, never by the names of files, which lose characters. Without both, an op whose own name is that
of a node is this node.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from numpy.typing import NDArray

from atc_py.diag import BOARD_LEFT_OUT, AtcError, Diagnostic, Place
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.package.ge.dump import Dump, read_dump
from atc_py.package.ge.dump_folder import DumpFile, DumpFolder, escaped_name
from atc_py.package.ge.dump_tensors import DumpTensor, UnreadTensorError
from atc_py.package.ge.graph import GeOp
from atc_py.package.ge.launches import launch_nodes
from atc_py.package.ge.model import INPUT_OPS, HuaweiModel
from atc_py.text import Text

_CONVERSIONS = frozenset({"Cast", "TransData"})
"""Operators that atc inserts."""

_MOST_DAMAGED = 20


class BoardResult(msgspec.Struct, frozen=True):
    """A result of an op on the board."""

    op: str
    type: str  # its operator
    output: int  # which result
    nodes: tuple[str, ...]  # of the network that the op computes
    value: str  # of the original; empty for none
    inserted: bool  # whether the op is no node of the network
    file: DumpFile
    tensor: DumpTensor  # its place in it


class BoardValues:
    """The results of one execution.

    Attributes:
        results: in the order of execution.
        ops: ops of the model's graphs by name; none without its JSON.
        findings: dumps that are damaged.
        has_model: whether the JSON of the model was there.
    """

    def __init__(
        self,
        dumps: DumpFolder,
        nodes: Sequence[OnnxNode],
        inputs: Collection[str],
        model: HuaweiModel | None,
    ) -> None:
        """Match the dumps of one execution; `model` is None without its JSON."""
        self._inputs = frozenset(inputs)
        self._nodes = {node.name: node for node in reversed(nodes) if node.name}
        self._by_escaped = {escaped_name(name): name for name in reversed(list(self._nodes))}
        self.ops: dict[str, GeOp] = {}
        for graph in () if model is None else model.run_graphs():
            for op in graph.ops:
                self.ops.setdefault(op.name, op)
        self._last_ops = self._ends()
        self._ops_by_escaped = {escaped_name(name): op for name, op in self.ops.items()}
        self.has_model = model is not None
        self.findings: list[Diagnostic] = []
        self.damaged: set[str] = set()
        found = [each for files in dumps.files.values() for each in self._of_op(files)]
        self.results: tuple[BoardResult, ...] = tuple(sorted(found, key=self._order))
        self.by_value: Mapping[str, tuple[int, ...]] = self._positions()

    def array(self, result: BoardResult) -> NDArray[Any]:
        """The elements of a result in the order and dims of the network.

        Raises:
            UnreadTensorError: they cannot be put so.
            AtcError: the file changed meanwhile.
        """
        return read_dump(result.file.path).array(result.tensor)

    def dumped_ops(self) -> set[str]:
        return {each.op for each in self.results} | self.damaged

    def _ends(self) -> dict[str, str]:
        """The op that ends the work of a node, by the node's name: the last one that has a task."""
        found = {}
        for op in sorted(self.ops.values(), key=lambda op: op.id):
            nodes = [each for each in launch_nodes(op) if each in self._nodes]
            if nodes and not op.attributes.flag("_no_task"):
                found[nodes[-1]] = op.name
        return found

    def _positions(self) -> dict[str, tuple[int, ...]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for at, each in enumerate(self.results):
            if each.value:
                found[each.value].append(at)
        return {name: tuple(rows) for name, rows in found.items()}

    def _order(self, result: BoardResult) -> tuple[int, int, int, int]:
        op = self.ops.get(result.op)
        return (0 if op is None else op.id, result.file.time, result.file.task, result.output)

    def _of_op(self, files: Sequence[DumpFile]) -> Iterator[BoardResult]:
        """Yield the results of an op: those of the newest file that has some."""
        for file in reversed(files):
            try:
                dump = read_dump(file.path)
            except AtcError as error:
                self._note_damage(file, error)
                continue
            if dump.outputs:
                yield from self._results(file, dump)
                return

    def _note_damage(self, file: DumpFile, error: AtcError) -> None:
        op = self._ops_by_escaped.get(file.name)
        self.damaged.add(file.name if op is None else op.name)
        if len(self.findings) < _MOST_DAMAGED:
            self.findings.append(
                BOARD_LEFT_OUT.diagnostic(
                    Text("a dump is left out: {reason}", reason=error.diagnostics[0].message),
                    place=Place(str(file.path)),
                )
            )

    def _results(self, file: DumpFile, dump: Dump) -> Iterator[BoardResult]:
        op = self.ops.get(dump.op) or self._ops_by_escaped.get(file.name)
        name = dump.op or (op.name if op is not None else "")
        name = name or self._by_escaped.get(file.name, file.name)
        nodes = self._nodes_of(op, file.op_type, name, dump)
        for position, tensor in enumerate(dump.outputs):
            node, output = self._origin(op, nodes, position, tensor)
            yield BoardResult(
                op=name,
                type=op.type if op is not None else file.op_type,
                output=position,
                nodes=nodes,
                value=self._value(node, output),
                inserted=not nodes,
                file=file,
                tensor=tensor,
            )

    def _nodes_of(self, op: GeOp | None, op_type: str, name: str, dump: Dump) -> tuple[str, ...]:
        if op is not None:
            return tuple(each for each in launch_nodes(op) if each in self._nodes)
        origins = dict.fromkeys(each.origin_name for each in dump.outputs)
        if name in self._nodes:
            return (name,)
        if op_type in _CONVERSIONS:
            return ()
        return tuple(each for each in origins if each in self._nodes)

    def _origin(
        self, op: GeOp | None, nodes: tuple[str, ...], position: int, tensor: DumpTensor
    ) -> tuple[str, int]:
        """The node that a result is of, and which of its results."""
        if tensor.origin_name:
            return (
                tensor.origin_name,
                tensor.origin_output if tensor.origin_output >= 0 else position,
            )
        if op is not None and position < len(op.outputs):
            attributes = op.outputs[position].attributes
            name = attributes.text("_datadump_origin_name")
            if name:
                return name, attributes.number("_datadump_origin_output_index", position)
        if nodes:
            is_step = op is not None and self._last_ops.get(nodes[-1], op.name) != op.name
            return "" if is_step else nodes[-1], position
        return self._read_by(op) if op is not None else ("", position)

    def _read_by(self, op: GeOp) -> tuple[str, int]:
        """The node whose result an inserted op passes on, seen through others, or the input."""
        seen: set[str] = set()
        while op.name not in seen:
            seen.add(op.name)
            edge = next((edge for edge in op.edges if edge is not None and edge.output >= 0), None)
            maker = None if edge is None else self.ops.get(edge.producer)
            if edge is None or maker is None:
                break
            nodes = [each for each in launch_nodes(maker) if each in self._nodes]
            if nodes or maker.type in INPUT_OPS:
                return nodes[-1] if nodes else maker.name, edge.output
            op = maker
        return "", 0

    def _value(self, node: str, output: int) -> str:
        found = self._nodes.get(node)
        if found is None and node in self._inputs:
            return node
        if found is None or not 0 <= output < len(found.output_names):
            return ""
        return found.output_names[output]


def unread_reason(error: UnreadTensorError | AtcError) -> str:
    if isinstance(error, AtcError):
        return error.diagnostics[0].message
    reason: str = error.args[0]
    return reason
