"""Nodes that may fold away once every dim is known, and nodes that cannot."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.onnx_graph.reading import onnx_file
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import SourceModel
from tests.onnx_graph import onnx_files

Weights = dict[str, npt.NDArray[np.generic]]

node = helper.make_node
FLOAT, INT64 = onnx_files.FLOAT, onnx_files.INT64
WEIGHTS: Weights = {"one": np.array(1, np.int64), "half": np.array(0.5, np.float32)}


def surveyed(*nodes: onnx.NodeProto, folder: Path, ends: tuple[str, ...] = ("y",)) -> SourceModel:
    inputs: onnx_files.Ports = {
        "x": (FLOAT, [1, "h", 8]),
        "fed": (INT64, []),
        "flag": (TensorProto.BOOL, []),
    }
    proto = onnx_files.model(list(nodes), inputs, ends, WEIGHTS)
    return onnx_file.surveyed(read_model(onnx_files.save(proto, folder), lenient=True), {}).source


def vanishing(view: SourceModel) -> set[str]:
    return {each.name for each in view.all_nodes if each.vanishes}


def settling(view: SourceModel) -> set[str]:
    seen = (tensor for each in view.all_nodes for tensor in (*each.inputs, *each.outputs))
    return {tensor.name for tensor in seen if tensor is not None and tensor.settles}


HEIGHT = (
    node("Shape", ["x"], ["shape"], "shape"),
    node("Gather", ["shape", "one"], ["h"], "gather"),
)


def test_function_of_shapes_and_constants_settles(tmp_path: Path) -> None:
    more = (node("Mul", ["h", "h"], ["hh"], "mul"), node("Cast", ["hh"], ["y"], "cast", to=FLOAT))
    view = surveyed(*HEIGHT, *more, folder=tmp_path)
    assert settling(view) == {"shape", "h", "hh", "y"}
    assert vanishing(view) == {"shape", "gather", "mul", "cast"}


def test_what_is_fed_does_not_settle(tmp_path: Path) -> None:
    view = surveyed(*HEIGHT, node("Mul", ["h", "fed"], ["y"], "mul"), folder=tmp_path)
    assert vanishing(view) == {"shape", "gather"}


def test_node_that_only_shapes_need_vanishes_with_all_before_it(tmp_path: Path) -> None:
    nodes = (
        node("Sin", ["x"], ["a"], "sin"),
        node("Cos", ["a"], ["b"], "cos"),
        node("Shape", ["b"], ["y"], "shape"),
    )
    assert vanishing(surveyed(*nodes, folder=tmp_path)) == {"sin", "cos", "shape"}
    both = surveyed(*nodes, folder=tmp_path, ends=("y", "a"))
    assert vanishing(both) == {"cos", "shape"}


@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [("RandomNormalLike", {}), ("Dropout", {}), ("LRN", {"size": 3})],
)
def test_operator_that_is_not_folded_stays(
    op_type: str, attributes: dict[str, Any], tmp_path: Path
) -> None:
    real = node("Cast", ["shape"], ["r"], "cast", to=FLOAT)
    view = surveyed(
        HEIGHT[0], real, node(op_type, ["r"], ["y"], "kept", **attributes), folder=tmp_path
    )
    assert "kept" not in vanishing(view)


def test_shape_that_values_decide_does_not_settle(tmp_path: Path) -> None:
    nodes = (
        node("NonZero", ["x"], ["z"], "nonzero"),
        node("Transpose", ["z"], ["t"], "transpose"),
        node("Shape", ["t"], ["y"], "shape"),
    )
    assert vanishing(surveyed(*nodes, folder=tmp_path)) == set()


def branch(name: str, *nodes: onnx.NodeProto) -> onnx.GraphProto:
    output = helper.make_tensor_value_info(name, FLOAT, None)
    return helper.make_graph(list(nodes), name, [], [output])


def choice(condition: str, then: onnx.GraphProto, otherwise: onnx.GraphProto) -> onnx.NodeProto:
    branches = {"then_branch": then, "else_branch": otherwise}
    return node("If", [condition], ["y"], "choose", **branches)


def test_branches_vanish_where_shapes_choose_and_stay_where_data_do(tmp_path: Path) -> None:
    then = branch("a", node("Sin", ["x"], ["a"], "sin"))
    otherwise = branch("b", node("Cos", ["x"], ["b"], "cos"))
    equal = node("Equal", ["h", "one"], ["same"], "equal")
    chosen = surveyed(*HEIGHT, equal, choice("same", then, otherwise), folder=tmp_path)
    assert {"choose", "sin", "cos"} <= vanishing(chosen)
    fed = surveyed(choice("flag", then, otherwise), folder=tmp_path)
    assert vanishing(fed) == set()


def test_what_every_branch_needs_stays(tmp_path: Path) -> None:
    equal = node("Equal", ["h", "one"], ["same"], "equal")
    before = (node("Abs", ["x"], ["p"], "both"), node("Neg", ["x"], ["q"], "one_of_two"))
    then = branch("a", node("Add", ["p", "q"], ["a"], "sum"))
    otherwise = branch("b", node("Cos", ["p"], ["b"], "cos"))
    view = surveyed(*HEIGHT, equal, *before, choice("same", then, otherwise), folder=tmp_path)
    assert "one_of_two" in vanishing(view)
    assert "both" not in vanishing(view)


def test_contradiction_where_nodes_vanish_is_a_doubt(tmp_path: Path) -> None:
    wrong = node("Add", ["h", "half"], ["y"], "wrong")
    view = surveyed(*HEIGHT, wrong, folder=tmp_path)
    assert view.faults == ()
    assert [each.place and each.place.node_name for each in view.doubts] == ["wrong"]
    stays = surveyed(*HEIGHT, node("Add", ["x", "h"], ["y"], "wrong"), folder=tmp_path)
    assert [each.place and each.place.node_name for each in stays.faults] == ["wrong"]
