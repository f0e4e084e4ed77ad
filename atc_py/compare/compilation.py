"""Options of a compilation that is made again and again, with other nodes kept in float32 each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.diag import Diagnostic
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.compile_options import CompileOptions
from atc_py.pipeline.convert import compile_file
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from atc_py.device.sim.execution.kept_results import KeptResults
    from atc_py.pipeline.compile import TrialCompiler

Lines = tuple[tuple[str, ...], tuple[str, ...]]
"""Lines of a --keep-dtype and of a --customize-dtypes file."""


class _Kept:
    """Parts that a compilation's trials and its original share; they do not go to other processes."""

    file: OnnxFile | None = None
    compiler: TrialCompiler | None = None
    results: KeptResults | None = None

    def __reduce__(self) -> tuple[type[_Kept], tuple[()]]:
        return _Kept, ()


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compilation, except for the nodes to keep."""

    model: Path  # the ONNX file
    options: CompileOptions  # the user's
    # the file that runs in place of the model; None for the model itself
    reference: Path | None = None
    # the offline model of Huawei's atc that was made of the model, and is compared in place of a
    # compiled one
    real: Path | None = None
    submodel: str | None = None  # the model of that file, where it has several
    notes: tuple[Diagnostic, ...] = ()  # on dims that were proposed for random data
    _kept: _Kept = field(default_factory=_Kept, init=False, compare=False, repr=False)

    def write(self, output: Path, on_stage: Callable[[str], None] | None, *, to_run: bool) -> None:
        """Compile to `output`; without kernels if it is only `to_run`."""
        compile_file(self.model, output, self.options, on_stage, self._sound_file, to_run=to_run)

    @property
    def file(self) -> OnnxFile:
        """The model as it was read, with what it breaks of ONNX's rules."""
        if self._kept.file is None:
            self._kept.file = read_model(self.model, lenient=True)
        return self._kept.file

    def _sound_file(self, _path: Path) -> OnnxFile:
        self.file.refuse_faults()
        return self.file

    def write_with(self, output: Path, lines: Lines, folder: Path) -> None:
        """Compile to `output` with lines of a --keep-dtype and a --customize-dtypes file.

        The files are written to `folder`, and take the place of the user's own. The model has no
        kernels; its file must not change between trials.
        """
        paths: list[Path | None] = []
        for rows, name in zip(lines, ("keep.txt", "custom.txt"), strict=True):
            path = folder / name
            path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
            paths.append(path if rows else None)
        own = self.options.precision
        precision = replace(
            own,
            keep_dtype=paths[0] or own.keep_dtype,
            customize_dtypes=paths[1] or own.customize_dtypes,
        )
        if self._kept.compiler is None:
            from atc_py.pipeline.compile import TrialCompiler

            self._kept.compiler = TrialCompiler(self.model, self.options, self._sound_file)
        self._kept.compiler.write(output, replace(self.options, precision=precision))

    @property
    def results(self) -> KeptResults:
        """Results of the simulator that trials share."""
        if self._kept.results is None:
            from atc_py.device.sim.execution.kept_results import KeptResults

            self._kept.results = KeptResults()
        return self._kept.results

    @property
    def bound(self) -> Mapping[str, float]:
        return {} if self.options.fix is None else self.options.fix.bind

    def kept_lines(self) -> tuple[str, ...]:
        return _lines(self.options.precision.keep_dtype)

    def custom_lines(self) -> tuple[str, ...]:
        return _lines(self.options.precision.customize_dtypes)


def _lines(path: Path | None) -> tuple[str, ...]:
    return () if path is None else tuple(path.read_text(encoding="utf-8-sig").splitlines())
