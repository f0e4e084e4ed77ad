"""Start-up: what the common commands load, and how often Python looks for cycles meanwhile."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from onnx import TensorProto, helper

from atc_py.fix.rule import PRECISE, Purpose, load_rules

_COUNT = """
import gc, json, sys
from atc_py.cli.start import main
def looks():
    return sum(each["collections"] for each in gc.get_stats())
before = looks()
try:
    main()
except SystemExit as error:
    assert not error.code, error.code
made = {
    id(each)
    for name, module in list(sys.modules.items())
    if name.startswith("atc_py")
    for each in vars(module).values()
    if isinstance(each, type) and "__dataclass_fields__" in vars(each)
}
loaded = [name for name, each in sys.modules.items() if type(each).__name__ != "_LateModule"]
print("\\n" + json.dumps([sorted(loaded), looks() - before, len(made)]))
"""


class Outcome(NamedTuple):
    """What a command loaded.

    Attributes:
        modules: names of the modules.
        looks: how often Python looked for cycles.
        dataclasses: atc-py's dataclasses, each of which is compiled when its module is loaded.
    """

    modules: set[str]
    looks: int
    dataclasses: int


def outcome_of(arguments: list[str]) -> Outcome:
    """Return what a command loads."""
    command = [sys.executable, "-c", _COUNT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules, *counts = json.loads(done.stdout.splitlines()[-1])
    return Outcome(set(modules), *counts)


def counts_of(arguments: list[str]) -> tuple[int, int]:
    """Return how many modules a command loads, and how many of them are atc-py's."""
    modules = outcome_of(arguments).modules
    return len(modules), sum(name.startswith("atc_py") for name in modules)


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model of a few common operators."""
    value = helper.make_tensor_value_info
    weights = helper.make_tensor("w", TensorProto.FLOAT, (4, 3, 3, 3), [0.125] * 108)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Transpose", ["r"], ["y"], perm=[0, 2, 3, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [value("x", TensorProto.FLOAT, (1, 3, 8, 8))],
        [value("y", TensorProto.FLOAT, (1, 8, 8, 4))],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)
    path = tmp_path_factory.mktemp("start_up") / "small.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_collector_of_cycles_hardly_runs_while_modules_load(small_model: Path) -> None:
    assert outcome_of(["check", str(small_model)]).looks <= 5


_END = """
import atexit, sys
from atc_py.cli.start import main
class Part:
    def __del__(self):
        print("taken apart")
part = Part()
atexit.register(print, "registered before")
try:
    main()
finally:
    atexit.register(print, "registered after")
    print("ended")
"""


@pytest.mark.parametrize(("arguments", "status"), [(["--version"], 0), (["nonsense"], 2)])
def test_ending_takes_nothing_apart(arguments: list[str], status: int) -> None:
    command = [sys.executable, "-c", _END, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert done.stdout.splitlines()[-2:] == ["ended", "registered after"]


def test_error_after_the_command_ends_as_python_ends() -> None:
    code = _END.replace("part = Part()", "import atc_py.cli.main as m; m.main = lambda: 1 / 0")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert done.stdout.splitlines() == ["ended", "registered after", "registered before"]


def test_help_loads_little() -> None:
    modules, ours = counts_of(["--help"])
    assert modules <= 130
    assert ours <= 13


def test_launcher_of_a_program_loads_no_numpy() -> None:
    assert "numpy" not in outcome_of(["exec", "--", "true"]).modules


def test_check_loads_what_a_small_model_needs(small_model: Path) -> None:
    modules, ours = counts_of(["check", str(small_model)])
    assert modules <= 600
    assert ours <= 250


def test_fix_of_nothing_neither_writes_nor_runs(small_model: Path) -> None:
    modules = outcome_of(["fix", str(small_model)]).modules
    assert "atc_py.fix.engine" in modules
    assert modules.isdisjoint(
        {"atc_py.compare.proof.fix_form", "atc_py.pipeline.compile", "jinja2", "onnx.reference", "onnxruntime"}
    )  # fmt: skip
    # Of the rules, only those of float16 concern nodes that the list takes.
    pages = {name for name in modules if name.startswith("atc_py.fix.rules.")}
    assert pages <= {PRECISE}
    assert "numpy.random" not in modules
    others = {
        rule.apply.__module__
        for rule in load_rules().values()
        if Purpose.PRECISION in rule.purposes
    }
    assert others == {PRECISE}


def test_convert_loads_what_a_small_model_needs(small_model: Path, tmp_path: Path) -> None:
    modules, ours = counts_of(["convert", str(small_model), "-o", str(tmp_path / "small.om")])
    assert modules <= 550
    assert ours <= 280


def test_convert_loads_what_one_node_needs(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    x, y = (value(name, TensorProto.FLOAT, (1, 4, 8, 8)) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)
    path = tmp_path / "relu.onnx"
    path.write_bytes(model.SerializeToString())
    _, ours = counts_of(["convert", str(path), "-o", str(tmp_path / "relu.om")])
    assert ours <= 251


@pytest.mark.parametrize(("command", "most"), [("--help", 0), ("check", 0), ("convert", 0)])
def test_few_dataclasses_are_compiled(
    command: str, most: int, small_model: Path, tmp_path: Path
) -> None:
    model = [] if command == "--help" else [str(small_model)]
    output = ["-o", str(tmp_path / "small.om")] if command == "convert" else []
    assert outcome_of([command, *model, *output]).dataclasses <= most


def test_usage_of_atc_loads_little() -> None:
    modules, ours = counts_of(["atc", "--help"])
    assert modules <= 185
    assert ours <= 56


@pytest.mark.parametrize("command", ["check", "convert"])
def test_sound_model_loads_no_remedies(command: str, small_model: Path, tmp_path: Path) -> None:
    output = ["-o", str(tmp_path / "small.om")] if command == "convert" else []
    loaded = outcome_of([command, str(small_model), *output]).modules
    spared = ("atc_py.fix.engine", "atc_py.pipeline.proposal.search", "xml.etree", "onnxruntime")
    assert loaded.isdisjoint(spared)


@pytest.mark.parametrize("command", ["run", "info", "profile", "kernels"])
def test_offline_model_loads_neither_onnx_nor_readers_of_huawei(
    command: str, small_model: Path, tmp_path: Path
) -> None:
    model = tmp_path / "small.om"
    assert not outcome_of(["convert", str(small_model), "-o", str(model)]).modules.isdisjoint(
        {"onnx.onnx_ml_pb2"}
    )
    random = ["--seed", "1"] if command == "run" else []
    modules = outcome_of([command, str(model), *random]).modules
    assert modules.isdisjoint(
        {
            "onnx.onnx_ml_pb2",
            "google.protobuf",
            "atc_py.package.ge",
            "atc_py.pipeline.huawei.opening",
            "atc_py.check",
        }
    )
    assert sum(name.startswith("atc_py") for name in modules) <= 170


@pytest.mark.parametrize(
    "command", ["check", "compare", "convert", "kernels", "profile", "report", "run", "sweep"]
)
def test_help_loads_no_numpy(command: str) -> None:
    assert "numpy" not in outcome_of([command, "--help"]).modules
