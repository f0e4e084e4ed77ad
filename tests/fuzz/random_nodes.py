"""Models of one node: the example of any operator of a list, changed at random."""

import random
from collections.abc import Sequence
from math import prod
from typing import Any

import onnx
import onnx.defs

from atc_py.options.compile_options import DEFAULT_LIST
from atc_py.spec import AttributeSpec, AttributeType, OpSpec, library
from atc_py.tensor.dtypes import DType
from tests.spec.one_node import build

_DIMS = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 16, 17, 31, 64)
_INTS = (-3, -2, -1, -1, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 7, 8, 16, 63, 64, 255, 256, 1280)
_FLOATS = (-1.0, 0.0, 1e-5, 0.25, 0.5, 1.0, 1.5, 2.0, 10.0, float("inf"), float("nan"))
_WORDS = ("", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "constant", "reflect", "edge", "wrap")
_OPSETS = range(7, 22)
_MADE = {AttributeType.INT, AttributeType.FLOAT, AttributeType.BOOL, AttributeType.STRING}


def random_node(rng: random.Random, operator_list: str = DEFAULT_LIST) -> onnx.ModelProto:
    """Return a model of one node of any operator of a list."""
    spec = rng.choice(library(operator_list).all())
    while True:
        opset = _opset(spec, rng)
        changes = rng.choice((0, 1, 1, 1, 2, 2, 3, 4))
        node = _Changed(spec, rng)
        for _ in range(changes):
            node.change()
        try:
            return build(
                spec,
                opset,
                shapes=node.shapes,
                values=node.values,
                attributes=node.attributes,
                dtypes=node.dtypes,
            )
        except (LookupError, ValueError, TypeError, OverflowError):
            continue  # no such node can be written down


def _opset(spec: OpSpec, rng: random.Random) -> int:
    """Return an opset, mostly one that the list has."""
    if spec.custom or not spec.opsets:
        return 13
    if rng.random() < 0.8:
        return rng.choice([each for each in spec.opsets if onnx.defs.has(spec.op, each)])
    return rng.choice([each for each in _OPSETS if onnx.defs.has(spec.op, each)])


class _Changed:
    """Changes of the example of a specification, as `build` takes them."""

    def __init__(self, spec: OpSpec, rng: random.Random) -> None:
        self._spec = spec
        self._rng = rng
        self.shapes: dict[str, Sequence[int] | None] = {}
        self.values: dict[str, Sequence[Any] | None] = {}
        self.attributes: dict[str, Any] = {}
        self.dtypes: dict[str, DType] = {}

    def change(self) -> None:
        """Make one more change."""
        kinds = [self._a_dim, self._a_dim, self._a_rank, self._all_dims, self._a_dtype]
        kinds += [self._a_dtype, self._a_constant, self._numbers, self._presence]
        kinds += [self._an_attribute] * (4 if self._spec.attributes else 0)
        self._rng.choice(kinds)()

    def _shape(self, name: str) -> list[int] | None:
        """Return the shape of an input by now; None for an absent one."""
        found = self.shapes.get(name, self._spec.example.inputs.get(name))
        return None if found is None else list(found)

    def _given(self) -> str | None:
        """Return an input that is there."""
        names = [row.name for row in self._spec.inputs if self._shape(row.name) is not None]
        return self._rng.choice(names) if names else None

    def _set_shape(self, name: str, shape: list[int]) -> None:
        """Set another shape; data is repeated or cut."""
        self.shapes[name] = shape
        old = self.values.get(name, self._spec.example.values.get(name))
        if old is not None:
            data = list(old) or [0]
            count = prod(shape)
            self.values[name] = (data * (count // len(data) + 1))[:count]

    def _a_dim(self) -> None:
        """Change one dim."""
        name = self._given()
        shape = self._shape(name) if name else None
        if name and shape:
            shape[self._rng.randrange(len(shape))] = self._rng.choice(_DIMS)
            self._set_shape(name, shape)

    def _all_dims(self) -> None:
        """Replace one dim of the example wherever it occurs."""
        shapes = {row.name: self._shape(row.name) for row in self._spec.inputs}
        dims = sorted({dim for shape in shapes.values() for dim in shape or ()})
        if not dims:
            return
        old, new = self._rng.choice(dims), self._rng.choice(_DIMS)
        for name, shape in shapes.items():
            if shape and old in shape:
                self._set_shape(name, [new if dim == old else dim for dim in shape])

    def _a_rank(self) -> None:
        """Add or remove an axis."""
        name = self._given()
        shape = self._shape(name) if name else None
        if name is None or shape is None:
            return
        if shape and self._rng.random() < 0.5:
            del shape[self._rng.randrange(len(shape))]
        else:
            shape.insert(self._rng.randint(0, len(shape)), self._rng.choice(_DIMS))
        self._set_shape(name, shape)

    def _a_dtype(self) -> None:
        """Set another dtype, mostly one that the list has."""
        name = self._given()
        row = self._spec.operand(name) if name else None
        if name is None or row is None:
            return
        listed = self._spec.dtypes_of(row) or tuple(DType)
        self.dtypes[name] = self._rng.choice(listed if self._rng.random() < 0.7 else tuple(DType))

    def _a_constant(self) -> None:
        """Put a constant in place of an input of the graph, or the reverse."""
        name = self._given()
        if name is None:
            return
        if self.values.get(name, self._spec.example.values.get(name)) is not None:
            self.values[name] = None
            return
        count = prod(self._shape(name) or [1])
        if count <= 4096:
            self.values[name] = [self._rng.randint(-2, 4) for _ in range(count)]

    def _numbers(self) -> None:
        """Set other numbers of a constant."""
        values = {**self._spec.example.values, **self.values}
        names = [name for name, data in values.items() if data]
        if not names:
            return
        name = self._rng.choice(names)
        data = list(values[name] or ())
        data[self._rng.randrange(len(data))] = self._rng.choice((*_INTS, 0.5, 2.5))
        self.values[name] = data

    def _presence(self) -> None:
        """Add or remove an optional input."""
        optional = [row for row in self._spec.inputs if row.optional]
        if not optional:
            return
        row = self._rng.choice(optional)
        if self._shape(row.name) is None:
            rank = self._rng.randint(0, 4) if row.rank is None else row.rank
            self.shapes[row.name] = [self._rng.choice(_DIMS) for _ in range(rank)]
        else:
            self.shapes[row.name] = None
            self.values.pop(row.name, None)

    def _an_attribute(self) -> None:
        """Set another value of an attribute, or none."""
        row = self._rng.choice(self._spec.attributes)
        if self._rng.random() < 0.15:
            self.attributes[row.name] = None
            return
        value = self._value(row)
        if value is not None:
            self.attributes[row.name] = value

    def _value(self, row: AttributeSpec) -> Any:
        """Return a value of an attribute; None for one that is neither number nor text."""
        rng, kind = self._rng, row.type.element
        if (self._spec.op, row.name) == ("GatherND", "batch_dims"):
            return rng.choice((0, 1, 2, 3))  # onnx's inference ends the process for negative ones
        old = self._spec.example.attributes.get(row.name, row.default)
        count = len(old) if isinstance(old, tuple | list) else rng.randint(0, 4)
        count = max(0, count + rng.choice((0, 0, 0, 0, 0, -1, 1)))
        if kind not in _MADE:
            return None
        if not row.type.is_list:
            return self._one(row, kind)
        if isinstance(old, tuple | list) and old and rng.random() < 0.5:
            items: list[Any] = list(old)
            items[rng.randrange(len(items))] = self._one(row, kind)
            return items
        return [self._one(row, kind) for _ in range(count)]

    def _one(self, row: AttributeSpec, kind: AttributeType) -> Any:
        """Return a number or a word."""
        if kind is AttributeType.STRING:
            return self._word(row)
        if kind is AttributeType.BOOL:
            return self._rng.random() < 0.5
        return self._rng.choice(_INTS if kind is AttributeType.INT else _FLOATS)

    def _word(self, row: AttributeSpec) -> str:
        """Return a word, mostly one that the list has."""
        listed = [each for each in row.one_of or () if isinstance(each, str)]
        return self._rng.choice(listed if listed and self._rng.random() < 0.8 else _WORDS)
