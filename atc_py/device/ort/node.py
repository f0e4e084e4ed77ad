"""A node of a compiled graph as emulations see it: operator, types, attributes, constants."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from numpy.typing import NDArray

from atc_py.ir.types import TensorType
from atc_py.package.schema import OmAttribute, OmNode
from atc_py.target.row import Attribute, AttributeValue, TargetOp
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


class NoFormError(ValueError):
    """A node has no form in ONNX's operators; the text says why, as the rest of a sentence."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class CompiledNode:
    """A node of the compiled graph.

    Attributes:
        row: its operator's row.
        source: the node as the package describes it.
        inputs: types by position; None where absent.
        outputs: types by position.
        attributes: by name, those of the row by default.
        constants: functions that return the data of inputs that are constants, by position.
        unread: positions of the outputs that nothing reads; an emulation may leave those out.
    """

    row: TargetOp
    source: OmNode
    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    attributes: Mapping[str, AttributeValue]
    constants: Mapping[int, Callable[[], NDArray[Any]]] = field(default_factory=dict)
    unread: frozenset[int] = frozenset()

    @property
    def op(self) -> str:
        """Name of the target operator."""
        return self.row.name

    def has(self, position: int) -> bool:
        """True if there is an input at `position`."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def type(self, position: int) -> TensorType:
        """The type of the input at `position`.

        Raises:
            NoFormError: it is absent.
        """
        found = self.inputs[position] if self.has(position) else None
        if found is None:
            raise NoFormError(Text("input {position} is absent", position=position))
        return found

    def dtype(self, position: int = 0) -> DType:
        """The dtype of the input at `position`."""
        return self.type(position).dtype

    def rank(self, position: int = 0) -> int:
        """The number of axes of the input at `position`."""
        return self.type(position).rank

    def shape(self, position: int = 0) -> tuple[int, ...]:
        """The dims of the input at `position`.

        Raises:
            NoFormError: one is open.
        """
        dims = self.type(position).dims
        if None in dims:
            text = Text("input {name} has open dims")
            raise NoFormError(text.with_values(name=repr(self.input_name(position))))
        return cast("tuple[int, ...]", dims)

    @property
    def count(self) -> int:
        """Number of inputs, absent ones between others included."""
        return len(self.inputs)

    def input_name(self, position: int) -> str:
        """CANN's name of the input at `position`, counted where the operand is variadic."""
        operand = self.row.input_at(position)
        name = operand.name if operand else "x"
        first = len(self.row.inputs) - 1
        variadic = operand is not None and operand.variadic
        return f"{name}{position - first}" if variadic else name

    def output_name(self, position: int) -> str:
        """CANN's name of the output at `position`, counted where it is variadic."""
        operand = self.row.output_at(position)
        name = operand.name if operand else "y"
        first = len(self.row.outputs) - 1
        variadic = operand is not None and operand.variadic
        return f"{name}{position - first}" if variadic else name

    def constant(self, position: int) -> NDArray[Any] | None:
        """Data of the input at `position` in its own dtype; None where it is computed."""
        read = self.constants.get(position)
        return None if read is None else read()

    def numbers(self, position: int) -> NDArray[Any]:
        """Data of the input at `position`.

        Raises:
            NoFormError: they are computed.
        """
        found = self.constant(position)
        if found is None:
            text = Text("input {name} is computed in the run")
            raise NoFormError(text.with_values(name=repr(self.input_name(position))))
        return found

    def integer(self, name: str) -> int:
        """An attribute of type int."""
        return cast("int", self.attributes[name])

    def number(self, name: str) -> float:
        """An attribute of type float."""
        return cast("float", self.attributes[name])

    def flag(self, name: str) -> bool:
        """An attribute of type bool."""
        return cast("bool", self.attributes[name])

    def text(self, name: str) -> str:
        """An attribute of type string."""
        return cast("str", self.attributes[name])

    def dtype_named(self, name: str) -> DType:
        """An attribute of type dtype."""
        return cast("DType", self.attributes[name])

    def integers(self, name: str) -> tuple[int, ...]:
        """An attribute of type ints."""
        return cast("tuple[int, ...]", self.attributes[name])

    def floats(self, name: str) -> tuple[float, ...]:
        """An attribute of type floats."""
        return cast("tuple[float, ...]", self.attributes[name])


def read_attributes(row: TargetOp, found: Mapping[str, OmAttribute]) -> dict[str, AttributeValue]:
    """The attributes that `row` declares, from a verified package or by default."""
    return {
        declared.name: _read(declared, found)
        for declared in row.attributes
        if declared.name in found or declared.default is not None
    }


def _read(declared: Attribute, found: Mapping[str, OmAttribute]) -> AttributeValue:
    if declared.name not in found:
        return cast("AttributeValue", declared.default)
    value = found[declared.name]
    if isinstance(value, list):
        numbers = map(float, value) if declared.type == "floats" else map(int, value)
        return tuple(numbers)
    if declared.type == "float":
        return float(value)
    return DType.parse(str(value)) if declared.type == "dtype" else value
