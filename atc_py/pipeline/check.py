"""Checking model files: each is read, surveyed, checked against the specifications and tried."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from atc_py.check.bound_node import Conditions
from atc_py.check.evaluate import Checked, check_view
from atc_py.check.findings import CheckReport, Finding, ModelCheck, OtherVerdict, Standing
from atc_py.check.findings_builder import amended, with_kept
from atc_py.diag import BAD_INPUT_SHAPE, AtcError, Diagnostic
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.reading.file_graph import file_graph_of
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.onnx_file import OnnxFile, surveyed
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import FileGraph, SourceModel
from atc_py.options.compile_options import ANY_LIST, CheckOptions
from atc_py.options.input_shapes import INPUT_SHAPE_PLACE, format_input_shapes
from atc_py.passes.precision.control_files import find_controls
from atc_py.passes.precision.controls import ModelNames, check_soc
from atc_py.pipeline.fixable import Fixable
from atc_py.pipeline.judging import Judge, Judgment, judge_of, with_model_rules
from atc_py.pipeline.proposal.advice import advice_of, advise, with_shapes
from atc_py.pipeline.proposal.misfit import find_misfit
from atc_py.pipeline.trial import TrialCompilation
from atc_py.spec import specifications
from atc_py.spec.lists import operator_lists
from atc_py.system.process import gc_paused
from atc_py.system.structs import replace
from atc_py.target import find_soc, is_former_name
from atc_py.tensor.shapes import Shape
from atc_py.text import Text


def with_other_lists(
    check: ModelCheck,
    survey: FoldedModel,
    conditions: Conditions,
    options: CheckOptions,
    trial: TrialCompilation,
) -> ModelCheck:
    """A check whose errors name the lists that take their nodes.

    The other lists are asked as a conversion would ask them: by their rules, then by a trial. A model
    without an error, or with faults of its own, is returned as it is, as is one that any list may
    take.
    """
    chosen = options.precision.operator_list
    if check.faults or chosen == ANY_LIST or not any(map(_is_of_a_list, check.findings)):
        return check
    taken_by: list[list[str]] = [[] for _ in check.findings]
    verdicts = []
    wanted = {_node_of(each) for each in check.findings if _is_of_a_list(each)}
    for other in operator_lists():
        if other.name == chosen:
            continue
        tried = replace(trial, specs=specifications(options.op_specs, other.name))
        found = _verdict(survey, conditions, tried, wanted)
        errors = _errors(found.findings)
        refused = {_node_of(each) for each in errors}
        verdicts.append(OtherVerdict(other.name, found.standing, len(errors)))
        for each, names in zip(check.findings, taken_by, strict=True):
            if _is_of_a_list(each) and _node_of(each) not in refused:
                names.append(other.name)
    findings = (
        replace(each, taken_by=tuple(names))
        for each, names in zip(check.findings, taken_by, strict=True)
    )
    return replace(check, findings=tuple(findings), other_lists=tuple(verdicts))


def _verdict(
    survey: FoldedModel,
    conditions: Conditions,
    trial: TrialCompilation,
    wanted: set[tuple[object, ...]],
) -> ModelCheck:
    """The check by another list, and what else keeps the `wanted` nodes from compiling.

    The whole model is tried where no rule refuses it, else each of these nodes that no rule refuses.
    """
    view = survey.source
    checked = check_view(view, conditions, trial.specs, history())
    if checked.check.standing is not Standing.ERROR:
        return amended(checked.check, view, trial.findings(survey, checked))
    refused = {_node_of(each) for each in _errors(checked.check.findings)}
    positions = [
        at
        for at, node in enumerate(view.nodes)
        if (node.scope, node.index, node.name, node.op_type) in wanted - refused
    ]
    return amended(checked.check, view, trial.findings_of_nodes(survey, checked, positions))


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    return [each for each in findings if each.standing is Standing.ERROR]


def _is_of_a_list(finding: Finding) -> bool:
    """True for an error that a rule of the list, or its silence, is the reason of."""
    return finding.standing is Standing.ERROR and "/kernel/" not in finding.rule


def _node_of(finding: Finding) -> tuple[object, ...]:
    place = finding.place
    return (finding.scope, place.node, place.node_name, place.op_type)


def check_files(
    models: Sequence[Path],
    options: CheckOptions,
    processes: int | None = 1,
    on_stage: Callable[[str], None] | None = None,
    *,
    file_graphs: dict[str, FileGraph] | None = None,
) -> CheckReport:
    """Check every one of `models`; one that cannot be read does not stop the others.

    So many `processes` may share the work, None for what pays; `on_stage` is called with the number
    of models that are done, where there are several; `file_graphs` takes the graph of each file that
    can be read, by its path.

    Raises:
        AtcError: UNKNOWN_SOC, NO_BFLOAT16; BAD_INPUT_SHAPE for shapes that fit no input of any
            model, or none of the only one; NOT_IN_MODEL likewise for names in finer controls, and
            what else is wrong with these; BAD_SPEC and file errors of the user's specifications.
    """
    soc = find_soc(options.soc)
    check_soc(options.precision_mode, soc)
    specs = specifications(options.op_specs, options.precision.operator_list)
    unused, unmatched = set(options.input_shapes), _UnknownNames()
    checks: list[ModelCheck] = []
    with_graphs = file_graphs is not None
    check = partial(checked_file, options=options, alone=len(models) == 1, with_graphs=with_graphs)
    for path, done in zip(models, _checked_files(models, check, processes), strict=True):
        checks.append(done.check)
        if on_stage is not None and len(models) > 1:
            on_stage(Text("{count} of {count_2} models", count=len(checks), count_2=len(models)))
        if done.names is not None:
            unused -= done.names
            unmatched.meet(done.unknown)
        if file_graphs is not None and done.file_graph is not None:
            file_graphs[str(path)] = done.file_graph
    if all(check.opsets for check in checks):  # a file that cannot be read may have the names
        unmatched.refuse()
        _refuse_unused(unused)
    checks = [with_kept(check, specs) if check.opsets else check for check in checks]
    return CheckReport(
        tuple(checks),
        options.precision_mode.value,
        soc.name,
        _other_options(options),
        options.precision.operator_list,
        options.precision.cann,
        options.soc if is_former_name(options.soc) else "",
    )


def _refuse_unused(inputs: Collection[str]) -> None:
    if inputs:
        raise BAD_INPUT_SHAPE.error(
            Text("no model has an input {names}", names=", ".join(map(repr, sorted(inputs)))),
            place=INPUT_SHAPE_PLACE,
            help=Text("`atc-py check MODEL` of one model alone names its inputs"),
        )


class FileCheck(NamedTuple):
    """The check of one file."""

    check: ModelCheck
    names: frozenset[str] | None = None  # the model's inputs; None for a file that cannot be read
    unknown: tuple[Diagnostic, ...] = ()  # names in the finer controls that it does not have
    file_graph: FileGraph | None = None  # of its graph; None where nobody asked for it


_WORTH = 10.0
"""Seconds of work from which processes pay for their start, which takes each of them about two."""


def _checked_files(
    models: Sequence[Path], check: Callable[[Path], FileCheck], processes: int | None
) -> Iterator[FileCheck]:
    """Yield the check of each file, in order, by so many processes; None for what pays."""
    done = 0
    count = min(processes or os.cpu_count() or 1, len(models))
    started = time.monotonic()
    while done < len(models):
        # Of what is not known beforehand the files so far tell.
        pays = done and (time.monotonic() - started) / done * (len(models) - done) > _WORTH
        if count > 1 and (processes is not None or pays):
            break
        yield check(models[done])
        done += 1
    if done < len(models):
        yield from _checked_apart(models[done:], check, count)


def _checked_apart(
    models: Sequence[Path], check: Callable[[Path], FileCheck], count: int
) -> Iterator[FileCheck]:
    """Yield the checks from processes, which share the memory that one may have, in order.

    A file whose process the system ends is checked by this one.
    """
    from atc_py.system.jobs import TaskFailureKind, open_executor

    known: dict[int, FileCheck] = {}
    position = 0
    with open_executor(count, apart=True) as executor:
        for outcome in executor.map_unordered(check, models):
            failure = outcome.failure
            ended = failure is not None and failure.kind is TaskFailureKind.CRASHED
            known[outcome.index] = check(outcome.task) if ended else outcome.result()
            while position in known:
                yield known.pop(position)
                position += 1


@gc_paused()
def checked_file(
    path: Path, options: CheckOptions, *, alone: bool, with_graphs: bool = False
) -> FileCheck:
    """Check one model; where others are checked as well, it need not have every input named."""
    try:
        file = read_model(path, lenient=True)
    except AtcError as error:
        return FileCheck(ModelCheck(str(path), "", {}, 0, 0, (), error.diagnostics))
    names = frozenset(each.name for each in file.inputs)
    shapes = options.input_shapes
    if not alone:
        shapes = {name: shape for name, shape in shapes.items() if name in names}
    found = judged(file, shapes, options, runs=True)
    judge, view = found.judge, found.survey.source
    check = with_other_lists(found.check, found.survey, judge.conditions, options, found.trial)
    fixable = Fixable(file, judge, shapes, found.known, found.uncompiled)
    file_graph = file_graph_of(file, view) if with_graphs else None
    return FileCheck(fixable.with_fixes(check), names, found.unknown, file_graph)


class LoneCheck(msgspec.Struct, frozen=True):
    """A file that was checked by itself: without other lists, and without advice on rules."""

    check: ModelCheck
    judge: Judge  # the list and the conditions
    survey: FoldedModel  # knowledge of the file
    # what the check was made from; None where the file does not have the dims given
    known: Judgment | None
    unknown: tuple[Diagnostic, ...]  # names in finer controls that the file does not have
    trial: TrialCompilation  # what tries the rest of a compilation, by the chosen list

    def uncompiled(self, folded: FoldedModel, checked: Checked) -> Sequence[Finding]:
        """Errors of what the list takes and that would not compile, of this or a new form."""
        if self.known is not None and checked is self.known.checked:
            return self.check.findings
        return self.trial.findings_of_listed(folded, checked)


def judged(
    file: OnnxFile, shapes: Mapping[str, Shape], options: CheckOptions, *, runs: bool = False
) -> LoneCheck:
    """Apply the rules to a file, and try what of it would not compile.

    `shapes` are those that the user gave; `runs` runs the file with dims that are proposed.
    """
    soc = find_soc(options.soc)
    judge, precision = judge_of(options, soc), options.precision
    suggest = partial(advise, file, shapes, judge)
    survey = surveyed(file, shapes, quant_bias=precision.quant_bias, suggest=suggest)
    names = ModelNames.of(survey.source, file.node_outputs, file.outputs)
    controls, unknown = find_controls(precision, options.precision_mode, names)
    trial = TrialCompilation(
        soc,
        options.precision_mode,
        controls,
        judge.specs,
        only_atc_passes=precision.only_atc_passes,
    )
    check, known = _apply_rules(trial, file, shapes, judge, survey, options if runs else None)
    check = with_model_rules(check, file, survey.source, precision.cann)
    return LoneCheck(check, judge, survey, known, tuple(unknown), trial)


def _apply_rules(
    trial: TrialCompilation,
    file: OnnxFile,
    shapes: Mapping[str, Shape],
    judge: Judge,
    survey: FoldedModel,
    running: CheckOptions | None,
) -> tuple[ModelCheck, Judgment | None]:
    """Apply the rules; where none is broken, find what else keeps the model from compiling.

    Dims that are proposed are run with the options `running`, if any.

    Returns:
        The check, and what it was made from; None where the model does not have the dims given.
    """
    view = survey.source

    def refused(sound: Judgment) -> list[Finding]:
        return trial.findings(sound.survey, sound.checked)

    misfit = _misfit(file, shapes, judge, view)
    if misfit is not None:
        return misfit, None
    known = judge.of_survey(with_shapes(file, shapes), survey)
    if any(each.is_open for each in view.inputs):
        from atc_py.pipeline.compile import compile_model
        from atc_py.pipeline.proposal.open_check import open_check
        from atc_py.pipeline.proposal.run_trial import RunTrial
        from atc_py.pipeline.proposal.search import Search

        run = None if running is None else RunTrial(running, compile_model)
        search = Search(known.file, judge, known, refused, run)
        proposal = search.propose()
        advice = advice_of(file, proposal, shapes)
        return open_check(known, search, proposal, advice, refused), known
    check = known.checked.check
    if check.standing is not Standing.ERROR:
        check = amended(check, view, refused(known))
    return check, known


def _misfit(
    file: OnnxFile, shapes: Mapping[str, Shape], judge: Judge, view: SourceModel
) -> ModelCheck | None:
    """Check a model that is sound, but not with the dims that the user gave."""
    own = set(file.faults)
    new = [each for each in view.faults if each not in own]
    found = find_misfit(file, shapes, judge, new[0]) if new and shapes else None
    if found is None:
        return None
    check = found.known.checked.check
    certain = (each for each in check.findings if each.standing is not Standing.UNKNOWN)
    return replace(
        check, findings=tuple(certain), faults=(*check.faults, found.diagnostic), shape_hint=""
    )


class _UnknownNames:
    """Names that controls use and that none of the models so far has."""

    def __init__(self) -> None:
        self._unknown: dict[tuple[str, str], Diagnostic] | None = None

    def meet(self, unknown: Sequence[Diagnostic]) -> None:
        """Keep the names that one more model does not have either."""
        here = {(str(each.place), each.message): each for each in unknown}
        before = here if self._unknown is None else self._unknown
        self._unknown = {key: each for key, each in before.items() if key in here}

    def refuse(self) -> None:
        if self._unknown:
            raise AtcError(*self._unknown.values())


def _other_options(options: CheckOptions) -> dict[str, str]:
    given = {
        "input_shape": format_input_shapes(options.input_shapes),
        "op_specs": "" if options.op_specs is None else str(options.op_specs),
        **options.precision.given(),
    }
    return {name: text for name, text in given.items() if text}
