"""Rules that would remove the errors of a model, named in its check; nothing is run or written."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from atc_py.check.findings import FixAdvice, Standing
from atc_py.diag import AtcError
from atc_py.fix.deciding_inputs import deciding_values
from atc_py.fix.start import Start
from atc_py.options.bound_values import bind_options
from atc_py.options.fix_rules import FixRules
from atc_py.options.input_shapes import format_input_shapes
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.check.findings import Finding, ModelCheck
    from atc_py.fix.fixed import Fixed
    from atc_py.frontend.reading.onnx_file import OnnxFile
    from atc_py.pipeline.proposal.judging import Judge, Judgment
    from atc_py.tensor.shapes import Shape

    _Node = tuple[int | None, str]

__all__ = ["with_fixes"]


def with_fixes(
    check: ModelCheck,
    file: OnnxFile,
    judge: Judge,
    shapes: Mapping[str, Shape],
    known: Judgment | None = None,
) -> ModelCheck:
    """Return a check whose errors and deviations of CANN name the rules that remove them.

    A model without a finding that a rule knows, or with faults of its own, is returned as it is.

    Args:
        check: the check of the file.
        file: the file that was checked.
        judge: the operator list, precision mode and SoC.
        shapes: dims of inputs that the model leaves open, by name.
        known: the same file folded and checked with these shapes; None where that is still to do.
    """
    if check.faults:
        return check
    start = None if known is None else Start.of(known.survey.folded, known.checked)
    check = _with_deviations(check, file, judge, shapes, start)
    errors = [each for each in check.findings if each.standing is Standing.ERROR]
    if not errors:
        return check
    # Rules take time to import, which checks of sound models need not spend.
    from atc_py.fix.engine import Fixer
    from atc_py.fix.registry import load_rules
    from atc_py.fix.rule import Purpose

    refused = {each.place.op_type or "" for each in errors}
    rules_for_lists = (rule for rule in load_rules().values() if Purpose.LISTS in rule.purposes)
    fixable = {name.rpartition("::")[2] for rule in rules_for_lists for name in rule.operators}
    if refused.isdisjoint(fixable):
        return check
    rules = FixRules(for_precision=False)
    fixer = Fixer(file, judge.conditions, judge.specs, rules, start)
    plain = _Outcome.of(fixer.fix(shapes, tidy=False))
    best, values = plain, {} if known is None else deciding_values(known.model)
    if values and plain.left:
        rules = replace(rules, bind={name: several[0] for name, several in values.items()})
        with suppress(AtcError):
            fixer = Fixer(file, judge.conditions, judge.specs, rules)
            bound = _Outcome.of(fixer.fix(shapes, tidy=False), rules.bind)
            best = bound if len(bound.left) < len(plain.left) else plain
    return _with_advice(check, best, shapes, values)


def _with_advice(
    check: ModelCheck,
    best: _Outcome,
    shapes: Mapping[str, Shape],
    values: Mapping[str, tuple[float, ...]],
) -> ModelCheck:
    """Return a check whose errors name their remedies, with the command that applies them."""
    findings = tuple(
        replace(each, fixed_by=best.remedy(each)) if each.standing is Standing.ERROR else each
        for each in check.findings
    )
    errors = [each for each in findings if each.standing is Standing.ERROR]
    removed = sum(bool(each.fixed_by) for each in errors)
    if not removed:
        return check
    advice = FixAdvice(removed, format_input_shapes(shapes), best.bind, values)
    return replace(check, findings=findings, fix=advice)


def _with_deviations(
    check: ModelCheck,
    file: OnnxFile,
    judge: Judge,
    shapes: Mapping[str, Shape],
    start: Start | None,
) -> ModelCheck:
    """Return a check whose deviations of CANN name the rules that remove them.

    Args:
        check: the check of the file.
        file: the file.
        judge: the operator list and the generation.
        shapes: dims of inputs that the model leaves open, by name.
        start: the file folded and checked; None where that is still to be done.
    """
    rows = {each.fingerprint: _deviation_of(each) for each in check.findings if each.certainty}
    if not any(rows.values()):
        return check
    from atc_py.fix.engine import Fixer
    from atc_py.fix.registry import load_rules

    removed = {name for rule in load_rules().values() for name in rule.deviations}
    if removed.isdisjoint(rows.values()):
        return check
    rules = FixRules(for_precision=False, for_cann=True)
    found = Fixer(file, judge.conditions, judge.specs, rules, start).fix(shapes, tidy=False)
    if not found.settled:
        return check
    left = {(each.place.node, each.rule) for each in found.after.check.findings if each.certainty}
    names: dict[tuple[int | None, str], dict[str, None]] = defaultdict(dict)
    for applied in found.applied:
        names[applied.node.index, applied.node.name][applied.rule.name] = None
    findings = []
    for each in check.findings:
        place = each.place
        fixed = rows.get(each.fingerprint) and (place.node, each.rule) not in left
        by = tuple(names[place.node, place.node_name or ""]) if fixed else ()
        findings.append(replace(each, fixed_by=by) if fixed else each)
    return replace(check, findings=tuple(findings))


def _deviation_of(finding: Finding) -> str:
    """Return the deviation that a finding is about, as rules name it; "" for the parser's opsets."""
    operator, _, name = finding.rule.partition("/cann/")
    return f"{operator}/{name}" if name else ""


class _Outcome(msgspec.Struct, frozen=True):
    """Errors that are left after fixing, and rules that removed others, by positions and names.

    Attributes:
        left: the nodes that still have errors.
        rules: of the nodes that were rewritten.
        of_holder: rules by the position alone, of what stands in branches.
        bind: values of inputs that became constants.
    """

    left: frozenset[_Node]
    rules: Mapping[_Node, tuple[str, ...]]
    of_holder: Mapping[int | None, tuple[str, ...]]
    bind: Mapping[str, float]

    @classmethod
    def of(cls, found: Fixed, bind: Mapping[str, float] | None = None) -> _Outcome:
        """Return the outcome of fixing; where rules undo each other, nothing is fixed."""
        rules: dict[_Node, dict[str, None]] = defaultdict(dict)
        holders: dict[int | None, dict[str, None]] = defaultdict(dict)
        for applied in found.applied if found.settled else ():
            rules[applied.node.index, applied.node.name][applied.rule.name] = None
            holders[applied.node.index][applied.rule.name] = None
        errors = (each for each in found.after.check.findings if each.standing is Standing.ERROR)
        left = frozenset((each.place.node, each.place.node_name or "") for each in errors)
        return cls(
            left,
            {node: tuple(names) for node, names in rules.items()},
            {index: tuple(names) for index, names in holders.items()},
            (bind or {}) if found.settled else {},
        )

    def remedy(self, finding: Finding) -> tuple[str, ...]:
        """Return the option and the rules that remove an error; empty where it stays."""
        node = finding.place.node, finding.place.node_name or ""
        if node in self.left:
            return ()
        rules = self.rules.get(node, ())
        if finding.scope and not rules and not self.bind:  # the If is rewritten as a whole
            rules = self.of_holder.get(node[0], ())
        chosen = finding.scope or not rules
        options = bind_options(self.bind) if chosen else ()
        return (*options, *rules)
