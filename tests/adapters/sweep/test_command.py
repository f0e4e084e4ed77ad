"""`atc-py sweep`: the grid, its table in all forms, verdicts, resuming, limits and faults."""

import csv
import errno
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from atc_py.system import atomic_files
from tests.cli.conftest import Result, small_model
from tests.sampling import sampled

Atc = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("base_list")

ROOT = Path(__file__).resolve().parents[3]
TABLES = ("table.jsonl", "table.csv", "index.html")


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of the JSON lines."""
    return [json.loads(line) for line in (folder / "table.jsonl").read_text().splitlines()]


def tables(folder: Path) -> dict[str, bytes]:
    """Return the bytes of the tables."""
    return {name: (folder / name).read_bytes() for name in TABLES}


@pytest.mark.usefixtures("here")
def test_grid_has_a_row_for_each_combination(atc: Atc, zoo: Path, tmp_path: Path) -> None:
    args = ("--soc", "sim,Ascend310P3", "--precision-mode", "force_fp16,allow_fp32_to_fp16")
    done = atc("sweep", zoo, *args, "--profile", "--compare", 1, "--jobs", 2, "-o", "out")
    assert done.status == 1, done.err
    rows = rows_of(tmp_path / "out")
    grid = [(row["model"], row["soc"], row["precision_mode"]) for row in rows]
    assert grid == [
        (model, soc, mode)
        for model in ("conv", "inner/conv", "junk", "norm")
        for soc in ("sim", "Ascend310P3")
        for mode in ("force_fp16", "allow_fp32_to_fp16")
    ]
    verdicts = {row["model"]: row["verdict"] for row in rows}
    assert verdicts == {
        "conv": "compiles",
        "inner/conv": "compiles",
        "junk": "cannot be read",
        "norm": "does not compile",
    }
    sound = rows[0]
    assert (sound["list"], sound["standing"], sound["reasons"]) == ("base", "supported", {})
    assert sound["file_bytes"] > 0
    assert sound["memory_bytes"] > 0
    assert 0 < sound["estimated_seconds"] < 1
    assert 0.999 < sound["cosine"] <= 1
    assert [each["name"] for each in sound["outputs"]] == [sound["worst_output"]] == ["y"]
    refused = rows[-1]
    assert refused["reasons"] == {"ATC3001": 1}
    assert refused["message"] == "LayerNormalization is not on the operator list"
    assert refused["cosine"] is None
    for row in rows:
        if row["model"] == "junk":
            assert row["report"] is None
            assert row["reasons"] == {"ATC2003": 1}
            continue
        page = (tmp_path / "out" / row["report"]).read_text(encoding="utf-8")
        assert page.startswith("<!DOCTYPE html>")
        assert row["path"] in page
    assert "16 rows: 8 compile, 4 cannot be read, 4 do not compile\n" in done.out
    assert "table: out/index.html" in done.out


@pytest.mark.usefixtures("here")
def test_csv_has_the_columns_of_the_lines(atc: Atc, zoo: Path, tmp_path: Path) -> None:
    (zoo / "junk.onnx").rename(zoo / "=cmd.onnx")
    atc("sweep", zoo, "--jobs", 1, "--no-reports", "-o", "out")
    text = (tmp_path / "out" / "table.csv").read_bytes().decode("utf-8")
    found = list(csv.DictReader(io.StringIO(text)))
    rows = rows_of(tmp_path / "out")
    assert [each["model"].lstrip("'") for each in found] == [row["model"] for row in rows]
    assert found[0]["model"] == "'=cmd"  # no formula
    assert found[-1]["reasons"] == "ATC3001:1"
    assert set(found[0]) == {*rows[0]} - {"outputs"}
    assert not list((tmp_path / "out" / "reports").iterdir())
    with (tmp_path / "out" / "measured.csv").open(newline="") as file:
        assert [float(row["seconds"]) >= 0 for row in csv.DictReader(file)] == [True] * 4


@pytest.mark.usefixtures("here")
def test_fix_and_json(atc: Atc, zoo: Path, tmp_path: Path) -> None:
    done = atc("sweep", zoo / "norm.onnx", zoo / "conv.onnx", "--fix", "--json", "-o", "out")
    assert done.status == 0, done.err
    assert done.json["verdicts"] == {"compiles": 2}
    assert (done.json["rows"], done.json["kept"], done.json["diagnostics"]) == (2, 0, [])
    assert [row["fixed"] for row in rows_of(tmp_path / "out")] == [True, False]


@pytest.mark.usefixtures("here")
def test_each_model_takes_the_shapes_of_its_own_inputs(atc: Atc, zoo: Path, tmp_path: Path) -> None:
    onnx.save(small_model(free=True), zoo / "open.onnx")
    models = (zoo / "open.onnx", zoo / "conv.onnx")
    assert atc("sweep", *models, "-o", "out").status == 1
    other = small_model(free=True)
    other.graph.input[0].name = other.graph.node[0].input[0] = "image"
    onnx.save(other, zoo / "image.onnx")
    shapes = "x:1,3,8,8;image:2,3,8,8"
    done = atc("sweep", *models, zoo / "image.onnx", "--input-shape", shapes, "-o", "out")
    assert done.status == 0, (tmp_path / "out" / "table.csv").read_text()


@pytest.mark.usefixtures("here")
def test_samples_of_each_model_have_its_name(atc: Atc, zoo: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "inner" / "conv").mkdir(parents=True)
    np.save(data / "conv.npy", np.ones((2, 3, 8, 8), np.float32))
    np.save(data / "inner" / "conv" / "one.npy", np.ones((1, 3, 8, 9), np.float32))
    models = tmp_path / "two"
    zoo.rename(models)
    (models / "junk.onnx").unlink()
    (models / "norm.onnx").unlink()
    done = atc("sweep", models, "--compare", data, "-o", "out")
    fits, other = rows_of(tmp_path / "out")
    assert fits["cosine"] > 0.99, done.err
    assert other["verdict"] == "compiles"
    assert other["cosine"] is None
    assert list(other["reasons"].values()) == [1]
    assert "[1, 3, 8, 9]" in other["message"] or "9" in other["message"]


@pytest.mark.usefixtures("here")
def test_finished_rows_are_kept_by_what_they_follow_from(
    atc: Atc, zoo: Path, tmp_path: Path
) -> None:
    args = ("sweep", zoo, "--jobs", 1, "-o", "out")
    first = atc(*args)
    before = tables(tmp_path / "out")
    again = atc(*args, "--json")
    assert (again.status, again.json["kept"]) == (first.status, 4)
    assert tables(tmp_path / "out") == before
    onnx.save(small_model(operator="Tanh"), zoo / "conv.onnx")
    assert atc(*args, "--json").json["kept"] == 3
    assert atc(*args, "--profile", "--json").json["kept"] == 0
    assert atc(*args, "--json").json["kept"] == 4  # those without --profile are still there
    pages = [row["report"] for row in rows_of(tmp_path / "out") if row["report"]]
    assert len(set(pages)) == 3
    assert len([*(tmp_path / "out" / "reports").iterdir()]) == 3 + 1 + 3  # each has its own page
    damaged = sorted((tmp_path / "out" / "rows").iterdir())
    for each in damaged:
        each.write_bytes(each.read_bytes()[:40])
    assert atc(*args, "--json").json["kept"] == 0


def test_pipe_and_device_are_rows_that_cannot_be_read(atc: Atc, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "zero.onnx").symlink_to("/dev/zero")
    done = atc("sweep", "pipe.onnx", "zero.onnx", "--jobs", 1, "--seconds", 60, "-o", "out")
    assert done.status == 1
    assert [row["verdict"] for row in rows_of(tmp_path / "out")] == ["cannot be read"] * 2


@pytest.mark.usefixtures("here")
def test_weights_beside_a_model_count(atc: Atc, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(small_model(), path, save_as_external_data=True, location="m.bin", size_threshold=0)
    atc("sweep", path, "--jobs", 1, "-o", "out")
    weights = tmp_path / "m.bin"
    weights.write_bytes(bytes(len(weights.read_bytes())))
    assert atc("sweep", path, "--jobs", 1, "-o", "out", "--json").json["kept"] == 0


def test_row_that_hangs_says_so_and_is_tried_again_with_other_limits(
    atc: Atc, zoo: Path, tmp_path: Path
) -> None:
    args = ("sweep", zoo / "conv.onnx", "--jobs", 1, "-o", "out")
    done = atc(*args, "--seconds", 0.001, "--lang", "en")
    assert done.status == 4
    (row,) = rows_of(tmp_path / "out")
    assert row["verdict"] == "timed out"
    assert row["message"] == "the task did not end within 0.001 seconds and was stopped"
    assert "ATC7073 sweep-row-failed]: the row timed out: the task did not end" in done.err
    assert "conv sim force_fp16 base" in done.err
    assert atc(*args, "--seconds", 0.001, "--json").json["kept"] == 1
    assert atc(*args, "--seconds", 0.001, "--retry", "--json").json["kept"] == 0
    last = atc(*args, "--json")
    assert (last.status, last.json["kept"]) == (0, 0)
    assert atc(*args, "--seconds", 0.001, "--json").json["kept"] == 1  # it has ended before


def test_row_that_exceeds_its_memory_says_so(atc: Atc, zoo: Path, tmp_path: Path) -> None:
    big = small_model()
    big.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 1 << 12
    big.graph.input[0].type.tensor_type.shape.dim[3].dim_value = 1 << 12
    onnx.save(big, zoo / "big.onnx")
    done = atc("sweep", zoo / "big.onnx", "--compare", 1, "--max-memory", "32M", "-o", "out")
    assert done.status == 4, done.err
    (row,) = rows_of(tmp_path / "out")
    assert row["verdict"] == "out of memory"


@pytest.mark.usefixtures("zoo")
@pytest.mark.parametrize(
    ("number", "status"), sampled([(signal.SIGKILL, -9)], [(signal.SIGTERM, 143)])
)
def test_stopped_sweep_goes_on_where_it_was(
    atc: Atc, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    args = ["sweep", "zoo", "--soc", "sim,Ascend310P3", "--jobs", "1", "-o"]
    atc(*args, "whole")
    process = subprocess.Popen(
        [sys.executable, "-m", "atc_py", *args, "killed"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    rows = tmp_path / "killed" / "rows"
    until = time.monotonic() + 60
    while not rows.exists() or len([*rows.glob("*.json")]) < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait() == status
    assert not (tmp_path / "killed" / "index.html").exists()
    done = atc(*args, "killed", "--json")
    assert 2 <= done.json["kept"] <= 8
    assert tables(tmp_path / "killed") == tables(tmp_path / "whole")
    left = [each.name for each in (tmp_path / "killed").rglob(".*")]
    assert left == []


def test_full_disk_is_a_diagnostic_and_leaves_whole_rows(
    atc: Atc, zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0
    write = atomic_files._Output.write

    def full(self: Any, data: Any, /) -> int:
        nonlocal written
        written += len(data)
        if written > 300_000:
            with atomic_files._refusals(self._path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, data)

    args = ("sweep", zoo, "--soc", "sim,Ascend310P3", "--jobs", 1, "-o", "out")
    with monkeypatch.context() as patch:
        patch.setattr(atomic_files._Output, "write", full)
        done = atc(*args)
    assert done.status == 3
    assert "error[ATC2007 cannot-write-output]: cannot write out/" in done.err
    assert "No space left on device" in done.err
    out = tmp_path / "out"
    assert not [*out.rglob("*.tmp"), *out.rglob(".*"), *out.glob("table.*")]
    for each in (out / "rows").iterdir():
        json.loads(each.read_bytes())
    after = atc(*args, "--json")
    assert 0 < after.json["kept"] < 8
    atc(*args[:-1], "other")
    assert tables(out) == tables(tmp_path / "other")


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (["zoo/conv.onnx", "zoo/inner/conv.onnx"], 2, "ATC1091 duplicate-model]: two models have the name 'conv'"),
        (["zoo", "--soc", "Ascend999"], 2, "ATC1003"),
        (["zoo", "--soc", "sim,sim"], 2, "--soc names the same value twice: sim, sim"),
        (["zoo", "--soc", ","], 2, "--soc is given without a value"),
        (["zoo", "--precision-mode", "fp8"], 2, "no precision mode is called 'fp8' here"),
        (["zoo", "--list", "unheard"], 2, "unheard"),
        (["zoo", "--op-specs", "nowhere"], 3, "nowhere does not exist"),
        (["zoo", "--compare", "1000001"], 2, "--compare must be from 1 to 1000000, found 1000001"),
        (["zoo", "--compare", "0"], 2, "--compare must be from 1 to 1000000, found 0"),
        (["zoo", "--max-memory", "lots"], 2, "'lots' is not a valid memory size"),
        (["zoo", "--jobs", "2", "--dask", "tcp://x:1"], 2, "--jobs and --dask both say"),
        (["nowhere"], 1, ""),
        (["zoo", "-o", "zoo/conv.onnx"], 3, "it is a file, not a folder"),
        (["empty"], 3, "ATC2001"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("zoo")
def test_bad_input_is_a_coded_diagnostic(
    atc: Atc, tmp_path: Path, args: list[str], status: int, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    output = [] if "-o" in args else ["-o", "out"]
    done = atc("sweep", *args, *output)
    assert (done.status, said in done.err) == (status, True), done.err


def test_failures_have_chinese_words(atc: Atc, zoo: Path) -> None:
    done = atc("sweep", zoo / "conv.onnx", "--seconds", 0.001, "-o", "out", "--lang", "zh")
    assert "这一行超时：任务未在 0.001 秒内结束，已被终止" in done.err
    done = atc("sweep", zoo / "conv.onnx", zoo / "inner" / "conv.onnx", "-o", "o", "--lang", "zh")
    assert "两个模型都名为 'conv'" in done.err
    done = atc("sweep", zoo / "norm.onnx", zoo / "junk.onnx", "-o", "n", "--lang", "zh")
    assert "2 行" in done.out
    assert "1 个" in done.out
    assert "n/index.html" in done.out
    assert "rows" not in done.out


def test_progress_has_rate_and_time_left() -> None:
    from atc_py.adapters.sweep.run import progress_text
    from atc_py.cli.progress import Progress

    text = progress_text(30, 120, 10.0)
    assert text == "30 of 120 rows, 3.00 rows/s, 0:30 left"
    shown = Progress()
    shown(text)
    assert shown.line() == f"[#####...............] 25 %: {text}"


def test_model_that_is_given_twice_is_refused(atc: Atc, zoo: Path, tmp_path: Path) -> None:
    done = atc("sweep", zoo, zoo / "conv.onnx", "-o", "out")
    assert done.status == 2
    assert "conv.onnx is given twice" in done.err
    (tmp_path / "conv.onnx").write_bytes(b"another")
    done = atc("sweep", zoo, "conv.onnx", "-o", "out")
    assert "two models have the name 'conv'" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("here")
def test_models_that_were_not_compared_are_counted(atc: Atc, zoo: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    refused = atc("sweep", zoo / "conv.onnx", "--compare", data, "-o", "out")
    assert (refused.status, "data has no samples" in refused.err) == (2, True)
    np.save(data / "one.npy", np.ones((1, 3, 8, 9), np.float32))
    done = atc("sweep", zoo / "conv.onnx", "--compare", data, "-o", "out")
    assert "1 row: 1 compiles (1 of them not compared)\n" in done.out
    assert "ATC1071 bad-sample" in done.out


def test_names_that_are_not_text_come_out_as_escapes(atc: Atc, zoo: Path, tmp_path: Path) -> None:
    (zoo / "conv.onnx").rename(os.fsdecode(os.fsencode(zoo) + b"/\xff.onnx"))
    said = atc("sweep", "zoo", "--jobs", 1, "--compare", 1, "-o", "out").err.splitlines()
    assert [line for line in said if "rows/s" not in line] == []  # a slow machine sees the progress
    lines = (tmp_path / "out" / "table.jsonl").read_text(encoding="utf-8").splitlines()
    (row,) = (found for line in lines if (found := json.loads(line))["model"] == "\\udcff")
    assert (row["verdict"], row["path"]) == ("compiles", "zoo/\\udcff.onnx")
    assert (tmp_path / "out" / row["report"]).is_file()


@pytest.mark.usefixtures("here")
def test_pages_of_odd_names_have_plain_names(atc: Atc, zoo: Path, tmp_path: Path) -> None:
    odd = [
        "n" * 240,
        "é" * 120,
        "..",
        ".hidden",
        "-rf",
        "a\n\x1b[31m\u202eb",
        "inner__conv",
        "CONV",
    ]
    for name in odd:
        shutil.copy(zoo / "conv.onnx", zoo / f"{name}.onnx")
    (zoo / "junk.onnx").unlink()
    assert atc("sweep", "zoo", "--jobs", 1, "-o", "out").status == 1
    lines = (tmp_path / "out" / "table.jsonl").read_text(encoding="utf-8").splitlines()
    pages = {row["model"]: row["report"] for row in map(json.loads, lines)}
    assert {*odd, "conv", "inner/conv", "norm"} == set(pages)
    assert len(set(pages.values())) == len(pages)
    for page in pages.values():
        assert re.fullmatch(r"reports/[\w+][\w.+-]*\.html", page)
        assert (tmp_path / "out" / page).is_file()
