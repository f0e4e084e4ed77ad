"""docs/contributing.md, docs/changelog.md, `.github` and the hooks agree with what they speak of."""

import re
from typing import Any

import pytest
import yaml

import atc_py
from tests import sampling
from tests.adapters.exec import conftest as programs
from tests.check import conftest as listed
from tests.conformance import test_conformance, test_node_cases, test_onnx_backend_runner
from tests.device.ort import conftest as emulations
from tests.kernels import conftest as kernels
from tests.lowering import conftest as lowering
from tests.tested_versions import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def document(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_contributing_names_what_is_there() -> None:
    text = page("contributing")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
    paths = re.findall(r"`((?:\.ci|\.github|atc_py|docs|op_specs|tests)[\w/.-]*)`", text)
    assert len(paths) > 12
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    ("tests", "shares"),
    [
        ("properties", [sampling.SHARE]),
        ("`tests/lowering`", [lowering.SHARE]),
        ("`tests/device/ort`", [emulations.SHARE]),
        ("`tests/kernels/families`", [kernels.OF_TESTS, kernels.OF_CASES]),
        (
            "`tests/conformance`",
            [test_conformance.OF_CASES, test_onnx_backend_runner.SHARE, test_node_cases.SHARE],
        ),
        ("`tests/check`", [listed.SHARE]),
        ("`tests/adapters/exec`", [programs.SHARE]),
    ],
)
def test_contributing_states_the_shares_of_samples(tests: str, shares: list[int]) -> None:
    (row,) = re.findall(rf"^\| {tests}.*", page("contributing"), re.MULTILINE)
    stated = [int(share) for share in re.findall(r"\b1 (?:\w+ )?in (\d+)", row)]
    assert stated[-len(shares) :] == shares


def test_changelog_begins_with_this_version() -> None:
    versions = re.findall(r"^## (\d+\.\d+\.\d+)", page("changelog"), re.MULTILINE)
    assert versions[0] == atc_py.__version__
    assert versions == sorted(versions, key=lambda each: tuple(map(int, each.split("."))))[::-1]


def test_workflow_calls_what_decides_on_every_python() -> None:
    (job,) = document(".github/workflows/ci.yml")["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    versions = job["strategy"]["matrix"]["python"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">={versions[0]}"' in project
    assert versions == ["3.10", "3.11", "3.12", "3.13"]


def test_issue_form_asks_for_the_check_and_the_versions() -> None:
    form = document(".github/ISSUE_TEMPLATE/bug.yml")
    needed = {
        field["id"]: field["attributes"]
        for field in form["body"]
        if field.get("validations", {}).get("required")
    }
    assert set(needed) == {"what", "check", "versions"}
    assert "atc-py check MODEL --json" in needed["check"]["label"]
    assert "atc-py --version" in needed["versions"]["description"]
    request = (ROOT / ".github/pull_request_template.md").read_text(encoding="utf-8")
    assert {"`atc-py check MODEL --json`", "`atc-py --version`"} <= set(
        re.findall("`[^`]+`", request)
    )


def test_hooks_run_what_make_check_runs_but_for_the_wheel() -> None:
    (local,) = document(".pre-commit-config.yaml")["repos"]
    hooks = [core(hook["entry"].replace(".venv/bin/", "")) for hook in local["hooks"]]
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe
    *lines, last = recipe[1].splitlines()
    assert "tests.check_wheel" in last
    assert hooks == [core(line.replace("$(BIN)/", "")) for line in lines]


def core(line: str) -> list[str]:
    """The words of a command but those that say which files and whether to change them."""
    return [word for word in line.split() if word not in {".", "--check", "--force-exclude"}]
