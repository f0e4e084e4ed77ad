"""Samples hold what they say, and the whole sweep holds every case."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.sampling import WHOLE, alternating, examples, sampled

ROOT = Path(__file__).resolve().parents[1]


def _split(cases: list[Any]) -> tuple[list[object], list[object]]:
    """Return values that are tried always, and those that are swept."""
    return (
        [case.values for case in cases if not case.marks],
        [case.values for case in cases if [mark.name for mark in case.marks] == ["sweep"]],
    )


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WHOLE, "1")


@pytest.mark.usefixtures("whole")
def test_tuples_are_values_of_several_parameters() -> None:
    assert _split(sampled(["a"], [1, (2,)])) == ([("a",)], [(1,), (2,)])
    assert _split(sampled([("a", 1), ((3, 4),)], [])) == ([("a", 1), ((3, 4),)], [])


def test_sample_has_no_swept_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WHOLE, raising=False)
    assert _split(sampled(["a"], ["b"])) == ([("a",)], [])


@pytest.mark.usefixtures("whole")
def test_alternating_cases_are_each_tried_once_and_swept_in_the_other_ways() -> None:
    always, swept = _split(alternating(["a", "b", "c"], [1, 2]))
    assert always == [("a", 1), ("b", 2), ("c", 1)]
    assert swept == [("a", 2), ("b", 1), ("c", 2)]


def test_whole_sweep_has_all_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WHOLE, raising=False)
    assert [examples(count).max_examples for count in (100, 40, 8)] == [10, 4, 4]
    monkeypatch.setenv(WHOLE, "1")
    assert [examples(count).max_examples for count in (100, 40, 8)] == [100, 40, 8]
    assert settings().derandomize
    assert settings().deadline is None


@pytest.mark.parametrize(("expression", "count"), [([], 2), (["-m", ""], 8)])
def test_marker_expression_chooses_the_sample_or_the_whole(
    expression: list[str], count: int, tmp_path: Path
) -> None:
    test = tmp_path / "test_one.py"
    test.write_text(
        "import pytest\n"
        "from tests.sampling import examples, sampled\n"
        "@pytest.mark.parametrize('case', sampled('ab', 'cdefgh'))\n"
        "def test(case):\n"
        f"    assert examples(100).max_examples == (10 if {not expression} else 100)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *expression]
    place = ["--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
    conftest = ["--confcutdir", str(ROOT), "-p", "tests.conftest", str(test)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, *place, *conftest], env=env, capture_output=True, text=True, check=False
    )
    assert f"{count} passed" in done.stdout, done.stdout + done.stderr
