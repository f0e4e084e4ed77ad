"""Surveys: what is known of models that need not be sound, nor have fixed shapes."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.diag.codes import BAD_INPUT_SHAPE, BAD_MODEL, FOLD_TOO_LARGE
from atc_py.onnx_graph.reading import onnx_file
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import SourceModel, SourceNode
from atc_py.tensor.shapes import Shape
from tests.onnx_graph import onnx_files

node = helper.make_node
FLOAT = onnx_files.FLOAT
X: onnx_files.Ports = {"x": (FLOAT, ["N", 3, 4, 4])}


def surveyed(
    proto: onnx.ModelProto, folder: Path, shapes: dict[str, Shape] | None = None
) -> SourceModel:
    return onnx_file.surveyed(
        read_model(onnx_files.save(proto, folder), lenient=True), shapes or {}
    ).source


def only(view: SourceModel, op_type: str) -> SourceNode:
    (found,) = (each for each in view.all_nodes if each.op_type == op_type)
    return found


def dims(view: SourceNode) -> tuple[int | None, ...] | None:
    output = view.outputs[0]
    assert output is not None
    return output.dims


def test_open_dims_stay_open(tmp_path: Path) -> None:
    nodes = [node("Relu", ["x"], ["r"]), node("Flatten", ["r"], ["y"])]
    view = surveyed(onnx_files.model(nodes, X, ["y"]), tmp_path)
    assert dims(only(view, "Relu")) == (None, 3, 4, 4)
    assert dims(only(view, "Flatten")) == (None, 48)
    assert only(view, "Flatten").open_inputs == ("x",)
    assert [each.is_open for each in view.inputs] == [True]
    assert view.faults == ()


def test_shapes_given_fix_them(tmp_path: Path) -> None:
    view = surveyed(
        onnx_files.model([node("Relu", ["x"], ["y"])], X, ["y"]), tmp_path, {"x": (2, 3, 4, 4)}
    )
    assert dims(only(view, "Relu")) == (2, 3, 4, 4)
    assert only(view, "Relu").open_inputs == ()


def test_shape_that_fits_no_input_is_refused(tmp_path: Path) -> None:
    proto = onnx_files.model([node("Relu", ["x"], ["y"])], X, ["y"])
    onnx_files.fails(lambda: surveyed(proto, tmp_path, {"z": (1,)}), BAD_INPUT_SHAPE)
    onnx_files.fails(lambda: surveyed(proto, tmp_path, {"x": (2, 4, 4, 4)}), BAD_INPUT_SHAPE)


def test_open_inputs_are_those_that_a_node_depends_on(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, ["N"]), "z": (FLOAT, [3]), "w": (FLOAT, ["M"])}
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Relu", ["z"], ["b"]),
        node("Add", ["a", "w"], ["c"]),
    ]
    view = surveyed(onnx_files.model(nodes, inputs, ["a", "b", "c"]), tmp_path)
    assert [each.open_inputs for each in view.all_nodes] == [("x",), (), ("x", "w")]


def test_constants_are_known_and_folded_away(tmp_path: Path) -> None:
    nodes = [node("Neg", ["w"], ["k"]), node("Add", ["x", "k"], ["y"])]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [3])}, ["y"], {"w": np.ones(3, np.float32)})
    view = surveyed(proto, tmp_path)
    (add,) = view.all_nodes
    constant = add.inputs[1]
    assert constant is not None
    assert constant.const is not None
    assert constant.const.numpy().tolist() == [-1, -1, -1]
    assert view.file_nodes == 2


@pytest.mark.parametrize(
    "bad",
    [
        node("MaxPool", ["x"], ["b"], "bad", kernel_shape=2),
        node("MaxPool", ["x"], ["b"], "bad", kernel_shape=[2, 2], color=1),
        node("MaxPool", ["x", "x"], ["b"], "bad", kernel_shape=[2, 2]),
        node("Concat", ["x", "v"], ["b"], "bad", axis=0),
        node("MatMul", ["x", "v"], ["b"], "bad"),
    ],
    ids=["attribute type", "unknown attribute", "input count", "ranks", "dims"],
)
def test_node_that_breaks_onnx_is_a_fault_and_the_rest_is_known(
    bad: onnx.NodeProto, tmp_path: Path
) -> None:
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, 3, 4, 4]), "v": (FLOAT, [7])}
    nodes = [bad, node("Relu", ["x"], ["r"]), node("Relu", ["b"], ["y"])]
    view = surveyed(onnx_files.model(nodes, inputs, ["r", "y"]), tmp_path)
    assert [(fault.code, fault.place and fault.place.node_name) for fault in view.faults] == [
        (BAD_MODEL, "bad")
    ]
    relus = [each for each in view.all_nodes if each.op_type == "Relu"]
    assert [dims(each) for each in relus] == [(1, 3, 4, 4), None]


def test_every_contradiction_is_reported(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {
        "x": (FLOAT, [2, 3]),
        "v": (FLOAT, [7, 7]),
        "i": (onnx_files.INT64, [2, 3]),
    }
    nodes = [
        node("MatMul", ["x", "v"], ["a"], "first"),
        node("Concat", ["x", "v"], ["b"], "second", axis=0),
        node("Add", ["x", "i"], ["c"], "third"),
    ]
    view = surveyed(onnx_files.model(nodes, inputs, ["a", "b", "c"]), tmp_path)
    assert {fault.place and fault.place.node_name for fault in view.faults} == {
        "first",
        "second",
        "third",
    }


def test_values_that_are_not_tensors_say_so(tmp_path: Path) -> None:
    proto = onnx_files.model([node("SequenceAt", ["s", "i"], ["y"])], {}, ["y"], {"i": np.int64(0)})
    type_ = helper.make_tensor_type_proto(FLOAT, [2])
    proto.graph.input.append(helper.make_value_info("s", helper.make_sequence_type_proto(type_)))
    sequence = only(surveyed(proto, tmp_path), "SequenceAt").inputs[0]
    assert sequence is not None
    assert (sequence.element, sequence.dtype, sequence.dims) == ("sequence", None, None)


def test_strings_are_named_by_their_element_type(tmp_path: Path) -> None:
    proto = onnx_files.model(
        [node("Identity", ["x"], ["y"])], {"x": (TensorProto.STRING, [2])}, ["y"]
    )
    value = only(surveyed(proto, tmp_path), "Identity").inputs[0]
    assert value is not None
    assert (value.element, value.dtype, value.dims) == ("string", None, (2,))


def test_constant_that_is_too_large_is_a_fault(tmp_path: Path) -> None:
    nodes = [
        node("ConstantOfShape", ["s"], ["big"]),
        node("Add", ["x", "big"], ["y"]),
    ]
    weights = {"s": np.array([2**20, 2**20], np.int64)}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1])}, ["y"], weights)
    view = surveyed(proto, tmp_path)
    assert [fault.code for fault in view.faults] == [FOLD_TOO_LARGE]
    assert [each.op_type for each in view.all_nodes] == ["ConstantOfShape", "Add"]


def branching(inner: str = "Relu") -> onnx.ModelProto:
    branches = {
        key: helper.make_graph(
            [node(op, ["x"], [f"{key}_out"], f"in_{key}")],
            key,
            [],
            [helper.make_tensor_value_info(f"{key}_out", FLOAT, None)],
        )
        for key, op in (("then_branch", inner), ("else_branch", "Neg"))
    }
    nodes = [node("If", ["c"], ["i"], "choose", **branches), node("Abs", ["i"], ["y"])]
    return onnx_files.model(nodes, {**X, "c": (TensorProto.BOOL, [])}, ["y"])


def test_branches_are_looked_into(tmp_path: Path) -> None:
    view = surveyed(branching(), tmp_path)
    assert [each.op_type for each in view.all_nodes] == ["If", "Neg", "Relu", "Abs"]
    assert [each.scope for each in view.all_nodes] == [
        "",
        'else_branch of "choose"',
        'then_branch of "choose"',
        "",
    ]
    assert {each.op_type: dims(each) for each in view.all_nodes} == dict.fromkeys(
        ("If", "Relu", "Neg", "Abs"), (None, 3, 4, 4)
    )
    assert only(view, "Relu").open_inputs == ("x",)


def test_fault_in_a_branch_is_reported_once(tmp_path: Path) -> None:
    view = surveyed(branching("Add"), tmp_path)
    assert len(view.faults) == 1
    assert "takes 2 inputs" in view.faults[0].message


def nested(depth: int) -> onnx.ModelProto:
    inner = [node("Relu", ["x"], ["o0"])]
    for level in range(1, depth + 1):
        branch = helper.make_graph(
            inner, "g", [], [helper.make_tensor_value_info(f"o{level - 1}", FLOAT, None)]
        )
        inner = [node("If", ["c"], [f"o{level}"], then_branch=branch, else_branch=branch)]
    inputs: onnx_files.Ports = {"x": (FLOAT, [2]), "c": (TensorProto.BOOL, [])}
    return onnx_files.model(inner, inputs, [f"o{depth}"])


def test_nested_branches_are_looked_into_in_full(tmp_path: Path) -> None:
    view = surveyed(nested(5), tmp_path)
    assert sum(each.op_type == "Relu" for each in view.all_nodes) == 2**5
    assert all(dims(each) == (2,) for each in view.all_nodes)


def test_loop_is_one_node_of_unknown_result(tmp_path: Path) -> None:
    body = helper.make_graph(
        [node("Identity", ["cond"], ["again"]), node("Relu", ["v"], ["w"])],
        "body",
        [
            helper.make_tensor_value_info("i", onnx_files.INT64, []),
            helper.make_tensor_value_info("cond", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", FLOAT, [2]),
        ],
        [
            helper.make_tensor_value_info("again", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", FLOAT, [2]),
        ],
    )
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=body)]
    inputs: onnx_files.Ports = {"x": (FLOAT, [2]), "n": (onnx_files.INT64, [])}
    view = surveyed(onnx_files.model(nodes, inputs, ["y"]), tmp_path)
    assert [each.op_type for each in view.all_nodes] == ["Loop"]
    assert view.all_nodes[0].attributes["body"] == "<graph>"


def test_output_that_is_declared_with_another_dtype_is_a_fault(tmp_path: Path) -> None:
    proto = onnx_files.model([node("Relu", ["x"], ["y"])], X, ["y"])
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    view = surveyed(proto, tmp_path)
    assert [fault.code for fault in view.faults] == [BAD_MODEL]
    assert "declared as int32, but the computed dtype is float32" in view.faults[0].message
