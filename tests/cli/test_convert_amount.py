"""How much `convert` prints: five lines, tables with -v, nothing with -q."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.cli.conftest import Result, small_model

Atc = Callable[..., Result]


def grouped_model() -> onnx.ModelProto:
    """Return a convolution of four groups, which is rewritten."""
    weights = np.ones((8, 2, 3, 3), np.float32)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1, 1, 1, 1], group=4)],
        "grouped",
        [info("x", 1, [1, 8, 8, 8])],
        [info("y", 1, [1, 8, 8, 8])],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)


def test_five_lines_say_what_came_of_it(atc: Atc) -> None:
    onnx.save(small_model(), "small.onnx")
    done = atc("convert", "small.onnx")
    first, *rest = done.out.splitlines()
    assert (done.status, done.err) == (0, "")
    assert first == "small.onnx: converted to small.om (sim, force_fp16)"
    assert [line.split()[0] for line in rest] == ["size", "launches", "estimate", "warnings"]
    size = Path("small.om").stat().st_size
    assert rest[0] == f"  size      {size / 1024:.1f} KiB; 216 B of weights"
    assert rest[1] == "  launches  5 per run"
    assert "µs (between " in rest[2]
    assert rest[3] == "  warnings  none"


def test_rewrites_are_counted_as_information(atc: Atc) -> None:
    onnx.save(grouped_model(), "grouped.onnx")
    done = atc("convert", "grouped.onnx")
    assert done.out.splitlines()[-1] == (
        "  warnings  none; for information: 1 rewritten; -v lists them"
    )


@pytest.mark.parametrize("option", ["-v", "--verbose"])
def test_verbose_prints_findings_and_tables(atc: Atc, option: str) -> None:
    onnx.save(grouped_model(), "grouped.onnx")
    done = atc("convert", "grouped.onnx", option)
    assert done.out.startswith("rewrite[ATC4012 ")
    for title in ("\nStages\n", "\nOperators: 1 nodes in the file", "\nResult\n"):
        assert title in done.out


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet_prints_nothing_and_errors_all_the_same(atc: Atc, option: str) -> None:
    onnx.save(small_model(), "small.onnx")
    done = atc("convert", "small.onnx", option, "--why-not", "fuse-gelu")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert Path("small.om").exists()
    refused = atc("convert", "gone.onnx", option)
    assert (refused.status, refused.err.startswith("error[ATC2001")) == (3, True)
    assert atc("convert", "small.onnx", option, "--json").json["output"] == "small.om"


def test_quiet_and_verbose_exclude_each_other(atc: Atc) -> None:
    done = atc("convert", "small.onnx", "-q", "-v")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error[ATC1001 bad-option-value]: -v and -q exclude each other")


def test_gears_are_counted_and_figures_are_of_the_largest(atc: Atc) -> None:
    onnx.save(small_model(free=True), "free.onnx")
    done = atc("convert", "free.onnx", "--input-shape", "x:-1,3,8,8", "--batch-sizes", "1,2")
    lines = done.out.splitlines()
    assert lines[0].endswith("(sim, force_fp16, 2 gears)")
    assert lines[2].endswith(" per run, largest gear")
    assert lines[3].endswith("), largest gear")


def test_names_from_the_command_line_cannot_command_the_terminal(atc: Atc) -> None:
    onnx.save(small_model(), "small.onnx")
    done = atc("convert", "small.onnx", "-o", "a\x1b[2Jb.om")
    assert done.status == 0
    assert "\x1b" not in done.out
