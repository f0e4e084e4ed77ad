"""`plan_model`: the cheapest dtypes of a model's nodes with which its outputs reach a target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from atc_py.compare.comparison_session import ComparisonSession
from atc_py.compare.model import open_compiled
from atc_py.compare.targets import check_targets
from atc_py.compare.trials import Compilation, Trial
from atc_py.diag.codes import BAD_OPTION
from atc_py.options.choices import PlanChoice, reject_unknown, shapes_and_ranges
from atc_py.options.ranges import refuse_ranges
from atc_py.planning.assignment import ALL_NARROW
from atc_py.planning.choices import Choices
from atc_py.planning.error_model import ErrorModel
from atc_py.planning.record import plan_record, verify
from atc_py.planning.search import PlanSearch
from atc_py.planning.trial_runs import TrialRuns
from atc_py.system.temp_folders import work_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Unpack

    from atc_py.compare.comparison_session import GivenChoice
    from atc_py.options.choices import ConvertChoice
    from atc_py.results.plan import DtypePlan

__all__ = ["TRIALS", "plan_model"]

TRIALS = 120
"""Most compilations, unless another number is given."""

_LEAST = 4

_MODE = "force_fp16"
"""The mode beneath a plan, which is what `convert` takes without any."""

_MODELED = 2
"""Samples of single-node trials."""


def plan_model(  # noqa: PLR0913  (the options of a command)
    model: str | os.PathLike[str],
    *,
    target: Mapping[str, float],
    samples: GivenChoice = 1,
    seed: int = 0,
    soc: str = "sim",
    input_shape: str | Mapping[str, Sequence[int]] = "",
    op_specs: str | os.PathLike[str] | None = None,
    judge: int | None = None,
    trials: int = TRIALS,
    bfloat16: bool = True,
    on_stage: Callable[[str], None] | None = None,
    **precision: Unpack[PlanChoice],
) -> DtypePlan:
    """Find the cheapest dtypes of a model's nodes with which its outputs reach a target.

    Args:
        model: path of the .onnx file.
        target: least `cosine` and `snr` of every output.
        samples: as in `compare_model`.
        seed: seed of the first random sample.
        soc: as in `convert`, and so are the next two.
        input_shape: dims of inputs.
        op_specs: folder of specifications.
        judge: most samples that judge each trial, at even distances; None for all. The plan is
            verified on all.
        trials: most compilations.
        bfloat16: allow bfloat16 where the SoC has it.
        on_stage: called with the name of each stage as it begins.
        **precision: the user's own controls, which hold in every trial; see `PlanChoice`.

    Raises:
        TypeError: a keyword is unknown.
        AtcError: as `compare_model` does; BAD_OPTION for no target or too few trials.

    Example:
        >>> import atc_py
        >>> plan = atc_py.plan_model("model.onnx", target={"cosine": 0.999}, samples=2)
        >>> plan.reached, plan.chosen.seconds <= plan.float16.seconds
        (True, True)
    """
    reject_unknown("plan_model", precision, PlanChoice)
    _check(target, precision.get("precision_mode_v2"), judge, trials, input_shape)
    chosen = cast("ConvertChoice", {"precision_mode": _MODE, **precision})
    compilation = Compilation(Path(model), soc, input_shape, op_specs, chosen)
    draws, chances = (samples, seed), (judge, trials, bfloat16)
    return _planned(compilation, draws, target, chances, on_stage)


def _planned(
    compilation: Compilation,
    draws: tuple[GivenChoice, int],
    target: Mapping[str, float],
    chances: tuple[int | None, int, bool],
    on_stage: Callable[[str], None] | None,
) -> DtypePlan:
    """Compare, search and verify; the arguments are those of a session, and the limits of a search."""
    judge, trials, bfloat16 = chances
    with work_folder() as folder, open_compiled(compilation, folder, on_stage) as package:
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
        choices = Choices(runs, session.reference, bfloat16=bfloat16)
        searching = PlanSearch(runs, layers, first, choices, target, trials, on_stage)
        searching.run(lambda: ErrorModel(session.reference, session.few_feeds(_MODELED), target))
        if runs is not every:
            verify(runs, every, choices)
        return plan_record(every, runs, choices, searching, (session.count, trials))


def _check(
    target: Mapping[str, float],
    precision_mode_v2: str | None,
    judge: int | None,
    trials: int,
    shapes: str | Mapping[str, Sequence[int]],
) -> None:
    """Refuse options that make no sense.

    Raises:
        AtcError: BAD_OPTION.
    """
    if not target:
        raise BAD_OPTION.error("a plan needs a target", help="write --target cosine=0.999")
    check_targets(target)
    if precision_mode_v2 is not None:
        raise BAD_OPTION.error(
            "a plan chooses the dtypes that a precision mode would",
            help="leave --precision-mode-v2 out",
        )
    if trials < _LEAST:
        raise BAD_OPTION.error(f"a plan needs {_LEAST} trials, found {trials}")
    if judge is not None and judge < 1:
        raise BAD_OPTION.error(f"judge must be 1 or more, found {judge}")
    refuse_ranges(shapes_and_ranges(shapes)[1], "a plan is for one shape")
