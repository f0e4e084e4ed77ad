"""A few models with one number made huge; `make huge` tries more."""

from pathlib import Path

import pytest

from tests.fuzz.huge import HugeTrial, huge_model, load_commands, try_huge
from tests.fuzz.trial import Step
from tests.sampling import sampled

SEED, COUNT = 2, 40


@pytest.mark.parametrize("number", sampled([0, 1], range(2, COUNT)))
def test_no_command_takes_more_than_its_limit(number: int, tmp_path: Path) -> None:
    load_commands()
    path = tmp_path / "model.onnx"
    case = huge_model(SEED, number)
    path.write_bytes(case.data)
    failures = [trial.failure for trial in try_huge(path) if trial.failure]
    assert failures == [], case.label


def test_case_is_the_same_whenever_it_is_made() -> None:
    assert huge_model(SEED, 4) == huge_model(SEED, 4)
    assert len({huge_model(SEED, number).data for number in range(9)}) == 9


def test_memory_beyond_the_limit_is_a_failure() -> None:
    assert HugeTrial(Step("check", 0, ()), 100, 1.0).failure == ""
    assert "took 900 MiB" in HugeTrial(Step("check", 0, ()), 900, 1.0).failure
