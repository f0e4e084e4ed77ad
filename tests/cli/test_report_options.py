"""The options of `report` beside those of `convert`, `compare` and `profile`, and what they do."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.cli.main import cli
from atc_py.cli.report import _given
from atc_py.report.page import actions
from tests.cli.conftest import Result, small_model
from tests.cli.test_profile_command import TABLE
from tests.cli.test_report_command import model_of
from tests.gears.models import image_model
from tests.report.page_document import document_of

Atc = Callable[..., Result]

EXCEPTIONS = {
    "--kernels": "writes a folder; the page has the text of each kernel",
    "--dump-ir": "writes a folder of texts for whoever works on passes",
    "--why-not": "the page lists what every pass found and where it nearly applied",
    "--passes": "lists the passes and stops; no model is looked at",
    "--format": "the page is HTML",
    "--verbose": "the page shows everything",
    "--trace": "writes a file for another program; the page has the timeline",
    "--auto-gears": "the page is of gears whose numbers are given",
    "--save-factors": "writes a file for later commands",
    "--measured": "tables of a board; `board compare` has a page of its own",
    "--board-dump": "the same for dumps of a board",
    "--board-json": "says what tables and dumps of a board are of",
}
"""Options of the three commands that `report` does not take, and why."""

AIPP = "aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 16 src_image_size_h: 16 }"


def whole(name: str) -> click.Command:
    """Return a command with the options that all commands have."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command


convert, compare, profile, report = map(whole, ("convert", "compare", "profile", "report"))

OWN = {"--output", "--lang", "--no-compare", "--max-memory", "--json", "--suggest"}
"""Options of `report` that no command for the same model repeats."""


def spelled(command: click.Command) -> set[str]:
    """Return each option of a command in its first long spelling."""
    return {
        next(each for each in parameter.opts if each.startswith("--"))
        for parameter in command.params
        if parameter.opts[0].startswith("-")
    } | {"--quiet"}  # a command gets it when it is called


def test_report_takes_the_options_of_the_commands_it_stands_for() -> None:
    wanted = spelled(convert) | spelled(compare) | spelled(profile)
    assert wanted - spelled(report) == set(EXCEPTIONS)


def test_every_spelling_and_default_is_that_of_the_other_commands() -> None:
    own = {spelling: each for each in report.params for spelling in each.opts}
    for command in (compare, profile, convert):
        for each in command.params:
            for spelling in each.opts:
                if spelling in own and each.name not in {"model", "output", "soc", "lang"}:
                    assert own[spelling].default == each.default, spelling


def test_commands_to_copy_leave_out_what_their_command_does_not_take() -> None:
    given = spelled(report) - OWN
    assert given - spelled(convert) == actions.COMPARING | actions.REPORTING
    assert given - spelled(compare) == actions.CONVERTING | actions.REPORTING - {"--fail-under"}


def gears_of(page: str) -> list[Any]:
    """Return what the page shows, gear by gear."""
    found: list[Any] = document_of(Path(page).read_text(encoding="utf-8"))["models"]
    return found


def test_gears_have_a_part_of_the_page_each(atc: Atc) -> None:
    image_model(Path("net.onnx"))
    lists = ("--input-shape", "x:1,3,-1,-1", "--image-sizes", "16,16;32,16")
    done = atc("report", "net.onnx", "-o", "page.html", *lists)
    assert done.status == 0, done.err
    assert [line.split(": ")[0] for line in done.out.splitlines()[:2]] == [
        "net.onnx (gear 16,16)",
        "net.onnx (gear 32,16)",
    ]
    found = gears_of("page.html")
    assert [(each["gear"], each["shape"]) for each in found] == [
        ("16,16", "x:1,3,16,16"),
        ("32,16", "x:1,3,32,16"),
    ]
    assert all(each["precision"] and each["time"] and each["compiled"] for each in found)
    times = [each["time"]["socs"][0]["time"][1] for each in found]
    assert times[0] < times[1]
    command = found[1]["actions"][-1]["command"]
    assert "--image-sizes '16,16;32,16'" in command
    assert command.startswith("atc-py convert net.onnx")
    facts = atc("report", "net.onnx", "-o", "page.html", *lists, "--json").json
    assert (facts["verdict"], facts["outputs"]) == ("compiles", "pass")
    assert [each["gear"] for each in facts["gears"]] == ["16,16", "32,16"]


def test_gear_that_does_not_compile_is_a_part_of_the_page(atc: Atc) -> None:
    image_model(Path("net.onnx"))
    lists = ("--input-shape", "x:1,3,-1,-1", "--image-sizes", "16,16;1,1")
    done = atc("report", "net.onnx", "-o", "page.html", *lists)
    assert done.status == 1
    assert "net.onnx (gear 1,1): does not compile" in done.out
    assert [each["state"] for each in gears_of("page.html")] == ["compiles", "refused"]


def test_gear_of_an_offline_model_is_named(atc: Atc) -> None:
    image_model(Path("net.onnx"))
    lists = ("--input-shape", "x:1,3,-1,-1", "--image-sizes", "16,16;32,16")
    assert atc("convert", "net.onnx", "-o", "net.om", *lists).status == 0
    shapes = {}
    for named in (("--gear", "0"), ("--image", "32,16")):
        assert atc("report", "net.om", "-o", "page.html", *named).status == 0
        found = model_of("page.html")
        shapes[named[1]] = found["compiled"]["values"][found["compiled"]["inputs"][0]][2]
        assert len(found["time"]["socs"][0]["gears"]) == 2
    assert shapes == {"0": [1, 3, 16, 16], "32,16": [1, 3, 32, 16]}
    assert atc("report", "net.om", "-o", "page.html", "--gear", "9").status == 2
    assert atc("report", "net.om", "-o", "page.html", "--image-sizes", "16,16;32,16").status == 2
    assert atc("report", "net.onnx", "-o", "page.html", "--gear", "0").status == 2


@pytest.mark.usefixtures("model")
def test_chosen_outputs_are_compiled_and_compared(atc: Atc) -> None:
    done = atc("report", "small.onnx", "-o", "page.html", "--out-nodes", "c")
    assert done.status == 0, done.err
    found = model_of("page.html")
    assert found["compiled"]["ports"][-1] == "c"
    assert [each["name"] for each in found["precision"]["outputs"]] == ["c"]
    onnx.save(small_model(operator="NoSuchOperator"), "odd.onnx")
    assert atc("report", "odd.onnx", "-o", "page.html").status == 1
    # No engine runs the original as a whole, which is said beside the verdict.
    assert atc("report", "odd.onnx", "-o", "page.html", "--out-nodes", "c").status == 4
    assert model_of("page.html")["state"] == "compiles"


@pytest.mark.usefixtures("model")
def test_pass_that_is_left_out_leaves_two_kernels(atc: Atc) -> None:
    counts = []
    for given in (
        (),
        ("--disable-pass", "merge-conv-elemwise", "--disable-pass", "merge-elemwise"),
    ):
        assert atc("report", "small.onnx", "-o", "page.html", *given).status == 0
        counts.append(len(model_of("page.html")["time"]["socs"][0]["kernels"]))
    assert counts[0] < counts[1]
    command = model_of("page.html")["actions"][-1]["command"]
    assert command.count("--disable-pass") == 2


@pytest.mark.usefixtures("model")
def test_options_that_take_words_are_repeated_as_they_were_given(atc: Atc) -> None:
    given = ("--allow-hf32", "false", "--is-weight-clip", "0", "--disable-reuse-memory", "1")
    assert atc("report", "small.onnx", "-o", "page.html", *given).status == 0
    found = model_of("page.html")
    assert set(found["options"]) == {
        "--allow-hf32 false",
        "--is-weight-clip 0",
        "--disable-reuse-memory 1",
    }
    assert atc(*found["actions"][-1]["command"].split()[1:]).status == 0


@pytest.mark.usefixtures("model")
def test_search_writes_a_file_and_shows_what_it_keeps(atc: Atc) -> None:
    target = ("--fail-under", "snr=80", "--suggest", "keep.txt")
    done = atc("report", "small.onnx", "-o", "page.html", *target)
    assert done.status == 4, done.err  # as it is, the model misses the target
    assert "written: keep.txt" in done.out
    found = model_of("page.html")["precision"]["suggestion"]
    assert [row[0] for row in found["kept"]] == Path("keep.txt").read_text().split()
    assert found["reached"]
    assert atc("report", "small.onnx", "--suggest", "k.txt", "--no-compare").status == 2
    assert atc("report", "small.onnx", "-o", "k.txt", "--suggest", "k.txt").status == 2


@pytest.mark.usefixtures("model")
def test_factors_are_refitted_to_measurements(atc: Atc) -> None:
    Path("measured.csv").write_text(TABLE, encoding="utf-8")
    done = atc("report", "small.onnx", "-o", "page.html", "--calibrate", "measured.csv")
    assert done.status == 0, done.err
    (factors, _) = model_of("page.html")["time"]["calibration"]
    assert "5 measurements" in factors["title"][0]
    both = ("--calibrate", "measured.csv", "--factors", "measured.csv")
    assert atc("report", "small.onnx", *both).status == 2


@pytest.mark.usefixtures("model")
def test_another_reference_and_several_samples(atc: Atc) -> None:
    other = small_model()
    other.graph.node[1].op_type = "Sigmoid"
    onnx.save(other, "other.onnx")
    done = atc("report", "small.onnx", "-o", "page.html", "--reference", "other.onnx")
    assert done.status == 0, done.err
    assert "compiles, but 1 of 1 outputs fail" in done.out
    assert atc("report", "small.onnx", "-o", "page.html", "--samples", "2").status == 0
    assert model_of("page.html")["precision"]["samples"] == 2


def test_pictures_go_through_aipp(atc: Atc) -> None:
    node = helper.make_node("Relu", ["x"], ["y"], "relu")
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 3, 16, 16]) for n in "xy"]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
        "net.onnx",
    )
    Path("aipp.cfg").write_text(AIPP, encoding="utf-8")
    done = atc("report", "net.onnx", "-o", "page.html", "--aipp", "aipp.cfg")
    assert done.status == 0, done.err
    found = model_of("page.html")
    assert "Aipp" in {row[1] for row in found["compiled"]["nodes"]}
    assert found["precision"]["layers"]


def test_dims_that_each_run_decides_are_estimated_and_not_compared(atc: Atc) -> None:
    onnx.save(small_model(free=True), "free.onnx")
    done = atc("report", "free.onnx", "-o", "page.html", "--input-shape", "x:1~4,3,8,8")
    assert done.status == 4, done.err
    found = model_of("page.html")
    assert (done.status, found["state"], found["precision"]) == (4, "compiles", None)
    assert "one shape" in found["not_compared"][0]["message"][0]
    assert (
        atc(
            "report", "free.onnx", "-o", "page.html", "--input-shape", "x:1~4,3,8,8", "--no-compare"
        ).status
        == 0
    )


def test_verdict_names_the_outputs_that_fail(atc: Atc, model: Path) -> None:
    done = atc("report", model, "-o", "page.html", "--fail-under", "snr=500")
    assert done.status == 4
    line = done.out.splitlines()[0]
    assert line.startswith(
        "small.onnx: compiles, but 1 of 1 outputs fail --fail-under snr=500: y: "
    )
    found = model_of("page.html")
    assert [each["name"] for each in found["outputs"]["failing"]] == ["y"]
    assert found["outputs"]["targets"]
    english, chinese = found["actions"][0]["text"]
    assert english.startswith("1 of 1 outputs fail --fail-under=snr=500 (y: snr ")
    assert "未达标" in chinese
    assert found["actions"][0]["node"].startswith("c")
    facts = atc("report", model, "-o", "page.html", "--fail-under", "snr=500", "--json").json
    assert (facts["verdict"], facts["outputs"]) == ("compiles", "fail")


def test_verdict_names_failing_outputs_without_a_target(atc: Atc) -> None:
    model = small_model()
    weights = onnx.numpy_helper.to_array(model.graph.initializer[0]) * np.float32(1e6)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, "large.onnx")
    done = atc("report", "large.onnx", "-o", "page.html")
    assert done.status == 0
    assert done.out.startswith(
        "large.onnx: compiles, but 1 of 1 outputs fail: y: infinite or NaN where the original is finite"
    )
    found = model_of("page.html")
    assert found["state"] == "compiles"
    assert found["actions"][0]["text"][0].startswith(
        "1 of 1 outputs fail (y: infinite or NaN where the original is finite)"
    )
    said = model_of("page.html")["precision"]["verdict"]
    assert said[0][0].startswith("first failing layer: ")
    assert said[1][0].startswith("its error: ")
    assert all(re.search("[\u4e00-\u9fff]", chinese) for _, chinese in said)


def test_verdict_is_chinese_where_that_is_asked_for(atc: Atc, model: Path) -> None:
    done = atc("report", model, "-o", "p.html", "--fail-under", "snr=500", "--lang", "zh")
    first, *_, last = done.out.splitlines()
    assert first.startswith(
        "small.onnx：可编译，但 1 个输出中 1 个未达标 --fail-under snr=500：y：snr "
    )
    assert last == "报告：p.html"


def test_page_has_both_languages_whichever_the_command_speaks(atc: Atc, model: Path) -> None:
    pages = []
    for spoken in ("en", "zh"):
        options = ("--fail-under", "snr=500", "--suggest", "keep.txt", "--lang", spoken)
        atc("report", model, "-o", "page.html", *options)
        found = model_of("page.html")
        del found["precision"]["cost"]  # it has times
        pages.append(found)
    assert pages[0] == pages[1]


def test_flag_that_switches_off_is_repeated_as_it_is_spelled() -> None:
    option = click.Option(["--no-use", "use"], is_flag=True, flag_value=False, default=True)
    with click.Command("x", params=[option]).make_context("x", ["--no-use"]) as context:
        assert _given(context) == {"--no-use": ()}
