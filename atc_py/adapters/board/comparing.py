"""What came back from a board beside the kit that went there: each variant, each sample."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.adapters.board import layout
from atc_py.adapters.board.checks import CANN_CHECK, CameBack, run_checks
from atc_py.adapters.board.expectations import at_gear
from atc_py.adapters.board.layout import (
    BenchFigures,
    BoardResults,
    BoardRun,
    HostFacts,
    KitSample,
    KitVariant,
    Manifest,
)
from atc_py.adapters.board.pack import home_options
from atc_py.adapters.board.results import opened_archive, read_record, read_results, refusal
from atc_py.compare.board.run import BoardFiles, BoardRunDone, compare_run
from atc_py.compare.board.times import opened_json
from atc_py.compare.compilation import Compilation
from atc_py.cost.calibration import Calibration
from atc_py.cost.msprof_tables import read_kernels
from atc_py.diag import (
    BAD_KIT,
    BAD_OPTION,
    BAD_RESULTS,
    BOARD_INCOMPLETE,
    BOARD_INCONSISTENT,
    BOARD_LEFT_OUT,
    BOARD_RELEASE,
    AtcError,
    Diagnostic,
    Place,
)
from atc_py.pipeline.running.array_files import read_npy
from atc_py.results.board import BoardCheck, BoardReport, CheckState
from atc_py.results.summary import ModelSummary
from atc_py.system.input_files import read_bytes, sha256_of
from atc_py.system.structs import replace
from atc_py.text import Text

_MOST_MANIFEST = 64 << 20
_NAMED = 5
_MOST_MILLISECONDS = 1e9
_KINDS = ("plain", "dump", "msprof")


class BoardRequest(msgspec.Struct, frozen=True):
    """Variants and samples to compare, by name; all where none is named."""

    variants: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()


class BoardDone(msgspec.Struct, frozen=True):
    """The report, the factors that fit the times of the first variant that has some, and each run's model."""

    report: BoardReport
    factors: Calibration | None
    models: tuple[ModelSummary, ...]


def compare_kit(
    kit: Path,
    results: Path,
    request: BoardRequest | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> BoardDone:
    """Compare what came back with the simulator and the original.

    Kit and results are folders or archives.

    Raises:
        AtcError: BAD_KIT, BAD_RESULTS, and what compiling and comparing raise.
    """
    with ExitStack() as stack:
        folder = _root(stack.enter_context(opened_archive(kit, BAD_KIT)))
        manifest = _manifest(folder, kit)
        back = stack.enter_context(opened_archive(results))
        whole = _Whole(folder, back, manifest, (kit, results), request or BoardRequest())
        return whole.done(on_stage)


def _root(folder: Path) -> Path:
    """The folder of the kit: an archive has it inside of one."""
    inner = [each for each in folder.iterdir() if each.is_dir()]
    is_above = not (folder / layout.MANIFEST).exists() and len(inner) == 1
    return inner[0] if is_above else folder


def _manifest(folder: Path, kit: Path) -> Manifest:
    try:
        data = read_bytes(folder / layout.MANIFEST, _MOST_MANIFEST)
        found = msgspec.json.decode(data, type=Manifest)
    except AtcError as error:
        text = Text("{kit} has no {name}", kit=kit, name=layout.MANIFEST)
        if (folder / layout.RESULTS).is_file():
            text = Text("{kit} holds results of a board, where the kit is expected", kit=kit)
        raise refusal(kit, text, code=BAD_KIT) from error
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        text = Text("{name} cannot be read: {error}", name=layout.MANIFEST, error=error)
        raise refusal(kit, text, code=BAD_KIT) from error
    if found.version != layout.KIT_VERSION:
        text = Text(
            "the kit has format version {found}; this atc-py reads {wanted}",
            wanted=layout.KIT_VERSION,
            found=found.version,
        )
        raise refusal(kit, text, code=BAD_KIT)
    _check_files(folder, found, kit)
    return found


def _check_files(folder: Path, manifest: Manifest, kit: Path) -> None:
    """Refuse a kit whose model or inputs are not those that were packed."""
    needed = {manifest.model, *(name for each in manifest.samples for name in each.inputs)}
    for file in manifest.files:
        path = folder / file.path
        if file.path in needed and not (path.is_file() and sha256_of(path) == file.sha256):
            text = Text("{file} is not the file that was packed", file=file.path)
            raise refusal(kit, text, file.path, BAD_KIT)


class _Whole:
    """A kit and its results."""

    def __init__(
        self,
        kit: Path,
        back: Path,
        manifest: Manifest,
        given: tuple[Path, Path],
        request: BoardRequest,
    ) -> None:
        self._kit, self._back, self._manifest = kit, back, manifest
        (self._named, self._given), self._request = given, request
        results = self._given
        pairs = (back, results), (kit, self._named)
        self._archives = {folder: path for folder, path in pairs if path.is_file()}
        self._findings: list[Diagnostic] = []
        self._record = read_results(back, results)
        self._facts = self._optional(back / layout.FACTS, HostFacts)
        _check_names(manifest, request)

    def done(self, on_stage: Callable[[str], None] | None) -> BoardDone:
        digest = sha256_of(self._kit / layout.MANIFEST)
        if self._record.manifest_sha256 != digest:
            text = Text("it belongs to another kit, or the kit has changed since")
            hint = Text(
                "give the kit that ran on the board; the results hold the digest of its "
                "manifest.json"
            )
            raise BAD_RESULTS.error(text, place=Place(str(self._given)), help=hint)
        self._findings += _incomplete(self._record, self._given)
        self._findings += self._damaged()
        comparisons, models, factors = [], [], None
        for variant in self._manifest.variants:
            for sample in self._manifest.samples:
                if not self._is_wanted(variant, sample):
                    continue
                found = self._compared(variant, sample, on_stage)
                if found is not None:
                    comparisons.append(found.comparison)
                    models.append(found.model)
                    factors = factors or found.factors
        if not comparisons:
            raise refusal(self._given, Text("no run of the model was returned"))
        report = BoardReport(
            kit=str(self._named),
            results=str(self._given),
            soc=self._manifest.soc,
            cann="" if self._facts is None else self._facts.cann,
            comparisons=tuple(comparisons),
            findings=tuple(self._findings),
        )
        return BoardDone(report, factors, tuple(models))

    def _is_wanted(self, variant: KitVariant, sample: KitSample) -> bool:
        pairs = (self._request.variants, variant.name), (self._request.samples, sample.name)
        return all(not names or name in names for names, name in pairs)

    def _damaged(self) -> Iterator[Diagnostic]:
        """Findings on files that are not those that were packed on the board."""
        odd = [
            file.path
            for file in self._record.files
            if not _is_inside(file.path)
            or not (self._back / file.path).is_file()
            or sha256_of(self._back / file.path) != file.sha256
        ]
        if odd:
            yield BOARD_LEFT_OUT.diagnostic(
                Text(
                    "{count} files are missing or differ from those that the board packed: {names}",
                    count=len(odd),
                    names=", ".join(odd[:_NAMED]),
                ),
                place=Place(str(self._given)),
                help=Text("copy results.zip again from the board"),
            )

    def _optional(self, path: Path, kind: type[Any]) -> Any:
        """A document; None where there is none, with a finding where it is damaged."""
        if not path.is_file():
            return None
        try:
            return read_record(path, kind, self._given)
        except AtcError as error:
            self._findings.append(
                BOARD_LEFT_OUT.diagnostic(
                    error.diagnostics[0].message, place=Place(str(self._given), field=path.name)
                )
            )
            return None

    def _runs(self, variant: str, sample: str) -> dict[str, tuple[BoardRun, Path]]:
        found = {}
        for kind in _KINDS:
            folder = self._back / variant / kind / sample
            record = self._optional(folder / layout.RUN, BoardRun)
            if record is not None:
                found[kind] = record, folder
        return found

    def _compared(
        self, variant: KitVariant, sample: KitSample, on_stage: Callable[[str], None] | None
    ) -> BoardRunDone | None:
        runs = self._runs(variant.name, sample.name)
        if not runs:
            return None
        files = self._files(variant.name, sample.name, runs)
        compilation = self._compilation(variant, sample)
        try:
            done = compare_run(compilation, files, (self._inputs(sample), None), on_stage=on_stage)
            checks = self._checks(variant.name, sample, runs, files)
        except AtcError as error:
            raise AtcError(*map(self._placed, error.diagnostics)) from error
        findings = _check_findings(checks, variant.name, sample.name)
        comparison = replace(
            done.comparison,
            variant=variant.name,
            sample=sample.name,
            checks=tuple(checks),
            findings=(*findings, *map(self._placed, done.comparison.findings)),
        )
        model = replace(done.model, model=Path(self._manifest.source.path), board=comparison)
        return BoardRunDone(comparison, done.factors, model)

    def _placed(self, found: Diagnostic) -> Diagnostic:
        """The finding, with a file of an unpacked archive as a member of it."""
        place = found.place
        if place is None or place.file is None:
            return found
        file = Path(place.file)
        for folder, given in self._archives.items():
            if file.is_relative_to(folder):
                member = file.relative_to(folder).as_posix()
                line = None if place.line is None else str(place.line)
                part = ":".join(filter(None, (member, line)))
                field = ", ".join(filter(None, (part, place.field)))
                return found._replace(place=Place(str(given), field=field))
        return found

    def _inputs(self, sample: KitSample) -> Mapping[str, NDArray[Any]]:
        pairs = zip(self._manifest.inputs, sample.inputs, strict=True)
        return {port.name: np.asarray(read_npy(self._kit / file)) for port, file in pairs}

    def _compilation(self, variant: KitVariant, sample: KitSample) -> Compilation:
        options = home_options(variant, self._kit)
        if options.gears is not None:
            known = sample.gear in options.gears.gears
            gear = options.gears.gears.index(sample.gear) if known else None
            options = replace(at_gear(options, gear), gears=None)
        source, original = self._manifest.source, None
        path = Path(source.reference or source.path)
        is_model = source.original == "model" and path.is_file()
        if source.original == "reference" or (is_model and sha256_of(path) == source.sha256):
            original = path
        return Compilation(self._kit / self._manifest.model, options, original)

    def _files(
        self, variant: str, sample: str, runs: Mapping[str, tuple[BoardRun, Path]]
    ) -> BoardFiles:
        folder = self._back / variant
        om_json = folder / "om-json" / layout.OM_JSON
        tables = folder / "msprof" / sample / layout.TABLES
        dumps = folder / "dump" / sample / layout.TREE
        chosen = runs.get("plain") or runs.get("dump")
        outputs: tuple[Path | None, ...] = ()
        if chosen is not None:
            paths = (chosen[1] / f"{at}.npy" for at in range(len(chosen[0].outputs)))
            outputs = tuple(path if path.is_file() else None for path in paths)
        times = runs["plain"][0].milliseconds if "plain" in runs else ()
        return BoardFiles(
            dumps=dumps if dumps.is_dir() and any(dumps.iterdir()) else None,
            om_json=om_json if om_json.is_file() else None,
            tables=tuple(filter(self._is_table, sorted(tables.rglob("op_summary*.csv")))),
            outputs=outputs,
            wall_seconds=median(times) / 1e3 if times else None,
            bench_seconds=self._bench_seconds(
                folder / layout.BENCH / sample / layout.BENCH_SUMMARY
            ),
        )

    def _is_table(self, path: Path) -> bool:
        """True for a table of times that can be read; a finding names one that cannot."""
        try:
            read_kernels([path])
        except AtcError as error:
            (found,) = map(self._placed, error.diagnostics)
            self._findings.append(BOARD_LEFT_OUT.diagnostic(found.message, place=found.place))
            return False
        return True

    def _bench_seconds(self, summary: Path) -> float | None:
        """The median of ais_bench's times; None without, or where there is none in its summary."""
        record = self._optional(summary, BenchFigures)
        found = None if record is None else record.NPU_compute_time.get("median")
        return found / 1e3 if found is not None and 0 < found < _MOST_MILLISECONDS else None

    def _checks(
        self,
        variant: str,
        sample: KitSample,
        runs: Mapping[str, tuple[BoardRun, Path]],
        files: BoardFiles,
    ) -> list[BoardCheck]:
        bench = self._back / variant / layout.BENCH / sample.name / layout.BENCH_OUTPUTS
        known = bench if bench.is_dir() else None
        with opened_json(files.om_json) as model:
            back = CameBack(runs, self._facts, model, known)
            return list(run_checks(self._manifest, sample, self._kit, back))


def _is_inside(name: str) -> bool:
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts


def _check_names(manifest: Manifest, request: BoardRequest) -> None:
    known = [each.name for each in manifest.variants], [each.name for each in manifest.samples]
    for names, given in zip(known, (request.variants, request.samples), strict=True):
        for name in given:
            if name not in names:
                text = Text("the kit has no {name}, but {names}")
                text = text.with_values(name=repr(name), names=", ".join(names))
                raise BAD_OPTION.error(text, help=Text("give one of these names"))


def _incomplete(record: BoardResults, results: Path) -> Iterator[Diagnostic]:
    for step in record.steps:
        if step.state != "done":
            yield BOARD_INCOMPLETE.diagnostic(
                Text(
                    "step {name} is {state}: {message}",
                    name=step.name,
                    state=step.state,
                    message=step.message or Text("no reason given"),
                ),
                place=Place(str(results), field=step.name),
            )


def _check_findings(
    checks: Sequence[BoardCheck], variant: str, sample: str
) -> Iterator[Diagnostic]:
    for check in checks:
        if check.state is CheckState.FAILS:
            code = BOARD_RELEASE if check.name == CANN_CHECK else BOARD_INCONSISTENT
            yield code.diagnostic(
                Text("a check fails: {check} ({detail})", check=check.name, detail=check.detail),
                place=Place(field=f"{variant}/{sample}"),
            )
