"""`plan_model`: the cheapest dtypes of a model's nodes with which its outputs reach a target."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from typing_extensions import Unpack

from atc_py.compare.comparison_session import ComparisonSession, GivenSamples
from atc_py.compare.compilation import Compilation
from atc_py.compare.dims_of_data import shapes_with_data
from atc_py.compare.model import open_compiled
from atc_py.compare.paired_run import Feeds
from atc_py.compare.targets import check_targets
from atc_py.compare.trials import Trial
from atc_py.diag import BAD_OPTION, Diagnostic
from atc_py.options.command_options import PlanOptions
from atc_py.options.compile_options import CompileOptions
from atc_py.options.keywords import PlanKeywords
from atc_py.options.option import optional_path, parse_options, reject_unknown
from atc_py.options.ranges import refuse_ranges
from atc_py.quantizing.plan.assignment import ALL_NARROW, BROAD, NARROW, Assignment
from atc_py.quantizing.plan.choices import Choices
from atc_py.quantizing.plan.error_model import ErrorModel
from atc_py.quantizing.plan.search import PlanSearch
from atc_py.quantizing.plan.trial_runs import Int8Models, TrialRuns, TriedAssignment, rank
from atc_py.results.plan import DtypePlan, PlannedNode, PlanPoint
from atc_py.system.input_files import guarded_run
from atc_py.system.structs import replace
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text

_VERIFIED = 12
"""Most assignments that are measured on all samples, the quickest first."""


def verify(runs: TrialRuns, every: TrialRuns, choices: Choices) -> None:
    """Measure on all samples what some of them judged, until one reaches the target there, too.

    `runs` has the trials that some samples judged; `every` takes those that all samples judge.
    """
    every.custom = runs.custom
    every.run(choices.tried.get(BROAD, choices.tried[NARROW]).assignment)
    reached = [each for each in runs.found.values() if each.reached]
    for tried in sorted(reached, key=rank)[:_VERIFIED]:
        found = every.run(tried.assignment)
        if found is not None and found.reached:
            return


def plan_record(
    every: TrialRuns,
    runs: TrialRuns,
    choices: Choices,
    searching: PlanSearch,
    counts: tuple[int, int],
) -> DtypePlan:
    """The plan.

    `every` has the trials that all samples judged, `counts` the samples and the most compilations.
    """
    tried = every.found.values()
    reached = sorted((each for each in tried if each.reached), key=rank)
    chosen = reached[0] if reached else min(tried, key=lambda each: (each.share, rank(each)))
    first = every.found[ALL_NARROW]
    broad = choices.tried.get(BROAD)
    wide = None if broad is None else every.found.get(broad.assignment)
    suggested = None if searching.suggested is None else every.found.get(searching.suggested)
    _, custom = runs.option_lines(chosen.assignment)
    return DtypePlan(
        model=first.done.model,
        soc=first.done.soc,
        target=dict(every.targets),
        samples=counts[0],
        judged=runs.samples,
        chosen=chosen.point(),
        float16=first.point(),
        float32=None if wide is None else wide.point(),
        suggested=None if suggested is None else suggested.point(),
        curve=_curve(tried),
        nodes=_nodes(chosen, choices, searching),
        own=runs.own,
        custom=tuple(custom),
        candidates=len(choices.candidates),
        trials=runs.count + (0 if runs is every else every.count),
        runs=runs.runs + (0 if runs is every else every.runs),
        limit=counts[1],
        exhaustive=searching.exhaustive,
        excluded=tuple(choices.excluded),
        newer=first.done.newer,
    )


def _curve(tried: Iterable[TriedAssignment]) -> tuple[PlanPoint, ...]:
    """The points that no other one beats in both time and error, the quickest first."""
    found: list[TriedAssignment] = []
    for each in sorted(tried, key=lambda each: (each.seconds, each.share, rank(each))):
        if not found or each.share < found[-1].share:
            found.append(each)
    return tuple(each.point() for each in found)


def _nodes(
    chosen: TriedAssignment, choices: Choices, searching: PlanSearch
) -> tuple[PlannedNode, ...]:
    """The lines with their dtypes, in order of execution, those of float16 last."""
    found = []
    for line, each in choices.candidates.items():
        times, share = searching.times, searching.shares.get(line, {}).get(NARROW)
        saved = None
        if times is not None and BROAD in times.seconds:
            saved = times.saved(line, NARROW, BROAD)
        dtype = chosen.assignment.dtype(line)
        found.append(PlannedNode(line, each.op, each.nodes, dtype, share, saved))
    return tuple(sorted(found, key=lambda each: each.dtype == NARROW))


_ALL = 1
"""Trials with all layers on int8 before the search."""


def try_int8(
    runs: TrialRuns,
    models: Int8Models,
    floats: Assignment,
    feeds: Iterable[Feeds],
    limit: int,
    tell: Callable[[str], None],
) -> None:
    """Try layers on int8 beside the best dtypes of floats; what was tried is in the runs.

    `feeds` are samples of single-layer trials.
    """
    broad = models.lines(runs.compilation, floats.broad)
    every = runs.run(Assignment(broad, int8=frozenset(models.layers)))
    if every is None:
        return
    order = models.cheapest_first(feeds, runs.found[floats].model, every.model, tell)
    end = runs.count + limit - _ALL
    low, high, best = 1, len(order) - 1, every if every.reached else None
    while best is not every and low <= high and runs.count < end:
        middle = (low + high) // 2
        tell(Text("plan: {n} of {count} layers on int8", n=middle, count=len(order)))
        tried = runs.run(Assignment(broad, int8=frozenset(order[:middle])))
        if tried is not None and tried.reached:
            best, low = tried, middle + 1
        else:
            high = middle - 1
    chosen = frozenset() if best is None else best.assignment.int8
    for name in order:
        if name in chosen or runs.count >= end:
            continue
        seconds = runs.found[floats].seconds if best is None else best.seconds
        tell(Text("plan: {n} of {count} layers on int8", n=len(chosen) + 1, count=len(order)))
        tried = runs.run(Assignment(broad, int8=chosen | {name}), seconds)
        if tried is not None and tried.reached:
            best, chosen = tried, chosen | {name}


TRIALS = 120
"""Most compilations, unless another number is given."""

_LEAST = 4

_MODE = "force_fp16"
"""The mode beneath a plan, which is what `convert` takes without any."""

_MODELED = 2
"""Samples of single-node trials."""


@guarded_run()
def plan_model(  # noqa: PLR0913  (the options of a command)
    model: str | os.PathLike[str],
    *,
    target: Mapping[str, float],
    samples: GivenSamples = None,
    seed: int = 0,
    soc: str = "sim",
    input_shape: str | Mapping[str, Sequence[int]] = "",
    op_specs: str | os.PathLike[str] | None = None,
    trials: int = TRIALS,
    int8: str | os.PathLike[str] | None = None,
    on_stage: Callable[[str], None] | None = None,
    **keywords: Unpack[PlanKeywords],
) -> DtypePlan:
    """Find the cheapest dtypes of a model's nodes with which its outputs reach a target.

    Args:
        model: path of the .onnx file.
        target: least `cosine` and `snr` of every output.
        samples: as in `compare_model`.
        seed: seed of the first random sample.
        soc: as in `convert`, and so are the next two.
        input_shape: dims of inputs; others that the model leaves open are those of the samples.
        op_specs: folder of specifications.
        trials: most compilations.
        int8: file for the mixed model: allow layers on int8, which the samples calibrate. It is only
            written if the plan has any.
        on_stage: called with the name of each stage as it begins.
        **keywords: the user's own controls, which hold in every trial, and how it is searched; see
            `PlanKeywords`.

    Raises:
        TypeError: a keyword is unknown.
        AtcError: as `compare_model` does; BAD_OPTION for no target or too few trials.

    Example:
        >>> import atc_py
        >>> plan = atc_py.plan_model("model.onnx", target={"cosine": 0.999}, samples=2)
        >>> plan.reached, plan.chosen.seconds <= plan.float16.seconds
        (True, True)
    """
    reject_unknown("plan_model", keywords, PlanKeywords)
    _check(target, keywords, trials)
    named = {"soc": soc, "op_specs": op_specs}
    compilation = _compilation(Path(model), {**keywords, **named}, input_shape, samples)
    limits = parse_options("plan_model", PlanOptions, keywords), trials, optional_path(int8)
    return _planned(compilation, (samples, seed), target, limits, on_stage)


def _compilation(
    model: Path,
    keywords: Mapping[str, object],
    given: str | Mapping[str, Sequence[int]],
    samples: GivenSamples,
) -> Compilation:
    notes: list[Diagnostic] = []
    dims = shapes_with_data(model, given, (), samples, keywords, notes)
    options = parse_options(
        "plan_model", CompileOptions, keywords, precision_mode=_MODE, input_shape=dims
    )
    refuse_ranges(options.ranges, Text("a plan is for one shape"))
    return Compilation(model, options, notes=tuple(notes))


def _planned(
    compilation: Compilation,
    draws: tuple[GivenSamples, int],
    target: Mapping[str, float],
    limits: tuple[PlanOptions, int, Path | None],
    on_stage: Callable[[str], None] | None,
) -> DtypePlan:
    """Compare, search and verify."""
    options, trials, int8 = limits
    judge, jobs = options.judge, options.jobs
    with (
        work_folder() as folder,
        open_compiled(compilation, folder, on_stage, to_run=True) as package,
    ):
        session = ComparisonSession(compilation, package, folder, ((), None), draws)
        done = session.compared_for_trials()
        layers = session.trials(judge)
        first = Trial(frozenset(), package.description, done, done)
        every = TrialRuns(compilation, session.reference, session.judged(), target, folder)
        every.take(ALL_NARROW, first)
        runs = every
        if judge is not None and judge < session.count:
            judged = session.judged(judge)
            runs = TrialRuns(compilation, session.reference, judged, target, folder)
            first = replace(first, judged=layers.run(()).judged)
            runs.take(ALL_NARROW, first)
        choices = Choices(runs, session.reference, bfloat16=options.bfloat16)
        searching = PlanSearch(runs, layers, first, choices, target, trials, on_stage)
        with session.ahead(judge, jobs) as runs.ahead:
            searching.run(lambda: ErrorModel(session.reference, session.few_runs(_MODELED), target))
        runs.ahead = None
        with _int8_models(compilation.model, session, int8, folder) as models:
            if models is not None:
                _search_int8(runs, models, session, trials, on_stage)
                every.int8 = models
            if runs is not every:
                verify(runs, every, choices)
            plan = plan_record(every, runs, choices, searching, (session.count, trials))
            if models is not None and int8 is not None and plan.chosen.int8:
                models.write(int8, plan.chosen.int8)
        return replace(plan, warnings=(*compilation.notes, *plan.warnings))


@contextmanager
def _int8_models(
    model: Path, session: ComparisonSession, int8: Path | None, folder: Path
) -> Iterator[Int8Models | None]:
    """Give the calibrated model; None where no layers are to be on int8."""
    if int8 is None:
        yield None
        return
    from atc_py.quantizing.calibration import calibrate
    from atc_py.quantizing.options import CalibrationOptions

    with calibrate(model, session.source, CalibrationOptions()) as found:
        yield Int8Models(found, model, folder)


def _search_int8(
    runs: TrialRuns,
    models: Int8Models,
    session: ComparisonSession,
    trials: int,
    on_stage: Callable[[str], None] | None,
) -> None:
    """Try layers on int8 beside the best dtypes of floats, or beside float16 if none reaches."""
    runs.int8 = models
    reached = [each for each in runs.found.values() if each.reached]
    floats = min(reached, key=rank).assignment if reached else ALL_NARROW
    limit = max(trials - runs.count, trials // 4, _LEAST)
    feeds = session.few_feeds(_MODELED)
    try_int8(runs, models, floats, feeds, limit, on_stage or (lambda _stage: None))


def _check(target: Mapping[str, float], keywords: PlanKeywords, trials: int) -> None:
    if not target:
        raise BAD_OPTION.error(
            Text("a plan needs a target"), help=Text("write --target cosine=0.999")
        )
    check_targets(target)
    if keywords.get("precision_mode_v2") is not None:
        raise BAD_OPTION.error(
            Text("a plan chooses dtypes itself, in place of a precision mode"),
            help=Text("leave --precision-mode-v2 out"),
        )
    if trials < _LEAST:
        raise BAD_OPTION.error(
            Text("a plan needs {least} trials, found {trials}", least=_LEAST, trials=trials)
        )
