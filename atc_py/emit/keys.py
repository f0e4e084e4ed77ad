"""What tells two kernels apart, and the name that follows from it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from atc_py.dtypes import DType
from atc_py.emit.cpp import SHORT_NAMES

if TYPE_CHECKING:
    from collections.abc import Collection

    from atc_py.emit.links import LinkKey
    from atc_py.formats import Format
    from atc_py.ir import AttrValue, Engine, Node, Value
    from atc_py.target import TargetOp

__all__ = ["KernelKey", "attributes_of", "kernel_key", "kernel_name", "plain_value"]

Plain: TypeAlias = bool | int | float | str | list[int | float]
"""An attribute as JSON holds it."""

_WORD_START = re.compile(r"(?<=[A-Za-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")
_MOST_NAMED = 3
_DIGEST_LENGTHS = (8, 16, 64)


@dataclass(frozen=True, slots=True)
class KernelKey:
    """All that a kernel depends on; nodes with equal keys share one stub, whatever their shapes.

    Attributes:
        op: target operator.
        engine: what executes it.
        inputs: dtype and format by position, None where an optional input is absent.
        outputs: dtype and format by position.
        attributes: by name, defaults of the operator's row filled in.
        links: functions of each element behind the operator.
    """

    op: str
    engine: Engine
    inputs: tuple[tuple[DType, Format] | None, ...]
    outputs: tuple[tuple[DType, Format], ...]
    attributes: tuple[tuple[str, AttrValue], ...]
    links: tuple[LinkKey, ...] = ()

    @property
    def ops(self) -> tuple[str, ...]:
        """The operator, and those of its links."""
        return (self.op, *(link.op for link in self.links))

    def text(self) -> str:
        """The key as JSON, equal for equal keys in every run and on every machine."""
        ports = [
            [port and [port[0].value, port[1].value] for port in side]
            for side in (self.inputs, self.outputs)
        ]
        links = [
            [
                link.op,
                [entry and [entry[0].value, entry[1].value] for entry in link.inputs],
                _plain_attributes(link.attributes),
            ]
            for link in self.links
        ]
        attributes = _plain_attributes(self.attributes)
        return json.dumps([self.op, self.engine.value, *ports, attributes, *links])

    def digest(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text().encode()).hexdigest()


def kernel_key(node: Node, row: TargetOp, engine: Engine) -> KernelKey:
    """The key of `node` alone, whose operator has `row` and which `engine` executes."""
    inputs = [None if value is None else _port(value) for value in node.inputs]
    while inputs and inputs[-1] is None:
        inputs.pop()
    outputs = tuple(_port(value) for value in node.outputs)
    return KernelKey(node.op, engine, tuple(inputs), outputs, attributes_of(node, row))


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


def _port(value: Value) -> tuple[DType, Format]:
    """What a key keeps of an operand."""
    return value.type.dtype, value.type.format


def _plain_attributes(
    attributes: tuple[tuple[str, AttrValue], ...],
) -> list[tuple[str, Plain]]:
    """Attributes as JSON holds them."""
    return [(name, plain_value(value)) for name, value in attributes]


def attributes_of(node: Node, row: TargetOp) -> tuple[tuple[str, AttrValue], ...]:
    """The node's attributes and the row's defaults for the rest, by name."""
    merged: dict[str, AttrValue] = {
        attribute.name: attribute.default
        for attribute in row.attributes
        if attribute.default is not None
    }
    merged.update(node.attributes)
    declared = {attribute.name: attribute.type for attribute in row.attributes}
    return tuple(
        (name, _typed(value, declared.get(name, ""))) for name, value in sorted(merged.items())
    )


def _typed(value: AttrValue, declared: str) -> AttrValue:
    """`value` as its declared type, so that 1, 1.0 and True are not told apart by accident."""
    if declared == "float" and isinstance(value, (int, float)):
        return float(value)
    if declared == "int" and isinstance(value, int):
        return int(value)
    if declared == "bool" and isinstance(value, int):
        return bool(value)
    if declared == "floats" and isinstance(value, tuple):
        return tuple(float(item) for item in value)
    return value
