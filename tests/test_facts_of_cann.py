"""Each fact in facts_of_cann.txt has tests that fail without it."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.check.findings import Standing
from atc_py.spec import library
from atc_py.spec.lists import releases
from tests.deviations.case import all_cases
from tests.onnx_graph import onnx_files
from tests.parser_models import MODELS

ROOT = Path(__file__).resolve().parents[1]
COUNTS = {
    "parser": 13, "releases": 15, "rows": 15, "ascend950": 6, "aipp": 8, "options": 6, "quantized": 9,
}  # fmt: skip
"""Facts of each group."""


def facts() -> dict[tuple[str, int], list[str]]:
    """Return the tests of each fact."""
    found = {}
    for line in (Path(__file__).parent / "facts_of_cann.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            place, _, tests = line.split(" | ")
            group, number = place.split()
            found[group, int(number)] = tests.split("; ")
    return found


@cache
def names_of_tests(file: str) -> frozenset[str]:
    """Return the names of the tests of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def is_there(test: str) -> bool:
    """Return True for a test, a case or a model that there is."""
    kind, _, name = test.partition(" ")
    if kind == "rule":
        return name in {each.split()[0] for each in MODELS}
    if kind == "row":
        return name in {case.row for case in all_cases()}
    file, _, function = test.partition("::")
    return (ROOT / file).is_file() and (function in names_of_tests(file) if function else True)


def test_every_fact_has_tests() -> None:
    counts: dict[str, list[int]] = defaultdict(list)
    for group, number in facts():
        counts[group].append(number)
    assert counts == {group: list(range(1, count + 1)) for group, count in COUNTS.items()}
    assert [test for tests in facts().values() for test in tests if not is_there(test)] == []


@pytest.mark.parametrize(("op", "indices"), [("ScatterElements", [2, 3]), ("ScatterND", [2, 1])])
def test_reductions_of_scatters_are_refused(op: str, indices: list[int], tmp_path: Path) -> None:
    """Plugins of one release drop reduction, those of the next hand it on."""
    updates = [2, 3]
    ports: onnx_files.Ports = {
        "x": (TensorProto.FLOAT, [2, 3]),
        "i": (TensorProto.INT64, indices),
        "u": (TensorProto.FLOAT, updates),
    }
    node = helper.make_node(op, ["x", "i", "u"], ["y"], reduction="add")
    path = onnx_files.save(onnx_files.model([node], ports, ["y"], opsets={"": 16}), tmp_path)
    for name in ("base", "cann-9.0"):
        (check,) = atc_py.check_models(path, operator_list=name).models
        assert any(each.standing is Standing.ERROR for each in check.findings), name


def test_training_norms_are_refused(tmp_path: Path) -> None:
    """Plugins up to 9.1 compute with the given statistics, those of 9.2 hand training_mode on."""
    names = ["s", "b", "m", "v"]
    ports: onnx_files.Ports = {
        "x": (TensorProto.FLOAT, [1, 3, 4, 4]),
        **{name: (TensorProto.FLOAT, [3]) for name in names},
    }
    node = helper.make_node(
        "BatchNormalization", ["x", *names], ["y", "mean", "variance"], training_mode=1
    )
    model = onnx_files.model([node], ports, ["y"], opsets={"": 15})
    path = onnx_files.save(model, tmp_path)
    (check,) = atc_py.check_models(path).models
    assert any(each.standing is Standing.ERROR for each in check.findings)


def test_boxes_have_no_plugin_in_the_first_tag() -> None:
    spec = library().find("NonMaxSuppression")
    assert spec is not None
    page = (ROOT / "docs" / "deviations.md").read_text(encoding="utf-8")
    part = page.partition("## NonMaxSuppression\n")[2].partition("\n## ")[0]
    assert "CANN 8, 8.5: none" in part
    assert "CANN 9.0, 9.1, 9.2: 10-18" in part


def test_releases_are_those_of_the_tags() -> None:
    assert {"8.5", "9.0", "9.1", "9.2"} <= {each.name for each in releases()}
