"""What fixing starts from: a file that was folded and checked, and inputs that the user gives a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.check.evaluate import Checked
from atc_py.diag import BAD_OPTION
from atc_py.ir import DenseConst
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.source import QuantizedNode
from atc_py.options.fix_rules import EVERY_INPUT, FixRules
from atc_py.system.memory_limit import require_memory
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.onnx_graph.reading.onnx_file import OnnxFile


class Start(msgspec.Struct, frozen=True):
    """A file after folding, and its check."""

    model: FoldedModel  # the file after folding
    checked: Checked
    kept: OnnxGraph  # its graph as it was then; nothing changes it

    @classmethod
    def of(cls, model: FoldedModel, checked: Checked) -> Start:
        """A start; what becomes of the graph of `model` later is of no concern."""
        return cls(model, checked, model.graph.copied())

    @property
    def graph(self) -> OnnxGraph:
        return self.kept.copied()

    @property
    def quantized(self) -> tuple[QuantizedNode, ...]:
        """The outcomes of the quantized layers outside of branches."""
        every, inner = self.model.source.quantized, self.model.folded.quantized
        return every[: len(every) - len(inner)]


def bind_inputs(graph: OnnxGraph, values: Mapping[str, float]) -> None:
    """Make inputs constants that are filled with one value.

    Raises:
        AtcError: BAD_OPTION for an input that the model does not have, or whose dims are open.
    """
    for name, value in values.items():
        if name not in graph.inputs:
            raise BAD_OPTION.error(
                Text("the model has no input {name} to bind", name=repr(name)),
                help=Text("its inputs are {names}", names=", ".join(graph.inputs)),
            )
        known = graph.inputs[name]
        dtype, shape = dtype_of_element(known.element), known.shape
        if dtype is None or shape is None:
            raise BAD_OPTION.error(
                Text("input {name} cannot be bound: its dims are open", name=repr(name)),
                help=Text("give them with --input-shape {name}:...", name=name),
            )
        require_memory(
            element_count(shape) * dtype.itemsize,
            Text("input {name}, bound to one value,", name=repr(name)),
        )
        graph.consts[name] = DenseConst(np.full(shape, value, dtype.numpy))


COUNTING = frozenset({DType.INT32, DType.INT64, DType.UINT32, DType.UINT64})


def with_input_ranges(
    file: OnnxFile, rules: FixRules, data: Mapping[str, NDArray[Any]] = MappingProxyType({})
) -> FixRules:
    """Rules with bounds for the integer inputs, by their names.

    The user's bounds for every input are those of inputs without others; `data`, what inputs are
    fed, bounds those of integers that have none.
    """
    every = rules.ranges.get(EVERY_INPUT)
    ranges = {name: bounds for name, bounds in rules.ranges.items() if name != EVERY_INPUT}
    for tensor in file.inputs:
        dtype = dtype_of_element(tensor.element)
        if dtype not in COUNTING or tensor.name in ranges or tensor.name in rules.bind:
            continue
        fed = data.get(tensor.name)
        if every is not None:
            ranges[tensor.name] = every
        elif fed is not None and fed.size:
            ranges[tensor.name] = min(int(fed.min()), 0), int(fed.max())
    return rules if ranges == rules.ranges else replace(rules, ranges=ranges)


_PASSING = frozenset({"Cast", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze"})
_COMBINING = frozenset({"And", "Not", "Or", "Xor", *_PASSING})
# Distances from the constant to values on which the operators give both answers.
_STEPS = {
    "Equal": (0,),
    "Greater": (0, 1),
    "GreaterOrEqual": (-1, 0),
    "Less": (-1, 0),
    "LessOrEqual": (0, 1),
}


def deciding_values(model: FoldedModel) -> dict[str, tuple[float, ...]]:
    """Candidate values by the inputs of one element on which conditions of If nodes depend."""
    inputs = {
        tensor.name
        for tensor in model.source.inputs
        if tensor.dims is not None and all(dim == 1 for dim in tensor.dims)
    }
    results: dict[str, dict[float, None]] = {}
    for node in model.graph.nodes:
        if not node.is_if or node.inputs[0] is None:
            continue
        for name, values in _decisions(node.inputs[0].name, model.graph, inputs):
            results.setdefault(name, {}).update(dict.fromkeys(values))
    return {name: tuple(values) for name, values in results.items() if values}


def _decisions(
    name: str, graph: OnnxGraph, inputs: set[str]
) -> Iterator[tuple[str, tuple[float, ...]]]:
    todo, seen = [name], {name}
    while todo:
        name = todo.pop()
        if name in inputs:
            yield name, (1, 0)
            continue
        node = graph.producer(name)
        if node is None or node.domain:
            continue
        if node.op_type in _STEPS:
            yield from _compared(node, graph, inputs)
        elif node.op_type in _COMBINING:
            names = {tensor.name for tensor in node.inputs if tensor is not None} - seen
            seen |= names
            todo += sorted(names)


def _compared(
    node: OnnxNode, graph: OnnxGraph, inputs: set[str]
) -> Iterator[tuple[str, tuple[float, ...]]]:
    for at, tensor in enumerate(node.inputs[:2]):
        other = node.inputs[1 - at] if len(node.inputs) > 1 else None
        if tensor is None or other is None or other.const is None:
            continue
        source = tensor.name
        while source not in inputs and (maker := graph.producer(source)) is not None:
            if maker.op_type not in _PASSING:
                break
            first = maker.inputs[0]
            source = "" if first is None else first.name
        data = other.const.numpy().reshape(-1)
        if source in inputs and data.size == 1:
            value = data[0].item()
            yield source, tuple(value + step for step in _STEPS[node.op_type])
