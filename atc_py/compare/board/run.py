"""One run of a board compared: its dumps, outputs and tables beside simulator and original."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from numpy.typing import NDArray

from atc_py.compare.board.beside import BoardMeasures, Distances
from atc_py.compare.board.judging import Fates, board_layers
from atc_py.compare.board.times import board_times, opened_json, refitted
from atc_py.compare.board.values import BoardValues
from atc_py.compare.comparison_session import ComparisonSession, GivenSamples
from atc_py.compare.compilation import Compilation
from atc_py.compare.model import open_compiled
from atc_py.compare.observed import DEVICES
from atc_py.compare.offline.diff import diff_models
from atc_py.cost.calibration import Calibration
from atc_py.cost.msprof_tables import read_kernels
from atc_py.cost.network import network_cost
from atc_py.diag import (
    BOARD_DIFFERS,
    BOARD_EXECUTIONS,
    BOARD_FUSION,
    BOARD_TIMES,
    Diagnostic,
    Place,
)
from atc_py.package.ge.dump_folder import DumpFolder, Execution, find_dumps
from atc_py.package.ge.model import HuaweiModel
from atc_py.package.reader import OfflineModel
from atc_py.pipeline.onnx_facts import compiled_file_graph
from atc_py.results.board import (
    BoardComparison,
    BoardLayer,
    BoardOutput,
    LayerVerdict,
)
from atc_py.results.board_times import BoardTimes
from atc_py.results.compiled_model import compiled_model
from atc_py.results.model_diff import ModelDiff
from atc_py.results.profile import Profile, SocProfile
from atc_py.results.summary import ModelSummary
from atc_py.system.structs import replace
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text, plural

_NAMED = 5


class BoardFiles(msgspec.Struct, frozen=True):
    """Files that came back of one run."""

    dumps: Path | None = None  # folder of dumps; None without
    om_json: Path | None = None  # JSON of the model that ran; None without
    tables: tuple[Path, ...] = ()  # op_summary or kernel_details; none without
    # arrays of the run without dump, by position of the output; None where one is missing
    outputs: tuple[Path | None, ...] = ()
    wall_seconds: float | None = None  # of a run by the host's clock; None without
    bench_seconds: float | None = None  # of a run by ais_bench; None without


class BoardRunDone(msgspec.Struct, frozen=True):
    """A run that was compared."""

    comparison: BoardComparison
    factors: Calibration | None  # that fit its times; None without
    # the model as it was compiled here, with its graph and estimate, for a page
    model: ModelSummary


Data = tuple[Mapping[str, NDArray[Any]] | Sequence[str], Path | None]


def compare_run(
    compilation: Compilation,
    files: BoardFiles,
    data: Data,
    draws: tuple[GivenSamples, int] = (1, 0),
    on_stage: Callable[[str], None] | None = None,
    device: str = DEVICES[0],
) -> BoardRunDone:
    """Compile the model, run it and its original, and hold the board beside both.

    `data` is what the board was fed, as a comparison takes it, with settings of AIPP; `draws` are
    samples or their number, and the seed, of inputs that are not given; `device` runs the model
    here.

    Raises:
        AtcError: what a comparison raises; BAD_MODEL_JSON, BAD_BOARD_TABLE, NO_DUMPS and what a
            folder's files raise.
    """
    with (
        work_folder() as folder,
        opened_json(files.om_json) as model,
        open_compiled(compilation, folder, on_stage) as package,
    ):
        session = ComparisonSession(compilation, package, folder, data, draws)
        session.on_stage, session.device = on_stage, device
        return _Comparing(session, package, files, model, compilation.model).done()


class _Comparing:
    """One run, step by step."""

    def __init__(
        self,
        session: ComparisonSession,
        package: OfflineModel,
        files: BoardFiles,
        model: HuaweiModel | None,
        path: Path,
    ) -> None:
        self._session, self._package, self._path = session, package, path
        self._files, self._model = files, model
        self._dumps = None if files.dumps is None else find_dumps(files.dumps)
        self._findings: list[Diagnostic] = []
        self._cost = network_cost(package.description)

    def done(self) -> BoardRunDone:
        reference, values = self._session.reference, None
        nodes = reference.nodes
        if self._dumps is not None:
            values = BoardValues(self._dumps, nodes, reference.inputs, self._model)
            self._findings += [*values.findings, *_dump_findings(self._dumps)]
        names = [port.name for port in self._package.description.outputs]
        pairs = zip(names, self._files.outputs, strict=False)
        outputs = {name: path for name, path in pairs if path is not None}
        measures = BoardMeasures(values, outputs)
        self._session.beside = measures
        simulator = self._session.compared()
        layers: tuple[BoardLayer, ...] = ()
        fates: list[Any] = []
        if values is not None and self._dumps is not None:
            layers = board_layers(values, measures.layers, nodes)
            of = Fates(layers, values).of
            fates = [of(node) for node in nodes if node.op_type != "Constant"]
        times, factors = self._times()
        comparison = BoardComparison(
            variant="",
            sample="",
            simulator=simulator,
            layers=layers,
            nodes=tuple(fates),
            outputs=tuple(_output(name, measures.outputs.get(name)) for name in outputs),
            diff=self._diff(),
            times=times,
            without_json=self._model is None,
        )
        self._findings += layer_findings(comparison)
        done = replace(comparison, findings=tuple(self._findings))
        return BoardRunDone(done, factors, self._summary(done))

    def _summary(self, done: BoardComparison) -> ModelSummary:
        path, compiled = self._path, compiled_model(self._package)
        soc = SocProfile(compiled.description.soc, self._cost)
        return ModelSummary(
            path,
            file_graph=compiled_file_graph(path, compiled),
            compiled=compiled,
            comparison=done.simulator,
            profile=Profile(path, (soc,)),
            board=done,
        )

    def _diff(self) -> ModelDiff | None:
        if self._files.om_json is None or self._model is None:
            return None
        found = diff_models(self._package.archive, self._files.om_json)
        differing = [group for group in found.launches if group.differs]
        if differing:
            first = (differing[0].first or differing[0].second)[0].name
            parts = dict.fromkeys(part for group in differing for part in group.differs)
            self._findings.append(
                BOARD_FUSION.diagnostic(
                    plural(
                        len(differing),
                        "{n} group of launches differs on the board, in {parts}; it begins at {name}",
                        "{n} groups of launches differ on the board, in {parts}; the first begins at "
                        "{name}",
                        parts=", ".join(parts),
                        name=first,
                    ),
                    place=Place(node_name=first),
                )
            )
        sides = replace(found.first, model="atc-py"), replace(found.second, model="board")
        return replace(found, first=sides[0], second=sides[1])

    def _times(self) -> tuple[BoardTimes | None, Calibration | None]:
        if not self._files.tables:
            return None, None
        measured = read_kernels(self._files.tables)
        description, cost = self._package.description, self._cost
        times = board_times(cost, measured, self._model, self._files.wall_seconds)
        times = replace(times, bench_seconds=self._files.bench_seconds)
        self._findings += _time_findings(times)
        return refitted(times, cost, measured, description, self._model)


def _output(name: str, found: Distances | None) -> BoardOutput:
    if found is None:
        return BoardOutput(name, reason=Text("the original has no such value"))
    return BoardOutput(name, found.board, found.simulator, found.between, found.reason)


def _dump_findings(dumps: DumpFolder) -> Iterator[Diagnostic]:
    place = Place(file=None)
    if dumps.execution.index > 0:
        yield BOARD_EXECUTIONS.diagnostic(
            Text(
                "the dump is of execution {number}, not of the first: state or inputs may differ",
                number=dumps.execution.index,
            ),
            place=place,
        )
    if dumps.others:
        yield BOARD_EXECUTIONS.diagnostic(
            plural(
                len(dumps.others),
                "the dump has another execution; {shown} is compared",
                "the dump has {n} other executions; {shown} is compared",
                shown=_shown(dumps.execution),
            ),
            place=place,
        )
    if dumps.overflows:
        yield BOARD_DIFFERS.diagnostic(
            Text(
                "the board reported overflow in {count} tasks: {names}",
                count=len(dumps.overflows),
                names=", ".join(path.name for path in dumps.overflows[:_NAMED]),
            ),
            place=place,
        )


_FAR = 1.75
"""Factor from which kernels as a whole are far from what is expected, within its range or not."""


def _time_findings(times: BoardTimes) -> Iterator[Diagnostic]:
    """A finding where kernels as a whole are outside of the range of their estimate, or far off."""
    expected, whole, found = times.estimated_kernels, times.estimate, times.kernel_seconds
    if not (expected and whole.expected and found):
        return
    low, high = (expected * end / whole.expected for end in (whole.low, whole.high))
    if not low <= found <= high or not 1 / _FAR < found / expected < _FAR:
        yield BOARD_TIMES.diagnostic(
            Text(
                "kernels take {measured} on the board; the estimate is {expected}, {low}..{high}",
                measured=_micro(found),
                expected=_micro(expected),
                low=_micro(low),
                high=_micro(high),
            )
        )


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs"


def _shown(execution: Execution) -> str:
    return f"{execution.time or '-'}/{max(execution.index, 0)}"


def layer_findings(done: BoardComparison) -> Iterator[Diagnostic]:
    """A finding for each layer where the board begins to differ from the simulator."""
    for at in done.layers_off(LayerVerdict.BOARD):
        layer = done.layers[at]
        yield BOARD_DIFFERS.diagnostic(
            Text(
                "{op} ({type}) differs only on the board: {between} from the simulator, which "
                "is {own} from the original",
                op=layer.label,
                type=layer.type,
                between=f"{layer.error(layer.between):.3g}",
                own=f"{layer.error(layer.simulator):.3g}",
            ),
            place=Place(node_name=layer.nodes[-1] if layer.nodes else layer.op),
        )
    known = {each.value for each in done.layers if each.verdict is LayerVerdict.BOARD}
    for output in done.outputs:
        if not known and output.between is not None and output.board is not None:
            yield from _output_findings(output)


def _output_findings(output: BoardOutput) -> Iterator[Diagnostic]:
    """A finding for an output that differs though no layer does, or none was dumped."""
    between, own = output.between, output.simulator
    if between is None or own is None:
        return
    found, least = between.error_of(between.distance), own.error_of(own.distance)
    if found > max(_AGREEING, 2 * least):
        yield BOARD_DIFFERS.diagnostic(
            Text(
                "output {name} differs only on the board: {between} from the simulator, which "
                "is {own} from the original",
                name=output.name,
                between=f"{found:.3g}",
                own=f"{least:.3g}",
            ),
            place=Place(field=output.name),
        )


_AGREEING = 2.0**-6
