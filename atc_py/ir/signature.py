"""Signatures: a node against the row of its operator."""

from collections.abc import Callable, Iterator, Sequence

from atc_py.ir.nodes import Node, Value
from atc_py.target.row import Operand, TargetOp
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


class Signature:
    """The row of an operator, as many nodes are held to it."""

    def __init__(self, row: TargetOp) -> None:
        self.row = row
        self._types = {each.name: each.type for each in row.attributes}
        self._tests = {name: ATTRIBUTE_TYPES[kind] for name, kind in self._types.items()}
        self._required = [each.name for each in row.attributes if each.default is None]
        self._counts: dict[tuple[int, int], bool] = {}

    def faults(self, node: Node) -> list[Text]:
        operands = [] if self.has_operands(node) else list(self._operand_faults(node))
        return operands + self._attribute_faults(node)

    def has_operands(self, node: Node) -> bool:
        """True if the operands of `node` are right in number and none is missing.

        Where no input is absent, it depends on their numbers alone, whose answer is kept.
        """
        inputs = node.inputs
        if None in inputs:
            return not any(self._operand_faults(node))
        counts = len(inputs), len(node.outputs)
        known = self._counts.get(counts)
        if known is None:
            known = self._counts[counts] = not any(self._operand_faults(node))
        return known

    def _operand_faults(self, node: Node) -> Iterator[Text]:
        row = self.row
        yield from _check_side(Text("input"), node.inputs, row.inputs, row.input_at)
        yield from _check_side(Text("output"), node.outputs, row.outputs, row.output_at)

    def _attribute_faults(self, node: Node) -> list[Text]:
        found, given = [], node.attributes
        for name, value in given.items():
            if name not in self._tests:
                allowed = ", ".join(self._tests) or Text("none")
                text = Text("{op} has no attribute {name}; it has {known}")
                found.append(text.with_values(op=node.op, name=name, known=allowed))
            elif not self._tests[name](value):
                text = Text("attribute {name} must be of type {type}, found {value}")
                found.append(text.with_values(name=name, type=self._types[name], value=repr(value)))
        missing = [name for name in self._required if name not in given]
        return found + [Text("attribute {name} must be given", name=name) for name in missing]


def _check_side(
    side: Text,
    values: Sequence[Value | None],
    operands: Sequence[Operand],
    operand_at: Callable[[int], Operand | None],
) -> Iterator[Text]:
    if values and operand_at(len(values) - 1) is None:
        text = Text("at most {n} {side}s are allowed, found {found}")
        yield text.with_values(n=len(operands), side=side, found=len(values))
    length = max(len(values), len(operands))
    if len(values) == length and None not in values:
        return
    for position in range(length):
        operand = operand_at(position)
        value = values[position] if position < len(values) else None
        if operand is not None and not operand.optional and value is None:
            text = Text("{side} {n} ({name}) is absent and not optional")
            yield text.with_values(side=side, n=position, name=operand.name)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


ATTRIBUTE_TYPES: dict[str, Callable[[object], bool]] = {
    "int": _is_int,
    "float": lambda value: isinstance(value, float),
    "bool": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "ints": lambda value: (
        isinstance(value, tuple) and (set(map(type, value)) <= {int} or all(map(_is_int, value)))
    ),
    "floats": lambda value: (
        isinstance(value, tuple) and all(isinstance(item, float) for item in value)
    ),
    "dtype": lambda value: isinstance(value, DType),
}
"""The types that attributes can have, each with its test; a float is never an int in disguise."""
