"""Rules that remove deviations: what they write means the same in ONNX and on CANN."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.check.parser_rules import is_of_model
from atc_py.fix.cann import _pads
from atc_py.fix.rule import load_rules
from tests.deviations.case import DeviationCase, all_cases
from tests.deviations.test_deviations import MODE, ROWS, agree
from tests.end_to_end import run_with_atc_py
from tests.sampling import some

_NO_OPERATOR_OF_ONNX = "the operator is not ONNX's own, so that no engine could prove another form"

_OTHER_CLASSES = "no other operator draws classes by their probabilities"

NOT_REMOVED = {
    "AscendDequant/factors-computed": _NO_OPERATOR_OF_ONNX,
    "AscendDequant/factors-in-a-row": _NO_OPERATOR_OF_ONNX,
    "AveragePool/same-beyond-end": "no engine runs a pool with such pads, so that none could prove "
    "another form",
    "BatchMatMul/adj-x1-ignored": _NO_OPERATOR_OF_ONNX,
    "BatchMatMul/adj-x2-ignored": _NO_OPERATOR_OF_ONNX,
    "BatchMultiClassNMS/coordinate-frame-ignored": _NO_OPERATOR_OF_ONNX,
    "BatchMultiClassNMS/transpose-box-ignored": _NO_OPERATOR_OF_ONNX,
    "Cast/bfloat16-refused": "no other operator of ONNX makes bfloat16 of another dtype",
    "LpPool/same-beyond-end": "as of AveragePool",
    "Multinomial/one-sample": _OTHER_CLASSES,
    "Multinomial/seed-cut-to-0": _OTHER_CLASSES,
    "Multinomial/seed-ignored": _OTHER_CLASSES,
    "DeformableConv2D/four-numbers-refused": _NO_OPERATOR_OF_ONNX,
}
"""Rows that no rule removes, and why."""


UNDECIDED: dict[tuple[str, int | str], frozenset[str]] = {
    # Positions are computed from regions: a check does not know that none is negative.
    ("RoiAlign/mode-is-avg", 5): frozenset({"Gather/cann/negative-indices"})
}
"""Deviations that new forms may meet by values of a run, which they do not."""


@cache
def removed_rows() -> frozenset[str]:
    named = {name for rule in load_rules().values() for name in rule.deviations}
    return frozenset(named | {name for name, row in ROWS.items() if row.restated})


REMOVED = tuple(each for each in all_cases() if each.row in removed_rows())
SAMPLED = some(REMOVED, 8)


@pytest.mark.parametrize(("auto_pad", "larger_first"), [("SAME_UPPER", True), ("", False)])
def test_larger_half_of_a_padding_is_where_the_parser_puts_it(
    auto_pad: str, *, larger_first: bool
) -> None:
    context: Any = SimpleNamespace(text=lambda _name, _default: auto_pad)
    halves = [[1, 1, 2], [0, 1, 1]]
    first, last = halves if larger_first else halves[::-1]
    assert _pads(context, [1, 2, 3]) == [*first, *last]


def test_every_row_has_a_rule_or_a_reason() -> None:
    assert removed_rows() <= ROWS.keys()
    assert removed_rows() | NOT_REMOVED.keys() == ROWS.keys()
    assert not removed_rows() & NOT_REMOVED.keys()
    assert all(NOT_REMOVED.values())


def deviations_of(path: Path, case: DeviationCase) -> set[str]:
    """Return the rules of the findings about nodes on CANN; cases of constants have no inputs."""
    (model,) = atc_py.check_models(
        path,
        precision_mode=MODE,
        cann=case.generation,
        operator_list=case.operator_list,
        soc=case.soc,
    ).models
    assert not model.faults
    return {each.rule for each in model.findings if each.certainty and not is_of_model(each)}


@pytest.mark.parametrize("case", SAMPLED, ids=lambda each: f"{each.row}-{each.generation}")
def test_the_new_form_means_the_same_under_both_semantics(
    case: DeviationCase, tmp_path: Path
) -> None:
    model, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(case.hit.model(), model)
    options: dict[str, Any] = {
        "precision_mode": MODE,
        "operator_list": case.operator_list,
        "cann": case.generation,
        "soc": case.soc,
    }
    data = tmp_path / "feeds.npz"  # what indices may select is not known of every input
    arrays: dict[str, Any] = case.hit.feeds
    np.savez(data, **arrays)
    given = [str(data)] if case.hit.feeds else []
    found = atc_py.fix_model(model, fixed, for_cann=True, data=given, **options)
    undecided = UNDECIDED.get((case.row, case.generation), frozenset())
    assert deviations_of(fixed, case) == undecided
    assert bool([each for each in found.left if each.node is not None]) is bool(undecided)
    expected = case.onnx_result
    written = onnx.load(fixed)
    for semantics in ("onnx", "cann"):
        (result, *_) = run_with_atc_py(
            written, case.hit.feeds, tmp_path, semantics=semantics, **options
        ).values()
        assert agree(result, expected), semantics


@pytest.mark.parametrize("case", SAMPLED, ids=lambda each: f"{each.row}-{each.generation}")
def test_the_check_names_the_rule(case: DeviationCase, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(case.hit.model(), path)
    (model,) = atc_py.check_models(
        path,
        precision_mode=MODE,
        cann=case.generation,
        operator_list=case.operator_list,
        soc=case.soc,
    ).models
    operator, name = case.row.split("/")
    (finding,) = (each for each in model.findings if each.rule == f"{operator}/cann/{name}")
    rules = load_rules()
    named = any(case.row in rules[each].deviations for each in finding.fixed_by)
    assert named is not ROWS[case.row].restated
    assert ("states the model" in finding.help.en) is ROWS[case.row].restated
