"""Tidying: what leads out of one form and into the next one is left out, with the nodes between on twins.

Rules look at one node, so a row of convolutions of signals has an Unsqueeze and a Squeeze at each. Here
values on the way from the end of a form that rules wrote to the start of another get twins; what only
led from one to the other is dead. Nodes of the file change where they are on such a way, and nowhere
else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from atc_py.fix.tidy.known_equalities import (
    Narrowed,
    Relation,
    Squeezed,
    TwinStep,
    enters,
    leaves,
    rounds,
)
from atc_py.fix.tidy.transparent_operators import Carried, carried
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.onnx_graph.source import SourceTensor

# Relations in which a value is asked for that are followed.
_MOST_WANTS = 2


@dataclass(frozen=True, slots=True)
class Twin:
    """A value that stands for another one."""

    value: str  # name of the other one
    relation: Relation | None  # the relation of that one to this; None if they are the same


@dataclass(slots=True)
class Tidied:
    """Changes that tidying made."""

    # the values that stand for others, by name
    twins: dict[str, list[Twin]] = field(default_factory=lambda: defaultdict(list))
    # nodes that now work on twins, by each of their former results
    moved: dict[str, OnnxNode] = field(default_factory=dict)


def tidy_graph(graph: OnnxGraph, own: Collection[str], barred: Collection[int]) -> Tidied:
    """Tidy a folded graph, each node once; return what changed.

    `own` are results of the nodes that rules wrote, `barred` positions of nodes that stay.
    """
    tidier = _Tidier(graph, own, barred)
    for node in graph.nodes:
        tidier.take(node)
    tidier.writer.finish()
    graph.drop_dead_nodes()
    return tidier.tidied


class _Tidier:
    def __init__(
        self,
        graph: OnnxGraph,
        own: Collection[str],
        barred: Collection[int],
    ) -> None:
        self.writer = Writer(graph)
        self.tidied = Tidied()
        self._own, self._barred = own, barred
        self._opset = graph.opsets.get("", 0)
        self._twins: dict[str, dict[Relation, str]] = defaultdict(dict)
        self._same: dict[str, str] = {}
        self._named = set(graph.outputs)
        for node in graph.nodes:
            self._named.update(node.captured, node.reads if node.domain else ())
        self._wants: dict[str, dict[Relation, None]] = defaultdict(dict)
        for node in reversed(graph.nodes):
            self._want(node)

    def _is_step(self, node: OnnxNode) -> bool:
        """True for a node that rules wrote, and for a Cast of the file to float64 or back to float32."""
        if node.domain:
            return False
        cast = node.op_type == "Cast" and (rounds(enters(node)) or rounds(leaves(node)))
        return cast or any(name in self._own for name in node.writes)

    def _want(self, node: OnnxNode) -> None:
        """Note the relations in which a node's inputs are asked for."""
        relation = enters(node) if self._is_step(node) else None
        if relation is not None:
            self._wants[node.input_names[0]][relation] = None
        for relation in self._relations(node):
            form = carried(node, relation)
            for position in form.data if form else ():
                name = node.input_names[position] if position < len(node.input_names) else ""
                if name and name not in self.writer.graph.consts:
                    self._wants[name][relation] = None

    def _relations(self, node: OnnxNode) -> list[Relation]:
        """The relations in which a node's results are asked for, as far as they are followed."""
        if node.index in self._barred:
            return []
        asked = dict.fromkeys(want for name in node.writes for want in self._wants.get(name, ()))
        return [*asked][:_MOST_WANTS]

    def take(self, node: OnnxNode) -> None:
        if node.input_names and self._is_step(node) and self._is_there(node):
            return
        for relation in self._relations(node):
            form = carried(node, relation)
            if form is not None and self._carry(node, relation, form):
                return
        names = self._read(node)
        if names == list(node.input_names):
            self.writer.keep(node)
        else:
            self.writer.again(node, node.op_type, names, node.output_names, with_own=True)

    def _read(self, node: OnnxNode) -> list[str]:
        return [self._same.get(name, name) for name in node.input_names]

    def _is_there(self, node: OnnxNode) -> bool:
        """True if the result of a node that rules wrote is the twin of its input; note twins."""
        source, result = self._read(node)[0], node.output_names[0]
        inverse = enters(node)
        twin = self._twins[source].get(inverse) if inverse else None
        left_out = twin is not None and result not in self._named
        if twin is not None and left_out:
            self._same[result] = twin
            self.tidied.twins[twin].append(Twin(result, None))
        elif twin is not None and rounds(inverse):
            self.writer.op(node, "Identity", [twin], result)
            return True
        elif inverse is not None and not rounds(inverse):
            self._relate(source, inverse, result)
        relation = leaves(node)
        if relation is not None:
            self._relate(self._same.get(result, result), relation, source)
        return left_out

    def _relate(self, value: str, relation: Relation, twin: str) -> None:
        self._twins[value].setdefault(relation, twin)
        self.tidied.twins[twin].append(Twin(value, relation))
        held = self.writer.graph.held
        if isinstance(relation, Squeezed) and value not in held.get(twin, ()):
            held[twin] = (*held.get(twin, ()), value)  # the same elements in the same order

    def _carry(self, node: OnnxNode, relation: Relation, form: Carried) -> bool:
        """Write a node on twins, and what leads back from them; return False if that costs more."""
        names = self._read(node)
        result = node.outputs[0]
        if result is None or result.dims is None:
            return False
        missing: list[int] = []
        there = 0
        for position in form.data:
            tensor = node.inputs[position]
            if tensor is None:
                continue
            twin = self._operand(tensor, names[position], relation, len(result.dims))
            if twin is None:
                return False
            there += bool(twin) and tensor.const is None
            missing += [] if twin else [position]
            names[position] = twin or names[position]
        if not there or len(missing) > (0 if rounds(relation) else there):
            return False
        for position in missing:
            names[position] = self._enter(node, names[position], relation)
        for position, numbers in form.numbers.items():
            names[position] = self._numbers(f"{node.output_names[0]}/{relation.label}", numbers)
        self._write(node, names, relation, form)
        return True

    def _operand(
        self, tensor: SourceTensor, name: str, relation: Relation, rank: int
    ) -> str | None:
        """The twin of an operand beside a result of `rank` axes; "" if it has none yet."""
        if tensor.const is not None:
            data = tensor.const.numpy()
            value = relation.operand(data, rank)
            if value is None or value is data:
                return None if value is None else name
            return self.writer.const(f"{name}/{relation.label}", value)
        alike = tensor.dims is not None and len(tensor.dims) == rank
        if not alike and not isinstance(relation, Narrowed):
            return None
        return self._twins[name].get(relation, "")

    def _numbers(self, base: str, numbers: Sequence[int]) -> str:
        return self.writer.const(base, np.array(numbers, np.int64))

    def _enter(self, node: OnnxNode, name: str, relation: Relation) -> str:
        if relation not in self._twins[name]:
            twin = self.writer.fresh(f"{name}/{relation.label}")
            self._write_step(node, relation.enter(self._opset), name, twin, twin)
            self._relate(name, relation, twin)
        return self._twins[name][relation]

    def _write(
        self, node: OnnxNode, names: Sequence[str], relation: Relation, form: Carried
    ) -> None:
        """Write a node on twins; its own results follow, and are dead where nothing reads them."""
        outputs = [
            self.writer.fresh(f"{name}/{relation.label}") if name else ""
            for name in node.output_names
        ]
        new = self.writer.again(
            node, node.op_type, names, outputs, with_own=True, **form.attributes
        )
        self.tidied.moved.update(dict.fromkeys(node.writes, new))
        for name, twin in zip(node.output_names, outputs, strict=True):
            if not name:
                continue
            self._relate(name, relation, twin)
            self._write_step(node, relation.leave(self._opset), twin, name, twin)

    def _write_step(
        self, node: OnnxNode, step: TwinStep, source: str, result: str, twin: str
    ) -> None:
        inputs = [source]
        if step.numbers is not None:
            inputs.append(self._numbers(f"{twin}/dims", step.numbers))
        self.writer.op(node, step.op_type, inputs, result, **step.attributes)
