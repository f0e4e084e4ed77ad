"""Rules that would remove the errors of a model, named in its check; runs are short, and nothing is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import msgspec

from atc_py.check.findings import Finding, FixAdvice, ModelCheck, Standing
from atc_py.diag import AtcError
from atc_py.fix.start import Start, deciding_values
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.options.fix_rules import FixRules, bind_options, range_options
from atc_py.options.input_shapes import format_input_shapes, parse_input_shapes
from atc_py.pipeline.judging import Judge, Judgment
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

_Node = tuple[int | None, str]
_Key = TypeVar("_Key")
if TYPE_CHECKING:
    from atc_py.fix.engine import Trial
    from atc_py.fix.fixed import Applied, Fixed, Unfit


class Fixable(msgspec.Struct, frozen=True):
    """A model whose errors and deviations of CANN rules may remove."""

    file: OnnxFile
    judge: Judge
    shapes: Mapping[str, Shape]  # that the user gave
    known: Judgment | None  # of the file with these; None where it does not have them
    trial: Trial  # finds what the list takes and would not compile

    def with_fixes(self, check: ModelCheck) -> ModelCheck:
        """The check, with the rules that remove its errors and deviations of CANN.

        One without a finding that a rule knows, or with faults of its own, is returned as it is.
        """
        if check.faults:
            return check
        check = self._with_deviations(check)
        errors = [each for each in check.findings if each.standing is Standing.ERROR]
        # Rules take time to import, which checks of sound models need not spend.
        if not errors or _operators_with_rules().isdisjoint(
            each.place.op_type or "" for each in errors
        ):
            return check
        return self._with_rules(check)

    def _with_rules(self, check: ModelCheck) -> ModelCheck:
        """A check whose errors name the rules and options that remove most of them."""
        from atc_py.fix.engine import Fixer
        from atc_py.fix.measured import fix_measured

        file, judge, shapes, known = self.file, self.judge, self.shapes, self.known

        def fix_with(rules: FixRules, dims: Mapping[str, Shape]) -> Fixed:
            start = None if rules.bind or dims is not shapes else self._start()
            args = file, judge.conditions, judge.specs, rules, start, self.trial
            return fix_measured(lambda: Fixer(*args), dims, rules, tidy=False)

        rules = FixRules(for_precision=False)
        plain = found = fix_with(rules, shapes)
        best, values = _Outcome.of(found), {} if known is None else deciding_values(known.survey)
        if values and best.left:
            bound = replace(rules, bind={name: several[0] for name, several in values.items()})
            with suppress(AtcError):
                other = fix_with(bound, shapes)
                outcome = _Outcome.of(other, bound.bind)
                if len(outcome.left) < len(best.left):
                    best, found, rules = outcome, other, bound
        unbounded = _inputs_without_bounds(file, found) if best.left else ()
        if unbounded:
            ranged = replace(rules, ranges=dict.fromkeys(unbounded, (0, 1)))
            outcome = best.again(fix_with(ranged, shapes), range_options(unbounded))
            if len(outcome.left) < len(best.left):
                best, rules = outcome, ranged
        advice = _with_advice(check, best, rules, shapes, values)
        if best.left and check.hint_fits and check.shape_hint:
            with suppress(AtcError):
                proposed = parse_input_shapes(check.shape_hint)
                outcome = best.again(fix_with(rules, proposed), ("--input-shape",))
                other_advice = _with_advice(check, outcome, rules, proposed, values)
                advice = max(
                    advice, other_advice, key=lambda each: each.fix.removed if each.fix else 0
                )
        return _with_near_rules(advice, plain)

    def _with_deviations(self, check: ModelCheck) -> ModelCheck:
        deviations = [_deviation_of(each) if each.certainty else "" for each in check.findings]
        if not any(deviations):
            return check
        from atc_py.fix.rule import load_rules

        removed = {name for rule in load_rules().values() for name in rule.deviations}
        if removed.isdisjoint(deviations):
            return check
        remedies = self._remedies()
        if remedies is None:
            return check
        findings = []
        for each, deviation in zip(check.findings, deviations, strict=True):
            by = remedies.remedy(each) if deviation else None
            findings.append(each if by is None else replace(each, fixed_by=by))
        return replace(check, findings=tuple(findings))

    def _remedies(self) -> _Remedies | None:
        """The rules that remove deviations of a file; None where they undo each other."""
        from atc_py.fix.by_kind import fix_one_of_each_kind
        from atc_py.fix.engine import Fixer

        rules = FixRules(for_precision=False, for_cann=True)
        file, judge, known = self.file, self.judge, self.known
        if known is not None:
            folded = known.survey, known.checked
            kinds = fix_one_of_each_kind(file, judge.conditions, judge.specs, rules, folded)
            if kinds is not None:
                return _Remedies.of(kinds.found, kinds.first)
        fixer = Fixer(file, judge.conditions, judge.specs, rules, self._start())
        found = fixer.fix(self.shapes, tidy=False)
        return _Remedies.of(found) if found.settled else None

    def _start(self) -> Start | None:
        return None if self.known is None else Start.of(self.known.survey, self.known.checked)


def _operators_with_rules() -> set[str]:
    from atc_py.fix.rule import Purpose, load_rules

    rules = (rule for rule in load_rules().values() if Purpose.LISTS in rule.purposes)
    return {name.rpartition("::")[2] for rule in rules for name in rule.operators}


def _with_near_rules(check: ModelCheck, found: Fixed) -> ModelCheck:
    """A check whose errors without a remedy name the rule of which the most conditions hold."""
    from atc_py.fix.fixed import closest_first

    closest = closest_first(found.unfit)
    findings = tuple(_with_near_rule(each, closest) for each in check.findings)
    return replace(check, findings=findings)


def _with_near_rule(finding: Finding, closest: Mapping[int, Sequence[Unfit]]) -> Finding:
    node = finding.place.node
    if node is None or node not in closest or finding.standing is not Standing.ERROR:
        return finding
    near = closest[node][0]
    # What the list has against a node of a branch is no matter of the If around it.
    if finding.fixed_by or near.node.op_type != finding.place.op_type:
        return finding
    return replace(finding, help=_help_of(finding.help, near))


def _help_of(help_: Text, near: Unfit) -> Text:
    if near.refused is not None:
        return Text(
            "{help}; rule {rule} of `atc-py fix` makes nodes that the list refuses: {finding}",
            help=help_,
            rule=near.rule.name,
            finding=near.refused,
        )
    return Text(
        "{help}; rule {rule} of `atc-py fix` fits where {condition}",
        help=help_,
        rule=near.rule.name,
        condition=near.reason,
    )


def _inputs_without_bounds(file: OnnxFile, found: Fixed) -> tuple[str, ...]:
    """The inputs whose bounds rules asked for that did not fit."""
    asked = {name for misfit in found.unfit for name in misfit.unbounded}
    return tuple(tensor.name for tensor in file.inputs if tensor.name in asked)


def _with_advice(
    check: ModelCheck,
    best: _Outcome,
    rules: FixRules,
    shapes: Mapping[str, Shape],
    values: Mapping[str, tuple[float, ...]],
) -> ModelCheck:
    """A check whose errors name their remedies, with the command that applies them."""
    findings = tuple(
        replace(each, fixed_by=best.remedy(each)) if each.standing is Standing.ERROR else each
        for each in check.findings
    )
    errors = [each for each in findings if each.standing is Standing.ERROR]
    removed = sum(bool(each.fixed_by) for each in errors)
    if not removed:
        return check
    shown = format_input_shapes(shapes)
    advice = FixAdvice(removed, shown, best.bind, values, range_options(rules.ranges))
    return replace(check, findings=findings, fix=advice)


def _rules_by(
    key: Callable[[Applied], _Key], applied: Iterable[Applied]
) -> dict[_Key, tuple[str, ...]]:
    """The names of rules that were applied, each once, by a key of the application."""
    rules: dict[_Key, dict[str, None]] = defaultdict(dict)
    for each in applied:
        rules[key(each)][each.rule.name] = None
    return {place: tuple(names) for place, names in rules.items()}


class _Remedies(msgspec.Struct, frozen=True):
    """Deviations that are left after fixing, and rules that removed others."""

    # positions of nodes, and the rules that they still break
    left: frozenset[tuple[int | None, str]]
    rules: Mapping[_Node, tuple[str, ...]]  # by position and name of the nodes that were rewritten
    # of a model of which one node of each kind was fixed, the position of that node
    first: Mapping[int, int] | None = None

    @classmethod
    def of(cls, found: Fixed, first: Mapping[int, int] | None = None) -> _Remedies:
        """Findings that fixing a model, or one node of each kind, has removed."""
        findings = (each for each in found.after.check.findings if each.certainty)
        left = frozenset((each.place.node, each.rule) for each in findings)
        by_name = first is None
        rules: dict[_Node, tuple[str, ...]] = _rules_by(
            lambda each: (each.node.index, each.node.name if by_name else ""), found.applied
        )
        return cls(left, rules, first)

    def remedy(self, finding: Finding) -> tuple[str, ...] | None:
        """The rules that remove a deviation; None where it stays."""
        node, name = finding.place.node, finding.place.node_name or ""
        if self.first is not None and node is not None:
            node, name = self.first[node], ""
        return None if (node, finding.rule) in self.left else self.rules.get((node, name), ())


def _deviation_of(finding: Finding) -> str:
    """The deviation that a finding is about, as rules name it; "" for the parser's opsets."""
    operator, _, name = finding.rule.partition("/cann/")
    return f"{operator}/{name}" if name else ""


class _Outcome(msgspec.Struct, frozen=True):
    """Errors that are left after fixing, and rules that removed others, by positions and names."""

    left: frozenset[_Node]  # the nodes that still have errors
    rules: Mapping[_Node, tuple[str, ...]]  # of the nodes that were rewritten
    # rules by the position alone, of what stands in branches
    of_holder: Mapping[int | None, tuple[str, ...]]
    bind: Mapping[str, float]  # values of inputs that became constants
    # options beside the rules, each with the nodes that have errors without them
    needs: tuple[tuple[frozenset[_Node], tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, found: Fixed, bind: Mapping[str, float] | None = None) -> _Outcome:
        """The outcome of fixing; where rules undo each other, nothing is fixed."""
        applied = found.applied if found.settled else ()
        errors = (each for each in found.after.check.findings if each.standing is Standing.ERROR)
        left = frozenset((each.place.node, each.place.node_name or "") for each in errors)
        return cls(
            left,
            _rules_by(lambda each: (each.node.index, each.node.name), applied),
            _rules_by(lambda each: each.node.index, applied),
            (bind or {}) if found.settled else {},
        )

    def again(self, found: Fixed, options: tuple[str, ...]) -> _Outcome:
        """The outcome with further options, which the nodes need that are left here."""
        needs = (*self.needs, (self.left, options))
        return replace(_Outcome.of(found, self.bind), needs=needs)

    def remedy(self, finding: Finding) -> tuple[str, ...]:
        """The option and the rules that remove an error; empty where it stays."""
        node = finding.place.node, finding.place.node_name or ""
        if node in self.left:
            return ()
        rules = self.rules.get(node, ())
        if finding.scope and not rules and not self.bind:  # the If is rewritten as a whole
            rules = self.of_holder.get(node[0], ())
        chosen = finding.scope or not rules
        options = bind_options(self.bind) if chosen else ()
        needed = (each for nodes, each in self.needs if node in nodes)
        return (*options, *chain.from_iterable(needed), *rules)
