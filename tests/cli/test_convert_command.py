"""`atc-py convert` and what it says of bad input."""

import os
import resource
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
from onnx import numpy_helper

from atc_py.ir.parser import parse_graph
from atc_py.passes.pipeline import PIPELINE
from tests.cli.conftest import Result, small_model

Atc = Callable[..., Result]


def test_convert_prints_stages_operators_and_result(atc: Atc, model: Path) -> None:
    done = atc("convert", "-v", model)
    assert done.status == 0
    assert Path("small.om").stat().st_size > 1000
    for text in (
        "read",
        "package",
        "Conv2D",
        "aicore",
        "force_fp16",
        "small.om",
        "in the ONNX file",
    ):
        assert text in done.out
    assert done.err == ""


def test_convert_json_has_everything(atc: Atc, model: Path) -> None:
    done = atc("convert", model, "--json", "-o", "a/../b.om", "--precision-mode", "force_fp16").json
    assert done["target_operators"] == {"Cast": 2, "Conv2D": 1, "Relu": 1, "TransData": 2}
    assert done["source_operators"] == {"Conv": 1, "Relu": 1}
    assert done["weights_in"] == 4 * 3 * 3 * 3 * 4
    assert done["weights_out"] == done["weights_in"] // 2
    assert list(done["stages"]) == [
        "read", "fold", "check", "lower", "passes", "emit", "rehearse", "package", "estimate",
    ]  # fmt: skip


def test_output_name_gets_the_suffix(atc: Atc, model: Path) -> None:
    assert atc("convert", model, "--output", "named").status == 0
    assert Path("named.om").exists()


def test_underscore_spellings_of_atc_are_understood(atc: Atc, model: Path) -> None:
    done = atc(
        "convert", model, "--json", "--precision_mode=must_keep_origin_dtype",
        "--soc_version=Ascend910B1", "--input_shape=x:1,3,8,8",
    )  # fmt: skip
    assert done.json["precision_mode"] == "must_keep_origin_dtype"
    assert done.json["soc"] == "Ascend910B1"


def test_two_conversions_give_the_same_bytes(atc: Atc, model: Path) -> None:
    atc("convert", model, "-o", "first.om")
    time.sleep(
        1.1
    )  # a zip's clock has steps of two seconds; a timestamp would differ half the time
    subprocess.run(
        [sys.executable, "-m", "atc_py", "convert", str(model), "-o", "second.om"], check=True
    )
    assert Path("first.om").read_bytes() == Path("second.om").read_bytes()


def test_passes_are_listed_in_order(atc: Atc) -> None:
    done = atc("convert", "--passes")
    assert done.status == 0
    positions = [done.out.index(step.name) for step in PIPELINE]
    assert positions == sorted(positions)


def test_dumps_are_one_text_per_stage_and_parse(atc: Atc, model: Path) -> None:
    atc("convert", model, "--dump-ir", "dumps/here")
    files = sorted(Path("dumps/here").iterdir())
    assert [file.name for file in files] == [
        "00_lowered.ir",
        *(f"{i:02d}_{step.name}.ir" for i, step in enumerate(PIPELINE, start=1)),
    ]
    for file in files:
        parse_graph(file.read_text(encoding="utf-8"))


def test_kernels_are_copied_to_a_folder(atc: Atc, model: Path) -> None:
    done = atc("convert", model, "--kernels", "kernels", "--json")
    sources = list(Path("kernels").glob("*/*.cpp"))  # beside them: what runs them on the host
    assert len(sources) == done.json["kernels"] == 5


def test_optional_pass_can_be_switched_off_and_a_required_one_not(atc: Atc, model: Path) -> None:
    assert atc("convert", model, "--disable-pass", "fuse-conv-batch-norm").status == 0
    refused = atc("convert", model, "--disable-pass", "split-grouped-conv")
    assert (refused.status, "ATC1005" in refused.err) == (2, True)
    unknown = atc("convert", model, "--disable-pass", "no-such-pass")
    assert (unknown.status, "ATC1004" in unknown.err) == (2, True)


# What is refused --------------------------------------------------------------------------------


def refused(done: Result, status: int, code: str, *texts: str) -> None:
    """Check that the command ended with `status` and one coded diagnostic with `texts`."""
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith(f"error[{code} ")
    for text in texts:
        assert text in done.err, done.err
    assert not list(Path().glob("*.om"))


def test_all_unknown_operators_are_listed_at_once(atc: Atc) -> None:
    model = small_model(operator="Mish")
    model.graph.node[1].domain = "my.domain"
    node = onnx.helper.make_node("Frobnicate", ["c"], ["z"], name="frob", domain="my.domain")
    model.graph.node.append(node)
    model.graph.output.append(onnx.ValueInfoProto(name="z"))
    model.opset_import.append(onnx.helper.make_opsetid("my.domain", 1))
    onnx.save(model, "unknown.onnx")
    done = atc("convert", "unknown.onnx")
    refused(done, 1, "ATC3001", "Frobnicate", "Mish", "help:")
    assert done.err.count("error[") == 2


def test_opset_outside_the_list_is_named(atc: Atc) -> None:
    model = small_model(operator="Unsqueeze")
    model.graph.node[1].input.append("axes")
    axes = onnx.helper.make_tensor_value_info("axes", onnx.TensorProto.INT64, [1])
    model.graph.input.append(axes)
    onnx.save(model, "new.onnx")
    refused(atc("convert", "new.onnx"), 1, "ATC3002", "Unsqueeze", "13", "12")


def test_findings_that_do_not_stand_in_the_way_are_printed_before_the_tables(atc: Atc) -> None:
    model = small_model()
    model.opset_import[0].version = 17
    onnx.save(model, "newer.onnx")
    done = atc("convert", "-v", "newer.onnx")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(
        "rewrite[ATC3007 operator-restated]: Relu, opset 17 (version 14): will be restated at opset 13"
    )
    checked = atc("check", "newer.onnx", "-v")
    findings = done.out[: done.out.index("\nStages")].strip()
    assert findings in checked.out


def test_failed_conversion_ends_with_the_errors_and_their_number(atc: Atc) -> None:
    model = small_model()
    model.opset_import[0].version = 17
    for name in ("a", "b"):
        model.graph.node.append(onnx.helper.make_node("Strange", ["c"], [name], name=name))
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    onnx.save(model, "model.onnx")
    done = atc("convert", "model.onnx")
    assert done.status == 1
    lines = done.err.splitlines()
    heads = [line.partition("[")[0] for line in lines if line.startswith(("error[", "rewrite["))]
    assert heads == ["rewrite", "error"]
    assert lines[-3].startswith("  help: ONNX has no operator of that name")
    assert lines[-2:] == ["", "not converted: 2 errors"]
    (found,) = (each for each in atc("check", "model.onnx", "--json").json["models"])
    assert found["counts"]["error"] == 2


def test_failed_conversion_of_any_kind_says_that_nothing_was_converted(
    atc: Atc, model: Path
) -> None:
    for arguments in (("gone.onnx",), (model, "--soc", "none"), (model, "-o", "gone/small.om")):
        done = atc("convert", *arguments)
        assert done.err.startswith("error[")
        assert done.err.endswith("\n\nnot converted: 1 error\n")
        assert "not converted" not in atc("convert", *arguments, "--json").out


def test_free_dimension_is_named_with_a_text_to_paste(atc: Atc) -> None:
    onnx.save(small_model(free=True), "free.onnx")
    refused(atc("convert", "free.onnx"), 1, "ATC3004", "batch", "x:1,3,8,8")
    assert atc("convert", "free.onnx", "--input-shape", "x:2,3,8,8").status == 0


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("x", "name:1,3,224,224"),
        ("x:1,3,8", "rank"),
        ("x:1,3,8,9", "8"),
        ("z:1", "x"),
        ("x:1,3,8,0", "0"),
    ],
)
def test_bad_input_shape(atc: Atc, model: Path, text: str, part: str) -> None:
    refused(atc("convert", model, "--input-shape", text), 2, "ATC1002", part)


def test_missing_file(atc: Atc) -> None:
    refused(atc("convert", "nowhere.onnx"), 3, "ATC2001", "nowhere.onnx")


def test_unknown_soc_lists_the_known_ones(atc: Atc, model: Path) -> None:
    refused(atc("convert", model, "--soc", "Ascend999"), 2, "ATC1003", "Ascend310P3", "sim")


def test_unknown_option_and_precision_mode(atc: Atc, model: Path) -> None:
    refused(atc("convert", model, "--frobnicate"), 2, "ATC1001", "--frobnicate")
    refused(atc("convert", model, "--precision-mode", "fp8"), 2, "ATC1001", "force_fp16")


def test_float32_on_a_soc_without_it_names_every_node(atc: Atc, model: Path) -> None:
    options = ("--soc", "Ascend310P3", "--precision-mode", "must_keep_origin_dtype")
    refused(atc("convert", model, *options), 1, "ATC4002", 'node 0 "conv"', "force_fp16")


def test_truncated_model_at_every_length(atc: Atc, model: Path) -> None:
    data = model.read_bytes()
    for length in range(0, len(data), 37):
        Path("cut.onnx").write_bytes(data[:length])
        done = atc("convert", "cut.onnx", "-o", "cut.om")
        assert done.status in {1, 3}, done.err
        assert done.err.startswith("error[ATC")
        assert not Path("cut.om").exists()


def test_random_bytes(atc: Atc) -> None:
    generator = np.random.default_rng(0)
    for size in (1, 10, 100, 10_000):
        Path("noise.onnx").write_bytes(generator.bytes(size))
        refused(atc("convert", "noise.onnx"), 3, "ATC2003")


def test_offline_model_is_not_converted_again(atc: Atc) -> None:
    onnx.save(small_model(), "net.onnx")
    assert atc("convert", "net.onnx", "-o", "net.om").status == 0
    Path("net.om").rename("net")
    found = "it is a zip archive, like an offline model, not a protobuf"
    hint = "give the ONNX model that it was made from"
    refused(atc("convert", "net", "-o", "again.om"), 3, "ATC2003", found, hint)


def external_model(location: str) -> onnx.ModelProto:
    """Return the small model with its filter in another file."""
    model = small_model()
    weights = model.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=location)
    return model


def test_external_data_is_used(atc: Atc, model: Path) -> None:
    atc("convert", model, "-o", "inside.om")
    weights = numpy_helper.to_array(onnx.load(model).graph.initializer[0])
    Path("weights.bin").write_bytes(weights.tobytes())
    onnx.save(external_model("weights.bin"), "external.onnx")
    assert atc("convert", "external.onnx", "-o", "outside.om").status == 0
    assert Path("inside.om").read_bytes() == Path("outside.om").read_bytes()


@pytest.mark.parametrize(
    ("location", "code"),
    [("gone.bin", "ATC2004"), ("../outside.bin", "ATC2005"), ("/etc/hostname", "ATC2005")],
)
def test_external_data_that_cannot_be_had(atc: Atc, location: str, code: str) -> None:
    onnx.save(external_model(location), "external.onnx")
    refused(atc("convert", "external.onnx"), 3, code, location)


def test_link_out_of_the_folder_is_refused(atc: Atc, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.bin"
    outside.write_bytes(bytes(432))
    Path("link.bin").symlink_to(outside)
    onnx.save(external_model("link.bin"), "external.onnx")
    refused(atc("convert", "external.onnx"), 3, "ATC2005")
    outside.unlink()


# Output that cannot be written --------------------------------------------------------------------


@pytest.mark.parametrize("output", ["folder.om", "no/such/folder.om"])
def test_output_that_cannot_be_written(atc: Atc, model: Path, output: str) -> None:
    Path("folder.om").mkdir()
    done = atc("convert", model, "-o", output)
    assert done.status == 3
    assert done.err.startswith("error[ATC2007 ")


def test_full_disk_keeps_the_old_file(model: Path, tmp_path: Path) -> None:
    om = tmp_path / "small.om"
    om.write_bytes(b"old")
    # Without -B, bytecode that does not fit the limit would be cached, cut off.
    command = [sys.executable, "-B", "-m", "atc_py", "convert", str(model), "-o", str(om)]

    def limit_file_size() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=limit_file_size, check=False
    )
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("error[ATC2007 ")
    assert om.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.om", "small.onnx"]


def test_killed_conversion_leaves_the_old_file_or_the_new_one(model: Path, tmp_path: Path) -> None:
    om = tmp_path / "small.om"
    command = [sys.executable, "-m", "atc_py", "convert", str(model), "-o", str(om)]
    subprocess.run(command, check=True, capture_output=True)
    whole = om.read_bytes()
    for delay in (0.1, 0.3, 0.4, 0.5, 0.6):
        om.write_bytes(b"old")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            time.sleep(delay)
            process.kill()
        assert om.read_bytes() in {b"old", whole}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_without_permission(atc: Atc, model: Path) -> None:
    Path("locked").mkdir(mode=0o500)
    refused(atc("convert", model, "-o", "locked/a.om"), 3, "ATC2007")


def test_convert_tells_what_passes_warn_of(atc: Atc) -> None:
    node = onnx.helper.make_node
    nodes = [
        node("AscendQuant", ["x"], ["a"], scale=1.0, offset=3.0),
        node("AscendQuant", ["x"], ["b"], scale=1.0, offset=5.0),
        node("Concat", ["a", "b"], ["q"], axis=1),
        node("Conv", ["q", "w"], ["s"], name="layer", pads=[1, 1, 1, 1]),
        node("AscendDequant", ["s", "d"], ["y"]),
    ]
    weights: dict[str, np.ndarray[Any, Any]] = {
        "w": np.ones((2, 2, 3, 3), np.int8),
        "d": np.array([0x3F800000], np.uint64),
    }
    ports = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", [1, 1, 4, 4]), ("y", [1, 2, 4, 4]))
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)])
    onnx.save(proto, "two.onnx")
    done = atc("convert", "-v", "two.onnx")
    assert done.status == 0
    assert "warning[ATC6002 quant-offset-unclear]" in done.out
    assert 'node 3 "layer" (Conv)' in done.out
    (warning,) = atc("convert", "two.onnx", "--json").json["warnings"]
    assert (warning["code"], warning["place"]["node_name"]) == ("ATC6002", "layer")
