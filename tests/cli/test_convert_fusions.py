"""What `convert` says about fusion: switches, the result of each pass, and the nearest miss."""

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.cli.conftest import Result
from tests.cli.test_convert_command import refused

Atc = Callable[..., Result]


@pytest.fixture
def gates(atc: Atc) -> Path:  # noqa: ARG001  (its folder)
    """Return swish once as a whole, and once with a gate that the model returns."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xyzg"]
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["s"], "gate"),
        helper.make_node("Mul", ["x", "s"], ["y"], "product"),
        helper.make_node("Sigmoid", ["y"], ["g"], "second"),
        helper.make_node("Mul", ["y", "g"], ["z"], "last"),
    ]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    proto.ir_version = 8
    onnx.save(proto, "gates.onnx")
    return Path("gates.onnx")


def test_report_has_matches_effects_and_misses(atc: Atc, gates: Path) -> None:
    result = atc("convert", gates, "--json").json["fusion_result"]
    swish = result["graph_fusion"]["fuse-swish"]
    assert (swish["match_times"], swish["effect_times"]) == (2, 1)
    assert swish["nearest_miss"]["from"] == ["second"]
    assert "an output of the model" in swish["nearest_miss"]["reason"]
    assert swish["nearest_miss"]["anchor"].startswith("Sigmoid")
    assert set(result["ub_fusion"]) == {
        "merge-conv-elemwise", "merge-matmul-elemwise", "merge-elemwise", "merge-branches", "merge-groups",
        "merge-dequant", "merge-requant", "merge-aipp-conv",
    }  # fmt: skip


def test_why_not_tells_the_nearest_miss(atc: Atc, gates: Path) -> None:
    done = atc("convert", gates, "--why-not", "fuse-swish", "--why-not", "GeluONNXFusionPass")
    assert done.status == 0
    assert "fuse-swish: matched 2 times, rewritten 1 times" in done.out
    assert "nearest miss: nothing else may read %g, found an output of the model" in done.out
    assert "from 'second'" in done.out
    assert "fuse-gelu: matched 0 times, rewritten 0 times\n  no near miss" in done.out


def test_why_not_of_a_pass_that_did_not_run_says_so(atc: Atc, gates: Path) -> None:
    done = atc("convert", gates, "--disable-pass", "fuse-gelu", "--why-not", "fuse-gelu")
    assert "fuse-gelu: the pass did not run" in done.out


def test_why_not_of_an_unknown_pass_is_refused(atc: Atc, gates: Path) -> None:
    refused(atc("convert", gates, "--why-not", "fuse-everything"), 2, "ATC1004")


@pytest.mark.parametrize("option", ["--fusion-switch-file", "--fusion_switch_file"])
def test_switch_file_switches_a_pass_off(atc: Atc, gates: Path, option: str) -> None:
    Path("switch.json").write_text(
        json.dumps(
            {
                "Switch": {
                    "GraphFusion": {
                        "fuse-swish": "off",
                        "TbeAippCommonFusionPass": "off",
                        "Unknown": "off",
                    }
                }
            }
        ),
        encoding="utf-8",
    )
    done = atc("convert", "-v", gates, option, "switch.json")
    assert done.status == 0
    assert (
        "warning[ATC6020 fusion-not-switched]: neither atc-py nor ATC is known to have a pass Unknown"
        in done.out
    )
    assert "TbeAippCommonFusionPass" not in done.out
    assert "Swish" not in done.out


def test_broken_switch_file_is_refused(atc: Atc, gates: Path) -> None:
    Path("switch.cfg").write_text("fuse-swish\n", encoding="utf-8")
    refused(atc("convert", gates, "--fusion-switch-file", "switch.cfg"), 3, "ATC2021")
    refused(atc("convert", gates, "--fusion-switch-file", "none.cfg"), 3, "ATC2001")


def test_commands_leave_out_what_is_no_pass_of_atc(atc: Atc, gates: Path) -> None:
    compiled = {}
    for flags in ((), ("--only-atc-passes",)):
        done = atc("convert", gates, "--json", *flags).json
        profiled = atc("profile", gates, "--json", *flags).json
        compared = atc("compare", gates, "--json", *flags).json
        assert atc("check", gates, *flags).status == 0
        kernels = [each["op"] for each in profiled["socs"][0]["kernels"]]
        layers = {layer["op"] for layer in compared["layers"]}
        compiled[flags] = (done["target_operators"], "+".join(kernels), layers)
    for found in compiled[()]:
        assert "Swish" in found
    for found in compiled["--only-atc-passes",]:
        assert "Swish" not in found


def test_list_of_passes_says_which_atc_has(atc: Atc) -> None:
    rows = {row["name"]: row for row in atc("convert", "--json", "--passes").json}
    assert (rows["fuse-hard-swish"]["in_atc"], rows["fuse-swish"]["in_atc"]) == (False, True)
    text = atc("convert", "--passes").out
    assert "No counterpart in ATC." in text
    assert "AConv2dMulFusion." in text
