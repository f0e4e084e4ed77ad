"""Mutants are drawn where code decides, and are caught, survive and are taken back."""

import os
import subprocess
import sys
from pathlib import Path

from tests.mutant_sites import chosen_mutants, mutants_of

ROOT = Path(__file__).resolve().parents[1]

MODULE = '''
LIMIT = 3 + 4

def bounded(value: int, most: int = 7, *, strict: bool = False) -> int:
    """A docstring with 1 < 2."""
    if not strict and value in range(most):
        return max(value, 0)
    raise ValueError(f"{value + 1} is beyond {Text('a', n=1)}")
'''

TESTS = """
from atc_py.room.one import bounded

def test_bounded():
    assert [bounded(value) for value in (0, 6)] == [0, 6]
"""


def test_mutants_are_of_expressions_that_decide() -> None:
    texts = {(one.kind, one.old, one.new) for one in mutants_of(MODULE, Path("one.py"))}
    assert texts == {
        ("default", "7", "8"),
        ("default", "False", "True"),
        ("guard", "not strict and value in range(most)", "False"),
        ("and or", "not strict and value in range(most)", "(not strict or value in range(most))"),
        ("not", "not strict", "(strict)"),
        ("comparison", "value in range(most)", "(value not in range(most))"),
        ("min max", "max(value, 0)", "(min(value, 0))"),
        ("constant", "0", "(1)"),
        ("constant", "0", "(-1)"),
    }


def test_mutants_are_caught_or_survive_and_are_taken_back(tmp_path: Path) -> None:
    for folder in ("atc_py/room", "op_specs", "templates", "tests", "docs", ".ci"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("README.md", "Makefile", "LICENSE"):
        (tmp_path / name).touch()
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    (tmp_path / "atc_py" / "room" / "one.py").write_text(MODULE)
    (tmp_path / "tests" / "test_one.py").write_text(TESTS)
    command = [sys.executable, "-m", "tests.mutants", "--rooms", "room", "--tree", str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for _ in range(2):  # the second run has nothing to do
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[2].split() == ["all", "6", "3", "0"], done.stdout
    assert {*lines[5::3]} == {"  + 8", "  + (-1)", "  + (not strict or value in range(most))"}
    assert (tmp_path / "out/mutants/tree/atc_py/room/one.py").read_text() == MODULE


def test_chosen_mutants_have_their_place_and_their_tests() -> None:
    chosen = [*chosen_mutants(ROOT)]
    assert len(chosen) >= 60
    for mutant, tests in chosen:
        assert mutant.old != mutant.new
        assert [test for test in tests if not (ROOT / "tests" / test).exists()] == []
