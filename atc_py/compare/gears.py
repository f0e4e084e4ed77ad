"""`compare_gears`: the comparison of a model with its original for each of several gears."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atc_py.compare.model import compare_model
from atc_py.diag import AtcError
from atc_py.options.gears import format_gear

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from atc_py.options.gears import Gears
    from atc_py.results.layer_comparison import LayerComparison

__all__ = ["ComparedGear", "compare_gears"]


@dataclass(frozen=True, slots=True)
class ComparedGear:
    """Comparison of one gear.

    Attributes:
        values: the gear's numbers.
        shapes: of the inputs.
        done: every layer.
    """

    values: tuple[int, ...]
    shapes: dict[str, tuple[int, ...]]
    done: LayerComparison


def compare_gears(
    model: str | os.PathLike[str],
    gears: Gears,
    on_stage: Callable[[str], None] | None = None,
    **options: Any,
) -> list[ComparedGear]:
    """Compile an ONNX model for each gear, and compare every layer with the original.

    The original runs as it is, so dims that gears decide must be open in the file.

    Args:
        model: path of the .onnx file.
        gears: the lists of shapes.
        on_stage: called with gear and stage as each begins.
        **options: as `compare_model` takes them, without `input_shape`.

    Raises:
        AtcError: as `compare_model` does; a note names the gear.
    """
    from atc_py.pipeline.gears import not_compiled

    found = []
    for gear, values in enumerate(gears.gears):
        shapes = gears.shapes_of(gear)
        try:
            done = compare_model(
                model, input_shape=shapes, on_stage=_named(on_stage, values), **options
            )
        except AtcError as error:
            raise AtcError(*error.diagnostics, not_compiled(gears, gear)) from error
        found.append(ComparedGear(values, shapes, done))
    return found


def _named(
    on_stage: Callable[[str], None] | None, values: tuple[int, ...]
) -> Callable[[str], None] | None:
    """Return what announces stages with the gear that they are of."""
    if on_stage is None:
        return None
    return lambda stage: on_stage(f"gear {format_gear(values)}: {stage}")
