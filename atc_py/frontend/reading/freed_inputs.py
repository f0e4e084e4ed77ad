"""A file whose inputs take the shapes that a user gives, also where it fixes others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.frontend.reading.declared import DeclaredInput
    from atc_py.frontend.reading.onnx_file import OnnxFile
    from atc_py.tensor.shapes import Dims

__all__ = ["with_freed_inputs"]


def with_freed_inputs(file: OnnxFile, shapes: Mapping[str, Dims]) -> OnnxFile:
    """Return `file` with open dims where it fixes others than `shapes` has, None being any.

    What it states of the types of other values is then worth nothing, and is gone.
    """
    freed = tuple(_freed(each, shapes.get(each.name)) for each in file.inputs)
    if freed == file.inputs:
        return file
    return replace(file, inputs=freed, declared={})


def _freed(declared: DeclaredInput, given: Dims | None) -> DeclaredInput:
    """Return an input that takes a shape; None for an input that nobody gives one."""
    if given is None or declared.dims is None or declared.kind:
        return declared
    if len(given) != len(declared.dims):
        return replace(declared, dims=None)
    dims = tuple(
        own if isinstance(own, str) or own == dim else ""
        for own, dim in zip(declared.dims, given, strict=True)
    )
    return replace(declared, dims=dims)
