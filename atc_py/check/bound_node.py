"""A node bound to its specification: tensors and attributes by the names that rules use."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from atc_py.onnx_graph.source import SourceNode, SourceTensor
from atc_py.options.compile_options import NEWEST_CANN, PrecisionMode
from atc_py.spec import AttributeType, OperandSpec, OpSpec
from atc_py.spec.lists import find_release
from atc_py.target import Soc


class Conditions(msgspec.Struct, frozen=True):
    """Conditions that rules can depend on beside the node."""

    mode: PrecisionMode
    soc: Soc
    cann: str = NEWEST_CANN  # release of CANN whose deviations are reported
    strict: bool = False  # whether contradicted rules of the list refuse nodes like any other

    def __post_init__(self) -> None:
        find_release(self.cann)


class BoundNode(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A node as its specification sees it."""

    spec: OpSpec
    view: SourceNode  # the node; where it is restated, in the form of `opset`
    opset: int  # the listed opset whose form it has; of a custom operator, its domain's version
    conditions: Conditions  # precision mode and SoC
    written: int = 0  # the opset of the file; 0 where it is that of `opset`
    # whether dims are open that it depends on, so that more may be known of it later
    waits: bool = False
    # the first nodes of the operator before it in the model that set what a deviation asks for
    before: tuple[SourceNode, ...] = ()
    # its operands that are inputs of the model with a rank, where a deviation asks for them
    fed: frozenset[str] = frozenset()

    @cached_property
    def _tensors(self) -> Mapping[str, Sequence[SourceTensor]]:
        inputs = self._by_row(self.spec.inputs, self.view.inputs)
        outputs = self._by_row(self.spec.outputs, self.view.outputs)
        # An operator may give an output the name of an input; rules mean the input.
        taken = {row.name for row in self.spec.inputs}
        return {**inputs, **{name: tensor for name, tensor in outputs.items() if name not in taken}}

    def _by_row(
        self, rows: Sequence[OperandSpec], tensors: Sequence[SourceTensor | None]
    ) -> dict[str, list[SourceTensor]]:
        by_row: dict[str, list[SourceTensor]] = {}
        formal = [row for row in rows if row.exists_at(self.opset)]
        for position, tensor in enumerate(tensors):
            row = _row_at(formal, position, len(tensors))
            if row is not None and tensor is not None:
                by_row.setdefault(row.name, []).append(tensor)
        return by_row

    @property
    def surplus_inputs(self) -> int:
        formal = [row for row in self.spec.inputs if row.exists_at(self.opset)]
        return sum(
            tensor is not None and _row_at(formal, position, len(self.view.inputs)) is None
            for position, tensor in enumerate(self.view.inputs)
        )

    def tensors(self, name: str) -> Sequence[SourceTensor]:
        """The tensors of operand `name`: none if absent, several if it is variadic."""
        return self._tensors.get(name, ())

    def tensor(self, name: str) -> SourceTensor | None:
        """The tensor of operand `name`, the first of several; None where it is absent."""
        tensors = self.tensors(name)
        return tensors[0] if tensors else None

    def operand(self, name: str) -> OperandSpec:
        row = self.spec.operand(name)
        if row is None:
            raise KeyError(f"{self.spec.op} has no operand {name!r}")
        return row

    def has_attribute(self, name: str) -> bool:
        """True if the node can have the attribute called `name`.

        Attributes that no listed opset has are judged by their own rows where the file is of an
        opset that has them.
        """
        row = self.spec.attribute(name)
        if row is None or row.exists_at(self.opset):
            return row is not None
        return self.spec.is_unlisted(row) and row.exists_at(self.written)

    def is_set(self, attribute: str) -> bool:
        return attribute in self.view.attributes

    def is_given(self, name: str) -> bool:
        """True if the node uses the input or output, or sets the attribute to no empty list."""
        value: Any = self.view.attributes.get(name)
        return bool(self.tensors(name)) or (value is not None and value != ())

    def value(self, attribute: str) -> Any:
        """The attribute's value, or its default at the node's opset; None if none.

        Booleans are true and false though files carry them as integers; tensors and graphs are
        whatever stands for them.
        """
        row = self.spec.attribute(attribute)
        value: Any = self.view.attributes.get(attribute)
        if value is None and row is not None:
            value = row.default_at(self.opset)
        if row is not None and row.type is AttributeType.BOOL and value in {0, 1}:
            return bool(value)
        return value


def _row_at(rows: Sequence[OperandSpec], position: int, count: int) -> OperandSpec | None:
    """The row for the tensor at `position` of `count`; a variadic one takes the rest."""
    variadic = next((at for at, row in enumerate(rows) if row.variadic), len(rows))
    if position < variadic or variadic == len(rows):
        return rows[position] if position < len(rows) else None
    after = len(rows) - 1 - variadic
    left = count - position
    return rows[-left] if left <= after else rows[variadic]
