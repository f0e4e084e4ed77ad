"""Every rule fits its example, which is then on the list and computes the same, and not its near miss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import atc_py
from atc_py.fix.registry import load_rules
from atc_py.fix.rule import Exactness, Purpose
from tests.fix.cases import write_case

if TYPE_CHECKING:
    from pathlib import Path

    from atc_py.fix.rule import FixRule
    from atc_py.results.fixing import Fixing

RULES = tuple(load_rules().values())


def fixed(rule: FixRule, path: Path, case: str) -> Fixing:
    """Fix a case of a rule; rules of other names may go on with what it writes."""
    given = getattr(rule, case)
    model = write_case(given, path / f"{case}.onnx")
    approximate = rule.exactness is Exactness.APPROXIMATE
    return atc_py.fix_model(
        model,
        path / "fixed.onnx",
        approximate=approximate,
        ranges=given.ranges,
        operator_list=given.operator_list,
        strict_list=True,
        for_cann=rule.purposes == {Purpose.CANN},
        cann=given.cann,
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_examples_are_fixed_and_near_misses_are_not(rule: FixRule, tmp_path: Path) -> None:
    """The example becomes a listed form that computes the same; the near miss is not touched."""
    done = fixed(rule, tmp_path, "example")
    refused = Purpose.LISTS in rule.purposes
    assert (done.errors[0] > 0) is refused, "the list takes the example as it is"
    assert (done.errors[1], done.left) == (0, ())
    assert rule.name in done.rewrites[0].rules
    # Where nothing is left of a region, its results are outputs of others.
    assert done.rewrites[0].difference is not None or not done.rewrites[0].after
    assert done.outputs
    if rule.near_miss is None:
        return
    missed = fixed(rule, tmp_path, "near_miss")
    assert all(rule.name not in each.rules for each in missed.rewrites)
