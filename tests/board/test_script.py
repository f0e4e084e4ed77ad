"""The script of a kit on the stand-in for CANN: a whole run, what is missing, what goes wrong."""

import ast
import json
import os
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from atc_py.adapters.board.checks import BENCH_CHECK
from atc_py.adapters.board.comparing import compare_kit
from atc_py.adapters.board.layout import BoardResults, BoardRun, HostFacts
from atc_py.results.board import CheckState
from tests.board.conftest import pack, request, residual_model
from tests.board.loop import faults_of
from tests.board.standin.dump_file import DumpedTensor, device_layout, dump_bytes
from tests.board.standin.host import EMPTY_OM, Host, with_atc, without

ROOT = Path(__file__).resolve().parents[2]
OLD_PYTHON = os.environ.get("ATC_PY_OLD_PYTHON", "")
"""A Python 3.7 or 3.8 with numpy, for the whole run."""

DAMAGED, MISSING = 4, 3


def files_below(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return Host(tmp_path_factory.mktemp("host"), cann="2022", python=OLD_PYTHON or sys.executable)


def states(kit: Path) -> Iterator[tuple[str, str, str]]:
    with zipfile.ZipFile(kit / "results.zip") as archive:
        done = msgspec.json.decode(archive.read("results.json"), type=BoardResults)
    return ((step.name, step.state, step.message) for step in done.steps)


def test_script_is_python_3_7() -> None:
    text = (ROOT / "templates/board/run_on_board.py").read_text("utf-8")
    ast.parse(text, feature_version=(3, 7))
    imported = {
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    known = {
        "acl", "argparse", "ctypes", "glob", "hashlib", "importlib.util", "json", "numpy", "os", "platform",
        "re", "shlex", "shutil", "subprocess", "sys", "time", "typing", "zipfile",
    }  # fmt: skip
    assert imported == known


def test_whole_run_brings_back_what_the_kit_expects(kit: Path, host: Host) -> None:
    before = files_below(kit)
    done = host.run(kit, "--variant", "force_fp16")
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(faults_of(kit, "force_fp16")) == []
    after = files_below(kit)
    new = {name for name in after if name not in before}
    assert {name: after[name] for name in before} == before
    assert {name.split("/")[0] for name in new} == {"results", "results.zip"}
    assert list(Path(host.variables["HOME"]).iterdir()) == []
    with zipfile.ZipFile(kit / "results.zip") as archive:
        names = archive.namelist()
        facts = msgspec.json.decode(archive.read("host/facts.json"), type=HostFacts)
        run = msgspec.json.decode(archive.read("force_fp16/plain/s0/run.json"), type=BoardRun)
        results = msgspec.json.decode(archive.read("results.json"), type=BoardResults)
    assert (facts.soc, facts.soc_source, facts.cann) == ("Ascend310P3", "acl", "8.0.0")
    assert len(run.milliseconds) == 3
    assert not [name for name in names if name.endswith((".om", ".onnx")) or "plog" in name]
    assert [each.path for each in results.models] == ["force_fp16/om/residual_force_fp16.om"]
    dumped = [name.split("/")[4:] for name in names if name.startswith("force_fp16/dump/s0/tree/")]
    assert {tuple(parts[1:4]) for parts in dumped} == {("0", "residual_force_fp16", "1")}
    assert {parts[4] for parts in dumped} == {"0"}  # one execution
    (table,) = (name for name in names if "/op_summary" in name)
    assert (kit / "results" / table).read_text().startswith("Model Name,Model ID,")

    again = host.run(kit, "--variant", "force_fp16", "--with-model")
    assert again.returncode == 0
    assert again.stdout.count("done before") == len(results.steps)
    with zipfile.ZipFile(kit / "results.zip") as archive:
        assert "force_fp16/om/residual_force_fp16.om" in archive.namelist()


def test_commands_are_shown_and_nothing_is_run(kit: Path, host: Host) -> None:
    before = files_below(kit)
    done = host.run(kit, "--dry-run", "--variant", "force_fp16")
    assert done.returncode == 0
    assert files_below(kit) == before
    commands = [line for line in done.stdout.splitlines() if line.startswith("ASCEND_")]
    assert len(commands) == 6
    folder = kit.resolve()
    model = f"atc --framework=5 --model={folder}/model.onnx"
    assert model in commands[1]
    assert f"--om={folder}/results/force_fp16/om/residual_force_fp16.om" in commands[2]
    assert "'--application=" in commands[5]


def test_missing_parts_of_the_host_are_named(kit: Path, tmp_path: Path) -> None:
    host = Host(tmp_path / "bare")
    without(host, "acl")
    without(host, "msprof")
    with_atc(host, EMPTY_OM)
    steps = [word for kind in ("host", "atc", "plain", "msprof") for word in ("--step", kind)]
    done = host.run(kit, "--variant", "force_fp16", *steps)
    assert done.returncode == MISSING
    found = {name: (state, message) for name, state, message in states(kit)}
    assert found["host"][0] == found["force_fp16/atc"][0] == "done"
    state, message = found["force_fp16/plain/s0"]
    assert state == "missing"
    assert "no module acl: source set_env.sh" in message
    assert found["force_fp16/msprof/s0"] == (
        "missing",
        "no command msprof: source set_env.sh of CANN first; a host with the runtime alone has none",
    )
    facts = json.loads((kit / "results/host/facts.json").read_text())
    assert (facts["soc"], facts["soc_source"]) == ("Ascend310P3", "npu-smi")


def test_chinese_is_spoken_and_records_are_english(kit: Path, tmp_path: Path) -> None:
    host = Host(tmp_path / "bare")
    without(host, "acl")
    with_atc(host, EMPTY_OM)
    host.variables["LANG"] = "zh_CN.UTF-8"
    steps = [word for kind in ("atc", "plain") for word in ("--step", kind)]
    done = host.run(kit, "--variant", "force_fp16", *steps)
    assert done.returncode == MISSING
    lines = [line for line in done.stdout.splitlines() if "$" not in line]
    assert not [line for line in lines if not re.search("[\u4e00-\u9fff]", line)]
    assert "缺少组件：退出码 3：没有模块 acl：请先 source CANN 的 set_env.sh" in done.stdout
    (message,) = (message for name, _, message in states(kit) if "plain" in name)
    assert message.startswith("exit status 3: no module acl: source set_env.sh")
    assert "只打印命令，不运行" in host.run(kit, "--help").stdout
    (kit / "results.zip").unlink()
    (kit / "results.zip.new").mkdir()
    done = host.run(kit, "--step", "host")
    assert done.returncode == 1
    assert "无法写入" in done.stdout


def test_step_without_an_om_is_skipped_and_a_failed_step_is_tried_again(
    kit: Path, tmp_path: Path
) -> None:
    host = Host(tmp_path / "late")
    with_atc(host, "echo E10001: Value for --soc_version is invalid; exit 255")
    words = ["--variant", "force_fp16", "--step", "atc", "--step", "plain"]
    assert host.run(kit, *words).returncode == 1
    assert list(states(kit)) == [
        ("force_fp16/atc", "failed", "exit status 255: E10001: Value for --soc_version is invalid"),
        ("force_fp16/plain/s0", "skipped", "there is no .om: force_fp16/atc is not done"),
    ]
    with_atc(host, EMPTY_OM)
    assert host.run(kit, *words[:4]).returncode == 0
    assert next(states(kit)) == ("force_fp16/atc", "done", "")


def test_damaged_kit_is_not_run(kit: Path, host: Host) -> None:
    np.save(kit / "inputs/s0/0.npy", np.zeros((1, 3, 8, 8), np.float32))
    (kit / "model.onnx").unlink()
    done = host.run(kit)
    assert done.returncode == DAMAGED
    assert "inputs/s0/0.npy is not the file that was packed" in done.stdout
    assert "model.onnx is missing" in done.stdout
    assert not (kit / "results").exists()


def test_unknown_variant_is_a_wrong_call(kit: Path, host: Host) -> None:
    done = host.run(kit, "--variant", "float")
    assert (done.returncode, done.stdout) == (2, "the kit has no variant float\n")


def test_gears_run_and_faults_of_the_stand_in_show(tmp_path: Path) -> None:
    keywords = {"input_shape": "x:-1,3,8,8", "batch_sizes": "1,2"}
    done = pack(residual_model("n"), tmp_path, request(), **keywords)
    host = Host(tmp_path / "host", cann="2026", fault="layer:dense,second", soc="Ascend310B1")
    run = host.run(done.folder, "--step", "host", "--step", "atc", "--step", "dump")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "warning: this host has Ascend310B1, the kit is for Ascend310P3" in run.stdout
    for name, batch in (("g0-s0", 1), ("g1-s0", 2)):
        own = np.load(done.folder / f"results/force_fp16/dump/{name}/0.npy")
        wanted = np.load(done.folder / f"expected/force_fp16/{name}/0.npy")
        assert own.shape == wanted.shape == (batch, 5)
        assert np.abs(own - (wanted / 2 + 0.25)).max() < 0.01
    tree = done.folder / "results/force_fp16/dump/g0-s0/tree"
    assert {path.name for path in tree.glob("*/0/*/1/*")} == {"0", "1"}


def test_dump_of_the_stand_in_is_laid_out_as_described() -> None:
    """The first bytes are a length, the last ones the values in the layout of the device."""
    values = np.arange(2 * 3 * 2 * 2, dtype=np.float16).reshape(2, 3, 2, 2)
    stored = device_layout(values, "NC1HWC0", (2, 1, 2, 2, 16))
    assert np.array_equal(stored[:, 0, ..., :3].transpose(0, 3, 1, 2), values)
    assert not stored[..., 3:].any()
    data = np.ascontiguousarray(stored).tobytes()
    row = DumpedTensor(data, "float16", "NC1HWC0", (2, 1, 2, 2, 16), (2, 3, 2, 2), "conv", 0)
    file = dump_bytes("conv/relu", 5, [row])
    (length,) = struct.unpack("<Q", file[:8])
    assert file[8 + length :] == data
    assert b"\x32\x09conv/relu" in file[8 : 8 + length]
    matrix = np.arange(20 * 17, dtype=np.float16).reshape(20, 17)
    blocks = device_layout(matrix, "FRACTAL_NZ", (2, 2, 16, 16))
    assert blocks[1, 1, 3, 0] == matrix[19, 16]


def test_help_needs_nothing_of_cann(kit: Path, host: Host) -> None:
    done = subprocess.run(
        [host.python, kit / "run_on_board.py", "--help"], capture_output=True, text=True, check=True
    )
    assert "--with-model" in done.stdout
    assert "--child" not in done.stdout


def test_outputs_of_ais_bench_are_held_beside_those_of_pyacl(kit: Path, tmp_path: Path) -> None:
    own = Host(tmp_path / "host", fault="bench", bench=True)
    steps = ("host", "atc", "plain", "ais-bench", "msprof")
    words = (f"--step={each}" for each in steps)
    assert own.run(kit, *words, "--variant=force_fp16").returncode == 0
    (done,) = compare_kit(kit, kit / "results.zip").report.comparisons
    (check,) = (each for each in done.checks if each.name == BENCH_CHECK)
    assert (check.state, check.detail) == (CheckState.FAILS, "different: y")
    assert done.times is not None
    assert done.times.bench_seconds is not None
