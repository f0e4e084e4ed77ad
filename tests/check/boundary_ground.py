"""The ground that boundaries stand on: the example of a specification, and changes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, islice
from typing import Any, TypeAlias

import onnx.shape_inference

from atc_py.spec import AttributeSpec, AttributeType, OperandSpec, OpSpec, Rule
from atc_py.spec.implied import OperandAbsent
from atc_py.spec.rules import CountPerAxis
from atc_py.tensor.dtypes import DType
from tests.spec.one_node import OPEN_RANK, build, is_stated

Shape: TypeAlias = "tuple[int | str | None, ...]"

_TENSORS = ("tensor", "other", "axes", "steps", "indices")
_ATTRIBUTES = ("attribute", "along")
_FARTHEST = 32
"""Dims of inputs up to this one are tried for a dim of an output."""


@dataclass(frozen=True)
class Change:
    """The difference between a node and the example.

    Attributes:
        shapes: of inputs; None leaves one out.
        values: of inputs; None makes one an input of the graph.
        attributes: None leaves one out.
        dtypes: of inputs, by atc-py's or else ONNX's names.
        outputs: dtype and shape of outputs, each None where it stays. The file of a custom
            operator states them; of ONNX's own they are what the front end is made to say.
    """

    shapes: Mapping[str, Shape | None] = field(default_factory=dict)
    values: Mapping[str, Sequence[Any] | None] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    dtypes: Mapping[str, DType | str] = field(default_factory=dict)
    outputs: Mapping[str, tuple[DType | str | None, Shape | None]] = field(default_factory=dict)

    def plus(self, other: Change) -> Change:
        """Return both changes; where they disagree it is the other that counts."""
        return Change(
            {**self.shapes, **other.shapes},
            {**self.values, **other.values},
            {**self.attributes, **other.attributes},
            {**self.dtypes, **other.dtypes},
            {**self.outputs, **other.outputs},
        )

    def model(self, spec: OpSpec, opset: int) -> onnx.ModelProto:
        """Return the model of one node."""
        dtypes = dict(self.dtypes)
        shapes = dict(self.shapes)
        inputs = {row.name for row in spec.inputs}
        for name, (element, shape) in self.outputs.items():
            if element is not None and is_stated(spec):
                dtypes[name] = element
            if name not in inputs:
                shapes[name] = shape
        return build(
            spec,
            opset,
            shapes=shapes,
            values=self.values,
            attributes=self.attributes,
            dtypes=dtypes,
        )


NONE = Change()
"""The example as it is."""


@dataclass(frozen=True)
class Ground:
    """A rule, and the example that its neighbors are made from.

    Attributes:
        spec: the operator.
        rule: the rule.
        opset: the version of ONNX's domain.
        setting: what the conditions of the rule change.
    """

    spec: OpSpec
    rule: Rule
    opset: int
    setting: Change = NONE

    @cached_property
    def operands(self) -> tuple[OperandSpec, ...]:
        """The operands that the rule names."""
        found = (self.spec.operand(self._argument(name)) for name in _TENSORS)
        return tuple(row for row in found if row is not None)

    @cached_property
    def attributes(self) -> tuple[AttributeSpec, ...]:
        """The attributes that the rule names."""
        found = (self.spec.attribute(self._argument(name)) for name in _ATTRIBUTES)
        return tuple(row for row in found if row is not None)

    @cached_property
    def conditions(self) -> tuple[AttributeSpec, ...]:
        """The attributes that the rule is conditional on."""
        when = self.rule.when
        found = (self.spec.attribute(each.name) for each in (when.attributes if when else ()))
        return tuple(row for row in found if row is not None)

    @cached_property
    def base(self) -> Change:
        """The example with all operands that the rule names, and what its conditions change."""
        known = self.spec.example.inputs
        shapes: dict[str, Shape] = {}
        outputs = {}
        for row in self.operands:
            if not self.is_input(row.name):
                outputs[row.name] = (None, None)
            elif row.name not in known or not row.supported:
                shapes[row.name] = known.get(row.name) or self._default_shape(row)
        if isinstance(self.rule, OperandAbsent):
            shapes.clear()
            outputs.clear()
        return Change(shapes=shapes, outputs=outputs).plus(self.setting)

    def _default_shape(self, row: OperandSpec) -> tuple[int, ...]:
        """Return a shape of an input that the example leaves out; one that goes with the others."""
        for rule in self.spec.constraints:
            if isinstance(rule, CountPerAxis) and rule.tensor == row.name:
                return (rule.count * len(self.spec.example.inputs[rule.other]),)
        return (1,) * (1 if row.rank is None else row.rank)

    @cached_property
    def given(self) -> tuple[str, ...]:
        """The inputs that the node has."""
        names = [*self.spec.example.inputs, *self.base.shapes]
        rows = (self.spec.operand(name) for name in dict.fromkeys(names))
        return tuple(row.name for row in rows if row and row.exists_at(self.opset))

    def is_input(self, name: str) -> bool:
        """Return True if the operand is an input."""
        return any(row.name == name for row in self.spec.inputs)

    def shape(self, name: str, change: Change = NONE) -> tuple[int, ...]:
        """Return the shape of an input."""
        known = {**self.spec.example.inputs, **self.base.shapes, **change.shapes}
        return tuple(int(length or 0) for length in known[name] or ())

    def values(self, name: str) -> tuple[Any, ...] | None:
        """Return the data of an input, where it is a constant."""
        found = self.base.values.get(name, self.spec.example.values.get(name))
        return None if found is None else tuple(found)

    def attribute(self, name: str) -> Any:
        """Return the value of an attribute: the example's, or its default."""
        for known in (self.base.attributes, self.spec.example.attributes):
            if name in known:
                return known[name]
        row = self.spec.attribute(name)
        return None if row is None else row.default_at(self.opset)

    def items(self, name: str) -> tuple[Any, ...]:
        """Return the value of an attribute as a list."""
        value = self.attribute(name)
        return tuple(value) if isinstance(value, list | tuple) else (value,)

    def set(self, name: str, items: Sequence[Any]) -> Change:
        """Return another value of an attribute, given as a list."""
        row = self.spec.attribute(name)
        assert row is not None
        return Change(attributes={name: tuple(items) if row.type.is_list else items[0]})

    # Shapes -------------------------------------------------------------------------------------

    def resized(self, name: str, shape: Sequence[int]) -> Change:
        """Return an input of another shape; its data, if any, is repeated or cut."""
        values = self.values(name)
        shapes = {name: tuple(shape)}
        if values is None:
            return Change(shapes=shapes)
        data = tuple(islice(cycle(values or (0,)), math.prod(shape)))
        return Change(shapes=shapes, values={name: data})

    def constant(self, name: str, values: Sequence[Any]) -> Change:
        """Return an input that is a constant of these values; a scalar stays one."""
        scalar = not self.shape(name) and len(values) == 1
        return Change(shapes={name: () if scalar else (len(values),)}, values={name: tuple(values)})

    def opened(self, name: str, *, rank_too: bool) -> Change:
        """Return an input of the graph with open dims, or of open rank."""
        names = tuple(f"{name}_{axis}" for axis in range(len(self.shape(name))))
        return Change(shapes={name: OPEN_RANK if rank_too else names}, values={name: None})

    def axis(self, name: str, dim: str) -> int:
        """Return the position of a letter in the layout of an operand."""
        row = self.spec.operand(name)
        assert row is not None
        ranks = {len(shape) for shape in self.spec.example.inputs.values()}
        layouts = (each for each in row.all_layouts if dim in each and len(each) in ranks)
        return next(layouts).index(dim)

    def with_length(self, name: str, dim: str, length: int, change: Change = NONE) -> Change | None:
        """Return the node with a dim of an input, or of an output by way of larger inputs."""
        if self.is_input(name):
            shape = with_item(self.shape(name, change), self.axis(name, dim), length)
            return change.plus(self.resized(name, shape))
        source = next(row for row in self.spec.inputs if dim in "".join(row.all_layouts))
        if self.length(name, dim, change) == length:
            return change
        least = self.shape(source.name, change)[self.axis(source.name, dim)]
        for each in range(least, _FARTHEST + 1):
            found = self.with_length(source.name, dim, each, change)
            if found is not None and self.length(name, dim, found) == length:
                return found
        return None

    def length(self, name: str, dim: str, change: Change) -> int | None:
        """Return the dim of an operand, as onnx infers it."""
        dims = self.dims(name, change)
        return dims[self.axis(name, dim)] if dims else None

    def dims(self, name: str, change: Change = NONE) -> tuple[int | None, ...] | None:
        """Return the shape of an operand, as onnx infers it; None where it finds none."""
        model = self.base.plus(change).model(self.spec, self.opset)
        try:
            graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        except onnx.shape_inference.InferenceError:
            return None
        for value in (*graph.input, *graph.output):
            type_ = value.type.tensor_type
            if value.name == name and type_.HasField("shape"):
                return tuple(
                    each.dim_value if each.HasField("dim_value") else None
                    for each in type_.shape.dim
                )
        return None

    def dims_met(self, change: Change) -> bool:
        """Return True if the dims are those on which the rule is conditional."""
        when = self.rule.when
        return when is None or all(
            self.length(each.tensor, each.dim, change) == each.equals for each in when.dims
        )

    def of_rank(self, name: str, rank: int) -> Change | None:
        """Return the node with an input of another rank, or an output by way of the inputs."""
        if self.is_input(name):
            return self.resized(name, reranked(self.shape(name), rank)).plus(
                self._counted(name, rank)
            )
        row = self.spec.operand(name)
        assert row is not None
        usual = len(row.all_layouts[0]) if row.layouts else row.rank
        assert usual is not None
        every = [each for each in self.given if len(self.shape(each)) == usual]
        for names in (every, self.given, self.given[:1]):
            change = self._windows(rank - usual)
            for each in names:
                shape = self.shape(each)
                wanted = len(shape) + rank - usual
                if wanted >= 0:
                    change = change.plus(self.resized(each, reranked(shape, wanted)))
            dims = self.dims(name, change)
            if dims is not None and len(dims) == rank:
                return change
        return None

    def _counted(self, name: str, rank: int) -> Change:
        """Return inputs that have numbers for each axis of `name` with those of another rank."""
        change = NONE
        for rule in self.spec.constraints:
            if not isinstance(rule, CountPerAxis) or rule.other != name:
                continue
            if rule.tensor in self.given and self.shape(rule.tensor) != (0,):
                change = change.plus(self.resized(rule.tensor, (rule.count * rank,)))
        return change

    def with_rank(self, name: str, rank: int) -> Change:
        """Return the example with an input of another rank, and with it those of the same rank."""
        known = self.spec.example.inputs
        more = rank - len(known[name])
        change = self._windows(more)
        for each, shape in known.items():
            if len(shape) == len(known[name]):
                change = change.plus(self.resized(each, reranked(shape, len(shape) + more)))
        return change

    def _windows(self, more: int) -> Change:
        """Return attributes with one or two numbers for each axis but the first two."""
        change = NONE
        for name, value in self.spec.example.attributes.items():
            row = self.spec.attribute(name)
            if row is not None and row.type is AttributeType.INTS and isinstance(value, tuple):
                count = len(value) + more * (2 if name == "pads" else 1)
                change = change.plus(self.set(name, tuple(islice(cycle(value), max(count, 0)))))
        return change

    def _argument(self, name: str) -> str:
        """Return a name that the rule gives, or nothing."""
        return str(self.rule.arguments.get(name, ""))


def reranked(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return a shape of another rank: its last dims left out, or more of them after it."""
    return (*shape[:rank], *[shape[-1] if shape else 1] * (rank - len(shape)))


def with_item(items: Sequence[Any], index: int, item: Any) -> tuple[Any, ...]:
    """Return a list with another element in one place."""
    return (*items[:index], item, *items[index + 1 :])
