"""ONNX's definition of an operator at one version, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import msgspec

Default: TypeAlias = "int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]"


class FormalParameter(msgspec.Struct, frozen=True):
    """An input or output of an operator.

    Attributes:
        elements: names of the element types of tensors that it admits, atc-py's or else ONNX's.
        type_name: the type variable, `T`, or the type itself.
        variadic: stands for one or more.
    """

    name: str
    elements: frozenset[str]
    type_name: str
    optional: bool
    variadic: bool


class AttributeSchema(msgspec.Struct, frozen=True):
    """An attribute of an operator.

    Attributes:
        type: int, float, string, tensor, graph, sparse_tensor, ints, floats, strings ...
        required: every node sets it.
        default: the value of nodes that do not set it; None where there is none.
    """

    name: str
    type: str
    required: bool
    default: Default | None


class OperatorSchema(msgspec.Struct, frozen=True):
    """A version of an operator.

    Attributes:
        since_version: the opset that brought this version.
        deprecated: the operator ended with this version.
        body: operators of the function that defines it; empty where ONNX gives none.
    """

    op: str
    since_version: int
    inputs: tuple[FormalParameter, ...]
    outputs: tuple[FormalParameter, ...]
    attributes: Mapping[str, AttributeSchema]
    deprecated: bool = False
    body: tuple[str, ...] = ()

    def input_at(self, position: int) -> FormalParameter | None:
        """The input that stands for one of a node; None where there is none."""
        if position < len(self.inputs):
            return self.inputs[position]
        last = self.inputs[-1] if self.inputs else None
        return last if last is not None and last.variadic else None


class SchemaHistory(Protocol):
    """ONNX's operators through their versions."""

    @property
    def newest_opset(self) -> int:
        """The newest opset that is known."""

    def at(self, op_type: str, opset: int) -> OperatorSchema | None:
        """The definition in force at an opset of ONNX's own domain, or None."""

    def versions(self, op_type: str) -> tuple[OperatorSchema, ...]:
        """Every version, oldest first; empty for an operator that ONNX does not have."""
