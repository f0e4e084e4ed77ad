"""Models with If as text, held to onnxruntime, and random programs of such models."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy.typing as npt
import onnx
import onnx.parser

from tests.lowering.opened import KEEP, loaded

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]


def parsed(text: str, opset: int = 13) -> onnx.ModelProto:
    """Return a model from ONNX's text form, without its first line."""
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')


def reference(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return `model` as onnxruntime takes it: branches return results of nodes, each once.

    It refuses branches that return what is around them, and returns garbage for a value that
    is returned twice.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    _hand_out_copies(copy.graph)
    return copy


def _hand_out_copies(graph: onnx.GraphProto) -> None:
    """Give every output of every branch an Identity."""
    for node in graph.node:
        for branch in (attribute.g for attribute in node.attribute if attribute.HasField("g")):
            _hand_out_copies(branch)
            for position, output in enumerate(branch.output):
                name = f"{branch.node[0].output[0] if branch.node else node.output[0]}.{position}"
                copied = f"{branch.name}.{name}.copy"
                branch.node.append(onnx.helper.make_node("Identity", [output.name], [copied]))
                output.name = copied


def agree(
    model: onnx.ModelProto, runs: Iterable[Feeds], mode: str = KEEP, *, rounds: int = 4
) -> None:
    """Hold runs of one loaded model to onnxruntime, under the built-in specifications."""
    with loaded(model, mode, reference=reference(model), op_specs=None) as ready:
        for feeds in runs:
            ready.agree(feeds, rounds=rounds)


def random_program(seed: int) -> str:
    """Return a model of nested Ifs on 3-column tables; branches capture from every level.

    Inputs are x, a table of two rows, and the conditions c and d; further conditions are computed
    on the way.
    """
    return _Program(seed).text()


class _Program:
    """Writes one program; `_scope` and `_conditions` grow along a body and end with it."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  (no secrets)
        self._count = 0

    def text(self) -> str:
        """Return the whole; each output is computed by a node of its own."""
        lines, constants, chosen = self._body(["x", "e"], ["c", "d"], depth=3, count=3)
        names = [self._name() for _ in chosen]
        last = [f"{name} = Neg ({value})" for name, value in zip(names, chosen, strict=True)]
        head = f"g (float[2,3] x, bool c, bool d) => ({', '.join(names)})"
        return self._block(head, constants, ["e = Abs (x)", *lines, *last])

    def _name(self) -> str:
        """Return a name that nothing else has."""
        self._count += 1
        return f"v{self._count}"

    def _block(self, head: str, constants: Sequence[str], lines: Sequence[str]) -> str:
        """Return a graph of these lines."""
        held = f"<{', '.join(constants)}>" if constants else ""
        return f"{head} {held} {{ {' '.join(lines)} }}"

    def _body(
        self, scope: Sequence[str], conditions: Sequence[str], depth: int, count: int
    ) -> tuple[list[str], list[str], list[str]]:
        """Return lines, constants, and `count` values that are returned, perhaps one twice."""
        values, truths = list(scope), list(conditions)
        lines: list[str] = []
        constants: list[str] = []
        for _ in range(self._random.randint(0, 5)):
            kind = self._random.random()
            if kind < 0.35 and depth:
                made = [self._name() for _ in range(self._random.randint(1, 3))]
                lines.append(self._if(made, values, truths, depth))
                values += made
            elif kind < 0.5:
                lines.append(self._condition(values, truths, constants))
            else:
                values.append(self._name())
                lines.append(self._plain(values, constants))
        return lines, constants, [self._random.choice(values) for _ in range(count)]

    def _if(self, made: Sequence[str], values: list[str], truths: list[str], depth: int) -> str:
        """Return an If that returns `made`."""
        branches = []
        for word in ("then", "else"):
            lines, constants, chosen = self._body(values, truths, depth - 1, len(made))
            outputs = ", ".join(f"float[n_{value},3] {value}" for value in chosen)
            block = self._block(f"{word} () => ({outputs})", constants, lines)
            branches.append(f"{word}_branch = {block}")
        condition = self._random.choice(truths)
        return f"{', '.join(made)} = If ({condition}) <{', '.join(branches)}>"

    def _condition(self, values: list[str], truths: list[str], constants: list[str]) -> str:
        """Return True if something computed exceeds a bound."""
        whole, bound, truth = self._name(), self._name(), self._name()
        constants.append(f"float {bound} = {{{self._random.choice([-2, 0, 2])}}}")
        source = self._random.choice(values)
        truths.append(truth)
        compare = self._random.choice(["Greater", "Less"])
        return (
            f"{whole} = ReduceSum <keepdims = 0> ({source}) {truth} = {compare} ({whole}, {bound})"
        )

    def _plain(self, values: list[str], constants: list[str]) -> str:
        """Return a node that makes the last of `values`, some with other dims than its input."""
        *known, made = values
        first, second = (self._random.choice(known) for _ in range(2))
        kind = self._random.random()
        if kind < 0.3:
            return f"{made} = Concat <axis = 0> ({first}, {second})"
        if kind < 0.5:
            begin, end = self._name(), self._name()
            constants.append(f"int64[1] {begin} = {{{self._random.choice([0, 1, -2])}}}")
            constants.append(f"int64[1] {end} = {{{self._random.choice([9, -1])}}}")
            return f"{made} = Slice ({first}, {begin}, {end})"
        if kind < 0.6:
            rows = self._random.randint(1, 2)
            numbers = ", ".join(str(self._random.randint(-3, 3)) for _ in range(3 * rows))
            constants.append(f"float[{rows},3] {made} = {{{numbers}}}")
            return ""
        return f"{made} = {self._random.choice(['Relu', 'Neg', 'Abs'])} ({first})"
