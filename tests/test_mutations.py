"""The mutations fit the package, and the tests that they name are there."""

from pathlib import Path

from tests.failures import Failures
from tests.mutation_list import MUTATIONS, Mutation
from tests.mutations import place_of, try_mutations

TESTS = Path(__file__).parent


def test_each_mutation_has_its_place_and_its_tests() -> None:
    assert len(MUTATIONS) >= 60
    with Failures() as failures:
        for mutation in MUTATIONS:
            with failures.of(mutation.old.strip()):
                assert mutation.old != mutation.new
                assert place_of(mutation).is_file()
                assert [
                    each for each in mutation.tests.split() if not (TESTS / each).exists()
                ] == []


def test_mutation_is_caught_or_survives_and_is_taken_back(tmp_path: Path) -> None:
    for folder in ("atc_py", "op_specs", "templates", "tests", "docs", ".ci"):
        (tmp_path / folder).mkdir()
    for name in ("pyproject.toml", "README.md", "Makefile", "LICENSE"):
        (tmp_path / name).touch()
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    (tmp_path / "atc_py" / "__init__.py").touch()
    (tmp_path / "atc_py" / "one.py").write_text("HERE, THERE = 1, 2\n")
    test = "from atc_py.one import HERE\n\ndef test_here():\n    assert HERE == 1\n"
    (tmp_path / "tests" / "test_one.py").write_text(test)
    changes = {"1, ": "5, ", "HERE, ": "GONE, ", ", 2": ", 6", "4": "7"}
    chosen = [Mutation(old, new, "test_one.py") for old, new in changes.items()]
    found = list(try_mutations(tmp_path, chosen))
    wanted = ["caught", "caught", "survived", "'4' occurs 0 times"]
    assert [each.verdict for each in found] == wanted
    assert found[0].first.startswith("FAILED tests/test_one.py::test_here")
    assert found[1].first.startswith("ERROR tests/test_one.py")
    assert {each.place for each in found} == {"atc_py/one.py", "?"}
