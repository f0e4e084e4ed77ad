"""Rules that would remove the errors of a model, named in its check; nothing is run or written."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.check.findings import Standing
from atc_py.options.fix_rules import FixRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.check.findings import ModelCheck
    from atc_py.frontend.reading.onnx_file import OnnxFile
    from atc_py.pipeline.proposal.judging import Judge, Judgment
    from atc_py.tensor.shapes import Shape

__all__ = ["with_fixes"]


def with_fixes(
    check: ModelCheck,
    file: OnnxFile,
    judge: Judge,
    shapes: Mapping[str, Shape],
    known: Judgment | None = None,
) -> ModelCheck:
    """Return a check whose errors name the rules that remove them.

    A model without an error that a rule knows, or with faults of its own, is returned as it is.

    Args:
        check: the check of the file.
        file: the file that was checked.
        judge: the operator list, precision mode and SoC.
        shapes: dims of inputs that the model leaves open, by name.
        known: the same file folded and checked with these shapes; None where that is still to do.
    """
    errors = [each for each in check.findings if each.standing is Standing.ERROR]
    if check.faults or not errors:
        return check
    # Rules take time to import, which checks of sound models need not spend.
    from atc_py.fix.engine import Fixer
    from atc_py.fix.registry import load_rules
    from atc_py.fix.start import Start

    refused = {each.place.op_type or "" for each in errors}
    rules_for_lists = (rule for rule in load_rules().values() if not rule.precision)
    fixable = {name.rpartition("::")[2] for rule in rules_for_lists for name in rule.operators}
    if refused.isdisjoint(fixable):
        return check
    start = None if known is None else Start.of(known.survey.folded, known.checked)
    found = Fixer(file, judge.conditions, judge.specs, FixRules(for_precision=False), start).fix(
        shapes
    )
    left = {
        each.place.node for each in found.after.check.findings if each.standing is Standing.ERROR
    }
    rules: dict[int, dict[str, None]] = defaultdict(dict)
    for applied in found.applied if found.settled else ():
        rules[applied.node.index][applied.rule.name] = None
    findings = (
        replace(each, fixed_by=tuple(rules[each.place.node]))
        if each.standing is Standing.ERROR and each.place.node in rules.keys() - left
        else each
        for each in check.findings
    )
    return replace(check, findings=tuple(findings))
