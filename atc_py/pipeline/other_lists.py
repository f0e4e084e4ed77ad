"""Verdicts of the other operator lists on a model that the chosen one refuses."""

from collections.abc import Iterable

from atc_py.check.added_findings import amended
from atc_py.check.bound_node import Conditions
from atc_py.check.evaluate import check_view
from atc_py.check.findings import Finding, ModelCheck, OtherVerdict, Standing
from atc_py.frontend.folding.survey import Survey
from atc_py.frontend.reading.history import history
from atc_py.options.compile_options import ANY_LIST, CheckOptions
from atc_py.pipeline.trial import TrialCompilation
from atc_py.spec import specifications
from atc_py.spec.lists import operator_lists
from atc_py.system.structs import replace


def with_other_lists(
    check: ModelCheck,
    survey: Survey,
    conditions: Conditions,
    options: CheckOptions,
    trial: TrialCompilation,
) -> ModelCheck:
    """Return a check whose errors name the lists that take their nodes.

    The other lists are asked as a conversion would ask them: by their rules, then by a trial. A model
    without an error, or with faults of its own, is returned as it is, as is one that any list may
    take.

    Args:
        check: the check by the chosen list.
        survey: the model that was checked.
        conditions: precision mode and SoC.
        options: the chosen list, and the folder of a user's own specifications, which come
            before those of any list.
        trial: the trial compilation by the chosen list.

    Raises:
        AtcError: BAD_SPEC where a file of another list has a fault.
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
    survey: Survey,
    conditions: Conditions,
    trial: TrialCompilation,
    wanted: set[tuple[object, ...]],
) -> ModelCheck:
    """Return the check by another list, and what else keeps the `wanted` nodes from compiling.

    The whole model is tried where no rule refuses it, else each of these nodes that no rule refuses.
    """
    view = survey.model
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
    """Return the findings that are errors."""
    return [each for each in findings if each.standing is Standing.ERROR]


def _is_of_a_list(finding: Finding) -> bool:
    """Return True for an error that a rule of the list, or its silence, is the reason of."""
    return finding.standing is Standing.ERROR and "/kernel/" not in finding.rule


def _node_of(finding: Finding) -> tuple[object, ...]:
    """Return what tells the node of a finding from others of the model."""
    place = finding.place
    return (finding.scope, place.node, place.node_name, place.op_type)
