"""Versions that are installed for the tests: all of them exact, and the record of those tried."""

import re

from tests import tested_versions
from tests.tested_versions import ROOT

CONSTRAINTS = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8")


def test_each_requirement_has_an_exact_version() -> None:
    project = tested_versions._pyproject()["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    wanted = {re.split(r"[>\[]", line)[0] for line in (*project["dependencies"], *extras)}
    lines = [line for line in CONSTRAINTS.splitlines() if line and not line.startswith("#")]
    exact = [re.fullmatch(r"([a-z0-9-]+)==[\w.]+(; python_version .*)?", line) for line in lines]
    assert all(exact), lines
    names = {found[1] for found in exact if found}
    assert {name.lower().replace("_", "-") for name in wanted} - names == {"atc-py"}


def test_each_requirement_has_a_lower_bound() -> None:
    bounds = tested_versions._lower_bounds()
    assert all(re.fullmatch(r"[\w-]+==[\d.]+(; .*)?", line) for line in bounds), bounds


def test_result_replaces_that_of_its_name_alone() -> None:
    text = tested_versions._with_section("# Head\n", "latest", "first")
    text = tested_versions._with_section(text, "oldest", "second")
    text = tested_versions._with_section(text, "latest", "third")
    assert text == "# Head\n\n## oldest\n\nsecond\n\n## latest\n\nthird\n"


def test_files_of_the_sample_are_there() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    files = re.findall(r"tests/\S+\.py", script)
    assert len(files) > 5
    assert [name for name in files if not (ROOT / name).is_file()] == []
