"""`atc-py fix --dry-run`: the differences between both graphs, node by node."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cli.conftest import Result
from tests.cli.test_fixed_origins import model

Atc = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("base_list")

node = helper.make_node


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


def activations(count: int = 5, alone: int = 4) -> Path:
    """Write a row of HardSwish, which the list refuses, and nodes that nothing needs."""
    names = ["x", *(f"v{at}" for at in range(count - 1)), "f"]
    nodes = [node("HardSwish", [names[at]], [names[at + 1]], f"act{at}") for at in range(count)]
    nodes += [node("Abs", ["x"], [f"a{at}"], f"idle{at}") for at in range(alone)]
    nodes.append(node("Unsqueeze", ["f", "axes"], ["y"], "last"))
    graph = helper.make_graph(
        nodes,
        "m",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array([0]), "axes")],
    )
    opset = helper.make_opsetid("", 14)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), "m.onnx")
    return Path("m.onnx")


def hunks(text: str) -> dict[str, list[str]]:
    """Return the lines of each hunk by its title."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text[text.index("---") :].partition("\n\n")[0].splitlines():
        if line.startswith("@@"):
            lines = found[line.strip("@ ")] = []
        else:
            lines.append(line)
    return found


def test_each_rewritten_node_is_a_hunk_with_its_rules_and_neighbors(atc: Atc) -> None:
    done = atc("fix", model(), "--bind", "rate=16000", "--dry-run")
    assert done.status == 0, done.err
    assert "\n\n--- m.onnx (opset 13)\n+++ fixed (opset 12)\n@@" in done.out
    found = hunks(done.out)
    read = "outer/unsqueeze[1,3,1,16], outer/unsqueeze_2[4,3,1,3]"
    assert found['node 0 "outer": window-1d'] == [
        "- Conv outer (x[1,3,16], w[4,3,3]) -> c[1,4,14]",
        "+ Unsqueeze outer/Unsqueeze (x[1,3,16]) -> outer/unsqueeze[1,3,1,16] {axes=[2]}",
        f"+ Conv outer ({read}) -> outer/conv[1,4,1,14]",
        "  Relu relu -> r/image[1,4,1,14]",
    ]
    inner = found['node 3 "inner": window-1d']
    assert inner[1] == "- Conv inner (r[1,4,14], v[4,4,3]) -> tc[1,4,14] {pads=[1,1]}"
    assert [line[:1] for line in inner] == [" ", "-", "+", " "]
    chosen = found['node 3 "choose": one branch is chosen']
    assert not any("Conv" in line for line in chosen if line[0] in "+-")
    assert found["1 node: constant, or not needed"] == [
        "- Equal compare (rate int64[], high=16000) -> is_high"
    ]
    assert 'node 1 "relu": carried along in the form of the nodes around it' in found
    assert [*Path().iterdir()] == [Path("m.onnx")]


def test_changes_alike_are_folded(atc: Atc) -> None:
    found = hunks(atc("fix", activations(), "--dry-run").out)
    assert [title for title in found if "function-body" in title] == [
        'node 0 "act0": function-body'
    ]
    (folded,) = (line for line in found['node 0 "act0": function-body'] if "more like" in line)
    assert folded.strip() == (
        '... 4 more like this: node 1 "act1", node 2 "act2", node 3 "act3", node 4 "act4"; '
        "--verbose shows all"
    )
    assert found["4 nodes: constant, or not needed"] == ["- 4 Abs"]
    assert found['node 9 "last": stated at another opset'][1:] == [
        "- Unsqueeze last (f[1,8], axes=[0]) -> y[1,1,8]",
        "+ Unsqueeze last (f[1,8]) -> y[1,1,8] {axes=[0]}",
    ]


def test_verbose_shows_all_changes(atc: Atc) -> None:
    found = hunks(atc("fix", activations(), "--dry-run", "--verbose").out)
    assert sum("function-body" in title for title in found) == 5
    assert len(found["4 nodes: constant, or not needed"]) == 4
    assert not any("more like" in line for lines in found.values() for line in lines)


def test_the_differences_are_in_json(atc: Atc) -> None:
    done = atc("fix", model(), "--bind", "rate=16000", "--dry-run", "--json").json
    assert done["output"] is None
    kinds = [(each["kind"], each["node"], each["before"]["name"]) for each in done["changes"]]
    assert kinds == [
        ("rules", 0, "outer"),
        ("moved", 1, "relu"),
        ("dropped", 2, "compare"),
        ("chosen", 3, "choose"),
        ("rules", 3, "inner"),
        ("rules", 4, "pool"),
    ]
    first = done["changes"][0]
    assert first["rules"] == ["window-1d"]
    assert [each["operator"] for each in first["after"]] == ["Unsqueeze", "Conv"]
    assert first["before"]["inputs"][0] == {
        "name": "x", "dtype": "float32", "dims": [1, 3, 16], "data": None,
    }  # fmt: skip
    assert first["after"][0]["attributes"] == {"axes": "[2]"}


def test_a_long_row_of_new_nodes_is_cut(atc: Atc) -> None:
    body = helper.make_graph(
        [node("Mul", ["s", "half"], ["t"]), node("Add", ["t", "half"], ["u"]),
         node("Identity", ["c"], ["d"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("c", TensorProto.BOOL, []),
         helper.make_tensor_value_info("s", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("d", TensorProto.BOOL, []),
         helper.make_tensor_value_info("u", TensorProto.FLOAT, [1, 8])],
    )  # fmt: skip
    graph = helper.make_graph(
        [node("Loop", ["count", "", "x"], ["y"], "steps", body=body)],
        "m",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])],
        [numpy_helper.from_array(np.array(20), "count"),
         numpy_helper.from_array(np.array(0.5, np.float32), "half")],
    )  # fmt: skip
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), "m.onnx")
    lines = hunks(atc("fix", "m.onnx", "--dry-run").out)['node 0 "steps": loop-unroll']
    assert sum(line.startswith("+") for line in lines) == 9
    assert "more nodes: " in lines[-1]
    assert "--verbose shows all" in lines[-1]


def test_nothing_to_change_has_no_differences(atc: Atc) -> None:
    onnx.save(
        helper.make_model(
            helper.make_graph(
                [node("Relu", ["x"], ["y"])],
                "m",
                [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            ),
            opset_imports=[helper.make_opsetid("", 12)],
            ir_version=8,
        ),
        "m.onnx",
    )
    assert "\n\nResult\n" in atc("fix", "m.onnx", "--dry-run").out
