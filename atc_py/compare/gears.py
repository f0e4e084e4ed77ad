"""`compare_gears`: the comparison of a model with its original for each of several gears."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from atc_py.compare.comparison_session import GivenSamples
from atc_py.compare.fitting_samples import FittingSamples, NoFittingSampleError
from atc_py.compare.model import compare_model
from atc_py.diag import BAD_SAMPLE, NO_SAMPLES, AtcError, Diagnostic, ExitCode
from atc_py.options.gears import Gears, format_gear
from atc_py.results.compiled_model import CompiledModel
from atc_py.results.layer_comparison import LayerComparison


@dataclass(frozen=True, slots=True)
class ComparedGear:
    """Comparison of one gear."""

    values: tuple[int, ...]  # the gear's numbers
    shapes: dict[str, tuple[int, ...]]
    done: LayerComparison | None  # every layer; None where no sample fits the gear
    compiled: CompiledModel | None = None  # the model of the gear, if it was asked for
    not_compared: tuple[Diagnostic, ...] = ()  # why there is no comparison


class GearComparisons(NamedTuple):
    """Comparison of all gears."""

    gears: list[ComparedGear]
    left_out: tuple[Diagnostic, ...] = ()  # the samples that fit none of them


def compare_gears(
    model: str | os.PathLike[str],
    gears: Gears,
    on_stage: Callable[[str], None] | None = None,
    *,
    keeps_compiled: bool = False,
    **options: Any,
) -> GearComparisons:
    """Compile an ONNX model for each gear, and compare every layer with the original.

    The original runs as it is, so dims that gears decide must be open in the file. Of samples in files
    or of arrays each gear is compared on those that fit its dims.

    Args:
        model: path of the .onnx file.
        gears: the lists of shapes.
        on_stage: called with gear and stage as each begins.
        keeps_compiled: True to keep the compiled model of each gear, for a page.
        **options: as `compare_model` takes them, without `input_shape`.

    Raises:
        AtcError: as `compare_model` does; a note names the gear that does not compile. NO_SAMPLES or
            BAD_SAMPLE where no sample fits any gear.
    """
    samples = fitting_samples(options.pop("samples", None), gears)
    found = []
    for gear, values in enumerate(gears.gears):
        shapes = gears.shapes_of(gear)
        compiled: list[CompiledModel] | None = [] if keeps_compiled else None
        done: LayerComparison | None = None
        refusals: tuple[Diagnostic, ...] = ()
        try:
            done = compare_model(
                model,
                input_shape=shapes,
                samples=samples,
                compiled=compiled,
                on_stage=announcing(on_stage, format_gear(values)),
                **options,
            )
        except NoFittingSampleError as error:
            refusals = error.diagnostics
        except AtcError as error:
            raise _with_gear(error, gears, gear) from error
        kept = compiled[0] if compiled else None
        found.append(ComparedGear(values, shapes, done, kept, refusals))
    refuse_if_none_fits([each.not_compared for each in found])
    left_out = samples.of_no_gear() if isinstance(samples, FittingSamples) else ()
    return GearComparisons(found, tuple(left_out))


def fitting_samples(samples: GivenSamples, gears: Gears) -> GivenSamples:
    """Samples of which each gear takes those that fit; random ones fit all."""
    if samples is None or isinstance(samples, int | FittingSamples):
        return samples
    return FittingSamples(samples, gears)


def refuse_if_none_fits(refusals: Sequence[Sequence[Diagnostic]]) -> None:
    """Refuse samples that fit no gear at all, for the reasons of the first gear.

    Raises:
        AtcError: NO_SAMPLES or BAD_SAMPLE.
    """
    if refusals and all(own and own[0].code in {BAD_SAMPLE, NO_SAMPLES} for own in refusals):
        raise AtcError(*refusals[0])


def _with_gear(error: AtcError, gears: Gears, gear: int) -> AtcError:
    from atc_py.pipeline.gears import not_compiled

    if error.exit_code in {ExitCode.FILE, ExitCode.USAGE}:
        return error
    return AtcError(*error.diagnostics, not_compiled(gears, gear))


def announcing(on_stage: Callable[[str], None] | None, gear: str) -> Callable[[str], None] | None:
    return None if on_stage is None else lambda stage: on_stage(f"gear {gear}: {stage}")
