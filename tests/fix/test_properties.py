"""Every rule fits random cases of its kind, and what it writes computes the same."""

from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.fix.rule import Exactness, Purpose, load_rules
from tests.fix.cases import write_case
from tests.fix.draws import all_draws
from tests.sampling import rounds, some

RULES = load_rules()
DRAWS = all_draws()

_OF_MODEL = {"the graph must have inputs"}
"""What is left of models that are one node without inputs."""


def test_every_rule_has_random_cases() -> None:
    missing = sorted(RULES.keys() - DRAWS.keys())
    assert missing == [], "add a function with `@draws(name)` for each to a page of tests/fix/draws"
    left = sorted(DRAWS.keys() - RULES.keys())
    assert left == [], "no rule has these names: remove their functions from tests/fix/draws"


@pytest.mark.parametrize("name", some(DRAWS, 6))
def test_random_cases_are_fixed(name: str, tmp_path: Path) -> None:
    """Each case that the list refuses becomes one that it takes; the proof raises if it differs."""
    approximate = RULES[name].exactness is Exactness.APPROXIMATE
    fired = 0
    for seed in rounds(3, 60):
        case = DRAWS[name](np.random.default_rng([seed, 7]))
        model = write_case(case, tmp_path / "case.onnx")
        done = atc_py.fix_model(
            model,
            tmp_path / "fixed.onnx",
            approximate=approximate,
            ranges=case.ranges,
            simulate=False,
            operator_list=case.operator_list,
            strict_list=True,
            for_cann=RULES[name].purposes == {Purpose.CANN},
            cann=case.cann,
            seeds=1,
        )
        left = [each for each in done.left if each.message not in _OF_MODEL]
        assert not left, (seed, case, left)
        fired += any(name in each.rules for each in done.rewrites)
    assert fired
