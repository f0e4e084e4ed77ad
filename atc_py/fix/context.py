"""A node that a rule may replace, the nodes that the rule writes, and how they take its place."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from atc_py.fix import tables
from atc_py.fix.facts import MOST_NODES, ContextFacts, Surroundings
from atc_py.fix.unfit import require, skip_unless
from atc_py.ir import ConstData, DeferredConst, DenseConst
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.tensors import element_of_dtype
from atc_py.onnx_graph.rewriting.graph_body import (
    function_body,
    has_message,
    inner_attributes,
    new_node,
    renamed,
)
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType

# Opset since which an operator takes its axes as an input; other reductions: 18.
_AXES_AS_INPUT = {"ReduceSum": 13, "Squeeze": 13, "Unsqueeze": 13}

_REDUCTIONS_AXES_AS_INPUT = 18
_PADS_AS_INPUT = 11
_SLICE_AS_INPUT = 10
_CLIP_AS_INPUT = 11


class RuleContext(ContextFacts):
    """A node of the model, and what a rule writes in its place.

    Attributes:
        absorbed: nodes that go along with the node, each reading the one before it; the results
            are then those of the last.
    """

    def __init__(
        self,
        node: OnnxNode,
        opset: int,
        fresh: Callable[[str], str],
        around: Surroundings | None = None,
    ) -> None:
        """Start without new nodes; `fresh` returns an unused name, given a base."""
        super().__init__(node, around)
        self.absorbed: tuple[OnnxNode, ...] = ()
        # nodes that stay, whose results the absorbed ones read and what is written does not
        self.beside: tuple[OnnxNode, ...] = ()
        self.opset = opset  # the version of ONNX's operators at which new nodes are written
        self.made: list[OnnxNode] = []  # the new nodes, producers first
        # the values that become the node's outputs, by position, once the rule has written them
        self.results: Sequence[str] = ()
        self.consts: dict[str, ConstData] = {}  # data of new constants by name
        self._fresh = fresh
        self.made_bytes = 0  # bytes of these

    @cached_property
    def _origin(self) -> OnnxNode:
        return replace(self.node, replaces=self.node.replaces or self.node.op_type)

    def const(self, array: ArrayLike, dtype: DType | None = None, label: str = "const") -> str:
        """The name of a new constant; int64 unless `dtype` says otherwise."""
        return self._keep(np.array(array, (dtype or DType.INT64).numpy, order="C"), label)

    def _keep(self, data: NDArray[Any], label: str) -> str:
        name = self._fresh(self._label(label))
        self.consts[name] = DenseConst(data)
        self.made_bytes += data.nbytes
        around = self._surroundings
        tables.require_bytes(self.made_bytes + (0 if around is None else around.made_bytes))
        return name

    def full(self, dims: int | Sequence[int], value: float, label: str) -> str:
        """The name of a constant of one value, of the dtype of the first input."""
        return self.const(tables.full(dims, value), self.element, label)

    def scalar(self, value: float, label: str = "scalar") -> str:
        """The name of a constant without axes, of the dtype of the first input."""
        return self.const(value, self.element, label)

    def require_opset(self, least: int) -> None:
        require(self.opset >= least, "the opset is {least} or more", least=least)

    def op(self, op_type: str, *inputs: str, label: str = "", **attributes: Any) -> str:
        return self.ops(op_type, *inputs, count=1, label=label, **attributes)[0]

    def derived(
        self,
        position: int,
        compute: Callable[[NDArray[Any]], NDArray[Any]],
        dtype: DType = DType.FLOAT32,
        label: str = "const",
    ) -> str:
        """The name of a new constant of a constant input's shape, computed whenever it is read."""
        data = self._const(position)
        name = self._fresh(self._label(label))
        self.consts[name] = DeferredConst(dtype, data.shape, [data], compute, "fix")
        return name

    def ops(
        self, op_type: str, *inputs: str, count: int, label: str = "", **attributes: Any
    ) -> tuple[str, ...]:
        require(len(self.made) < MOST_NODES, "the new form is not too large")
        base = self._label(label or op_type.lower())
        outputs = tuple(self._fresh(base) for _ in range(count))
        plain = {name: value for name, value in attributes.items() if has_message(value)}
        # Constants among the node's own attributes stay in the form that they have there.
        is_own = op_type == self.node.op_type and not self.node.domain
        kept = attributes.keys() - plain.keys() if is_own else ()
        own = [each for each in self.node.proto.attribute if each.name in kept]
        node = new_node(self._origin, self.opset, op_type, inputs, outputs, plain, own)
        self.made.append(node)
        return outputs

    def again(self, *inputs: str, count: int = 1, **changed: Any) -> tuple[str, ...]:
        """Write the node's own operator, with its own inputs unless others are given.

        Attributes of `changed` take the place of the node's; those that are None go.
        """
        attributes = {**self.node.attributes, **changed}
        kept = {name: value for name, value in attributes.items() if value is not None}
        return self.ops(self.node.op_type, *(inputs or self.names), count=count, **kept)

    @property
    def output_count(self) -> int:
        return len(self.node.outputs)

    def own(self, y: str) -> str:
        """A result that is no input: Identity of the first input, others as they are."""
        return self.op("Identity", y) if y == self.name(0) else y

    def add(self, *terms: str, op: str = "Add") -> str:
        """Write a sum; terms that are "" are left out, and one alone is the sum."""
        total, *others = [term for term in terms if term] or [""]
        for term in others:
            total = self.op(op, total, term)
        return total

    def times(self, x: str, factor: float, label: str = "scalar") -> str:
        return self.op("Mul", x, self.scalar(factor, label))

    def concat(self, parts: Sequence[str], axis: int) -> str:
        """Join along an axis; one part alone is the result."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=axis)

    def body(self) -> tuple[str, ...]:
        """Write the nodes that ONNX defines the operator as; return its outputs."""
        node = self.node
        known = all(
            tensor is None or (tensor.dtype and tensor.dims is not None) for tensor in node.inputs
        )
        require(known, "dtypes and ranks of the inputs are known")
        schema = history().at(node.op_type, node.opset)
        defaults = {} if schema is None else schema.attributes
        attributes = {
            name: default.default
            for name, default in defaults.items()
            if default.default is not None
        }
        skip_unless(self._surroundings is not None)
        tensors = cast("Surroundings", self._surroundings).tensors
        graph = function_body(node, {**attributes, **node.attributes}, tensors)
        skip_unless(graph is not None)
        return () if graph is None else self.inline(graph, [*graph.inputs])

    def inline(self, body: OnnxGraph, inputs: Sequence[str]) -> tuple[str, ...]:
        """Write the nodes of a graph, given values for its inputs; return its outputs.

        Names that the graph takes from around it stay.
        """
        names = dict(zip(body.inputs, inputs, strict=True))
        for name, const in body.consts.items():
            data = const.numpy()
            names[name] = self._keep(np.ascontiguousarray(data).reshape(data.shape), "const")
        self._write(body.nodes, names)
        return tuple(names.get(name, name) for name in body.outputs)

    def _write(self, nodes: Sequence[OnnxNode], names: dict[str, str]) -> None:
        """Write nodes, producers first; `names`, by those in the nodes, gains theirs."""
        for node in nodes:
            require(not node.domain, "all operators are ONNX's own")
            inputs = [names.get(name, name) for name in node.input_names]
            attributes = inner_attributes(node, names, self._fresh)
            count = len(node.output_names)
            made = self.ops(node.op_type, *inputs, count=count, **attributes)
            pairs = zip(node.output_names, made, strict=True)
            names.update((name, new) for name, new in pairs if name)

    def squeeze(self, x: str, axes: Sequence[int]) -> str:
        return self._along("Squeeze", x, axes)

    def unsqueeze(self, x: str, axes: Sequence[int]) -> str:
        return self._along("Unsqueeze", x, axes)

    def reduce(self, op_type: str, x: str, axes: Sequence[int], *, keepdims: bool = True) -> str:
        return self._along(op_type, x, axes, keepdims=int(keepdims))

    def reshape(self, x: str, dims: Sequence[int]) -> str:
        """Write `x` in other dims; 0 keeps the dim of that axis, -1 is inferred."""
        return self.op("Reshape", x, self.const(dims, label="dims"))

    def transpose(self, x: str, perm: Sequence[int]) -> str:
        """Permute axes; nothing is written where the order stays."""
        if list(perm) == sorted(perm):
            return x
        return self.op("Transpose", x, perm=list(perm))

    def transpose_back(self, x: str, perm: Sequence[int]) -> str:
        return self.transpose(x, [int(axis) for axis in np.argsort(perm)])

    def cast(self, x: str, dtype: DType) -> str:
        return self.op("Cast", x, to=element_of_dtype(dtype))

    def slice(self, x: str, axis: int, start: int, end: int, step: int = 1) -> str:
        if self.opset < _SLICE_AS_INPUT:
            require(step == 1, "the opset is 10 or more")
            return self.op("Slice", x, axes=[axis], starts=[start], ends=[end])
        parts = [self.const([value]) for value in (start, end, axis, step)]
        return self.op("Slice", x, *parts)

    def pad(self, x: str, pads: Sequence[int]) -> str:
        """Pad with zeros; nothing is written where no pad is needed."""
        if not any(pads):
            return x
        if self.opset < _PADS_AS_INPUT:
            return self.op("Pad", x, pads=list(pads))
        return self.op("Pad", x, self.const(pads, label="pads"))

    def clip(self, x: str, low: float, high: float, dtype: DType = DType.FLOAT32) -> str:
        if self.opset < _CLIP_AS_INPUT:
            return self.op("Clip", x, min=float(low), max=float(high))
        limits = [self.const(low, dtype, "least"), self.const(high, dtype, "most")]
        return self.op("Clip", x, *limits)

    def _along(self, op_type: str, x: str, axes: Sequence[int], **attributes: Any) -> str:
        since = _AXES_AS_INPUT.get(op_type, _REDUCTIONS_AXES_AS_INPUT)
        if self.opset >= since:
            return self.op(op_type, x, self.const(list(axes), label="axes"), **attributes)
        return self.op(op_type, x, axes=list(axes), **attributes)

    def _label(self, part: str) -> str:
        outputs = [tensor.name for tensor in self.node.outputs if tensor is not None]
        return f"{self.node.name or outputs[0]}/{part}"


def splice(writer: Writer, origin: OnnxNode, ctx: RuleContext) -> tuple[OnnxNode, ...]:
    """Write what `ctx` has in the place of `origin`; return the nodes, without copies of values."""
    writer.graph.consts.update(ctx.consts)
    made = {name for node in ctx.made for name in node.writes}
    names: dict[str, str] = {}
    copies: list[tuple[str, str]] = []
    for result, output in zip(ctx.results, origin.output_names, strict=False):
        if not output or not result:
            continue
        if result in made and result not in names:
            names[result] = output
        else:
            copies.append((names.get(result, result), output))
    done = tuple(renamed(node, names) for node in ctx.made)
    writer.nodes += done
    origin = replace(origin, replaces=origin.replaces or origin.op_type)
    for source, output in copies:
        writer.op(origin, "Identity", [source], output)
    return done
