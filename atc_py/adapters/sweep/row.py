"""One row of a sweep: a model checked, compiled, estimated and compared for one combination."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atc_py.diag import DEVICE_MEMORY, MEMORY_LIMIT, AtcError, Diagnostic, ExitCode
from atc_py.results.sweep import Combination, SweepOutput, SweepRow, SweepVerdict
from atc_py.system import structs
from atc_py.system.cache_folders import legible
from atc_py.system.jobs.sent_files import sent_file
from atc_py.system.structs import replace
from atc_py.text import Text, in_language

if TYPE_CHECKING:
    from atc_py.compare.summary import SummaryOptions
    from atc_py.results.layer_comparison import LayerComparison
    from atc_py.results.summary import ModelSummary


_MEMORY = {MEMORY_LIMIT.id, DEVICE_MEMORY.id}


@dataclass(frozen=True)
class SweepOptions:
    """Options of a sweep."""

    # as `convert` takes them, without SoC, mode and list
    compiling: Mapping[str, Any] = field(default_factory=dict)
    # the folder of specifications that they name; None for those of the package
    specs: Path | None = None
    # as `compare_model` takes them, without samples; None for no comparison
    running: Mapping[str, Any] | None = None
    samples: int | Path = 1  # a number of random samples, or a file or folder with samples
    profiles: bool = False  # True to estimate the time
    language: str | None = "en"  # of the pages; None for no pages
    seconds: float | None = None  # time limit of a row
    memory: int | None = None  # bytes that a row may take
    retries: bool = False  # True to run rows again that failed
    proposes: bool = False  # True to take the dims that a check proposes for those that are open

    @property
    def limits(self) -> tuple[float | None, int | None]:
        return (self.seconds, self.memory)


@dataclass(frozen=True)
class RowTask:
    """Task of a process that makes a row."""

    combination: Combination
    path: str  # the model's file, as the user gave it
    file: str  # where the process finds it, unless it was sent
    options: SweepOptions  # of which `running` has the samples of the model
    sent: str = ""  # digest by which it was sent to other machines, if it was
    sent_samples: str = ""  # the same of the samples
    sent_specs: str = ""  # the same of the folder of specifications


@dataclass(frozen=True)
class DoneRow:
    """A row as a process made it."""

    row: SweepRow  # the row, without its digest and the name of its page
    # the page about it, as UTF-8; None where nobody asked, or there is nothing to show
    page: bytes | None
    seconds: float  # how long it took


def run_row(task: RowTask) -> DoneRow:
    """The row of a task; refusals are part of it."""
    from atc_py.compare.summary import SummaryOptions

    began = time.monotonic()
    each = task.combination
    file = sent_file(task.sent, task.file)
    running = dict(task.options.running or {})
    if isinstance(running.get("samples"), str):
        running["samples"] = sent_file(task.sent_samples, running["samples"])
    compiling = {
        **task.options.compiling,
        "precision_mode": each.precision_mode,
        "operator_list": each.operator_list,
    }
    if "op_specs" in compiling:
        compiling["op_specs"] = sent_file(task.sent_specs, compiling["op_specs"])
    options = SummaryOptions(
        socs=(each.soc,),
        compiling=compiling,
        running=running,
        compares=task.options.running is not None,
        given={
            "--soc": (each.soc,),
            "--precision-mode": (each.precision_mode,),
            "--list": (each.operator_list,),
        },
    )
    page, proposed = None, ""
    try:
        options = _own_shapes(Path(file), options)
        if task.options.proposes:
            options, proposed = _with_proposal(Path(file), options)
        done = _overview(Path(file), options)
    except AtcError as error:
        row = _refused(task, error.diagnostics)
    else:
        row = replace(_row(task, done), proposed=proposed or (done.shape if done.notes else ""))
        page = _page(done, task.options.language)
    if file != task.path:
        row, page = _as_given(task, file, row, page)
    row = structs.replace(
        row, message=legible(row.message), message_zh=legible(row.message_zh)
    )  # paths of samples may not be UTF-8
    return DoneRow(row, page, time.monotonic() - began)


def _own_shapes(model: Path, options: SummaryOptions) -> SummaryOptions:
    shapes = options.compiling.get("input_shape")
    if not shapes:
        return options
    from atc_py.onnx_graph.reading.read import read_model

    own = {each.name for each in read_model(model, lenient=True).inputs}
    kept = {name: shape for name, shape in shapes.items() if name in own}
    return replace(options, compiling={**options.compiling, "input_shape": kept})


def _with_proposal(model: Path, options: SummaryOptions) -> tuple[SummaryOptions, str]:
    """Options with the dims that a check proposes, and these; samples precede them."""
    from atc_py.compare.summary import with_dims_of_data
    from atc_py.options.compile_options import CheckOptions
    from atc_py.options.option import parse_options
    from atc_py.pipeline.check import check_files

    if not isinstance(options.running.get("samples"), int):
        with suppress(AtcError):  # the comparison says why samples do not fit
            options = with_dims_of_data(model, options)
    chosen = parse_options("sweep", CheckOptions, options.compiling, soc=options.socs[0])
    check = check_files([model], chosen).models[0]
    if not check.shape_hint or not check.hint_fits:
        return options, ""
    compiling = {**options.compiling, "input_shape": check.shape_hint}
    return replace(options, compiling=compiling), check.shape_hint


def _overview(model: Path, options: SummaryOptions) -> ModelSummary:
    """Summary of the row; samples that do not fit are a reason for no comparison."""
    from atc_py.compare.summary import summary_of

    try:
        return summary_of(model, options)
    except AtcError as error:
        if not options.compares:
            raise
        done = summary_of(model, replace(options, compares=False))
        return replace(done, not_compared=error.diagnostics)


def _refused(task: RowTask, diagnostics: Iterable[Diagnostic]) -> SweepRow:
    found = list(diagnostics)
    unread = any(each.code.exit is ExitCode.FILE for each in found)
    verdict = SweepVerdict.UNREADABLE if unread else SweepVerdict.REFUSED
    return SweepRow(
        combination=task.combination,
        path=task.path,
        verdict=_with_memory(verdict, found),
        reasons=_counted(found),
        message=found[0].message if found else "",
        message_zh=in_language(found[0].message, "zh") if found else "",
    )


def _row(task: RowTask, done: ModelSummary) -> SweepRow:
    compiled, comparison = done.compiled, done.comparison
    cost = done.profile.costs[0] if done.profile is not None and done.profile.costs else None
    check = done.check.models[0] if done.check is not None else None
    reasons: list[Diagnostic] = [*done.refusals, *done.not_compared]
    counts = _counted(reasons)
    texts = [Text(each.message) for each in reasons]
    refused = check is not None and check.standing.value == "error"
    if compiled is None and check is not None:
        errors = [each for each in check.findings if each.standing.value == "error"]
        counts = dict(Counter(counts) + Counter(each.code.id for each in errors))
        counts = dict(Counter(counts) + Counter(each.code.id for each in check.faults))
        faults = [Text(each.message) for each in check.faults]
        texts = [*faults, *(each.message for each in errors), *texts]
    verdict = SweepVerdict.COMPILES if compiled is not None else SweepVerdict.REFUSED
    outputs = _outputs(comparison)
    return SweepRow(
        combination=task.combination,
        path=task.path,
        verdict=_with_memory(verdict, reasons),
        standing=None if check is None else check.standing.value,
        reasons=dict(sorted(counts.items())),
        message=texts[0].en if texts else "",
        message_zh=texts[0].zh if texts else "",
        fixed=None
        if task.options.compiling.get("fix") is None
        else compiled is not None and refused,
        file_bytes=None if compiled is None else compiled.file_bytes,
        memory_bytes=None if cost is None else cost.footprint.total,
        estimated_seconds=cost.time.expected
        if task.options.profiles and cost is not None
        else None,
        evidence=cost.evidence.en if task.options.profiles and cost is not None else None,
        fits=cost.fits if task.options.profiles and cost is not None else None,
        outputs=outputs,
        cosine=min((each.cosine for each in outputs if each.cosine is not None), default=None),
        distance=max(
            (each.distance for each in outputs if each.distance is not None), default=None
        ),
    )


def _outputs(done: LayerComparison | None) -> tuple[SweepOutput, ...]:
    if done is None:
        return ()
    found = []
    for name, at in done.outputs.items():
        layer = done.layers[at]
        judged, figures = layer.judged, layer.figures
        found.append(
            SweepOutput(
                name=name,
                cosine=_finite(judged.cosine),
                snr=_finite(judged.snr),
                distance=_finite(judged.distance),
                max_absolute=_finite(figures.max_absolute),
                lost=figures.lost_share,
            )
        )
    return tuple(found)


def _finite(number: float) -> float | None:
    return float(number) if isfinite(number) else None


def _counted(diagnostics: Iterable[Diagnostic]) -> dict[str, int]:
    return dict(sorted(Counter(each.code.id for each in diagnostics).items()))


def _with_memory(verdict: SweepVerdict, diagnostics: Iterable[Diagnostic]) -> SweepVerdict:
    if any(each.code.id in _MEMORY for each in diagnostics):
        return SweepVerdict.OUT_OF_MEMORY
    return verdict


def _page(done: ModelSummary, language: str | None) -> bytes | None:
    if language is None:
        return None
    from atc_py.report.page.html_page import summary_html

    return summary_html(done, language).encode("utf-8")


def _as_given(
    task: RowTask, file: str, row: SweepRow, page: bytes | None
) -> tuple[SweepRow, bytes | None]:
    message, zh = (each.replace(file, task.path) for each in (row.message, row.message_zh))
    row = structs.replace(row, message=message, message_zh=zh)
    if page is not None:
        page = page.replace(legible(file).encode(), task.path.encode())
    return row, page
