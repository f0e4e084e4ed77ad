"""Random models of nodes that hold graphs, sequences and optionals, for comparing a fixed model with its original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

DIMS = (2, 3)
_DEPTH = 3


@dataclass
class Scope:
    """Names that a graph sees.

    Attributes:
        depth: graphs around it.
        tensors: floats of dims `DIMS`.
        flags: bools without axes.
        nodes: what the graph has.
        count: of names so far; graphs of one depth use the same names.
    """

    depth: int
    tensors: list[str]
    flags: list[str]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    count: int = 0

    def fresh(self) -> str:
        """Return an unused name."""
        self.count += 1
        return f"d{self.depth}_{self.count}"

    def add(self, op: str, inputs: list[str], count: int = 1, **attributes: Any) -> list[str]:
        """Add a node; return its outputs."""
        outputs = [self.fresh() for _ in range(count)]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs

    def const(self, value: object, dtype: type = np.float32) -> str:
        """Add a constant."""
        tensor = onnx.numpy_helper.from_array(np.array(value, dtype))
        return self.add("Constant", [], value=tensor)[0]

    def inner(self) -> Scope:
        """Open a graph inside."""
        return Scope(self.depth + 1, [*self.tensors], [*self.flags])


class Maker:
    """Draws graphs."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def pick(self, names: list[str]) -> str:
        """Return one of the names, later ones more often."""
        return names[-1 - min(int(self.rng.geometric(0.4)) - 1, len(names) - 1)]

    def fill(self, scope: Scope, count: int) -> None:
        """Add nodes to a graph."""
        plain: list[Callable[[Scope], str]] = [self.binary, self.unary, self.refused, self.made]
        held: list[Callable[[Scope], str]] = [self.branch, self.loop, self.scan, self.sequence]
        for _ in range(count):
            deep = scope.depth < _DEPTH and self.rng.random() < 0.4
            kinds = held if deep else plain
            scope.tensors.append(kinds[int(self.rng.integers(len(kinds)))](scope))
            if self.rng.integers(4) == 0:
                scope.flags.append(self.flag(scope))

    def binary(self, scope: Scope) -> str:
        """Add a node of two operands."""
        op = str(self.rng.choice(["Add", "Sub", "Mul", "Max"]))
        return scope.add(op, [self.pick(scope.tensors), self.pick(scope.tensors)])[0]

    def unary(self, scope: Scope) -> str:
        """Add a node of one operand."""
        op = str(self.rng.choice(["Neg", "Sigmoid", "Identity", "Dropout", "Tanh", "Abs"]))
        return scope.add(op, [self.pick(scope.tensors)])[0]

    def refused(self, scope: Scope) -> str:
        """Add a node that the list `base` refuses."""
        x = self.pick(scope.tensors)
        zero = scope.const(0)
        signs = [scope.add("Less", [each, zero])[0] for each in (x, self.pick(scope.tensors))]
        return scope.add("Cast", scope.add("Xor", signs), to=TensorProto.FLOAT)[0]

    def made(self, scope: Scope) -> str:
        """Add a constant over dims that are computed."""
        dims = scope.add("Shape", [self.pick(scope.tensors)])
        value = helper.make_tensor("value", TensorProto.FLOAT, [1], [float(self.rng.integers(5))])
        ones = scope.add("ConstantOfShape", dims, value=value)
        return scope.add("Add", [ones[0], self.pick(scope.tensors)])[0]

    def flag(self, scope: Scope) -> str:
        """Add a condition, of a run or constant."""
        if self.rng.integers(3) == 0:
            return scope.const(bool(self.rng.integers(2)), np.bool_)
        total = scope.add("ReduceSum", [self.pick(scope.tensors)], keepdims=0)
        return scope.add("Less", [total[0], scope.const(self.rng.normal())])[0]

    def branch(self, scope: Scope) -> str:
        """Add an If."""
        count = int(self.rng.integers(1, 3))
        graphs = []
        for name in ("then", "else"):
            inner = scope.inner()
            self.fill(inner, int(self.rng.integers(0, 4)))
            results = [self.pick(inner.tensors) for _ in range(count)]
            graphs.append(self.graph(inner, name, [], results))
        then, other = graphs
        flag = self.pick(scope.flags)
        return scope.add("If", [flag], count, then_branch=then, else_branch=other)[0]

    def loop(self, scope: Scope) -> str:
        """Add a Loop that ends after a number of steps, or by a condition on its step or a state."""
        steps = int(self.rng.integers(0, 4))
        inner = scope.inner()
        step, going, count, state = (inner.fresh() for _ in range(4))
        inner.tensors.append(state)
        if self.rng.integers(3) == 0:
            inner.flags.append(inner.add("Less", [step, inner.const(1, np.int64)])[0])
        self.fill(inner, int(self.rng.integers(1, 4)))
        later = inner.add("Add", [count, inner.const(1, np.int64)])[0]
        limit = inner.const(int(self.rng.integers(1, 5)), np.int64)
        on = inner.add(
            *(("Less", [later, limit]) if self.rng.integers(2) else ("Identity", [going]))
        )
        results = [on[0], later, self.pick(inner.tensors), self.pick(inner.tensors)]
        feeds = [(step, TensorProto.INT64, ()), (going, TensorProto.BOOL, ()),
                 (count, TensorProto.INT64, ()), (state, TensorProto.FLOAT, DIMS)]  # fmt: skip
        types = [(TensorProto.BOOL, ()), (TensorProto.INT64, ()), *[(TensorProto.FLOAT, DIMS)] * 2]
        body = self.graph(inner, "body", feeds, results, types)
        given = [scope.const(steps, np.int64), scope.const(bool(self.rng.integers(5)), np.bool_)]
        inputs = [*given, scope.const(0, np.int64), self.pick(scope.tensors)]
        _, last, scanned = scope.add("Loop", inputs, 3, body=body)
        if self.rng.integers(2):
            return last
        axes = scope.const([0], np.int64)
        total = scope.add("ReduceSum", [scanned, axes], keepdims=0)[0]
        return scope.add("Add", [last, total])[0]

    def scan(self, scope: Scope) -> str:
        """Add a Scan over rows or columns."""
        axis = int(self.rng.integers(2))
        inner = scope.inner()
        state, row = inner.fresh(), inner.fresh()
        inner.tensors.append(state)
        self.fill(inner, int(self.rng.integers(1, 3)))
        axes = inner.const([axis], np.int64)
        wide = inner.add("Unsqueeze", [row, axes])[0]
        inner.tensors.append(inner.add("Add", [self.pick(inner.tensors), wide])[0])
        results = [self.pick(inner.tensors), row]
        part = (DIMS[1 - axis],)
        feeds = [(state, TensorProto.FLOAT, DIMS), (row, TensorProto.FLOAT, part)]
        types = [(TensorProto.FLOAT, DIMS), (TensorProto.FLOAT, part)]
        body = self.graph(inner, "body", feeds, results, types)
        attributes = {
            "num_scan_inputs": 1,
            "scan_input_axes": [axis],
            "scan_output_axes": [axis],
            "scan_input_directions": [int(self.rng.integers(2))],
            "scan_output_directions": [int(self.rng.integers(2))],
        }
        inputs = [self.pick(scope.tensors), self.pick(scope.tensors)]
        last, rows = scope.add("Scan", inputs, 2, body=body, **attributes)
        return scope.add("Sub", [last, rows])[0]

    def sequence(self, scope: Scope) -> str:
        """Add nodes that make a sequence and take from it."""
        found = scope.add("SequenceConstruct", [self.pick(scope.tensors) for _ in range(3)])
        if self.rng.integers(2):
            place = scope.const(int(self.rng.integers(-3, 4)), np.int64)
            found = scope.add("SequenceInsert", [found[0], self.pick(scope.tensors), place])
        if self.rng.integers(2):
            place = scope.const(int(self.rng.integers(-3, 3)), np.int64)
            found = scope.add("SequenceErase", [found[0], place])
        if self.rng.integers(2):
            joined = scope.add("ConcatFromSequence", found, axis=0, new_axis=1)
            axes = scope.const([0], np.int64)
            return scope.add("ReduceSum", [joined[0], axes], keepdims=0)[0]
        place = scope.const(int(self.rng.integers(-2, 3)), np.int64)
        return scope.add("SequenceAt", [found[0], place])[0]

    @staticmethod
    def graph(
        scope: Scope,
        name: str,
        feeds: Sequence[tuple[str, int, tuple[int, ...]]],
        results: list[str],
        types: Sequence[tuple[int, tuple[int, ...]]] | None = None,
    ) -> onnx.GraphProto:
        """Return a graph; results that it does not make are copied."""
        made = {output for node in scope.nodes for output in node.output}
        outputs = []
        for each in results:
            own = each in made and each not in outputs
            outputs.append(each if own else scope.add("Identity", [each])[0])
        inputs = [helper.make_tensor_value_info(*each) for each in feeds]
        typed = types or [(TensorProto.FLOAT, DIMS)] * len(outputs)
        infos = [
            helper.make_tensor_value_info(each, *known)
            for each, known in zip(outputs, typed, strict=True)
        ]
        return helper.make_graph(scope.nodes, name, inputs, infos)


def random_model(rng: np.random.Generator) -> onnx.ModelProto:
    """Return a model of inputs `x`, `z` (floats) and `c` (a bool), with two outputs."""
    maker, scope = Maker(rng), Scope(0, ["x", "z"], ["c"])
    maker.fill(scope, int(rng.integers(2, 6)))
    feeds = [
        ("x", TensorProto.FLOAT, DIMS), ("z", TensorProto.FLOAT, DIMS), ("c", TensorProto.BOOL, ()),
    ]  # fmt: skip
    graph = maker.graph(scope, "main", feeds, [scope.tensors[-1], maker.pick(scope.tensors)])
    opset = helper.make_opsetid("", int(rng.choice([13, 14, 16, 17])))
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)
