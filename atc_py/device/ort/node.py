"""A node of a compiled graph as emulations see it: constants as functions, names of operands."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import msgspec
from numpy.typing import NDArray

from atc_py.package.node_view import NodeError, NodeView
from atc_py.package.schema import OmNode
from atc_py.target.row import Operand, TargetOp
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


class NoFormError(NodeError):
    """A node has no form in ONNX's operators; the text says why, as the rest of a sentence."""


class CompiledNode(NodeView, frozen=True, kw_only=True):
    """A node of the compiled graph."""

    fault: ClassVar[type[NodeError]] = NoFormError
    row: TargetOp
    source: OmNode
    # functions that return the data of inputs that are constants, by position
    constants: Mapping[int, Callable[[], NDArray[Any]]] = msgspec.field(default_factory=dict)
    # positions of the outputs that nothing reads; an emulation may leave those out
    unread: frozenset[int] = frozenset()

    def has(self, position: int) -> bool:
        return self.input(position) is not None

    def dtype(self, position: int = 0) -> DType:
        return self.required(position).dtype

    def rank(self, position: int = 0) -> int:
        return self.required(position).rank

    def shape(self, position: int = 0) -> tuple[int, ...]:
        dims = self.required(position).dims
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
        return _numbered(self.row.input_at(position), position - len(self.row.inputs) + 1, "x")

    def output_name(self, position: int) -> str:
        """CANN's name of the output at `position`, counted where it is variadic."""
        return _numbered(self.row.output_at(position), position - len(self.row.outputs) + 1, "y")

    def constant(self, position: int) -> NDArray[Any] | None:
        """Data of the input at `position` in its own dtype; None where it is computed."""
        read = self.constants.get(position)
        return None if read is None else read()

    def data(self, position: int) -> NDArray[Any]:
        data = self.constant(position)
        if data is None:
            text = Text("input {name} is computed at run time")
            raise NoFormError(text.with_values(name=repr(self.input_name(position))))
        return data


def _numbered(operand: Operand | None, number: int, default: str) -> str:
    if operand is None:
        return default
    return f"{operand.name}{number}" if operand.variadic else operand.name
