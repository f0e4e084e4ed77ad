"""What all compilations of one file with the same options share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from atc_py.kernels.kernels import SourceMemo
from atc_py.options.compile_options import CompileOptions
from atc_py.passes.base import Switches
from atc_py.passes.pipeline import PIPELINE, check_names
from atc_py.passes.precision.controls import check_soc
from atc_py.pipeline.judging import Judge, judge_of
from atc_py.results.conversion import Stage
from atc_py.system.structs import replace
from atc_py.target import Soc, find_soc

if TYPE_CHECKING:
    from atc_py.onnx_graph.folding.evaluate import FoldMemo
    from atc_py.pipeline.preprocessing import PictureConfigs


class SharedInputs(msgspec.Struct, frozen=True):
    """Data that all compilations of one file with the same options share."""

    soc: Soc
    switches: Switches  # the passes that the user switched off
    judge: Judge  # judges the file with other dims
    memo: FoldMemo | None = None  # constants that folding made of constants
    sources: SourceMemo | None = None  # texts of kernels
    # the configurations of inputs that take pictures, or None
    pictures: PictureConfigs | None = None
    # True for offline models that are run, timed and thrown away: they have no kernels, which the
    # simulator does not read, and need not survive a power cut
    to_run: bool = False
    # compiles a file that is tried with proposed dims; None for no such trials
    compiler: Callable[..., Any] | None = None


def shared_inputs(
    options: CompileOptions,
    memo: FoldMemo | None = None,
    sources: SourceMemo | None = None,
    *,
    to_run: bool = False,
    compiler: Callable[..., Any] | None = None,
) -> SharedInputs:
    """The facts of all compilations with these options, and the memos that they share.

    Kernels that somebody asked for, or that have templates of their own, are made in any case.
    """
    soc = _soc(options)
    judge = judge_of(options, soc)
    check_names(options.disable_pass)
    switches, pictures = Switches(), None
    if options.fusion_switch_file is not None:
        from atc_py.passes.fusion.switch_file import read_switches

        switches = read_switches(options.fusion_switch_file, PIPELINE)
    if options.aipp is not None:
        from atc_py.pipeline.preprocessing import read_preprocessing

        pictures = read_preprocessing(options.aipp, options)
    to_run = to_run and options.kernels is None and options.templates is None
    return SharedInputs(soc, switches, judge, memo, sources, pictures, to_run, compiler)


def _soc(options: CompileOptions) -> Soc:
    """The SoC that is compiled for, which must have what the precision mode needs."""
    soc = find_soc(options.soc)
    check_soc(options.precision_mode, soc)
    if options.enable_small_channel and soc.storage.c04_filters:
        return replace(soc, storage=replace(soc.storage, small_channel=True))
    return soc


class StageClock:
    """Keeps the time of each stage, summed up where it runs several times.

    Attributes:
        prefix: what stands before the names of stages where they are announced.
    """

    def __init__(self, on_stage: Callable[[str], None] | None) -> None:
        self.prefix = ""
        self._seconds: dict[str, float] = {}
        self._on_stage = on_stage

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that ran, in the order of their first runs."""
        return tuple(Stage(*each) for each in self._seconds.items())

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block as stage `name`."""
        if self._on_stage is not None:
            self._on_stage(f"{self.prefix}{name}")
        started = time.perf_counter()
        yield
        taken = time.perf_counter() - started
        self._seconds[name] = self._seconds.get(name, 0.0) + taken
