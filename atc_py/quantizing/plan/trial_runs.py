"""Assignments compiled, timed and run; each is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from atc_py.compare.compilation import Compilation, Lines
from atc_py.compare.original import open_original
from atc_py.compare.output_recording import TrialSamples
from atc_py.compare.paired_run import Feeds, Pair
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.trials import Trial, TrialAnswer, TrialsAhead
from atc_py.cost.network import network_time
from atc_py.diag import BAD_CONTROL_FILE, NO_KERNEL, AtcError
from atc_py.onnx_graph.reading.read import read_model
from atc_py.package.reader import open_model
from atc_py.package.schema import OmModel
from atc_py.quantizing.fall_back import RANKING_SAMPLES, cost_order
from atc_py.quantizing.plan.assignment import Assignment
from atc_py.quantizing.plan.error_model import share_of_comparison
from atc_py.quantizing.plan.time_model import cast_count, seconds_by_line
from atc_py.quantizing.trial_model import TrialModel
from atc_py.results.layer_comparison import LayerComparison
from atc_py.results.plan import OutputFigures, PlanPoint

if TYPE_CHECKING:
    from atc_py.quantizing.calibrated import Calibrated


class Int8Models:
    """A calibrated model that is written with any of its layers on int8."""

    def __init__(self, found: Calibrated, model: Path, folder: Path) -> None:
        self._found, self._model, self._folder = found, model, folder
        # names of all layers that have an int8 form
        self.layers = tuple(layer.name for layer in found.layers)
        self._written: tuple[frozenset[str], Path] | None = None
        self._reference: ReferenceModel | None = None

    def compilation(self, own: Compilation, layers: frozenset[str]) -> Compilation:
        """The compilation of the model with `layers` on int8.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        if self._written is None or self._written[0] != layers:
            path = self._folder / "mixed.onnx"
            self._found.written(path, layers)
            self._written, self._reference = (layers, path), None
        return replace(own, model=self._written[1])

    def reference(self) -> ReferenceModel:
        """The original, with the nodes of the model that was written last.

        Raises:
            AtcError: BAD_MODEL.
        """
        if self._reference is None:
            assert self._written is not None  # noqa: S101  (written before)
            path = self._written[1]
            self._reference = open_original(
                read_model(path, lenient=True), self._folder, None, self._model
            )
        return self._reference

    def write(self, path: Path, layers: Collection[str]) -> None:
        """Write the model with `layers` on int8.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        self._found.written(path, layers)

    def lines(self, own: Compilation, lines: Iterable[str]) -> frozenset[str]:
        """Those of `lines` that name a node of the models that are written."""
        self.compilation(own, frozenset(self.layers))
        names = {node.name for node in self.reference().nodes}
        return frozenset(line for line in lines if line in names)

    def cheapest_first(
        self,
        feeds: Iterable[Feeds],
        plain: OmModel,
        mixed: OmModel,
        tell: Callable[[str], None],
    ) -> list[str]:
        """The layers that int8 makes quicker, those of the least noise for their time first.

        `feeds` are samples of single-layer trials; `plain` is the compiled model without int8,
        `mixed` with all layers on int8.
        """
        trials = TrialModel(self._found, feeds, self._found.settings.executor)
        try:
            trials.expect(RANKING_SAMPLES * len(trials.layers))
            _, ratios = cost_order(trials, tell)
        finally:
            trials.close()
        before, after = seconds_by_line(plain), seconds_by_line(mixed)
        saved = {name: before.get(name, 0.0) - after.get(name, 0.0) for name in self.layers}
        whole = max((abs(seconds) for seconds in saved.values()), default=0.0) or 1.0

        def price(name: str) -> float:
            noise = 10 ** (-min(ratios.get(name, 0.0), 300.0) / 10)
            share = saved[name] / whole
            return noise / share if share > 0 else 1e30 * (1 + noise)

        return sorted(self.layers, key=price)


_REFUSALS = frozenset({NO_KERNEL, BAD_CONTROL_FILE})
"""Codes of assignments that do not compile, although the model does."""


class TriedAssignment(msgspec.Struct, frozen=True, eq=False):
    """An assignment that was compiled."""

    assignment: Assignment  # what it asks for
    model: OmModel
    seconds: float  # its estimated time
    done: LayerComparison
    share: float  # its error as a share of the allowed one

    @property
    def reached(self) -> bool:
        return self.share <= 1

    def point(self) -> PlanPoint:
        outputs = {}
        for name, at in self.done.outputs.items():
            layer, ranking = self.done.layers[at], self.done.rankings.get(name)
            top1 = None if ranking is None else ranking.top1
            judged = layer.judged
            lost = layer.figures.lost_share
            outputs[name] = OutputFigures(judged.cosine, judged.snr, lost, top1)
        return PlanPoint(
            dtypes=self.assignment.dtypes,
            seconds=self.seconds,
            share=self.share,
            outputs=outputs,
            casts=cast_count(self.model),
            int8=tuple(sorted(self.assignment.int8)),
        )


class TrialRuns:
    """Compiles, times and runs assignments.

    Attributes:
        count: compilations so far.
        runs: how many of them ran on the device.
        targets: least figures of every output.
        own: lines of the user's own --keep-dtype file.
        compilation: how the model is compiled.
    """

    def __init__(
        self,
        compilation: Compilation,
        reference: ReferenceModel,
        judged: TrialSamples,
        targets: Mapping[str, float],
        folder: Path,
    ) -> None:
        self.compilation, self._reference, self._judged = compilation, reference, judged
        self.targets, self._folder = targets, folder
        self.samples = judged.count  # how many samples judge a trial
        self.own, self.own_custom = compilation.kept_lines(), compilation.custom_lines()
        # lines of a --customize-dtypes file by the line of the node that it is for
        self.custom: dict[str, str] = {}
        # models with layers on int8; None where none are planned
        self.int8: Int8Models | None = None
        # makes trials ahead in other processes; None where there are none
        self.ahead: TrialsAhead | None = None
        self.count = self.runs = 0
        # all that compiled and ran, by their assignments
        self.found: dict[Assignment, TriedAssignment] = {}
        self._refused: dict[Assignment, frozenset[int]] = {}
        self._slower: dict[Assignment, float] = {}

    def run(
        self, assignment: Assignment, faster_than: float | None = None
    ) -> TriedAssignment | None:
        """Compile and run an assignment; None where it lacks kernels, or is not fast enough."""
        if assignment in self.found:
            return self.found[assignment]
        if assignment in self._refused:
            return None
        known = self._slower.get(assignment)
        if known is not None and faster_than is not None and known >= faster_than:
            return None
        self.count += 1
        ready = None
        if self.ahead is not None and not assignment.int8:
            ready = self.ahead.take(self._lines(assignment))
        if ready is not None and not (ready.model and ready.done is None and faster_than is None):
            return self._take_ready(assignment, ready, faster_than)
        path = self._folder / "planned.om"
        try:
            compilation = self.compilation
            if assignment.int8 and self.int8 is not None:
                compilation = self.int8.compilation(compilation, assignment.int8)
            compilation.write_with(path, self._lines(assignment), self._folder)
        except AtcError as error:
            self._refuse(assignment, error)
            return None
        return self._run_compiled(assignment, path, faster_than)

    def take(self, assignment: Assignment, trial: Trial) -> TriedAssignment:
        """Take a trial that was made elsewhere."""
        if assignment not in self.found:
            seconds = network_time(trial.model).expected
            self._keep(assignment, trial.model, seconds, trial.judged)
        return self.found[assignment]

    def _keep(
        self, assignment: Assignment, model: OmModel, seconds: float, done: LayerComparison
    ) -> TriedAssignment:
        share = share_of_comparison(done, self.targets)
        tried = TriedAssignment(assignment, model, seconds, done, share)
        self.found[assignment] = tried
        return tried

    def make_ahead(
        self, assignments: Iterable[Assignment], faster_than: float | None = None
    ) -> None:
        """Make the first of some trials at the same time, for `run`, if there are processes for it."""
        if self.ahead is None:
            return
        known = self.found.keys() | self._refused.keys()
        fresh = (
            assignment
            for assignment in assignments
            if assignment not in known and not assignment.int8
        )
        some = islice(fresh, self.ahead.jobs)
        self.ahead.make([self._lines(assignment) for assignment in some], faster_than)

    def _lines(self, assignment: Assignment) -> Lines:
        keep, custom = self.option_lines(assignment)
        return tuple(keep), tuple(custom)

    def _take_ready(
        self, assignment: Assignment, ready: TrialAnswer, faster_than: float | None
    ) -> TriedAssignment | None:
        """Take a trial that was made ahead, as if it were made now."""
        if ready.model is None:
            self._refuse(assignment, AtcError(*ready.diagnostics))
            return None
        if ready.done is None or (faster_than is not None and ready.seconds >= faster_than):
            self._slower[assignment] = ready.seconds
            return None
        self.runs += 1
        return self._keep(assignment, ready.model, ready.seconds, ready.done)

    def _refuse(self, assignment: Assignment, error: AtcError) -> None:
        """Keep the nodes without a kernel of an assignment that does not compile."""
        if not {diagnostic.code for diagnostic in error.diagnostics} <= _REFUSALS:
            raise error
        places = (diagnostic.place for diagnostic in error.diagnostics)
        nodes = (place.node for place in places if place is not None)
        self._refused[assignment] = frozenset(node for node in nodes if node is not None)

    def refused_nodes(self, assignment: Assignment) -> frozenset[int]:
        """The positions of nodes without a kernel for an assignment that did not compile."""
        return self._refused.get(assignment, frozenset())

    def option_lines(self, assignment: Assignment) -> tuple[list[str], list[str]]:
        """The lines of a --keep-dtype and of a --customize-dtypes file."""
        customs = (self.custom[line] for line in sorted(assignment.brain) if line in self.custom)
        keep = [*self.own, *sorted(assignment.broad)]
        own = [line for line in self.own_custom if line.partition("::")[0] not in assignment.brain]
        return keep, [*own, *customs]

    def _run_compiled(
        self, assignment: Assignment, path: Path, faster_than: float | None
    ) -> TriedAssignment | None:
        with open_model(path) as package:
            seconds = network_time(package.description).expected
            if faster_than is not None and seconds >= faster_than:
                self._slower[assignment] = seconds
                return None
            self.runs += 1
            mixed = assignment.int8 and self.int8 is not None
            reference = self.int8.reference() if mixed and self.int8 else self._reference
            pair = Pair(reference, package)
            pair.kept = self.compilation.results
            done = pair.compared(self._judged, outputs_only=True)
            return self._keep(assignment, package.description, seconds, done)


def rank(tried: TriedAssignment) -> tuple[float, int, float]:
    """The order of trials: time, lines that are not in float16, error."""
    return tried.seconds, len(tried.assignment.dtypes), tried.share
