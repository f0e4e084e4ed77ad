"""Assignments compiled, timed and run; each is compiled once."""

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from atc_py.compare.compilation import Compilation, Lines
from atc_py.compare.output_recording import TrialSamples
from atc_py.compare.paired_run import Pair
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.trials import Trial
from atc_py.compare.trials_ahead import TrialAnswer, TrialsAhead
from atc_py.cost.network import network_time
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_CONTROL_FILE, NO_KERNEL
from atc_py.package.reader import open_model
from atc_py.package.schema import OmModel
from atc_py.quantizing.plan.assignment import Assignment
from atc_py.quantizing.plan.error_share import share_of_comparison
from atc_py.quantizing.plan.int8_models import Int8Models
from atc_py.quantizing.plan.time_model import cast_count
from atc_py.results.layer_comparison import LayerComparison
from atc_py.results.plan import OutputFigures, PlanPoint

_REFUSALS = frozenset({NO_KERNEL, BAD_CONTROL_FILE})
"""Codes of assignments that do not compile, although the model does."""


class TriedAssignment(msgspec.Struct, frozen=True, eq=False):
    """An assignment that was compiled.

    Attributes:
        assignment: what it asks for.
        model: the compiled model.
        seconds: its estimated time.
        done: the comparison of its outputs.
        share: its error as a share of the allowed one.
    """

    assignment: Assignment
    model: OmModel
    seconds: float
    done: LayerComparison
    share: float

    @property
    def reached(self) -> bool:
        """True if the target is reached."""
        return self.share <= 1

    def point(self) -> PlanPoint:
        """The record of the trial."""
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


class Refused(msgspec.Struct, frozen=True):
    """An assignment that does not compile.

    Attributes:
        nodes: positions, in the file, of nodes without a kernel.
    """

    nodes: frozenset[int]


class TrialRuns:
    """Compiles, times and runs assignments.

    Attributes:
        count: compilations so far.
        runs: how many of them ran on the device.
        samples: how many samples judge a trial.
        targets: least figures of every output.
        own: lines of the user's own --keep-dtype file.
        custom: lines of a --customize-dtypes file by the line of the node that it is for.
        compilation: how the model is compiled.
        ahead: makes trials ahead in other processes; None where there are none.
        int8: models with layers on int8; None where none are planned.
        found: all that compiled and ran, by their assignments.
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
        self.samples = judged.count
        self.own, self.own_custom = compilation.kept_lines(), compilation.custom_lines()
        self.custom: dict[str, str] = {}
        self.int8: Int8Models | None = None
        self.ahead: TrialsAhead | None = None
        self.count = self.runs = 0
        self.found: dict[Assignment, TriedAssignment] = {}
        self._refused: dict[Assignment, Refused] = {}
        self._slower: dict[Assignment, float] = {}

    def run(
        self, assignment: Assignment, faster_than: float | None = None
    ) -> TriedAssignment | None:
        """Compile and run an assignment; None where it does not compile, or is not fast enough.

        Args:
            assignment: the dtypes.
            faster_than: seconds; a model that takes as long, by the estimate, does not run.

        Raises:
            AtcError: what compiling and running raise for reasons other than missing kernels.
        """
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
            return self._taken(assignment, ready, faster_than)
        path = self._folder / "planned.om"
        try:
            self._write(assignment, path)
        except AtcError as error:
            self._refuse(assignment, error)
            return None
        return self._ran(assignment, path, faster_than)

    def take(self, assignment: Assignment, trial: Trial) -> TriedAssignment:
        """Take a trial that was made elsewhere."""
        seconds = network_time(trial.model).expected
        share = share_of_comparison(trial.judged, self.targets)
        tried = TriedAssignment(assignment, trial.model, seconds, trial.judged, share)
        return self.found.setdefault(assignment, tried)

    def make_ahead(
        self, assignments: Iterable[Assignment], faster_than: float | None = None
    ) -> None:
        """Make the first of some trials at the same time, for `run`, if there are processes for it."""
        if self.ahead is None:
            return
        known = self.found.keys() | self._refused.keys()
        fresh = (each for each in assignments if each not in known and not each.int8)
        some = islice(fresh, self.ahead.jobs)
        self.ahead.make([self._lines(each) for each in some], faster_than)

    def _lines(self, assignment: Assignment) -> Lines:
        keep, custom = self.option_lines(assignment)
        return tuple(keep), tuple(custom)

    def _taken(
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
        share = share_of_comparison(ready.done, self.targets)
        tried = TriedAssignment(assignment, ready.model, ready.seconds, ready.done, share)
        self.found[assignment] = tried
        return tried

    def _refuse(self, assignment: Assignment, error: AtcError) -> None:
        """Keep the nodes without a kernel of an assignment that does not compile.

        Raises:
            AtcError: `error`, where it has other reasons.
        """
        if not {each.code for each in error.diagnostics} <= _REFUSALS:
            raise error
        places = (each.place for each in error.diagnostics)
        nodes = (each.node for each in places if each is not None)
        at = frozenset(node for node in nodes if node is not None)
        self._refused[assignment] = Refused(at)

    def refused_nodes(self, assignment: Assignment) -> frozenset[int]:
        """The positions of nodes without a kernel for an assignment that did not compile."""
        found = self._refused.get(assignment)
        return frozenset() if found is None else found.nodes

    def option_lines(self, assignment: Assignment) -> tuple[list[str], list[str]]:
        """The lines of a --keep-dtype and of a --customize-dtypes file."""
        customs = (self.custom[line] for line in sorted(assignment.brain) if line in self.custom)
        keep = [*self.own, *sorted(assignment.broad)]
        own = [line for line in self.own_custom if line.partition("::")[0] not in assignment.brain]
        return keep, [*own, *customs]

    def _ran(
        self, assignment: Assignment, path: Path, faster_than: float | None
    ) -> TriedAssignment | None:
        """Time a compiled assignment, and run it if it is fast enough."""
        with open_model(path) as package:
            seconds = network_time(package.description).expected
            if faster_than is not None and seconds >= faster_than:
                self._slower[assignment] = seconds
                return None
            self.runs += 1
            mixed = assignment.int8 and self.int8 is not None
            reference = self.int8.reference() if mixed and self.int8 else self._reference
            pair = Pair(reference, package)
            done = pair.compared(self._judged, outputs_only=True)
            share = share_of_comparison(done, self.targets)
            tried = TriedAssignment(assignment, package.description, seconds, done, share)
        self.found[assignment] = tried
        return tried

    def _write(self, assignment: Assignment, path: Path) -> None:
        compilation = self.compilation
        if assignment.int8 and self.int8 is not None:
            compilation = self.int8.compilation(compilation, assignment.int8)
        compilation.write_with(path, self._lines(assignment), self._folder)


def rank(tried: TriedAssignment) -> tuple[float, int, float]:
    """Return what orders trials: time, lines that are not in float16, error."""
    return tried.seconds, len(tried.assignment.dtypes), tried.share
