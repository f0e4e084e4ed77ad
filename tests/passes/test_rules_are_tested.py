"""Every rule of fusion has its three tests: it fires, it does not and says why, numbers stay.

Tests are known by their names, and the passes that they test by what they mention: in themselves,
or in tables and functions of their module that they use.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from atc_py.passes.pipeline import PIPELINE
from tests.failures import in_one_item

TESTS = Path(__file__).parent
RULES = sorted(
    row.class_name for row in PIPELINE if row.optional and row.place.startswith("fusion/")
)

NUMBERS = re.compile(r"numbers?_stay|keeps?_(the|its)_numbers|same_bits|same_numbers|bit_by_bit")
REFUSES = re.compile(r"left_alone|stays?(_|$)|says?_why|apart|(is|are)_not|nothing_is")


@cache
def written_tests(source: str) -> tuple[tuple[str, set[str]], ...]:
    """A module's test functions, and all names that each mentions, directly or not."""
    return tuple(_written_tests(source))


def _written_tests(source: str) -> Iterator[tuple[str, set[str]]]:
    mentions: dict[str, set[str]] = {}
    for statement in ast.parse(source).body:
        names = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name)}
        for name in _defined(statement):
            mentions.setdefault(name, set()).update(names)
    for name in [name for name in mentions if name.startswith("test_")]:
        reached, todo = set[str](), [name]
        while todo:
            fresh = mentions.get(todo.pop(), set()) - reached
            reached |= fresh
            todo += fresh
        yield name, reached


def _defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of a module gives a meaning."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def kinds_of(rule: str, sources: list[str]) -> set[str]:
    """Return the kinds, of the three tests, that a rule has."""
    found = set()
    for source in sources:
        for name, mentioned in written_tests(source):
            if rule in mentioned:
                found |= kinds_of_name(name)
    return found


def kinds_of_name(test: str) -> set[str]:
    """Return a test's kinds, by its name: `test_what_fires_and_numbers_stay` has two."""
    if NUMBERS.search(test):
        return {"numbers stay"} | ({"fires"} if "_and_numbers_stay" in test else set())
    return {"refuses"} if REFUSES.search(test) else {"fires"}


SOURCES = [path.read_text(encoding="utf-8") for path in sorted(TESTS.glob("test_*.py"))]


@in_one_item("rule", RULES)
def test_rule_has_a_test_that_it_fires_that_it_does_not_and_that_numbers_stay(rule: str) -> None:
    assert kinds_of(rule, SOURCES) == {"fires", "refuses", "numbers stay"}


def test_rules_are_those_of_the_pipeline() -> None:
    assert {"FuseSoftmaxPass", "MergeElemwisePass", "MergeReshapesPass"} <= set(RULES)
    assert len(RULES) >= 18


def test_rule_without_one_of_the_tests_is_found() -> None:
    source = """
FORMS = {"a": APass, "b": BPass}
def fused(): return BPass
def test_a_is_found(): FORMS
def test_b_is_left_alone(): fused()
"""
    assert kinds_of("APass", [source]) == {"fires"}
    assert kinds_of("BPass", [source]) == {"fires", "refuses"}
