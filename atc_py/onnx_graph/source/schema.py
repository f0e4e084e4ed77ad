"""ONNX's definition of an operator at one version, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import msgspec

Default: TypeAlias = "int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]"


class FormalParameter(msgspec.Struct, frozen=True):
    """An input or output of an operator."""

    name: str
    # names of the element types of tensors that it admits, atc-py's or else ONNX's
    elements: frozenset[str]
    type_name: str  # the type variable, `T`, or the type itself
    optional: bool
    variadic: bool  # stands for one or more


class AttributeSchema(msgspec.Struct, frozen=True):
    """An attribute of an operator."""

    name: str
    type: str  # int, float, string, tensor, graph, sparse_tensor, ints, floats, strings ...
    required: bool  # every node sets it
    default: Default | None  # the value of nodes that do not set it; None where there is none


class OperatorSchema(msgspec.Struct, frozen=True):
    """A version of an operator."""

    op: str
    since_version: int  # the opset that brought this version
    inputs: tuple[FormalParameter, ...]
    outputs: tuple[FormalParameter, ...]
    attributes: Mapping[str, AttributeSchema]
    deprecated: bool = False  # the operator ended with this version
    # operators of the function that defines it; empty where ONNX gives none
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
