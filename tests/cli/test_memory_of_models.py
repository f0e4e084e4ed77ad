"""What the commands say of memory, and `--disable-reuse-memory`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest

import atc_py
from atc_py.results.memory_facts import memory_facts
from tests.cli.conftest import Result

Atc = Callable[..., Result]

IMAGE = 1 * 1 * 8 * 8 * 16 * 2
"""Bytes of 3 or 4 channels of 8 x 8 in float16, stored as NC1HWC0."""

FILTER = 3 * 3 * 1 * 16 * 16 * 2
"""Bytes of a 3 x 3 filter of 3 and 4 channels in float16, stored as FRACTAL_Z."""


def of_model(atc: Atc, om: str) -> dict[str, Any]:
    """Return the section on memory."""
    found: dict[str, Any] = atc("info", om, "--json").json["memory"]
    return found


def test_info_and_convert_say_the_same_of_memory(atc: Atc, model: Path) -> None:
    converted = atc("convert", model, "-o", "m.om", "--json").json["memory"]
    assert converted == of_model(atc, "m.om")
    assert converted["weights"] == FILTER
    assert converted["inputs"] == 3 * 8 * 8 * 4
    assert converted["outputs"] == 4 * 8 * 8 * 4
    parts = ("weights", "inputs", "outputs", "arena", "workspace")
    assert converted["total"] == sum(converted[part] for part in parts)
    assert converted["ratio"] == 1.0


def test_equal_constants_are_one_and_shapes_of_views_none(tmp_path: Path) -> None:
    """Check two equal filters and a Reshape: one filter, 512 bytes before and after it."""
    text = """
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1,4,8,8] x) => (float[1,4,64] y)
        <float[4,4,3,3] a = {%s}, float[4,4,3,3] b = {%s}, int64[3] shape = {1,4,64}> {
            h = Conv <pads = [1,1,1,1]> (x, a)
            i = Conv <pads = [1,1,1,1]> (h, b)
            y = Reshape (i, shape)
        }"""
    numbers = ",".join(["0.5"] * 144)
    path = tmp_path / "net.onnx"
    onnx.save(onnx.parser.parse_model(text % (numbers, numbers)), path)
    memory = atc_py.convert(path, tmp_path / "m.om", soc="Ascend310P3").memory
    assert memory is not None
    assert memory.weights == 512 + FILTER + 512
    with atc_py.load(tmp_path / "m.om") as model:
        assert memory_facts(model.description) == memory


def test_widest_moment_names_its_node_and_values(atc: Atc, model: Path) -> None:
    atc("convert", "-v", model, "-o", "m.om", "--disable-pass", "merge-conv-elemwise")
    widest = of_model(atc, "m.om")["widest"]
    assert widest["op"] == "Conv2D"
    assert [tensor["bytes"] for tensor in widest["tensors"]] == [IMAGE, IMAGE]
    text = atc("info", "m.om").out
    assert f"Peak: 4.0 KiB while {widest['node']} (Conv2D) runs" in text
    assert widest["tensors"][0]["name"] in text


@pytest.mark.parametrize("spelling", ["--disable-reuse-memory", "--disable_reuse_memory"])
def test_reuse_can_be_switched_off_as_in_atc(atc: Atc, model: Path, spelling: str) -> None:
    apart = ("--disable-pass", "merge-conv-elemwise")
    off = atc("convert", "-v", model, "-o", "off.om", f"{spelling}=1", "--verify", *apart)
    assert off.status == 0
    assert "reuse is switched off" in off.out
    atc("convert", "-v", model, "-o", "on.om", f"{spelling}=0", *apart)
    with_it, without = of_model(atc, "on.om"), of_model(atc, "off.om")
    assert (with_it["reuse"], without["reuse"]) == (True, False)
    assert with_it["arena"] < without["arena"]
    assert with_it["lower_bound"] == without["lower_bound"]


def test_value_of_disable_reuse_memory_is_0_or_1(atc: Atc, model: Path) -> None:
    assert atc("convert", "-v", model, "--disable-reuse-memory=2").status == 2


def test_summary_of_convert_has_a_line_on_memory(atc: Atc, model: Path) -> None:
    out = atc("convert", "-v", model).out
    assert "memory" in out
    assert "1.00 x the lower bound" in out
