"""The builder: what a lowering function uses to make target nodes and constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from atc_py.diag import BAD_NODE, UNSUPPORTED_FORM, AtcError, Place
from atc_py.ir import AttrValue, ConstData, DenseConst, Graph, Origin, TensorType, Value
from atc_py.lowering.scope import Scope
from atc_py.onnx_graph.source import SourceNode, SourceTensor
from atc_py.system.register import Register, place_of
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import (
    Dims,
    Shape,
    broadcast_dims,
    element_count,
    format_shape,
    normalize_axis,
)
from atc_py.text import Text, verbatim


def said(type_: TensorType) -> str:
    return f"{type_.dtype.value} {format_shape(type_.dims)}"


class LoweringWork(Protocol):
    """The lowering of one model, as far as builders need it."""

    @property
    def graph(self) -> Graph:
        """The graph under construction."""

    @property
    def file(self) -> str: ...

    def lower_nodes(self, nodes: Sequence[SourceNode], scope: Scope) -> None:
        """Lower nodes, whose values are found in `scope` and put there."""


class Builder:
    """Makes nodes for one source node; every node that it makes carries that origin."""

    def __init__(self, work: LoweringWork, scope: Scope, node: SourceNode) -> None:
        self.graph = work.graph
        self.scope = scope  # which target value stands for which source value
        self.node = node  # the source node that is being lowered
        self._work = work
        self._origins = (Origin(node.index, node.name, node.replaces or node.op_type),)

    def with_node(self, node: SourceNode) -> Builder:
        return Builder(self._work, self.scope, node)

    def with_scope(self, scope: Scope) -> Builder:
        return Builder(self._work, scope, self.node)

    def lower_nodes(self, nodes: Sequence[SourceNode], scope: Scope) -> None:
        self._work.lower_nodes(nodes, scope)

    # Inputs and outputs of the source node ----------------------------------------------------

    def source(self, position: int) -> SourceTensor:
        """The source input at `position`; BAD_NODE when it is absent."""
        value = self.optional_source(position)
        if value is None:
            raise self.bad(
                Text("needs input {position}, found none", position=position),
                Text("input {at}", at=position),
            )
        return value

    def optional_source(self, position: int) -> SourceTensor | None:
        return self.node.inputs[position] if position < len(self.node.inputs) else None

    def input(self, position: int) -> Value:
        return self.value(self.source(position))

    def optional_input(self, position: int) -> Value | None:
        source = self.optional_source(position)
        return None if source is None else self.value(source)

    def value(self, source: SourceTensor) -> Value:
        """The target value of a source value; a constant is made at its first use."""
        found = self.scope.find(source)
        if found is None:
            if source.const is None:
                raise self.bad(
                    Text('uses "{source}", which no node before it computes', source=source.name)
                )
            found = self.graph.constant(source.name, source.const)
            self.scope.bind(source, found)
        return found

    def bind(self, source: SourceTensor, value: Value) -> None:
        self.scope.bind(source, value)

    def output_type(self, position: int = 0) -> TensorType:
        """Type of the source output at `position`, as shape inference found it.

        Raises:
            AtcError: BAD_NODE when the node has no such output.
        """
        outputs = self.node.outputs
        output = outputs[position] if position < len(outputs) else None
        if output is None:
            raise self.bad(
                Text("needs output {position}, found none", position=position),
                Text("output {at}", at=position),
            )
        return TensorType(output.required_dtype, output.required_dims)

    def stated_type(self, position: int, known: TensorType) -> TensorType:
        """`known`, which the file must have stated for the output too, unless it is open.

        Of an operator that ONNX does not define; where both leave a dim open it raises OpenShapeError.
        """
        if not self.wants_output(position):
            return known
        stated = self.output_type(position)
        fits = stated.rank == known.rank and all(
            mine in {None, theirs} for mine, theirs in zip(known.dims, stated.shape, strict=True)
        )
        if stated.dtype is not known.dtype or not fits:
            raise self.bad(
                Text(
                    "gives {found}, but the file states {stated}",
                    found=said(known),
                    stated=said(stated),
                ),
                Text("output {at}", at=position),
            )
        return TensorType(known.dtype, stated.dims)

    def wants_output(self, position: int) -> bool:
        return position < len(self.node.outputs) and self.node.outputs[position] is not None

    def is_computed(self, position: int) -> bool:
        """True if an input is there and only the run knows its data."""
        source = self.optional_source(position)
        return source is not None and source.const is None

    def constant_input(self, position: int, name: str) -> npt.NDArray[np.generic] | None:
        """The numbers of an optional input that must be constant; None when it is absent.

        Raises:
            AtcError: UNSUPPORTED_FORM when it is computed at run time.
        """
        source = self.optional_source(position)
        if source is None:
            return None
        if source.const is None:
            raise self.unsupported(
                Text(
                    'input {name} must be constant, "{source}" is computed at run time',
                    name=name,
                    source=source.name,
                ),
                Text("input {at}", at=name),
                Text(
                    "fix the input shapes with --input-shape so that it folds, or simplify the model"
                ),
            )
        return source.const.numpy()

    def numbers(self, position: int, name: str) -> tuple[int, ...] | None:
        """A constant input as integers, or None when it is absent.

        Raises:
            AtcError: UNSUPPORTED_FORM when it is computed at run time.
        """
        array = self.constant_input(position, name)
        return None if array is None else tuple(int(number) for number in array.reshape(-1))

    # Attributes of the source node -------------------------------------------------------------

    def integer(self, name: str, default: int) -> int:
        """The attribute `name` or `default`; as of all attributes, BAD_NODE for another type."""
        value = self.node.attributes.get(name, default)
        if not isinstance(value, int):
            raise self._of_wrong_type(name, Text("an integer"))
        return value

    def flag(self, name: str) -> bool:
        return self.integer(name, 0) != 0

    def number(self, name: str, default: float) -> float:
        value = self.node.attributes.get(name, default)
        if not isinstance(value, int | float):
            raise self._of_wrong_type(name, Text("a number"))
        return float(value)

    def string(self, name: str, default: str) -> str:
        value = self.node.attributes.get(name, default)
        if not isinstance(value, str):
            raise self._of_wrong_type(name, Text("a string"))
        return value

    def optional_integers(self, name: str) -> tuple[int, ...] | None:
        value = self.node.attributes.get(name)
        if value is None:
            return None
        numbers = value if isinstance(value, tuple) else (None,)
        integers = tuple(item for item in numbers if isinstance(item, int))
        if len(integers) != len(numbers):
            raise self._of_wrong_type(name, Text("a list of integers"))
        return integers

    def integers(self, name: str, default: tuple[int, ...], count: int) -> tuple[int, ...]:
        value = self.optional_integers(name)
        if value is None:
            return default
        if len(value) != count:
            text = Text("takes {count} numbers in {name}, found {n}: {found}")
            values = {"count": count, "n": len(value), "found": list(value)}
            raise self.bad(text.with_values(name=name, **values), f"attribute {name}")
        return value

    def _of_wrong_type(self, name: str, wanted: Text) -> AtcError:
        kind = type(self.node.attributes[name]).__name__
        text = Text("takes {wanted} as {name}, found {found}")
        values = {"wanted": wanted, "name": name, "found": kind}
        return self.bad(text.with_values(**values), f"attribute {name}")

    def axis(self, axis: int, rank: int, field: str = "attribute axis") -> int:
        """`axis` from the front; BAD_NODE at `field` when it is outside the rank."""
        try:
            return normalize_axis(axis, rank)
        except ValueError as error:
            raise self.bad(Text("{error}", error=error), field) from None

    def present(self, *inputs: Value | None) -> list[Value | None]:
        """Inputs without the absent ones at their end."""
        count = max((at for at, value in enumerate(inputs, 1) if value is not None), default=0)
        return [*inputs[:count]]

    # Nodes and constants ----------------------------------------------------------------------

    def op(
        self,
        name: str,
        inputs: Sequence[Value | None],
        type: TensorType,  # noqa: A002  (the word of the field)
        attributes: Mapping[str, AttrValue] | None = None,
        label: str | None = None,
    ) -> Value:
        """Add a target node with one output, named after the source's unless `label` says."""
        return self.ops(name, inputs, [(label or self.output_name(0), type)], attributes)[0]

    def ops(
        self,
        name: str,
        inputs: Sequence[Value | None],
        outputs: Sequence[tuple[str, TensorType]],
        attributes: Mapping[str, AttrValue] | None = None,
    ) -> tuple[Value, ...]:
        node = self.graph.add_node(name, inputs, outputs, attributes, self._origins)
        return node.outputs

    def const(self, label: str, data: ConstData | npt.NDArray[np.generic]) -> Value:
        """A new constant called after the source output and `label`."""
        held = DenseConst(data) if isinstance(data, np.ndarray) else data
        return self.graph.constant(f"{self.output_name(0)}.{label}", held)

    def cast(self, x: Value, dtype: DType, label: str | None = None) -> Value:
        if x.type.dtype is dtype:
            return x
        label = label or f"{x.name}.{dtype.value}"
        return self.op("Cast", [x], x.type.with_dtype(dtype), {"dst_type": dtype}, label)

    def reshape(self, x: Value, shape: Shape, label: str | None = None) -> Value:
        target = self.const("shape", np.array(shape, dtype=np.int64))
        # A dim of 0 is meant: nothing is left of the forms in which it is not.
        attributes: dict[str, AttrValue] = {"allowzero": 1} if 0 in shape else {}
        type_ = TensorType(x.type.dtype, shape)
        return self.op("Reshape", [x, target], type_, attributes, label)

    def flat(self, x: Value) -> Value:
        if not x.type.is_open:
            return self.reshape(x, (element_count(x.type.shape),), "flat")
        all_that_is_there = self.const("vector", np.array([-1], dtype=np.int64))
        type_ = TensorType(x.type.dtype, (None,))
        return self.op("Reshape", [x, all_that_is_there], type_, label="flat")

    def shaped_like(self, value: Value, x: Value) -> Value:
        """`value`, which has the elements of `x` in their order, in the shape of `x`."""
        if not x.type.is_open:
            return self.reshape(value, x.type.shape)
        type_ = TensorType(value.type.dtype, x.type.dims)
        return self.op("Reshape", [value, self.shape_of(x)], type_, {"allowzero": 1})

    def shape_of(self, x: Value) -> Value:
        """The dims of `x`, an int64 vector; a constant where they are known."""
        if not x.type.is_open:
            return self.const(f"{x.name}.shape", np.array(x.type.shape, dtype=np.int64))
        type_ = TensorType(DType.INT64, (x.type.rank,))
        return self.op("Shape", [x], type_, label=f"{x.name}.shape")

    def output_name(self, position: int) -> str:
        """Name of the source output at `position`, for the values made for it."""
        outputs = self.node.outputs
        output = outputs[position] if position < len(outputs) else None
        return output.name if output is not None else f"{self.node.op_type}.{self.node.index}"

    def broadcast(self, *shapes: Dims) -> Dims:
        """The common shape of `shapes`, as far as it is known.

        Raises:
            AtcError: BAD_NODE where they do not broadcast.
        """
        try:
            return broadcast_dims(*shapes)
        except ValueError as error:
            raise self.bad(
                Text("has inputs that do not fit each other: {error}", error=error)
            ) from None

    # Refusals ---------------------------------------------------------------------------------

    def place(self, field: str | None = None) -> Place:
        node = self.node
        return Place(self._work.file, node.index, node.name, node.op_type, field)

    def bad(self, reason: Text, field: str | None = None) -> AtcError:
        return BAD_NODE.error(
            Text("{field} {message}", field=self.node.op_type, message=reason),
            place=self.place(field),
        )

    def unsupported(self, reason: Text, field: str | None, help_: Text) -> AtcError:
        """An error: the node is valid but its form has no counterpart on the device."""
        message = verbatim(f"{self.node.op_type}: ") + reason
        return UNSUPPORTED_FORM.error(message, place=self.place(field), help=help_)


Lowering: TypeAlias = Callable[[Builder], Sequence[Value]]


LOWERINGS: Register[tuple[str, int], Lowering] = Register(
    "lowering of", "atc_py.lowering.ops", sparse=True
)
"""By operator and the version from which on a function lowers it; many operators need none."""


def lowering(op_type: str, since: int = 1) -> Callable[[Lowering], Lowering]:
    """Register a function that lowers `op_type` from version `since` of its definition on.

    The function takes a builder for one source node and returns one target value for each output
    of that node that it can produce, in order.
    """

    def register(function: Lowering) -> Lowering:
        LOWERINGS.add((op_type, since), function, place_of(function))
        find_lowering.cache_clear()
        return function

    return register


@cache
def find_lowering(op_type: str, since_version: int) -> Lowering | None:
    fitting = [since for since in lowering_versions(op_type) if since <= since_version]
    return LOWERINGS.get((op_type, fitting[-1])) if fitting else None


def lowering_versions(op_type: str) -> tuple[int, ...]:
    """The versions from which on functions for `op_type` are registered, oldest first."""
    return tuple(sorted(since for _, since in LOWERINGS.named(op_type)))
