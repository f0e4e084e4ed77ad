"""docs/adding-an-operator.md is followed: its files are put where it says, and the operator runs."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.check.findings import Standing
from atc_py.diag.codes import DTYPE_NOT_LISTED, NOT_LOWERED
from atc_py.spec import library
from atc_py.spec.lists import operator_lists
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from tests.device.tolerances import assert_close
from tests.end_to_end import one_node_model
from tests.onnx_graph import onnx_files
from tests.sampling import sampled
from tests.test_layers import layer_violations
from tests.test_style import size_faults

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "adding-an-operator.md").read_text(encoding="utf-8")
FILE = re.compile(r"^`(?P<name>[^`\n]+)`\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = "try_mish.py"
MOST_PLACES = 5
"""Places that a new function of each element with a complete kernel stub touches."""

FILES = {found["name"]: found["text"] for found in FILE.finditer(PAGE)}
CODE = {name: text for name, text in FILES.items() if name.startswith("atc_py/")}

RUN = """\
import sys
import numpy as np
import atc_py
for name in sys.argv[1:]:
    atc_py.convert(f"{name}.onnx", f"{name}.om", op_specs="my_specs", verify=True,
                   precision_mode="must_keep_origin_dtype")
    with atc_py.load(f"{name}.om") as model:
        np.save(f"{name}.out.npy", model.run({"x": np.load(f"{name}.npy")})["y0"])
"""
"""Converts and runs models of the working folder."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with the page's files in their places.

    Bytecode is copied as well, without the files that another process is about to rename.
    """
    root = tmp_path_factory.mktemp("tree")
    written = shutil.ignore_patterns("*.pyc.*")
    for folder in ("atc_py", "op_specs", "templates"):
        shutil.copytree(ROOT / folder, root / folder, ignore=written)
    for name, text in FILES.items():
        path = root / name
        assert not path.exists()
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def python(tree: Path, *arguments: str) -> str:
    """Return Python's output in the copy, from which it imports atc_py."""
    variables: Mapping[str, str] = {**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# What the page holds ----------------------------------------------------------------------------


def test_page_adds_one_file_of_each_kind_and_no_more() -> None:
    assert sorted(Path(name).parent.as_posix() for name in FILES) == [
        ".",
        "atc_py/device/sim/kernels",
        "atc_py/lowering/ops",
        "atc_py/target/rows",
        "my_specs",
        "templates/kernels/functions",
    ]
    assert len(FILES.keys() - {SCRIPT}) <= MOST_PLACES
    for name, decorator in (("lowering/ops", "lowering"), ("device/sim/kernels", "kernel")):
        tree = ast.parse(CODE[f"atc_py/{name}/mish.py"])
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        (call,) = (ast.unparse(each) for node in functions for each in node.decorator_list)
        assert call.startswith(f"{decorator}(")
    assert CODE["atc_py/target/rows/mish.py"].count("operator(") == 1


def test_operator_is_not_there_without_the_page() -> None:
    for each in operator_lists():
        assert library(each.name).find("Mish") is None
    assert find_operator("Mish") is None
    assert find_operator("Threshold") is not None


@pytest.mark.parametrize("name", CODE)
def test_code_of_the_page_keeps_the_rules_of_the_house(name: str) -> None:
    module = Path(name).with_suffix("").as_posix().removeprefix("atc_py/").replace("/", ".")
    assert size_faults(CODE[name]) == []
    assert layer_violations(module, CODE[name]) == []


# What it does -----------------------------------------------------------------------------------


def test_script_prints_what_the_page_shows(tree: Path) -> None:
    printed = python(tree, SCRIPT)
    assert f"It prints `{printed.strip()}`." in PAGE


def test_commands_print_what_the_page_shows(tree: Path) -> None:
    python(tree, SCRIPT)
    shown = [part for found in CONSOLE.finditer(PAGE) for part in found["text"].split("$ ")[1:]]
    assert len(shown) == 3
    for part in shown:
        line, _, output = part.partition("\n")
        command, *arguments = shlex.split(line)
        assert command == "atc-py"
        assert python(tree, "-m", "atc_py", *arguments) == output


SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 20.0, 90.0, -20.0, -90.0]


def test_operator_gives_what_onnx_gives(tree: Path) -> None:
    numbers = np.random.default_rng(5).standard_normal(240) * 4
    expected = {}
    for opset, dtype in ((18, np.float16), (18, np.float32), (18, np.float64), (19, np.float32)):
        x = np.concatenate([numbers, SPECIAL]).astype(dtype).reshape(3, 83)
        name = f"{np.dtype(dtype).name}_{opset}"
        model = one_node_model("Mish", {"x": x}, opset)
        onnx.save(model, tree / f"{name}.onnx")
        np.save(tree / f"{name}.npy", x)
        wide = x if dtype is np.float64 else x.astype(np.float64)
        with np.errstate(invalid="ignore"):
            expected[name] = wide * np.tanh(np.logaddexp(0, wide))
    python(tree, "-c", RUN, *expected)
    for name, y in expected.items():
        found = np.load(tree / f"{name}.out.npy")
        assert_close(found, y, DType(name.partition("_")[0]))


@pytest.mark.parametrize("mode", sampled(["force_fp16"], ["must_keep_origin_dtype"]))
def test_kernel_stub_is_complete_and_agrees_with_the_simulator(tree: Path, mode: str) -> None:
    x = np.zeros((3, 83), np.float32)
    model = one_node_model("Mish", {"x": x}, 18)
    onnx.save(model, tree / "stub.onnx")
    options = ["--op-specs", "my_specs", "--precision-mode", mode]
    common = ["-m", "atc_py", "kernels", "stub.onnx", *options]
    listed = json.loads(python(tree, *common, "--format", "json"))
    (found,) = (each for each in listed["kernels"] if each["op"] == "Mish")
    assert (found["family"], found["complete"], found["numbers"]) == ("activation", True, "close")
    (line,) = (each for each in python(tree, *common, "--verify").splitlines() if "mish_" in each)
    assert {"equal", "close"} & set(line.split())


def test_rules_of_a_specification_without_a_lowering_are_checked(tmp_path: Path) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    text = FILES["my_specs/mish.yaml"].replace(", float64", "")
    (specs / "mish.yaml").write_text(text, encoding="utf-8")
    for dtype, code in ((np.float32, NOT_LOWERED), (np.float64, DTYPE_NOT_LISTED)):
        x = np.zeros((2, 3), dtype)
        path = onnx_files.save(one_node_model("Mish", {"x": x}, 18), tmp_path)
        (check,) = atc_py.check_models(path, op_specs=specs).models
        assert [found.code for found in check.findings] == [code]
        (without,) = atc_py.check_models(path).models
        assert without.standing is Standing.ERROR
