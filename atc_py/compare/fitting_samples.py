"""Samples of several gears: each gear is compared on those that fit its dims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.compare.sample_source import (
    GivenSamples,
    picture_folders,
    row_samples,
    sample_arrays,
    sample_paths,
)
from atc_py.diag import NO_SAMPLES, AtcError, Diagnostic, Sink
from atc_py.options.gears import Gears
from atc_py.options.input_shapes import format_input_shapes
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.sample_files import FileSamples
from atc_py.pipeline.running.samples import ArraySamples, Samples, has_rows
from atc_py.results.picture_inputs import picture_inputs
from atc_py.system.structs import replace
from atc_py.tensor.shapes import closed_shape
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.compare.sample_source import GivenFiles, SampleInputs


_NAMED = 5
"""Samples that a message names."""


class NoFittingSampleError(AtcError):
    """Gear that no sample fits."""


class FittingSamples:
    """Samples in files or of arrays, of which each gear takes those that fit its dims."""

    def __init__(self, given: GivenFiles, gears: Gears) -> None:
        self._given, self._gears = given, gears
        self._fits: dict[str, bool] = {}

    def opened(self, inputs: SampleInputs) -> GivenSamples:
        """The samples that fit the one gear whose model has the `inputs`.

        Raises:
            NoFittingSampleError: NO_SAMPLES, or BAD_SAMPLE for arrays of several samples.
            AtcError: as `given_source` does.
        """
        found = self._fitting(inputs)
        if not found.count:
            shapes = {port.name: closed_shape(port.shape) for port in inputs.left}
            raise NoFittingSampleError(
                NO_SAMPLES.diagnostic(
                    Text(
                        "no sample fits the shapes {input_shapes}",
                        input_shapes=format_input_shapes(shapes),
                    ),
                    help=Text("give samples of these shapes, or leave the gear out"),
                )
            )
        return GivenSamples(found, inputs)

    def of_no_gear(self) -> list[Diagnostic]:
        names = [name for name, fits in self._fits.items() if not fits]
        if not names:
            return []
        left = len(names) - _NAMED
        more = Text(" and {left} more", left=left) if left > 0 else ""
        shown = f"{', '.join(names[:_NAMED])}{more}"
        return [
            self._gears.refusal(Text("samples fit no gear: {shown}", shown=shown)).diagnostics[0]
        ]

    def _fitting(self, inputs: SampleInputs) -> Samples:
        arrays = sample_arrays(self._given)
        if arrays is not None:
            return arrays.chosen(self._noted(arrays, inputs.ports))
        named = sample_paths(self._given, inputs.ports)
        if has_rows(named):
            return self._rows(named, inputs)
        if picture_inputs(inputs.description):
            return self._pictures(named, inputs)
        files = FileSamples(named, self._open_ports(inputs.ports), Sink())
        return files.chosen(self._noted(files, inputs.ports))

    def _noted(self, samples: ArraySamples | FileSamples, ports: Sequence[Port]) -> list[int]:
        shapes = {port.name: port.shape for port in ports if not port.partial}
        fits = [
            (
                label,
                all(array.shape == shapes.get(name, array.shape) for name, array in feeds.items()),
            )
            for label, feeds in samples
        ]
        self._note(dict(fits))
        return [at for at, (_, fit) in enumerate(fits) if fit]

    def _note(self, fits: Mapping[str, bool]) -> None:
        for label, fit in fits.items():
            self._fits[label] = fit or self._fits.get(label, False)

    def _pictures(self, named: Sequence[tuple[str | None, Path]], inputs: SampleInputs) -> Samples:
        try:
            pictures = picture_folders(named, inputs, fitting=True)
        except AtcError as error:
            if error.diagnostics[0].code is not NO_SAMPLES:
                raise
            raise NoFittingSampleError(*error.diagnostics) from None
        self._note(pictures.fits)
        return pictures

    def _rows(self, named: Sequence[tuple[str | None, Path]], inputs: SampleInputs) -> Samples:
        try:
            return row_samples(named, inputs.ports)
        except AtcError as error:
            self._refuse_rows(named, inputs)
            raise NoFittingSampleError(*error.diagnostics) from None

    def _refuse_rows(self, named: Sequence[tuple[str | None, Path]], inputs: SampleInputs) -> None:
        """Refuse arrays for no input, and those that fit no list of shapes."""
        ports = self._open_ports(inputs.ports)
        pictures = {each.name for each in picture_inputs(inputs.description)}
        anywhere = tuple(
            replace(port, shape=(None,) * len(port.shape)) if port.name in pictures else port
            for port in ports
        )
        try:
            row_samples(named, anywhere)
        except AtcError as error:
            if error.diagnostics[0].code is not NO_SAMPLES:
                raise

    def _open_ports(self, ports: Iterable[Port]) -> tuple[Port, ...]:
        """Inputs with None for the dims that gears decide, and their shapes in each gear."""
        every = [self._gears.shapes_of(at) for at in range(len(self._gears.gears))]
        shapes = self._gears.shapes
        return tuple(
            replace(
                port,
                shape=shapes[port.name],
                gears=tuple(each[port.name] for each in every),
            )
            if None in shapes.get(port.name, ())
            else port
            for port in ports
        )
