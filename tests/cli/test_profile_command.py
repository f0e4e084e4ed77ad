"""`atc-py profile`: every form, several SoCs, traces, refitted factors, and what it refuses."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from atc_py.cli import profile as command
from atc_py.report.profile.formats import PROFILE_FORMATS
from tests.cli.conftest import Result
from tests.cost.small_networks import chain

Atc = Callable[..., Result]

TABLE = "op,shape,dtype,time_us\n" + "".join(
    f'MatMulV2,"{m},512;512,{m}",float16,{10 + m / 40}\n' for m in (64, 256, 512, 1024, 2048)
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a small ONNX model."""
    path = tmp_path / "net.onnx"
    onnx.save(chain(), path)
    return path


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """Return a table of measurements."""
    path = tmp_path / "measured.csv"
    path.write_text(TABLE)
    return path


def test_formats_of_the_option_are_those_there_are() -> None:
    assert tuple(PROFILE_FORMATS) == command._FORMATS


def test_text_has_total_range_operators_and_kernels(atc: Atc, model: Path) -> None:
    done = atc("profile", model)
    assert done.status == 0
    assert re.search(r"time +[\d.]+ µs \(between [\d.]+ µs and [\d.]+ µs\)", done.out)
    assert re.search(r"kernels +5 for 6 operators", done.out)
    for words in (
        "Operators",
        "Conv2D+Relu",
        "use of peak",
        "pipes busy",
        "nothing was measured on a SoC",
    ):
        assert words in done.out


def test_offline_model_has_the_profile_of_its_onnx_model(atc: Atc, model: Path) -> None:
    assert atc("convert", model, "-o", "net.om", "--soc", "Ascend310P3").status == 0
    offline = atc("profile", "net.om", "--format", "json").json["socs"]
    assert offline == atc("profile", model, "--soc", "Ascend310P3", "--format", "json").json["socs"]
    refused = atc("profile", "net.om", "--soc", "sim")
    assert refused.status == 2
    assert "is compiled for Ascend310P3, found --soc sim" in refused.err
    assert "give the ONNX model" in refused.err


def test_json_and_csv_have_every_kernel(atc: Atc, model: Path) -> None:
    document = atc("profile", model, "--format=json").json["socs"][0]
    rows = list(csv.DictReader(io.StringIO(atc("profile", model, "--format=csv").out)))
    assert [row["op"] for row in rows] == [each["op"] for each in document["kernels"]]
    assert sum(each["share"] for each in document["kernels"]) == pytest.approx(1)
    kernels = document["time"]["expected"] - document["run"]
    assert sum(float(row["time_us"]) for row in rows) == pytest.approx(kernels * 1e6, abs=0.01)
    assert 0 < document["bound"] < document["time"]["low"]
    (conv,) = [each for each in document["kernels"] if each["op"] == "Conv2D+Relu"]
    assert conv["formats"] == "NC1HWC0;FRACTAL_Z -> NC1HWC0"
    assert conv["macs"] == 8 * 32 * 32 * 27
    assert conv["origins"] == ["conv", "act"]
    assert {"bound", "utilization", "bytes_read", "pipes", "compute_bound"} <= conv.keys()
    assert len(document["memory"]["over_time"]) == len(document["kernels"])


def test_socs_stand_side_by_side_with_those_it_does_not_compile_for(atc: Atc, model: Path) -> None:
    socs = ("--soc", "sim, Ascend310", "--soc", "Ascend910B4")
    force = ("--precision-mode", "must_keep_origin_dtype")
    done = atc("profile", model, *socs, *force)
    assert done.status == 0
    rows = [line for line in done.out.splitlines()[:6] if line.startswith("  ")]
    assert [row.split()[0] for row in rows] == ["SoC", "sim", "Ascend310", "Ascend910B4"]
    assert "does not compile" in rows[2]
    assert "fits" in rows[3]
    document = atc("profile", model, *socs, *force, "--format=json").json
    assert [each["compiles"] for each in document["socs"]] == [True, False, True]
    assert document["socs"][1]["refusals"]
    assert atc("profile", model, *force, "--soc", "Ascend310").status == 1


def test_trace_has_cores_pipes_transfers_and_memory(atc: Atc, model: Path) -> None:
    assert atc("profile", model, "--trace", "t.json").status == 0
    document = json.loads((model.parent / "t.json").read_text())
    assert_is_trace(document)
    events = document["traceEvents"]
    names = {
        event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"
    }
    assert [*names.values()] == [
        "sim: cores", "pipes of the busiest core", "transfers", "device memory"
    ]  # fmt: skip
    slices = [event for event in events if event["ph"] == "X"]
    assert {names[event["pid"]] for event in slices} == set(list(names.values())[:3])
    assert {event["name"] for event in slices} == {"Cast", "Conv2D+Relu", "TransData"}
    counters = [event for event in events if event["ph"] == "C"]
    assert max(event["args"]["results"] for event in counters) > 0
    assert counters[-1]["args"]["results"] == 0
    reads = [e for e in slices if names[e["pid"]] == "transfers" and e["name"] == "Conv2D+Relu"]
    assert reads[0]["args"]["bytes"] == 16 * 32 * 32 * 2 + 16 * 16 * 9 * 2, "blocks are padded"


def assert_is_trace(document: dict[str, Any]) -> None:
    """Check the structure of Chrome's trace format; slices of a track do not overlap."""
    assert document["displayTimeUnit"] in {"ms", "ns"}
    ends: dict[tuple[int, int], float] = {}
    for event in document["traceEvents"]:
        assert event["ph"] in {"M", "X", "C"}
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert isinstance(event["name"], str)
        assert isinstance(event["args"], dict)
        if event["ph"] == "M":
            assert event["name"] in {"process_name", "process_sort_index", "thread_name"}
            continue
        assert event["ts"] >= 0
        if event["ph"] == "C":
            assert all(isinstance(each, int) for each in event["args"].values())
            continue
        track = event["pid"], event["tid"]
        assert event["dur"] > 0
        assert event["ts"] >= ends.get(track, 0.0) - 1e-6
        ends[track] = event["ts"] + event["dur"]


def test_factors_are_refitted_kept_and_used(atc: Atc, model: Path, measured: Path) -> None:
    fitted = atc("profile", "--calibrate", measured, "--save-factors", "kept.json")
    assert fitted.status == 0
    assert "Factors refitted to 5 measurements on sim" in fitted.out
    assert re.search(r"error +[\d.]+% before, [\d.]+% after", fitted.out)
    assert re.search(r"MatMulV2 +5", fitted.out)
    kept = atc("profile", model, "--factors", "kept.json", "--format=json").json
    at_once = atc("profile", model, "--calibrate", measured, "--format=json").json
    assert kept["socs"] == at_once["socs"]
    assert at_once["calibration"]["error_after"] < at_once["calibration"]["error_before"]
    plain = atc("profile", model, "--format=json").json
    assert plain["socs"][0]["time"] != kept["socs"][0]["time"]
    assert "refitted" in " ".join(kept["socs"][0]["assumptions"])
    alone = atc("profile", "--calibrate", measured, "--format=json").json
    assert alone == at_once["calibration"]


def test_factors_of_another_soc_are_refused(atc: Atc, model: Path, measured: Path) -> None:
    assert atc("profile", "--calibrate", measured, "--save-factors", "k.json").status == 0
    done = atc("profile", model, "--factors", "k.json", "--soc", "Ascend310P3")
    assert done.status == 2
    assert "are of sim, found --soc Ascend310P3" in done.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "Missing argument 'MODEL'"),
        (("net.onnx", "--save-factors", "k"), "--save-factors writes what --calibrate finds"),
        (("net.onnx", "--soc", "sim", "--soc", "Ascend310", "--trace", "t"), "a trace covers one"),
        (("--calibrate", "measured.csv", "--trace", "t"), "need a MODEL"),
        (("net.onnx", "--trace", "t", "-o", "t"), "must be different files"),
        (("net.onnx", "--calibrate", "measured.csv", "--factors", "k"), "exclude each other"),
        (
            ("--calibrate", "measured.csv", "--soc", "sim", "--soc", "Ascend310"),
            "measurements must be for one SoC",
        ),
        (("net.onnx", "--soc", "Ascend3000"), "no SoC is called 'Ascend3000'"),
        (("net.onnx", "-o", "net.onnx"), "net.onnx"),
    ],
)
def test_wrong_calls_are_refused(
    args: tuple[str, ...], message: str, atc: Atc, model: Path, measured: Path
) -> None:
    done = atc("profile", *args)
    assert done.status == 2
    assert message in done.err
    assert model.exists()
    assert measured.read_text() == TABLE


def test_bad_table_is_refused_with_line_and_hint(atc: Atc, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(TABLE + "Relu,3,float16,-1\n")
    done = atc("profile", "--calibrate", "bad.csv")
    assert done.status == 3
    assert "ATC2030" in done.err
    assert "bad.csv:7" in done.err
    assert "help: correct the line, or take it out" in done.err


def test_model_that_is_not_there_is_a_file_error_for_several_socs_too(atc: Atc) -> None:
    done = atc("profile", "no.onnx", "--soc", "sim", "--soc", "Ascend310P3")
    assert done.status == 3
    assert "ATC2001" in done.err


def test_report_goes_to_a_file(atc: Atc, model: Path) -> None:
    done = atc("profile", model, "--format", "csv", "-o", "report.csv")
    assert done.status == 0
    assert "report: report.csv" in done.out
    assert "sim: " in done.out
    assert (model.parent / "report.csv").read_text().startswith("soc,kernel,name,op")


def test_convert_tells_kernels_before_and_the_estimated_time(atc: Atc, model: Path) -> None:
    done = atc("convert", "-v", model)
    assert re.search(r"launches +5 for 6 nodes; 2 kernels before any pass", done.out)
    assert re.search(r"estimated time +[\d.]+ µs \(between", done.out)
    found = atc("convert", "-v", model, "--json").json
    profiled = atc("profile", model, "--format=json").json["socs"][0]["time"]
    assert found["estimated_time"] == profiled
    assert found["launches_unfused"] == 2


def test_model_of_views_alone_takes_no_time(atc: Atc, tmp_path: Path) -> None:
    shape = onnx.helper.make_tensor("s", onnx.TensorProto.INT64, [1], [24])
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Reshape", ["x", "s"], ["y"])],
        "view",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4, 6])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [24])],
        [shape],
    )
    opsets = [onnx.helper.make_opsetid("", 13)]
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "v.onnx"
    )
    for form in PROFILE_FORMATS:
        assert atc("profile", "v.onnx", "--format", form, "--trace", "t.json").status == 0
    assert "0 for 0 operators" in atc("profile", "v.onnx").out
    assert_is_trace(json.loads((tmp_path / "t.json").read_text()))
