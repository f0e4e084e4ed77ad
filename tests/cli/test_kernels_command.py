"""`atc-py kernels`: the list, the project on disk, and verification with its exit statuses."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.system.cache_folders import templates_dir
from tests.cli.conftest import Result, small_model
from tests.kernels.families.conftest import builds as builds
from tests.kernels.families.conftest import quick_builds as quick_builds

Atc = Callable[..., Result]


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Return two rectifiers of two shapes, a sum, and an operator that is left to write.

    All results are returned, so that nothing is launched together.
    """
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Add", ["a", "x"], ["b"], name="sum"),
        helper.make_node("Flatten", ["b"], ["c"], name="flat"),
        helper.make_node("Relu", ["c"], ["d"], name="second"),
        helper.make_node("TopK", ["b", "k"], ["y", ""], name="left"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT16, [2, 3, 5, 7])
    outputs = [
        helper.make_tensor_value_info("a", TensorProto.FLOAT16, [2, 3, 5, 7]),
        helper.make_tensor_value_info("d", TensorProto.FLOAT16, [2, 105]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT16, [2, 3, 5, 2]),
    ]
    count = numpy_helper.from_array(np.array([2]), "k")
    graph = helper.make_graph(nodes, "net", [x], outputs, [count])
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """Return a folder of templates with one of its own."""
    folder = tmp_path / "templates"
    folder.mkdir()
    return folder


def _changed(folder: Path, old: str, new: str) -> None:
    """Put a template for unary operators there whose text differs from the built-in one's."""
    own = templates_dir() / "kernels" / "elementwise.cpp.j2"
    text = own.read_text(encoding="utf-8")
    assert old in text
    (folder / own.name).write_text(text.replace(old, new), encoding="utf-8")


def test_list_tells_nodes_state_plan_and_buffers(atc: Atc, model: str) -> None:
    done = atc("kernels", model)
    assert done.status == 0
    assert done.out.startswith("3 kernels for sim, 2 complete, computing 4 nodes\n")
    lines = {line.split()[1]: line.split() for line in done.out.splitlines()[4:7]}
    assert lines["Relu"][2:4] == ["complete", "2"]
    assert lines["TopK"][2] == "skeleton"
    assert "tile_count" in done.out
    assert re.search(r" KiB  ub 1% +tile_count", done.out)


def test_nodes_that_are_launched_together_are_one_kernel(atc: Atc, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"], name="product"),
        helper.make_node("Relu", ["a"], ["b"], name="rectifier"),
        helper.make_node("Add", ["b", "r"], ["y"], name="residual"),
    ]
    infos = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape)
        for name, shape in {"x": [3, 5], "w": [3, 5], "r": [3, 5], "y": [3, 5]}.items()
    }
    graph = helper.make_graph(nodes, "net", [infos["x"], infos["w"], infos["r"]], [infos["y"]])
    opsets = [helper.make_opsetid("", 13)]
    path = tmp_path / "fused.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    done = atc("kernels", str(path))
    assert done.out.startswith("1 kernel for sim, 1 complete, computing 3 nodes\n")
    (kernel,) = atc("kernels", str(path), "--format", "json").json["kernels"]
    assert kernel["op"] == "Mul+Relu+Add"
    assert [link["reads"] for link in kernel["links"]] == [[None], [None, "then2_x2"]]
    assert kernel["rows"][0]["read_bytes"] == 2 * (3 * 5 + 3 * 5 + 3 * 5)
    verified = atc("kernels", "--verify", str(path))
    assert verified.status == 0


def test_json_has_plans_bytes_and_buffers(atc: Atc, model: str) -> None:
    listed = atc("kernels", model, "--format", "json").json
    assert listed["buffers"]["ub"] == 256 * 1024
    (relu,) = [each for each in listed["kernels"] if each["op"] == "Relu"]
    assert [row["read_bytes"] for row in relu["rows"]] == [420, 420]
    assert relu["numbers"] == "exact"
    assert [port["position"] for port in relu["inputs"]] == [0]
    assert sum(each["bytes"] for each in relu["rows"][0]["buffers"]) <= listed["buffers"]["ub"]


def test_offline_model_lists_what_its_source_does(atc: Atc, model: str) -> None:
    assert atc("convert", model, "-o", "m.om").status == 0
    assert atc("kernels", "m.om").out == atc("kernels", model).out


def test_project_on_disk_builds_by_itself(atc: Atc, model: str, tmp_path: Path) -> None:
    done = atc("kernels", model, "--output", str(tmp_path / "out"))
    assert done.status == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"CMakeLists.txt", "host", "host_kernels.cpp", "kernels.json"} <= names
    (folder,) = (tmp_path / "out").glob("relu*")
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "Complete, of the family *unary*" in page
    (left,) = (tmp_path / "out").glob("top_k*")
    assert "Left to write" in (left / "README.md").read_text(encoding="utf-8")


def test_verify_tells_what_is_equal_and_what_is_left(atc: Atc, model: str) -> None:
    done = atc("kernels", "--verify", model)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "3 equal, 1 skeleton"


@pytest.mark.usefixtures("quick_builds")
def test_verify_says_how_far_close_results_are_apart(atc: Atc, tmp_path: Path) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT16, [64, 64]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Softplus", ["x"], ["y"])], "g", [x], [y])
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "s.onnx")
    (row,) = atc("kernels", "--verify", tmp_path / "s.onnx", "--json").json["kernels"]
    assert row["result"] == "close"
    assert 0 < row["ulps"] <= 1


@pytest.mark.usefixtures("quick_builds")
def test_verify_finds_other_numbers(atc: Atc, model: str, templates: Path) -> None:
    _changed(templates, "    const uint32_t count = tile.count;", _halved())
    done = atc("kernels", "--verify", model, "--templates", str(templates))
    assert done.status == 4
    assert "ATC7014 kernel-differs" in done.err
    assert "the simulator has" in done.err
    assert "differ" in done.out


def _halved() -> str:
    """Return computes half of a tile."""
    return "    const uint32_t count = tile.count / 2;"


@pytest.mark.usefixtures("quick_builds")
def test_verify_finds_what_the_hardware_would_punish(atc: Atc, model: str, templates: Path) -> None:
    _changed(templates, "    {{ port.name }}Queue_.FreeTensor({{ port.name }});\n", "")
    done = atc("kernels", "--verify", model, "--templates", str(templates))
    assert done.status == 4
    assert "ATC7013 kernel-fault" in done.err
    assert ".cpp:" in done.err
    assert "queue leak" in done.err


@pytest.mark.usefixtures("quick_builds")
def test_verify_survives_a_kernel_that_ends_the_program(
    atc: Atc, model: str, templates: Path
) -> None:
    _changed(
        templates,
        "    const uint32_t count = tile.count;",
        "    __builtin_trap();\n" + "    const uint32_t count = tile.count;",
    )
    done = atc("kernels", "--verify", model, "--templates", str(templates))
    assert done.status == 4
    assert done.err.count("ATC7013 kernel-fault") == 3
    assert "it ended the program with status" in done.err


@pytest.mark.usefixtures("quick_builds")
def test_verify_tells_which_kernel_does_not_compile(atc: Atc, model: str, templates: Path) -> None:
    text = (templates_dir() / "kernels" / "formulas.j2").read_text(encoding="utf-8")
    broken = text.replace("{{ op | instruction }}({{ y }}, {{ x }}", "Nonsense({{ y }}, {{ x }}")
    assert broken != text
    (templates / "formulas.j2").write_text(broken, encoding="utf-8")
    done = atc("kernels", "--verify", model, "--templates", str(templates), "--format", "json")
    assert done.status == 4
    results = {each["op"]: each["result"] for each in done.json["kernels"]}
    assert results == {"Relu": "not built", "Add": "equal", "TopK": "skeleton"}


def test_verify_without_a_compiler_says_so(
    atc: Atc, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    done = atc("kernels", "--verify", model)
    assert done.status == 4
    assert "error[ATC7011 no-cpp-compiler]: no C++ compiler was found" in done.err


def test_verify_with_a_compiler_that_is_not_there_names_it(
    atc: Atc, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "nonsense++ -O2")
    done = atc("kernels", "--verify", model)
    assert done.status == 4
    assert "CXX names 'nonsense++'" in done.err


@pytest.mark.parametrize("command", ["kernels", "convert"])
def test_folder_of_templates_that_is_not_there_is_refused(
    atc: Atc, model: str, command: str
) -> None:
    done = atc(command, model, "--templates", "nowhere")
    assert done.status != 0
    assert "there is no folder of templates 'nowhere'" in done.err


COMMANDS = ("check", "convert", "compare", "kernels", "profile", "quantize", "info", "run")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["pipe.om", "pipe.onnx"])
def test_pipe_is_refused_unopened(atc: Atc, tmp_path: Path, command: str, name: str) -> None:
    os.mkfifo(tmp_path / name)
    done = atc(command, name, *(("-o", "new") if command == "convert" else ()))
    assert done.status == 3
    output = done.out if command == "check" else done.err
    assert "error[ATC2002" in output
    assert f"cannot read {name}: it is a pipe, a device or a socket, not a file" in output
    assert "help: save its content as a file" in output


@pytest.mark.parametrize("command", COMMANDS)
def test_model_of_huawei_s_own_format_is_reported(atc: Atc, tmp_path: Path, command: str) -> None:
    (tmp_path / "m.om").write_bytes(b"IMOD" + bytes(1000))
    done = atc(command, "m.om", *(("-o", "new") if command == "convert" else ()))
    assert done.status == (2 if command == "compare" else 3)
    said = dict.fromkeys(("check", "convert", "quantize"), "Huawei's own")
    said["compare"] = "--reference"
    assert said.get(command, "error[ATC5006 bad-huawei-model]") in done.out + done.err
    assert "protobuf" not in done.out + done.err


@pytest.mark.parametrize("command", ["kernels", "profile", "info", "run"])
def test_file_that_is_called_an_offline_model_is_held_to_that(
    atc: Atc, tmp_path: Path, command: str
) -> None:
    (tmp_path / "m.om").write_text("some text")
    done = atc(command, "m.om")
    assert (done.status, done.err[:14]) == (3, "error[ATC5001 ")
    assert "neither a zip archive, which offline models are, nor an ONNX model" in done.err
    onnx.save(small_model(), tmp_path / "m.om")
    assert atc(command, "m.om").status == (3 if command == "run" else 0)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["gone.onnx", "folder", "file/below.onnx"])
def test_missing_file_has_one_code_in_every_command(
    atc: Atc, tmp_path: Path, command: str, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    done = atc(command, name)
    assert done.status == 3
    # A folder is one of models for `check`, and refused before any is checked.
    shown = done.out if command == "check" and name != "folder" else done.err
    assert "error[ATC2001" in shown
    assert f"cannot read {name}: " in done.out + done.err


def test_file_that_is_not_a_model_is_refused(atc: Atc, tmp_path: Path) -> None:
    (tmp_path / "bad.om").write_bytes(b"PK\x03\x04 broken")
    assert atc("kernels", str(tmp_path / "bad.om")).status == 3
    assert atc("kernels", str(tmp_path / "none.om")).status == 3
    assert atc("kernels", str(tmp_path / "none.onnx")).status == 3


@pytest.mark.parametrize("option", ["--sanitize", "--trust"])
def test_option_of_verify_alone_is_refused(atc: Atc, model: str, option: str) -> None:
    done = atc("kernels", model, option)
    assert done.status == 2
    assert f"{option} needs --verify" in done.err


@pytest.mark.parametrize(
    "arguments",
    [("--soc", "Ascend310P3"), ("--precision-mode", "force_fp16"), ("--input-shape", "x:1")],
)
def test_option_of_compilation_is_refused_for_an_offline_model(
    atc: Atc, model: str, arguments: tuple[str, str]
) -> None:
    assert atc("convert", model, "-o", "done").status == 0
    for command in ("kernels", "profile"):
        done = atc(command, "done.om", *arguments)
        if (command, arguments[0]) == ("profile", "--soc"):
            assert "applies to compiling" not in done.err  # which SoC is estimated for
            continue
        assert done.status == 2
        assert f"{arguments[0]} applies to compiling an ONNX model" in done.err
        assert atc(command, model, *arguments[:0]).status == 0
