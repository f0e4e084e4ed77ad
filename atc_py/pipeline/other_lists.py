"""Verdicts of the other operator lists on a model that the chosen one refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.evaluate import check_view
from atc_py.check.findings import OtherVerdict, Standing
from atc_py.frontend.reading.history import history
from atc_py.spec import specifications
from atc_py.spec.lists import operator_lists
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atc_py.check.bound_node import Conditions
    from atc_py.check.findings import Finding, ModelCheck
    from atc_py.options.compile_options import CheckOptions
    from atc_py.source import SourceModel

__all__ = ["with_other_lists"]


def with_other_lists(
    check: ModelCheck, model: SourceModel, conditions: Conditions, options: CheckOptions
) -> ModelCheck:
    """Return a check whose errors name the lists that take their nodes.

    The other lists are asked by their rules alone: nothing is compiled. A model without an error,
    or with faults of its own, is returned as it is.

    Args:
        check: the check by the chosen list.
        model: the model that was checked.
        conditions: precision mode and SoC.
        options: the chosen list, and the folder of a user's own specifications, which come
            before those of any list.

    Raises:
        AtcError: BAD_SPEC where a file of another list has a fault.
    """
    if check.faults or not any(_is_of_a_list(each) for each in check.findings):
        return check
    taken_by: list[list[str]] = [[] for _ in check.findings]
    verdicts = []
    for other in operator_lists():
        if other.name == options.precision.operator_list:
            continue
        specs = specifications(options.op_specs, other.name)
        found = check_view(model, conditions, specs, history()).check
        refused = {_node_of(each) for each in _errors(found.findings)}
        verdicts.append(OtherVerdict(other.name, found.standing, len(_errors(found.findings))))
        for each, names in zip(check.findings, taken_by, strict=True):
            if _is_of_a_list(each) and _node_of(each) not in refused:
                names.append(other.name)
    findings = (
        replace(each, taken_by=tuple(names))
        for each, names in zip(check.findings, taken_by, strict=True)
    )
    return replace(check, findings=tuple(findings), other_lists=tuple(verdicts))


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
