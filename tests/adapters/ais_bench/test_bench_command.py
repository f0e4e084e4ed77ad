"""`python -m atc_py.ais_bench`: files, log, summary, exit status."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atc_py
from atc_py.adapters.ais_bench.arguments import OPTIONS, BenchEffect
from atc_py.adapters.ais_bench.command import main
from tests.aipp_graph.networks import config, network

A = np.arange(30, dtype=np.float32).reshape(10, 3)
B = np.arange(20, dtype=np.int32).reshape(10, 2)


@dataclass(frozen=True)
class Ran:
    """The exit status and streams of a command."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Lines of the log."""
        return self.out.splitlines()


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return runs of the command in this process."""

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        status = main(arguments)
        found = capsys.readouterr()
        assert "Traceback" not in found.err
        return Ran(status, found.out, found.err)

    return run


def save(folder: str, rows: Any, count: int, suffix: str = ".npy") -> str:
    """Save rows one by one; names have numbers in their order."""
    Path(folder).mkdir()
    for at in range(count):
        path = Path(folder) / f"in{at + 8}.part{suffix}"
        if suffix == ".npy":
            np.save(path, rows[at : at + 1])
        else:
            rows[at : at + 1].tofile(path)
    return folder


def test_log_has_the_lines_of_ais_bench_in_order(om: str, bench: Any) -> None:
    np.zeros((1, 3, 8, 8), np.float32).tofile("x.bin")
    ran = bench("--model", om, "--input", "x.bin", "--output", "out", "--display_all_summary", "1")
    assert ran.status == 0
    number = r"[\d.e-]+"
    figures = (
        rf"min = {number}, max = {number}, mean = {number}, median = {number}, "
        rf"percentile\(99%\) = {number}"
    )
    throughput = (
        rf"\[INFO\] throughput 1000\*batchsize\.mean\(1\)/NPU_compute_time\.mean\({number}\): "
        rf"{number}"
    )
    patterns = [
        r"\[INFO\] acl init success",
        r"\[INFO\] open device 0 success",
        r"\[INFO\] load model one\.om success",
        r"\[INFO\] create model description success",
        r"\[INFO\] try get model batchsize:1",
        r"\[INFO\] output path:out/\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d",
        r"\[INFO\] get filesperbatch files0 size:768 tensor0size:768 filesperbatch:1 runcount:1",
        r"\[INFO\] warm up 1 done",
        r"Inference array Processing: 100%\|##########\| 1/1 \[.*it/s\]",
        r"\[INFO\] -----------------Performance Summary------------------",
        rf"\[INFO\] H2D_latency \(ms\): {figures}",
        rf"\[INFO\] NPU_compute_time \(ms\): {figures}",
        rf"\[INFO\] D2H_latency \(ms\): {figures}",
        throughput,
        r"\[INFO\] ------------------------------------------------------",
        r"\[INFO\] unload model success, model Id is \d+",
        r"\[INFO\] end to destroy context",
        r"\[INFO\] end to reset device is 0",
        r"\[INFO\] end to finalize acl",
    ]
    assert len(ran.lines) == len(patterns), ran.out
    for line, pattern in zip(ran.lines, patterns, strict=True):
        assert re.fullmatch(pattern, line), (line, pattern)
    assert ran.err.count("estimated") == 1


def test_throughput_is_batch_by_mean_time(two: str, bench: Any) -> None:
    ran = bench("--model", two, "--loop", "4")
    (line,) = [line for line in ran.lines if "throughput" in line]
    mean = float(re.findall(r"mean\(([\d.e-]+)\)", line)[1])
    assert float(line.split()[-1]) == pytest.approx(1000 * 2 / mean)
    assert "loop inference exec: (4/4)" in ran.lines


def test_folders_of_files_are_combined_and_padding_is_not_saved(two: str, bench: Any) -> None:
    folders = save("a", A, 3), save("b", B, 3)
    ran = bench(
        "--model", two, "--input", ",".join(folders), "--output", "out", "--output_dirname", "d",
        "--outfmt", "NPY",
    )  # fmt: skip
    assert ran.status == 0, ran.out
    assert (
        "[INFO] get filesperbatch files0 size:12 tensor0size:24 filesperbatch:2 runcount:2"
        in ran.lines
    )
    names = sorted(path.name for path in Path("out/d").iterdir())
    assert names == [f"in{at}_{output}.npy" for at in (10, 8, 9) for output in (0, 1)]
    for at in range(3):
        np.testing.assert_array_equal(np.load(f"out/d/in{at + 8}_0.npy"), 2 * A[at : at + 1])
        np.testing.assert_array_equal(np.load(f"out/d/in{at + 8}_1.npy"), -B[at : at + 1])
    found = json.loads(Path("out/d_summary.json").read_text(encoding="utf-8"))
    assert found["filesinfo"]["2"] == {
        "infiles": ["a/in10.part.npy", "b/in10.part.npy"],
        "outfiles": ["out/d/in10_0.npy", "out/d/in10_1.npy"],
    }
    assert set(found["filesinfo"]) == {"0", "1", "2"}
    figures = {"min", "max", "mean", "median", "percentile(99%)", "count"}
    for name in ("NPU_compute_time", "H2D_latency", "D2H_latency"):
        assert set(found[name]) == figures
    assert found["NPU_compute_time"]["count"] == len(found["npu_compute_time_list"]) == 2
    assert found["throughput"] > 0
    assert found["pid"] > 0
    assert "--outfmt" in found["args"]


def test_files_are_shared_out_over_inputs_in_order(two: str, bench: Any) -> None:
    save("a", A, 2, ".bin")
    save("b", B, 2, ".bin")
    files = [f"{name}/in{at}.part.bin" for name in "ab" for at in (8, 9)]
    ran = bench(
        "-m", two, "-i", ",".join(files), "-o", "out", "-od", "d", "--outfmt", "BIN",
    )  # fmt: skip
    assert ran.status == 0, ran.out
    result = np.fromfile("out/d/in9_0.bin", np.float32)
    np.testing.assert_array_equal(result, 2 * A[1])


def test_text_has_a_line_for_each_row(two: str, bench: Any) -> None:
    A[:2].tofile("a.v1.bin")
    B[:2].tofile("b.bin")
    ran = bench(
        "--model", two, "--input", "a.v1.bin,b.bin", "--output", "out", "--output_dirname", "d",
        "--outfmt", "TXT",
    )  # fmt: skip
    assert ran.status == 0, ran.out
    assert Path("out/d/a_0.txt").read_text(encoding="utf-8") == (
        "0.000000 2.000000 4.000000 \n6.000000 8.000000 10.000000 \n"
    )
    assert Path("out/d/a_1.txt").read_text(encoding="utf-8") == "0 -1 \n-2 -3 \n"


def test_run_without_data_is_named_so(om: str, bench: Any) -> None:
    ran = bench("--model", om, "--output", "out", "--output_dirname", "d")
    assert ran.status == 0
    assert Path("out/d/pure_infer_data_0.bin").stat().st_size == 1024
    assert "get filesperbatch" not in ran.out
    assert bench("--model", om, "--pure_data_type", "random").status == 0


@pytest.mark.parametrize("mode", ["array", "files", "tensor", "full"])
def test_every_way_to_run_gives_the_same(two: str, bench: Any, mode: str) -> None:
    A[:2].tofile("a.bin")
    B[:2].tofile("b.bin")
    ran = bench(
        "--model", two, "--input", "a.bin,b.bin", "--output", "out", "--output_dirname", mode,
        "--run_mode", mode,
    )  # fmt: skip
    assert ran.status == 0, ran.out
    label = "Inference Processing full" if mode == "full" else f"Inference {mode} Processing"
    assert f"{label}: 100%" in ran.out
    np.testing.assert_array_equal(
        np.fromfile(f"out/{mode}/a_0.bin", np.float32).reshape(2, 3), 2 * A[:2]
    )


def test_files_mode_reads_no_npy(om: str, bench: Any) -> None:
    np.save("x.npy", np.zeros((1, 3, 8, 8), np.float32))
    ran = bench("--model", om, "--input", "x.npy", "--run_mode", "files")
    assert ran.status == 1
    assert "[ERROR] not support npy file:x.npy" in ran.lines


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (100, "[ERROR] arg0 tensorsize: 768 filesize: 100 not match"),
        (0, "[ERROR] arg0 tensorsize: 768 filesize: 0 not match"),
        (1536, "[ERROR] arg0 tensorsize: 768 filesize: 1536 not match"),
    ],
)
def test_file_of_another_size_is_refused(om: str, bench: Any, size: int, message: str) -> None:
    Path("x.bin").write_bytes(bytes(size))
    ran = bench("--model", om, "--input", "x.bin", "--output", "out", "--output_dirname", "d")
    assert ran.status == 1
    assert message in ran.lines
    assert not list(Path("out/d").iterdir())


def test_second_input_of_another_size_is_refused(two: str, bench: Any) -> None:
    A[:2].tofile("a.bin")
    B[:1].tofile("b.bin")
    ran = bench("--model", two, "--input", "a.bin,b.bin")
    assert ran.status == 1
    assert "[ERROR] Check i:1 name:b in size:8 needsize:16 not match" in ran.lines


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("none.bin", "Invalid args. none.bin  of --input is invalid"),
        ("a.bin,none.bin", "input[1]:none.bin not exist"),
        ("a.bin", "fileslist:1 intensor:2 not match"),
        ("a.bin,a.bin,a.bin", "fileslist:3 intensor:2 not match"),
        ("empty", "args input dir num:1 not equal to model inputs num:2"),
        ("empty,empty", "empty of input args not find valid file"),
        ("empty,none", "none of input args is not a real dir path"),
        ("x" * 300, "of --input is invalid"),
    ],
)
def test_input_that_makes_no_sense_is_refused(
    two: str, bench: Any, given: str, message: str
) -> None:
    A[:2].tofile("a.bin")
    Path("empty").mkdir()
    if given == "empty,none":
        save("full", A, 1)
        given = "full,none"
    ran = bench("--model", two, "--input", given)
    assert ran.status == 1
    assert any(line.startswith("[ERROR]") and message in line for line in ran.lines), ran.out


def test_damaged_npy_is_refused(om: str, bench: Any) -> None:
    Path("x.npy").write_bytes(b"\x93NUMPY\x01\x00")
    ran = bench("--model", om, "--input", "x.npy")
    assert ran.status == 1
    assert "[ERROR] filepath:x.npy not valid" in ran.lines


def test_batch_of_gears(batches: str, bench: Any) -> None:
    ran = bench("--model", batches, "--dymBatch", "4")
    assert "[INFO] try get model batchsize:4" in ran.lines
    assert "batchsize.mean(4)" in ran.out
    refused = bench("--model", batches, "--dymBatch", "3")
    assert refused.status == 1
    assert "[ERROR] the dymBatch parameter is not correct" in refused.lines
    assert (
        "[ERROR] model has dynamic batch size:{[1][2][4]}, please set correct dynamic batch size"
        in refused.lines
    )
    unset = bench("--model", batches)
    assert unset.status == 1
    assert "dynamic batch om model detected" in unset.out


def test_batch_of_a_model_without_gears_is_refused(om: str, bench: Any) -> None:
    ran = bench("--model", om, "--dymBatch", "2")
    assert ran.status == 1
    assert (
        "[ERROR] the dynamic_batch_size parameter is not specified for model conversion"
        in ran.lines
    )


def test_files_fill_the_batch_of_a_gear(batches: str, bench: Any) -> None:
    data = np.random.default_rng(0).standard_normal((3, 3, 8, 8)).astype(np.float32)
    save("in", data, 3)
    ran = bench(
        "--model", batches, "--input", "in", "--dymBatch", "2", "--output", "out",
        "--output_dirname", "d", "--outfmt", "NPY",
    )  # fmt: skip
    assert ran.status == 0, ran.out
    assert len(list(Path("out/d").iterdir())) == 3
    with atc_py.load("b.om") as model:
        expected = model.run({"x": data[:1]})["y"] if model.inputs[0].shape[0] == 1 else None
    if expected is not None:
        np.testing.assert_array_equal(np.load("out/d/in8_0.npy"), expected)


def test_image_size_and_dims_of_gears(images: str, dims: str, bench: Any) -> None:
    assert bench("--model", images, "--dymHW", "16,12").status == 0
    assert bench("--model", images, "--dymHW", "16").status == 1
    assert bench("--model", images, "--dymHW", "9,9").status == 1
    assert bench("--model", dims, "--dymDims", "x:1,3,16,12").status == 0
    assert bench("--model", dims, "--dymDims", "x:1,3,16").status == 1
    assert bench("--model", dims, "--dymDims", ";").status == 1


def test_gears_are_chosen_by_the_files(dims: str, bench: Any) -> None:
    Path("in").mkdir()
    np.save("in/a.npy", np.zeros((1, 3, 8, 8), np.float32))
    np.save("in/b.npy", np.zeros((1, 3, 16, 12), np.float32))
    ran = bench(
        "--model", dims, "--input", "in", "--auto_set_dymdims_mode", "1", "--output", "out",
        "--output_dirname", "d", "--outfmt", "NPY",
    )  # fmt: skip
    assert ran.status == 0, ran.out
    assert np.load("out/d/a_0.npy").shape == (1, 4, 8, 8)
    assert np.load("out/d/b_0.npy").shape == (1, 4, 16, 12)


def test_range_of_shapes_runs_each(om: str, bench: Any) -> None:
    ran = bench("--model", om, "--dymShape_range", "x:1,3,8~9,8")
    assert ran.status == 0
    start = ran.lines.index(
        "[INFO] -----------------dyshape_range Performance Summary------------------"
    )
    assert ran.lines[start + 1].startswith("[INFO] run_count:2 success_count:1 avg_throughput:")
    assert ran.lines[start + 2].startswith("[INFO] 0 dymshape:x:1,3,8,8  result:OK throughput:")
    assert ran.lines[start + 3] == "[INFO] 1 dymshape:x:1,3,9,8  result:Failed throughput:0.0"


def test_range_of_shapes_runs_a_model_with_open_dims(ranges: str, bench: Any) -> None:
    ran = bench("--model", ranges, "--dymShape_range", "x:3~5,3,8,8")
    assert any("run_count:3 success_count:2" in line for line in ran.lines)


def test_shapes_of_open_dims_are_those_of_the_files(ranges: str, bench: Any) -> None:
    Path("in").mkdir()
    for name, shape in (("a", (1, 3, 8, 8)), ("b", (2, 3, 16, 8))):
        np.save(f"in/{name}.npy", np.zeros(shape, np.float32))
    ran = bench(
        "--model", ranges, "--input", "in", "--auto_set_dymshape_mode", "1", "--output", "out",
        "--output_dirname", "d", "--outfmt", "NPY",
    )  # fmt: skip
    assert ran.status == 0, ran.out
    assert np.load("out/d/a_0.npy").shape == (1, 4, 8, 8)
    assert np.load("out/d/b_0.npy").shape == (2, 4, 16, 8)


def test_empty_input_is_none(om: str, bench: Any) -> None:
    assert bench("--model", om, "--input", "").status == 0


def test_several_devices_share_the_files(two: str, bench: Any) -> None:
    folders = save("a", A, 6), save("b", B, 6)
    ran = bench(
        "--model", two, "--input", ",".join(folders), "--device", "0,3", "--output", "out",
        "--output_dirname", "d", "--outfmt", "NPY",
    )  # fmt: skip
    assert ran.status == 0, ran.out
    assert len(list(Path("out/d/device0").iterdir())) == 6
    np.testing.assert_array_equal(np.load("out/d/device3/in13_0.npy"), 2 * A[5:6])
    rows = [line for line in ran.lines if re.match(r"i:\d device_\d throughput:", line)]
    assert [row.split()[1] for row in rows] == ["device_0", "device_3"]
    total = sum(float(re.findall(r"throughput:([\d.]+)", row)[0]) for row in rows)
    assert ran.lines[-1] == f"[INFO] summary throughput:{total}"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--output_dirname", "d"], 1, "--output_dirname cann't be used alone"),
        (["--profiler", "1"], 1, "miss output path"),
        (["--profiler", "1", "--dump", "1", "--output", "o"], 1, "--profiler cannot be true"),
        (["--dump", "1", "--output", "o"], 1, "--dump is not modeled"),
        (["--backend", "trtexec"], 1, "--backend is not modeled"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    om: str, bench: Any, arguments: list[str], status: int, message: str
) -> None:
    ran = bench("--model", om, *arguments)
    assert ran.status == status
    assert message in ran.out
    assert not Path("o").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--model", "m.om", "--loop", "0"],
        ["--model", "m.om", "--outfmt", "CSV"],
        ["--model", "m.om", "--device", "256"],
        ["--model", "m.om", "--debug", "maybe"],
        ["--model", "m.om", "--warmup_count", "-1"],
        ["--model", "m.om", "--novelty", "1"],
    ],
)
def test_arguments_that_argparse_refuses_end_with_two(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_option_without_effect_is_named_in_one_line(om: str, bench: Any) -> None:
    ran = bench("--model", om, "--outputSize", "1000", "--threads", "2")
    assert ran.status == 0
    lines = ran.err.splitlines()
    assert [line.split()[1] for line in lines[:2]] == ["--outputSize", "--threads"]


def test_every_option_says_what_it_does_here() -> None:
    for each in OPTIONS:
        assert (each.effect == BenchEffect.DONE) == (not each.why), each.spellings
    spellings = [name for each in OPTIONS for name in each.spellings]
    assert len(set(spellings)) == len(spellings)


def test_model_that_cannot_be_read_ends_with_one(bench: Any) -> None:
    ran = bench("--model", "none.om")
    assert ran.status == 1
    assert "[ERROR] load model from file failed, model file is none.om" in ran.lines


def test_module_runs_as_a_program(om: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "atc_py.ais_bench", "--model", om],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "throughput" in ran.stdout


def test_settings_of_dynamic_aipp(tmp_path: Path, bench: Any) -> None:
    model = network(tmp_path / "m.onnx")
    given = config(tmp_path, "  aipp_mode: dynamic\n  max_src_image_size: 288\n")
    atc_py.convert(model, "a.om", aipp=given)
    Path("run.config").write_text(
        "[aipp_op]\ninput_format = RGB888_U8\nsrc_image_size_w = 12\nsrc_image_size_h = 8\n",
        encoding="utf-8",
    )
    assert bench("--model", "a.om", "--aipp_config", "run.config").status == 0
    missing = bench("--model", "a.om")
    assert missing.status == 1
    assert (
        "[ERROR] can't find aipp config file for model with dym aipp input , please check it!"
        in missing.lines
    )
