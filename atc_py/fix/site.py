"""A node that a rule may replace: its facts, and a writer of the nodes that replace it.

Over 400 lines because every rule holds one object, which has the facts and the writers.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from atc_py.fix import tables
from atc_py.fix.new_node import NewNode
from atc_py.fix.surroundings import MOST_NODES
from atc_py.fix.unfit import require
from atc_py.frontend.reading.history import history
from atc_py.frontend.rewriting.function_body import function_body
from atc_py.frontend.rewriting.graph_body import renamed_attributes
from atc_py.ir import DeferredConst, DenseConst
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from atc_py.fix.neighbors import ValueReader
    from atc_py.fix.ranges import Range, Ranges
    from atc_py.fix.surroundings import Surroundings
    from atc_py.frontend.folding.graph import WorkNode
    from atc_py.frontend.rewriting.function_body import BodyNode
    from atc_py.frontend.rewriting.graph_body import GraphBody
    from atc_py.ir import ConstData
    from atc_py.source import SourceNode, SourceTensor
    from atc_py.tensor.shapes import Dims, Shape

__all__ = ["Site"]

_AXES_AS_INPUT = {"ReduceSum": 13, "Squeeze": 13, "Unsqueeze": 13}
"""Opset since which an operator takes its axes as an input; other reductions: 18."""

_REDUCTIONS_AXES_AS_INPUT = 18
_SPLIT_AS_INPUT = 13
_PADS_AS_INPUT = 11
_SLICE_AS_INPUT = 10
_CLIP_AS_INPUT = 11


class Site:
    """A node of the model, and what a rule writes in its place.

    Attributes:
        node: the node.
        work: the node with its graphs; None where a node is only restated.
        looked_around: whether the rule has asked for more than the node: its graph, or the makers and
            ranges of its inputs.
        opset: the version of ONNX's operators at which new nodes are written.
        made: the new nodes, producers first.
        consts: data of new constants by name.
        made_bytes: bytes of these.
        computes_in: the dtype of new scalars, where it is not that of the first input.
        absorbed: nodes that go along with the node, each reading the one before it; the results
            are then those of the last.
        beside: nodes that stay, whose results the absorbed ones read and what is written does not.
    """

    def __init__(
        self,
        node: SourceNode,
        opset: int,
        fresh: Callable[[str], str],
        ranges: Ranges | None = None,
        work: WorkNode | None = None,
        around: Surroundings | None = None,
    ) -> None:
        """Open a site.

        Args:
            node: the node.
            opset: the version at which new nodes are written.
            fresh: returns an unused name, given a base.
            ranges: ranges of the model's integers.
            work: the node with its graphs.
            around: the graph around it.
        """
        self.looked_around = False
        self._surroundings = around
        self.computes_in: DType | None = None
        self.absorbed: tuple[ValueReader, ...] = ()
        self.beside: tuple[WorkNode, ...] = ()
        self._known_ranges = ranges
        self.work = work
        self.node = node
        self.opset = opset
        self.made: list[NewNode] = []
        self.consts: dict[str, ConstData] = {}
        self._fresh = fresh
        self.made_bytes = 0

    # Facts --------------------------------------------------------------------------------------

    @property
    def around(self) -> Surroundings | None:
        """The graph around the node; None where a node is only restated."""
        self.looked_around = True
        return self._surroundings

    @property
    def _ranges(self) -> Ranges | None:
        """Ranges of the model's integers, and the makers of its values."""
        self.looked_around = True
        return self._known_ranges

    def tensor(self, position: int) -> SourceTensor | None:
        """Return the input at `position`; None if it is absent."""
        inputs = self.node.inputs
        return inputs[position] if position < len(inputs) else None

    def input(self, position: int) -> SourceTensor:
        """Return a required input.

        Raises:
            UnfitError: it is absent.
        """
        found = self.tensor(position)
        require(found is not None, f"input {position} is present", f"存在第 {position} 个输入")
        return cast("SourceTensor", found)

    def name(self, position: int) -> str:
        """Return the name of an input; "" if it is absent."""
        found = self.tensor(position)
        return "" if found is None else found.name

    def output(self, position: int) -> SourceTensor | None:
        """Return the output at `position`; None if nothing uses it."""
        outputs = self.node.outputs
        return outputs[position] if position < len(outputs) else None

    def dims(self, position: int) -> Dims:
        """Return the dims of a required input; single ones may be open.

        Raises:
            UnfitError: its rank is not known.
        """
        found = self.input(position)
        require(found.dims is not None, f"the rank of {found.name} is known", "秩已知")
        return found.required_dims

    def shape(self, position: int) -> Shape:
        """Return the dims of a required input, all of them known.

        Raises:
            UnfitError: a dim is open.
        """
        found = self.input(position)
        require(not found.is_open, f"the dims of {found.name} are known", "形状已知")
        return found.shape

    def constant(self, position: int) -> NDArray[Any]:
        """Return the data of a required constant input.

        Raises:
            UnfitError: it is computed at run time.
        """
        found = self.input(position)
        require(found.const is not None, f"{found.name} is constant", "该输入为常量")
        const = cast("ConstData", found.const)
        tables.require_bytes(const.dtype.itemsize * prod(const.shape))
        return const.numpy()

    def integers(self, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        """Return an attribute that is a list of integers.

        Raises:
            UnfitError: it is something else.
        """
        found = self.node.attributes.get(name, tuple(default))
        whole = isinstance(found, tuple) and all(isinstance(each, int) for each in found)
        require(whole, f"{name} is a list of integers", f"{name} 为整数列表")
        return cast("tuple[int, ...]", found)

    def integer(self, name: str, default: int) -> int:
        """Return an integer attribute.

        Raises:
            UnfitError: it is something else.
        """
        found = self.node.attributes.get(name, default)
        require(isinstance(found, int), f"{name} is an integer", f"{name} 为整数")
        return cast("int", found)

    def flag(self, name: str, *, default: bool) -> bool:
        """Return an integer attribute that is 0 or 1.

        Raises:
            UnfitError: it is something else.
        """
        found = self.integer(name, int(default))
        require(found in {0, 1}, f"{name} is 0 or 1", f"{name} 为 0 或 1")
        return bool(found)

    def axis(self, default: int, rank: int, name: str = "axis") -> int:
        """Return an attribute that is an axis, counted from the first one.

        Raises:
            UnfitError: it is none of `rank` axes.
        """
        found = self.integer(name, default)
        require(-rank <= found < rank, f"{name} is one of the axes", f"{name} 在秩的范围内")
        return found % rank

    def number(self, name: str, default: float) -> float:
        """Return a float attribute.

        Raises:
            UnfitError: it is something else.
        """
        found = self.node.attributes.get(name, default)
        require(isinstance(found, int | float), f"{name} is a number", f"{name} 为数值")
        return float(cast("float", found))

    def text(self, name: str, default: str) -> str:
        """Return a string attribute.

        Raises:
            UnfitError: it is something else.
        """
        found = self.node.attributes.get(name, default)
        require(isinstance(found, str), f"{name} is a text", f"{name} 为字符串")
        return str(found)

    def maker(self, tensor: SourceTensor | None) -> SourceNode | None:
        """Return the node that computes a tensor; None for inputs, constants and absent ones."""
        return None if tensor is None or self._ranges is None else self._ranges.maker(tensor)

    def range(self, position: int) -> Range | None:
        """Return bounds of an integer input; None for other dtypes and absent inputs."""
        found = self.tensor(position)
        return None if found is None or self._ranges is None else self._ranges.of(found)

    def result_range(self, position: int = 0) -> Range | None:
        """Return bounds of an integer output; None for other dtypes and absent outputs."""
        found = self.output(position)
        return None if found is None or self._ranges is None else self._ranges.of(found)

    def may_wrap(self, position: int = 0) -> bool:
        """Return True unless an integer output is known to fit its dtype before it is stored."""
        found = self.output(position)
        return found is None or self._ranges is None or self._ranges.may_wrap(found)

    def unbounded(
        self, tensor: SourceTensor, target: Range
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what keeps a tensor from being known to lie within `target`; see `Ranges`."""
        return ((), ()) if self._ranges is None else self._ranges.unbounded(tensor, target)

    @property
    def element(self) -> DType:
        """The dtype of the first input, or that of `computes_in`.

        Raises:
            UnfitError: it is not known.
        """
        found = self.computes_in or self.input(0).dtype
        require(found is not None, "the dtype is known", "数据类型已知")
        return cast("DType", found)

    # Writing ------------------------------------------------------------------------------------

    def const(self, array: ArrayLike, dtype: DType | None = None, label: str = "const") -> str:
        """Return the name of a new constant; int64 unless `dtype` says otherwise."""
        return self._keep(np.array(array, (dtype or DType.INT64).numpy, order="C"), label)

    def _keep(self, data: NDArray[Any], label: str) -> str:
        """Return the name of a new constant of this data."""
        name = self._fresh(self._label(label))
        self.consts[name] = DenseConst(data)
        self.made_bytes += data.nbytes
        around = self._surroundings
        tables.require_bytes(self.made_bytes + (0 if around is None else around.made_bytes))
        return name

    def scalar(self, value: float, label: str = "scalar") -> str:
        """Return the name of a constant without axes, of the dtype of the first input."""
        return self.const(value, self.element, label)

    def require_opset(self, least: int) -> None:
        """Require that new nodes are written at an opset, or a newer one.

        Raises:
            UnfitError: it is older.
        """
        require(self.opset >= least, f"the opset is {least} or more", f"opset 不低于 {least}")

    def op(self, op_type: str, inputs: Sequence[str], label: str = "", **attributes: Any) -> str:
        """Write a node with one output; return the output's name."""
        return self.ops(op_type, inputs, 1, label, **attributes)[0]

    def derived(
        self,
        position: int,
        compute: Callable[[NDArray[Any]], NDArray[Any]],
        dtype: DType = DType.FLOAT32,
        label: str = "const",
    ) -> str:
        """Return the name of a new constant of an input's shape, computed whenever it is read.

        Raises:
            UnfitError: the input is computed at run time.
        """
        source = self.input(position).const
        require(source is not None, f"{self.name(position)} is constant", "该输入为常量")
        data = cast("ConstData", source)
        name = self._fresh(self._label(label))
        self.consts[name] = DeferredConst(dtype, data.shape, [data], compute, "fix")
        return name

    def ops(
        self, op_type: str, inputs: Sequence[str], count: int, label: str = "", **attributes: Any
    ) -> tuple[str, ...]:
        """Write a node with `count` outputs; return their names.

        Raises:
            UnfitError: the form has too many nodes.
        """
        require(len(self.made) < MOST_NODES, "the new form is not too large", "新形式不过大")
        base = self._label(label or op_type.lower())
        outputs = tuple(self._fresh(base) for _ in range(count))
        self.made.append(NewNode(op_type, tuple(inputs), outputs, attributes))
        return outputs

    def again(self, inputs: Sequence[str], count: int = 1, **changed: Any) -> tuple[str, ...]:
        """Write the node's own operator with other inputs; attributes of `changed` that are None go."""
        attributes = {**self.node.attributes, **changed}
        kept = {name: value for name, value in attributes.items() if value is not None}
        return self.ops(self.node.op_type, inputs, count, **kept)

    def body(self) -> tuple[str, ...]:
        """Write the nodes that ONNX defines the operator as; return its outputs.

        Raises:
            UnfitError: ONNX defines no body, or the body has operators with graphs inside.
        """
        node = self.node
        known = all(each is None or (each.dtype and each.dims is not None) for each in node.inputs)
        require(known, "dtypes and ranks of the inputs are known", "输入的类型与秩已知")
        schema = history().at(node.op_type, node.opset)
        defaults = {} if schema is None else schema.attributes
        attributes = {
            name: each.default for name, each in defaults.items() if each.default is not None
        }
        found = function_body(node, {**attributes, **node.attributes})
        require(
            found is not None, "ONNX defines the operator as a function", "ONNX 以函数定义该算子"
        )
        names: dict[str, str] = {each.name: each.name for each in node.inputs if each is not None}
        self._write(found or (), names)
        return tuple(
            names.get(each.name if each is not None else f"{node.op_type}:absent:{at}", "")
            for at, each in enumerate(node.outputs)
        )

    def inline(self, body: GraphBody, inputs: Sequence[str]) -> tuple[str, ...]:
        """Write the nodes of a graph, given values for its inputs; return its outputs.

        Names that the graph takes from around it stay.
        """
        names = dict(zip(body.inputs, inputs, strict=True))
        names.update({name: self._const_of(value) for name, value in body.constants.items()})
        self._write(body.nodes, names, around=True)
        return tuple(names.get(name, name) for name in body.outputs)

    def _write(
        self, nodes: Sequence[BodyNode], names: dict[str, str], *, around: bool = False
    ) -> None:
        """Write nodes whose values are called otherwise in the model; `names` gains theirs.

        Args:
            nodes: producers first.
            names: names in the model by those in the nodes.
            around: whether other names are those of the model; else they are absent inputs.
        """
        for each in nodes:
            require(not each.domain, "all operators are ONNX's own", "均为 ONNX 自有算子")
            if each.value is not None:
                names[each.outputs[0]] = self._const_of(each.value)
                continue
            inputs = [names.get(name, name if around else "") for name in each.inputs]
            attributes = renamed_attributes(each.attributes, names, self._fresh)
            made = self.ops(each.op_type, inputs, len(each.outputs), **attributes)
            names.update((name, new) for name, new in zip(each.outputs, made, strict=True) if name)

    def _const_of(self, value: NDArray[Any]) -> str:
        """Return the name of a new constant in its own dtype."""
        return self._keep(np.ascontiguousarray(value).reshape(value.shape), "const")

    def squeeze(self, x: str, axes: Sequence[int]) -> str:
        """Remove axes of 1."""
        return self._along("Squeeze", x, axes)

    def unsqueeze(self, x: str, axes: Sequence[int]) -> str:
        """Insert axes of 1."""
        return self._along("Unsqueeze", x, axes)

    def reduce(self, op_type: str, x: str, axes: Sequence[int], *, keepdims: bool = True) -> str:
        """Reduce over `axes`."""
        return self._along(op_type, x, axes, keepdims=int(keepdims))

    def reshape(self, x: str, dims: Sequence[int]) -> str:
        """Write `x` in other dims; 0 keeps the dim of that axis, -1 is inferred."""
        return self.op("Reshape", [x, self.const(dims, label="dims")])

    def transpose(self, x: str, perm: Sequence[int]) -> str:
        """Permute axes; nothing is written where the order stays."""
        if list(perm) == sorted(perm):
            return x
        return self.op("Transpose", [x], perm=list(perm))

    def cast(self, x: str, dtype: DType) -> str:
        """Cast to `dtype`."""
        return self.op("Cast", [x], to=_ELEMENTS[dtype])

    def slice(self, x: str, axis: int, start: int, end: int, step: int = 1) -> str:
        """Take elements `start` to `end` of one axis."""
        if self.opset < _SLICE_AS_INPUT:
            require(step == 1, "the opset is 10 or more", "opset 不低于 10")
            return self.op("Slice", [x], axes=[axis], starts=[start], ends=[end])
        parts = [self.const([each]) for each in (start, end, axis, step)]
        return self.op("Slice", [x, *parts])

    def pad(self, x: str, pads: Sequence[int]) -> str:
        """Pad with zeros; nothing is written where no pad is needed."""
        if not any(pads):
            return x
        if self.opset < _PADS_AS_INPUT:
            return self.op("Pad", [x], pads=list(pads))
        return self.op("Pad", [x, self.const(pads, label="pads")])

    def clip(self, x: str, low: float, high: float, dtype: DType = DType.FLOAT32) -> str:
        """Limit elements to `low` and `high`."""
        if self.opset < _CLIP_AS_INPUT:
            return self.op("Clip", [x], min=float(low), max=float(high))
        limits = [self.const(low, dtype, "least"), self.const(high, dtype, "most")]
        return self.op("Clip", [x, *limits])

    def _along(self, op_type: str, x: str, axes: Sequence[int], **attributes: Any) -> str:
        """Write an operator over axes, in the form of the opset."""
        since = _AXES_AS_INPUT.get(op_type, _REDUCTIONS_AXES_AS_INPUT)
        if self.opset >= since:
            return self.op(op_type, [x, self.const(list(axes), label="axes")], **attributes)
        return self.op(op_type, [x], axes=list(axes), **attributes)

    def _label(self, part: str) -> str:
        """Return the base of a new name: the node's name or first output, and `part`."""
        outputs = [tensor.name for tensor in self.node.outputs if tensor is not None]
        return f"{self.node.name or outputs[0]}/{part}"


_ELEMENTS = {
    DType.FLOAT32: 1,
    DType.UINT8: 2,
    DType.INT8: 3,
    DType.UINT16: 4,
    DType.INT16: 5,
    DType.INT32: 6,
    DType.INT64: 7,
    DType.BOOL: 9,
    DType.FLOAT16: 10,
    DType.FLOAT64: 11,
    DType.UINT32: 12,
    DType.UINT64: 13,
    DType.BFLOAT16: 16,
}
"""ONNX's numbers of element types (onnx.proto, TensorProto.DataType)."""
