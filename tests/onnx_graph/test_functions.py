"""Functions that a model defines: what they come to is bounded before they are put in."""

from pathlib import Path

import onnx
import pytest
from onnx import helper

from atc_py.diag.codes import BAD_MODEL
from atc_py.onnx_graph.reading.functions import MOST_DEPTH
from atc_py.onnx_graph.reading.read import read_model
from tests.onnx_graph.onnx_files import FLOAT, fails, model, save

node = helper.make_node


def calling(*bodies: list[str]) -> onnx.ModelProto:
    """Return a model that calls function 0; bodies are chains of operators, digits are calls."""
    proto = model(
        [node("0", ["x"], ["y"], domain="own")],
        {"x": (FLOAT, [2])},
        ["y"],
        opsets={"": 13, "own": 1},
    )
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("own", 1)]
    for at, body in enumerate(bodies):
        nodes = [
            node(op, [f"t{place}"], [f"t{place + 1}"], domain="own" if op.isdigit() else "")
            for place, op in enumerate(body)
        ]
        names = ["t0"], [f"t{len(body)}"]
        proto.functions.append(helper.make_function("own", str(at), *names, nodes, imports))
    return proto


def test_functions_are_put_in_where_they_are_called(tmp_path: Path) -> None:
    proto = calling(["1", "Relu", "1"], ["Neg", "Abs"])
    found = read_model(save(proto, tmp_path))
    assert [each.op_type for each in found.nodes] == ["Neg", "Abs", "Relu", "Neg", "Abs"]


@pytest.mark.parametrize("bodies", [[["0"]], [["1"], ["0"]], [["1"], ["2"], ["Relu", "1"]]])
def test_function_that_calls_itself_is_refused(bodies: list[list[str]], tmp_path: Path) -> None:
    path = save(calling(*bodies), tmp_path)
    assert "calls itself" in str(fails(lambda: read_model(path), BAD_MODEL))


def test_functions_that_come_to_too_many_nodes_are_refused(tmp_path: Path) -> None:
    bodies = [[str(at + 1)] * 2 for at in range(60)]
    path = save(calling(*bodies, ["Relu"]), tmp_path)
    assert "expand to 1e18 nodes" in str(fails(lambda: read_model(path), BAD_MODEL))


def test_functions_that_come_to_too_many_bytes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atc_py.onnx_graph.reading.functions.MOST_BYTES", 100)
    path = save(calling(["1"] * 9, ["Relu"]), tmp_path)
    assert "the limits are 100000 and 100" in str(fails(lambda: read_model(path), BAD_MODEL))


def test_functions_that_call_one_another_too_deep_are_refused(tmp_path: Path) -> None:
    bodies = [[str(at + 1)] for at in range(MOST_DEPTH)]
    path = save(calling(*bodies, ["Relu"]), tmp_path)
    assert "at most 200 deep, '0'" in str(fails(lambda: read_model(path), BAD_MODEL))
    (tmp_path / "less").mkdir()
    sound = save(calling(*bodies[:-1], ["Relu"]), tmp_path / "less")
    assert [each.op_type for each in read_model(sound).nodes] == ["Relu"]
