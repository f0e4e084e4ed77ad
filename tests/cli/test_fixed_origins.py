"""Commands with --fix name the original's nodes for what rules rewrote, by names and positions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from tests.cli.conftest import Result

Atc = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("base_list")

node = helper.make_node

PLACES = {(0, "outer"), (3, "inner"), (4, "pool")}
"""Positions and names of the refused nodes of `model`; those of branches have that of the If."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


def model(path: str = "m.onnx", *, quantized: bool = False) -> Path:
    """Write 1-D convolutions, one in a branch that an input chooses, and a 1-D pool.

    Args:
        path: the file.
        quantized: put QuantizeLinear and DequantizeLinear before the first node.
    """
    generator = np.random.default_rng(0)
    data: dict[str, Any] = {
        "w": generator.standard_normal((4, 3, 3)).astype(np.float32),
        "v": generator.standard_normal((4, 4, 3)).astype(np.float32),
        "high": np.array(16000),
    }
    branches = {
        "then_branch": [
            node("Conv", ["r", "v"], ["tc"], "inner", pads=[1, 1]),
            node("Relu", ["tc"], ["b"], "inner_relu"),
        ],
        "else_branch": [node("Neg", ["r"], ["b"], "inner_neg")],
    }
    graphs = {
        name: helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name="b")])
        for name, nodes in branches.items()
    }
    nodes = [
        node("Conv", ["x", "w"], ["c"], "outer"),
        node("Relu", ["c"], ["r"], "relu"),
        node("Equal", ["rate", "high"], ["is_high"], "compare"),
        node("If", ["is_high"], ["f"], "choose", **graphs),
        node("MaxPool", ["f"], ["y"], "pool", kernel_shape=[2], strides=[2]),
    ]
    if quantized:
        data |= {"s": np.array(0.05, np.float32), "z": np.array(3, np.int8)}
        nodes += [
            node("QuantizeLinear", ["y", "s", "z"], ["q"], "codes"),
            node("DequantizeLinear", ["q", "s", "z"], ["z_out"], "reals"),
        ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16]),
        helper.make_tensor_value_info("rate", TensorProto.INT64, []),
    ]
    last = nodes[-1].output[0]
    graph = helper.make_graph(
        nodes,
        "m",
        inputs,
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in data.items()],
    )
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return Path(path)


def places(fixed: list[dict[str, Any]]) -> set[tuple[int, str]]:
    """Return positions and names of rewritten nodes, all of which have an operator and rules."""
    assert all(each["rules"] == ["window-1d"] for each in fixed)
    assert {each["operator"] for each in fixed} == {"Conv", "MaxPool"}
    return {(each["node"], each["name"]) for each in fixed}


def test_convert_records_the_originals_nodes(atc: Atc) -> None:
    done = atc("convert", "-v", model(), "--fix", "--bind", "rate=16000", "--json").json
    assert places(done["fixed"]) == PLACES
    known = {
        (at, name)
        for each in done["precision"]["nodes"]
        for at, name in zip(each["positions"], each["from"], strict=True)
    }
    assert known == {*PLACES, (1, "relu"), (3, "inner_relu")}
    text = atc("convert", "-v", model(), "--fix", "--bind", "rate=16000").out
    assert "Rewritten by --fix" in text
    assert '0 "outer", 3 "inner"' in text
    inside = atc("info", "m.om", "--json").json["report"]
    assert places(inside["fixed"]) == PLACES


def test_compare_names_the_originals_nodes(atc: Atc) -> None:
    done = atc("compare", model(), "--fix", "--bind", "rate=16000", "--format", "json").json
    layers = {(each["source_at"], each["source"], each["source_op"]) for each in done["layers"]}
    assert layers == {
        (0, "outer", "Conv"),
        (1, "relu", "Relu"),
        (3, "choose", "If"),
        (4, "pool", "MaxPool"),
    }
    assert [each["name"] for each in done["original_alone"]] == ["compare"]
    assert all(each["cosine"] > 0.999 for each in done["layers"])


def test_profile_names_the_originals_nodes(atc: Atc) -> None:
    arguments = ("profile", model(), "--fix", "--bind", "rate=16000")
    (soc,) = atc(*arguments, "--format", "json").json["socs"]
    found = {each for kernel in soc["kernels"] for each in kernel["origins"]}
    assert found == {"outer", "relu", "inner", "inner_relu", "pool"}
    assert {each for kernel in soc["kernels"] for each in kernel["positions"]} == {0, 1, 3, 4}
    lines = atc(*arguments).out.partition("Kernels\n")[2]
    assert {name for name in ("outer", "inner", "pool") if name in lines} == {
        "outer",
        "inner",
        "pool",
    }


@pytest.mark.parametrize("form", ["ascend", "qdq"])
def test_quantize_fixes_first_and_names_the_originals_nodes(atc: Atc, form: str) -> None:
    source = model(quantized=True)
    if form == "qdq":
        assert atc("quantize", source, "-o", "deploy.onnx").status == 0
        source = Path("deploy.onnx")
    plain = atc("quantize", source, "--format", form, "-o", "plain.onnx", "--json").json
    assert plain["operator_list"]["errors"] > 0
    assert "fixed" not in plain
    arguments = ("quantize", source, "--format", form, "-o", "out.onnx", "--fix")
    done = atc(*arguments, "--bind", "rate=16000", "--json")
    assert done.status == 0, done.err
    assert places(done.json["fixed"]) == PLACES
    assert done.json["operator_list"]["errors"] == 0
    written = onnx.load("out.onnx")
    assert [each.name for each in written.graph.input] == ["x"]
    names = [each.name for each in written.graph.node]
    assert {"outer", "inner", "pool"} <= set(names)
    assert "Rewritten by --fix" in atc(*arguments, "--bind", "rate=16000").out


def test_the_python_interface_of_quantize_refuses_unknown_rules() -> None:
    with pytest.raises(TypeError, match="ranges"):
        atc_py.quantize_model(model(quantized=True), fix={"range": {}})  # type: ignore[arg-type]
