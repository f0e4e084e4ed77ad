"""The outline of an ONNX file for a report about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import AtcError
from atc_py.frontend.reading.outline import read_outline
from atc_py.options.choices import shapes_and_ranges
from atc_py.pipeline.opened import is_offline

if TYPE_CHECKING:
    from pathlib import Path

    from atc_py.source.outline import ModelOutline

__all__ = ["outline_for"]


def outline_for(model: Path, input_shape: str) -> ModelOutline | None:
    """Return the outline of a model with the dims that were given; None for an offline model.

    There is none either where the file's own inputs do not have those dims: rules or AIPP gave it
    others before it was compiled.
    """
    if is_offline(model):
        return None
    shapes, _ = shapes_and_ranges(input_shape)
    try:
        return read_outline(model, shapes)
    except AtcError:
        return None
