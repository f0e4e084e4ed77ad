"""Measured kernels beside estimated ones: matched by the nodes of the network that they compute.

Conversions, which compute none, meet those of the same operator in order.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from atc_py.compare.offline.diff import linked_groups
from atc_py.compare.offline.sides import CONVERSIONS
from atc_py.cost.calibration import Calibration, calibrate
from atc_py.cost.measurements import LEAST, Measurement
from atc_py.cost.msprof_tables import MeasuredKernel, MeasuredModel, read_kernels
from atc_py.cost.network import KernelCost, NetworkCost, TimeRange
from atc_py.cost.reading import launches_of
from atc_py.package.ge.dump_folder import escaped_name
from atc_py.package.ge.launches import launch_nodes
from atc_py.package.ge.model import HuaweiModel, open_huawei
from atc_py.package.schema import OmModel
from atc_py.results.board_times import BoardTimes, TimedKernels
from atc_py.system.structs import replace


def board_times(
    cost: NetworkCost,
    measured: MeasuredModel,
    real: HuaweiModel | None = None,
    wall: float | None = None,
) -> BoardTimes:
    """Times of a model on a board beside its estimate.

    Of the `real` model the nodes of kernels are known; without it names of kernels decide. `wall`
    are seconds of a run by the host's clock.
    """
    groups = _groups(cost.kernels, measured.kernels, real)
    kernels = [
        _timed([cost.kernels[at] for at in ours], [measured.kernels[at] for at in theirs])
        for ours, theirs in groups
        if theirs
    ]
    alone = [cost.kernels[at].name for ours, theirs in groups if not theirs for at in ours]
    time = cost.time
    return BoardTimes(
        kernels=tuple(kernels),
        not_measured=tuple(alone),
        executions=measured.executions,
        kernel_seconds=measured.seconds,
        wait_seconds=measured.waits,
        wall_seconds=wall,
        estimate=TimeRange(time.low, time.expected, time.high),
        estimated_kernels=cost.in_kernels,
        left_out=measured.left_out,
    )


def measured_beside(cost: NetworkCost, tables: Sequence[Path], json: Path | None) -> BoardTimes:
    """Times in tables of msprof beside an estimate; `json` is as for `opened_json`.

    Raises:
        AtcError: BAD_BOARD_TABLE or BAD_MODEL_JSON, and what reading raises.
    """
    measured = read_kernels(tables)
    with opened_json(json) as model:
        return board_times(cost, measured, model)


@contextmanager
def opened_json(path: Path | None) -> Iterator[HuaweiModel | None]:
    """The model that a JSON file describes, or that an .om is; None for no file."""
    if path is None:
        yield None
        return
    with open_huawei(path) as file:
        models = [model for model in file.all_models() if model.graphs]
        yield models[0] if models else None


def refitted(
    times: BoardTimes,
    cost: NetworkCost,
    measured: MeasuredModel,
    model: OmModel,
    real: HuaweiModel | None,
) -> tuple[BoardTimes, Calibration | None]:
    """The times with the errors of refitted factors, and these; None with too few kernels.

    Only kernels that stand alone on both sides are taken.
    """
    launches = launches_of(model)
    samples = []
    for ours, theirs in _groups(cost.kernels, measured.kernels, real):
        if len(ours) == 1 and theirs:
            kernel, launch = cost.kernels[ours[0]], launches[ours[0]].launch
            seconds = sum(measured.kernels[at].seconds for at in theirs)
            if seconds > 0 and kernel.engine == "aicore":
                row = Measurement(kernel.op, kernel.shapes, kernel.dtype, seconds, launch, 0)
                samples.append(row)
    if len(samples) < LEAST:
        return times, None
    done = calibrate({" ".join(measured.files): samples}, cost.soc)
    found = replace(
        times, fitted=done.count, spread_before=done.before, spread_after=done.fit.spread
    )
    return found, done


def _groups(
    ours: Sequence[KernelCost], theirs: Sequence[MeasuredKernel], real: HuaweiModel | None
) -> list[tuple[list[int], list[int]]]:
    """Positions of kernels that belong together, in the order of the board."""
    nodes = (kernel.origins or (f"\0own {at}",) for at, kernel in enumerate(ours))
    own = _numbered((kernel.op for kernel in ours), nodes)
    known = _known(own, real)
    nodes = (known.get(kernel.name) or (f"\0board {kernel.name}",) for kernel in theirs)
    board = _numbered((kernel.op for kernel in theirs), nodes)
    return sorted(linked_groups(own, board), key=lambda group: min(group[1], default=math.inf))


def _known(own: Iterable[Sequence[str]], real: HuaweiModel | None) -> dict[str, tuple[str, ...]]:
    """Nodes by the names that kernels of a board may have; no node of an inserted conversion."""
    found: dict[str, tuple[str, ...]] = {}
    if real is not None:
        for graph in real.run_graphs():
            for op in graph.ops:
                found[op.name] = launch_nodes(op) if op.type not in CONVERSIONS else ()
    for nodes in own:
        for each in (*((node,) for node in nodes), tuple(nodes)):
            found.setdefault("".join(each), tuple(each))
    for name, nodes in list(found.items()):
        found.setdefault(escaped_name(name), nodes)
    return found


def _numbered(ops: Iterable[str], names: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The names of kernels; of conversions, which compute no node, operator and number instead."""
    counts: Counter[str] = Counter()
    numbered = []
    for op, nodes in zip(ops, names, strict=True):
        if op in CONVERSIONS:
            counts[op] += 1
        numbered.append((f"\0{op} {counts[op]}",) if op in CONVERSIONS else nodes)
    return numbered


def _timed(ours: Sequence[KernelCost], theirs: Sequence[MeasuredKernel]) -> TimedKernels:
    costs = [kernel.cost for kernel in ours]
    sums = [sum(getattr(cost, end) for cost in costs) for end in ("low", "expected", "high")]
    return TimedKernels(
        nodes=tuple(dict.fromkeys(name for kernel in ours for name in kernel.origins)),
        board=tuple(each.name for each in theirs),
        ops=tuple(each.op for each in theirs),
        units=tuple(each.unit for each in theirs),
        ours=tuple(kernel.name for kernel in ours),
        measured=sum(each.seconds for each in theirs),
        estimate=TimeRange(*sums) if ours else None,
    )
