"""Result types of operators that ONNX does not define, held to what the file states of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.tensor.shapes import format_shape

if TYPE_CHECKING:
    from atc_py.ir import TensorType
    from atc_py.lowering.builder import Builder

__all__ = ["said", "stated"]


def stated(b: Builder, position: int, found: TensorType) -> TensorType:
    """`found`, which the file must have stated for the output too.

    Raises:
        AtcError: BAD_NODE when it states another shape or dtype.
    """
    if b.wants_output(position):
        told = b.output_type(position)
        if (told.dtype, told.shape) != (found.dtype, found.shape):
            reason = f"gives {said(found)}, but the file states {said(told)}"
            raise b.bad(reason, f"output {position}")
    return found


def said(type_: TensorType) -> str:
    """A type as people write it."""
    return f"{type_.dtype.value} {format_shape(type_.shape)}"
