"""A node of an offline model as the simulator, emulations and kernels see it: types and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import msgspec
from numpy.typing import NDArray

from atc_py.package.schema import OmAttribute
from atc_py.target.row import Attribute, AttributeValue, TargetOp
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.tensor.shapes import Dims, Shape, closed_shape, element_count, format_shape
from atc_py.text import Text


class NodeError(ValueError):
    """A node contradicts itself or asks for what its kernel does not do; the text says why."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)


class UnknownNumbersError(NodeError):
    """Types follow from numbers that only the run knows."""


class LastingError(NodeError):
    """A fault whatever dims and numbers a run has."""


class TensorFacts(msgspec.Struct, frozen=True):
    """Dtype and dims of a tensor; None for a dim that only the run knows."""

    dtype: DType
    dims: Dims

    @property
    def shape(self) -> Shape:
        return closed_shape(self.dims)

    @property
    def is_open(self) -> bool:
        return None in self.dims

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def elements(self) -> int:
        return element_count(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of a dense tensor in its true dtype."""
        return self.elements * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype.value} {format_shape(self.dims)}"

    def with_open(self, number: int) -> TensorFacts:
        """The same with a number for every dim that only the run knows."""
        if not self.is_open:
            return self
        return TensorFacts(self.dtype, tuple(number if dim is None else dim for dim in self.dims))

    def may_be(self, other: TensorFacts) -> bool:
        """True if nothing that is known of both differs."""
        return (
            self.dtype is other.dtype
            and self.rank == other.rank
            and all(
                mine is None or theirs is None or mine == theirs
                for mine, theirs in zip(self.dims, other.dims, strict=True)
            )
        )

    def admits(self, other: TensorFacts) -> bool:
        """True if `other` has this dtype and, where they are known, these dims."""
        return (
            self.dtype is other.dtype
            and self.rank == other.rank
            and all(
                mine is None or mine == theirs
                for mine, theirs in zip(self.dims, other.dims, strict=True)
            )
        )


class NodeView(msgspec.Struct, frozen=True):
    """A node: operator, types and attributes; the attributes fit the operator's row."""

    fault: ClassVar[type[NodeError]] = NodeError  # what its methods raise

    op: str
    name: str
    engine: str
    inputs: tuple[TensorFacts | None, ...]  # types by position; None for an absent optional input
    outputs: tuple[TensorFacts, ...]  # the types that the model declares
    attributes: Mapping[str, AttributeValue]  # by name, defaults of the operator's row filled in
    # data of the inputs that the operator reads as numbers, by position
    numbers: Mapping[int, NDArray[Any]] = msgspec.field(default_factory=dict)

    @property
    def x(self) -> TensorFacts:
        return self.required(0)

    def input(self, position: int) -> TensorFacts | None:
        """Type of the input at `position`, or None when it is absent."""
        return self.inputs[position] if position < len(self.inputs) else None

    def required(self, position: int) -> TensorFacts:
        facts = self.input(position)
        if facts is None:
            raise self.fault(Text("input {position} is absent", position=position))
        return facts

    def numbers_of(self, position: int, name: str) -> NDArray[Any]:
        """Data of the input at `position`, which the operator reads as numbers.

        Raises:
            NodeError: it is absent.
            UnknownNumbersError: it is computed, and the node is looked at before the run.
        """
        if position not in self.numbers:
            text = Text("{name}, {found}, is not a constant")
            raise UnknownNumbersError(text.with_values(name=name, found=self.required(position)))
        return self.numbers[position]

    def integers_of(self, position: int, name: str) -> tuple[int, ...]:
        """The same of integers, row by row; LastingError where it has another dtype."""
        self.require_integers(position)  # before the numbers, which the run alone may know
        return tuple(int(number) for number in self.numbers_of(position, name).reshape(-1))

    def require_integers(self, position: int) -> None:
        """Hold the input at `position`, if it is there, to integers, as dims and counts are.

        Raises:
            LastingError: it has another dtype.
        """
        facts = self.input(position)
        if facts is not None and not facts.dtype.is_integer:
            text = Text("input {position} must hold integers, found {found}")
            raise LastingError(text.with_values(position=position, found=facts))

    @property
    def present(self) -> tuple[TensorFacts, ...]:
        """Types of the inputs that are there."""
        return tuple(facts for facts in self.inputs if facts is not None)

    def integer(self, name: str) -> int:
        return cast("int", self.attributes[name])

    def number(self, name: str) -> float:
        return cast("float", self.attributes[name])

    def flag(self, name: str) -> bool:
        return cast("bool", self.attributes[name])

    def text(self, name: str) -> str:
        return cast("str", self.attributes[name])

    def dtype_named(self, name: str) -> DType:
        return cast("DType", self.attributes[name])

    def integers(self, name: str, count: int | None = None) -> tuple[int, ...]:
        """An attribute of type ints, `count` long where that is given."""
        values = cast("tuple[int, ...]", self.attributes[name])
        if count is not None and len(values) != count:
            text = Text("{name} must have {count} elements, found {found}")
            raise self.fault(text.with_values(name=name, count=count, found=list(values)))
        return values

    def floats(self, name: str) -> tuple[float, ...]:
        return cast("tuple[float, ...]", self.attributes[name])

    def expect(self, name: str, allowed: AttributeValue) -> None:
        value = self.attributes[name]
        if value != allowed:
            text = Text("{name} must be {allowed} on this device, found {found}")
            raise self.fault(text.with_values(name=name, allowed=repr(allowed), found=repr(value)))


def read_attributes(
    row: TargetOp, stated: Mapping[str, OmAttribute], error: type[NodeError] = NodeError
) -> dict[str, AttributeValue]:
    """The attributes that `row` declares, as the model states them or by default.

    Raises:
        NodeError: of the kind `error`; one is not declared, is missing, or has the wrong type.
    """
    unknown = [name for name in stated if row.attribute(name) is None]
    if unknown:
        raise error(
            Text("{name} has no attribute {unknown}", name=row.name, unknown=", ".join(unknown))
        )
    try:
        return {declared.name: _read(declared, stated) for declared in row.attributes}
    except NodeError as fault:
        if isinstance(fault, error):
            raise
        raise error(*fault.args) from None


def _read(declared: Attribute, stated: Mapping[str, OmAttribute]) -> AttributeValue:
    if declared.name in stated:
        return _typed(declared, stated[declared.name])
    if declared.default is None:
        raise NodeError(Text("attribute {name} is missing", name=declared.name))
    return declared.default


def _typed(declared: Attribute, value: OmAttribute) -> AttributeValue:
    if isinstance(value, list):
        return _typed_list(declared, value)
    kind = declared.type
    if kind == "float" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if kind == "dtype" and isinstance(value, str):
        try:
            return DType.parse(value)
        except UnknownDTypeError as error:
            text = Text("attribute {name}: {error}")
            raise NodeError(text.with_values(name=declared.name, error=error)) from None
    if (kind, type(value)) in {("int", int), ("bool", bool), ("string", str)}:
        return value
    raise _wrong_type(declared, value)


def _typed_list(declared: Attribute, values: list[int | float]) -> AttributeValue:
    if declared.type == "ints" and all(type(value) is int for value in values):
        return tuple(int(value) for value in values)
    if declared.type == "floats":
        return tuple(float(value) for value in values)
    raise _wrong_type(declared, values)


def _wrong_type(declared: Attribute, value: OmAttribute) -> NodeError:
    text = Text("attribute {name} must be {type}, found {found}")
    return NodeError(text.with_values(name=declared.name, type=declared.type, found=repr(value)))
