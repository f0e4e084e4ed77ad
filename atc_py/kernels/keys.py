"""Keys that identify kernels, and the names derived from them."""

import hashlib
import json
import re
from collections.abc import Collection
from enum import Enum
from typing import NamedTuple, TypeAlias

import msgspec

from atc_py.ir import AttrValue, Engine, Node, TensorType
from atc_py.kernels.cpp import SHORT_NAMES
from atc_py.target import TargetOp
from atc_py.target.storage_choices import StorageChoice
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.storage import Storage

Plain: TypeAlias = bool | int | float | str | list[int | float]
"""An attribute as JSON holds it."""

_WORD_START = re.compile(r"(?<=[A-Za-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")
_MOST_NAMED = 3
_DIGEST_LENGTHS = (8, 16, 64)


class PortKey(NamedTuple):
    """Facts about an operand that a kernel depends on."""

    dtype: DType
    format: Format  # what the axes mean
    storage: Storage | None = None  # the blocked format in which it is stored; None for row by row

    def as_list(self) -> list[str]:
        stored = [] if self.storage is None else [str(self.storage)]
        return [self.dtype.value, self.format.value, *stored]


class Reach(Enum):
    """Part of an operand that belongs to an element of the result."""

    ONE = "one"
    """The same single value for all."""
    WHOLE = "whole"
    """Its own element: both have one size and one order."""
    STACK = "stack"
    """An element of its own matrix, which serves several matrices of the result."""
    REPEATED = "repeated"
    """An element that others share, along any axes."""

    @property
    def repeats(self) -> bool:
        """True if the mapping of elements depends on the dims of both."""
        return self in {Reach.STACK, Reach.REPEATED}


class LinkInput(NamedTuple):
    """Facts about an operand of a link that a kernel depends on."""

    format: Format  # what the axes mean
    reach: Reach  # the part of it that belongs to an element
    storage: Storage | None = None  # the blocked format in which it is stored; None for row by row
    dtype: DType | None = None  # where it is not that of the result

    def as_list(self) -> list[str]:
        stored = [] if self.storage is None else [str(self.storage)]
        wide = [] if self.dtype is None else [self.dtype.value]
        return [self.format.value, self.reach.value, *stored, *wide]


class LinkKey(msgspec.Struct, frozen=True):
    """Facts about an applied function that a kernel depends on."""

    op: str
    dtype: DType  # of the result, and of operands that say no other
    inputs: tuple[LinkInput | None, ...]  # by position; None for the result so far
    # by name, defaults of the operator's row filled in
    attributes: tuple[tuple[str, AttrValue], ...]


class KernelKey(msgspec.Struct, frozen=True):
    """Everything that a kernel depends on; nodes with equal keys share a stub, for any shapes."""

    op: str
    engine: Engine
    inputs: tuple[PortKey | None, ...]  # by position, None where an optional input is absent
    outputs: tuple[PortKey, ...]  # by position
    # by name, defaults of the operator's row filled in; beside them the numbers of constants that
    # the kernel is compiled for
    attributes: tuple[tuple[str, AttrValue], ...]
    links: tuple[LinkKey, ...] = ()  # functions of each element after the operator
    # whether the kernel addresses rows although operands are in blocks, because of shapes that
    # kernels of blocks do not take
    by_rows: bool = False

    @property
    def ops(self) -> tuple[str, ...]:
        return (self.op, *(link.op for link in self.links))

    def text(self) -> str:
        """The key as JSON, equal for equal keys in every run and on every machine."""
        ports = [
            [None if port is None else port.as_list() for port in side]
            for side in (self.inputs, self.outputs)
        ]
        links = [
            [
                link.op,
                [None if entry is None else entry.as_list() for entry in link.inputs],
                _plain_attributes(link.attributes),
            ]
            for link in self.links
        ]
        attributes = _plain_attributes(self.attributes)
        addressed = ["by rows"] if self.by_rows else []
        return json.dumps([self.op, self.engine.value, *ports, attributes, *links, *addressed])

    def digest(self) -> str:
        return hashlib.sha256(self.text().encode()).hexdigest()


def kernel_key(node: Node, row: TargetOp, engine: Engine, stored: StorageChoice) -> KernelKey:
    """The key of `node` alone, whose operator has `row` and which `engine` executes."""
    inputs = [
        None if value is None else _port(value.type, stored.input(at))
        for at, value in enumerate(node.inputs)
    ]
    while inputs and inputs[-1] is None:
        inputs.pop()
    outputs = tuple(_port(value.type, stored.output(at)) for at, value in enumerate(node.outputs))
    attributes = (*attributes_of(node, row), *compiled_numbers(node, row))
    return KernelKey(node.op, engine, tuple(inputs), outputs, attributes)


def compiled_numbers(node: Node, row: TargetOp) -> tuple[tuple[str, AttrValue], ...]:
    """The numbers of constants that kernels are compiled for, by the operands' names."""
    found = []
    for operand, value in zip(row.inputs, node.inputs, strict=False):
        if operand.compiled and value is not None and value.const is not None:
            numbers = value.const.numpy().reshape(-1)
            found.append((operand.name, tuple(int(each) for each in numbers)))
    return tuple(found)


def kernel_name(key: KernelKey, taken: Collection[str] = ()) -> str:
    """`conv2d_relu_f16_1a2b3c4d`: operators, first dtype, digest.

    At most three operators are named; a name that is taken has a longer digest.
    """
    port = next(port for port in (*key.inputs, *key.outputs) if port is not None)
    words = [_WORD_START.sub("_", op).lower() for op in key.ops[:_MOST_NAMED]]
    stem = f"{'_'.join(words)}_{SHORT_NAMES[port[0]]}"
    digest = key.digest()
    names = [f"{stem}_{digest[:length]}" for length in _DIGEST_LENGTHS]
    return next((name for name in names if name not in taken), names[-1])


def plain_value(value: AttrValue) -> Plain:
    """`value` as JSON holds it; a dtype is its number in CANN's graph enum."""
    if isinstance(value, DType):
        return value.ge
    return list(value) if isinstance(value, tuple) else value


def _port(kind: TensorType, storage: Storage | None) -> PortKey:
    return PortKey(kind.dtype, kind.format, storage)


def _plain_attributes(
    attributes: tuple[tuple[str, AttrValue], ...],
) -> list[tuple[str, Plain]]:
    return [(name, plain_value(value)) for name, value in attributes]


def attributes_of(node: Node, row: TargetOp) -> tuple[tuple[str, AttrValue], ...]:
    """The node's attributes and the row's defaults for the rest, by name."""
    merged: dict[str, AttrValue] = {
        attribute.name: attribute.default
        for attribute in row.attributes
        if attribute.default is not None and not attribute.unsaid
    }
    merged.update(node.attributes)
    declared = {attribute.name: attribute.type for attribute in row.attributes}
    return tuple(
        (name, _value_as_type(value, declared.get(name, "")))
        for name, value in sorted(merged.items())
    )


def _value_as_type(value: AttrValue, declared: str) -> AttrValue:
    """`value` as its declared type, so that 1, 1.0 and True have one key."""
    if declared == "float" and isinstance(value, (int, float)):
        return float(value)
    if declared == "int" and isinstance(value, int):
        return int(value)
    if declared == "bool" and isinstance(value, int):
        return bool(value)
    if declared == "floats" and isinstance(value, tuple):
        return tuple(float(item) for item in value)
    return value
