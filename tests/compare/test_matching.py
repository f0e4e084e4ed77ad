"""Which results of the device stand for which values of the original, through fusion and casts."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.compare.matching import _Matcher
from atc_py.package.schema import OmNode, OmTensor
from atc_py.results.layer import ErrorOrigin
from atc_py.results.layer_comparison import LayerComparison
from tests.compare.broken_networks import built, node


def compared(model: onnx.ModelProto, tmp_path: Path, **options: str) -> LayerComparison:
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return atc_py.compare_model(path, **options)  # type: ignore[arg-type]


def convolution_with_norm() -> onnx.ModelProto:
    """Return conv and BatchNormalization, which become one operator, then Relu."""
    random = np.random.default_rng(0)
    constants = {"w": random.standard_normal((4, 3, 3, 3)).astype(np.float32)}
    constants |= {name: np.full(4, 2, np.float32) for name in ("scale", "bias", "mean", "var")}
    return built(
        [
            node("Conv", "x w", "c"),
            node("BatchNormalization", "c scale bias mean var", "b"),
            node("Relu", "b", "y"),
        ],
        {"x": np.zeros((1, 3, 8, 8), np.float32)},
        constants,
    )


def test_fused_node_stands_for_its_last_origin(tmp_path: Path) -> None:
    done = compared(convolution_with_norm(), tmp_path)
    layers = {(layer.op, layer.value) for layer in done.layers}
    assert {("Conv2D", "b"), ("Relu", "y")} <= layers
    assert {("TransData", "x"), ("TransData", "y")} <= layers
    assert "c" not in {value for _, value in layers}
    (alone,) = done.original_alone
    assert (alone.name, alone.reason) == ("n_c", "fused into the node after it")
    assert all(layer.figures.cosine > 0.9999 for layer in done.layers)
    assert done.first_failing is None


def test_results_of_a_node_with_several_are_distinguished(tmp_path: Path) -> None:
    split = helper.make_node("Split", ["x", "parts"], ["a", "b"], name="n_split", axis=1)
    model = built(
        [split, node("Sin", "a", "s"), node("Cos", "b", "c"), node("Sub", "s c", "y")],
        {"x": np.zeros((2, 4), np.float32)},
        {"parts": np.array([2, 2], np.int64)},
    )
    done = compared(model, tmp_path)
    assert {"a", "b", "s", "c", "y"} <= {layer.value for layer in done.layers}
    assert all(layer.figures.cosine > 0.9999 for layer in done.layers)


def test_second_result_alone_is_compared(tmp_path: Path) -> None:
    """Check an output whose first result is not asked for, but made by the device."""
    sorted_out = helper.make_node("TopK", ["x", "count"], ["", "y"], name="n_y")
    x = np.array([[3, 1, 2, 5]], np.float32)
    model = built([sorted_out], {"x": x}, {"count": np.array([2], np.int64)})
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    done = compared(model, tmp_path, targets={"cosine": 0.99})  # type: ignore[arg-type]
    assert not done.uncompared
    assert done.passed
    assert {layer.value for layer in done.layers if layer.op == "TopK"} == {"y"}


def test_steps_inside_a_node_and_folded_nodes_are_listed(tmp_path: Path) -> None:
    model = built(
        [node("Gemm", "x w", "g"), node("Add", "two two", "four"), node("Pow", "g four", "y")],
        {"x": np.zeros((2, 4), np.float32)},
        {"w": np.eye(4, dtype=np.float32), "two": np.array([2], np.float32)},
    )
    done = compared(model, tmp_path)
    assert [(each.name, each.reason) for each in done.original_alone] == [
        ("n_four", "folded or not needed")
    ]
    assert {"g", "y"} <= {layer.value for layer in done.layers}


def test_casts_that_were_put_in_are_layers_of_the_value_they_hand_on(tmp_path: Path) -> None:
    x = np.zeros((2, 4), np.float32)
    done = compared(built([node("Sin", "x", "y")], {"x": x}, {}), tmp_path)
    assert [(layer.op, layer.value, layer.source_op) for layer in done.layers] == [
        ("Cast", "x", ""),
        ("Sin", "y", "Sin"),
        ("Cast", "y", "Sin"),
    ]
    assert done.layers[0].origin is ErrorOrigin.INTRODUCED
    assert done.layers[2].origin is ErrorOrigin.PASSED_ON


def test_nodes_of_a_branch_have_no_counterpart(tmp_path: Path) -> None:
    def branch(op: str) -> onnx.GraphProto:
        made = helper.make_node(op, ["x"], [f"{op}_out"], name=f"n_{op}")
        out = helper.make_tensor_value_info(f"{op}_out", TensorProto.FLOAT, [2, 4])
        return helper.make_graph([made], op, [], [out])

    choice = helper.make_node(
        "If", ["flag"], ["z"], name="n_if", then_branch=branch("Sin"), else_branch=branch("Cos")
    )
    feeds = {"x": np.zeros((2, 4), np.float32), "flag": np.array(True)}  # noqa: FBT003
    done = compared(built([choice, node("Neg", "z", "y")], feeds, {}), tmp_path)
    assert {"Sin", "Cos"} <= {each.op for each in done.device_alone}
    assert done.layers[done.outputs["y"]].figures.cosine > 0.9999


@pytest.mark.parametrize("mode", ["force_fp16", "allow_fp32_to_fp16"])
def test_origin_that_is_not_a_node_of_the_file_is_not_a_match(mode: str, tmp_path: Path) -> None:
    """Check that positions mean the same nodes, as functions are put in on both sides."""
    function = helper.make_function(
        "local", "Twice", ["a"], ["b"],
        [helper.make_node("Sin", ["a"], ["m"]), helper.make_node("Cos", ["m"], ["b"])],
        [helper.make_opsetid("", 13)],
    )  # fmt: skip
    model = built(
        [helper.make_node("Twice", ["x"], ["t"], domain="local"), node("Neg", "t", "y")],
        {"x": np.zeros((2, 4), np.float32)},
        {"unused": numpy_helper.to_array(numpy_helper.from_array(np.zeros(1, np.float32)))},
    )
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("local", 1))
    done = compared(model, tmp_path, precision_mode=mode)
    assert {"Sin", "Cos", "Neg"} <= {layer.source_op for layer in done.layers}
    assert all(layer.figures.cosine > 0.9999 for layer in done.layers)


def test_values_go_back_through_conversions_of_their_kind_alone() -> None:
    kinds = ("float16", "float32", "int32", "float32")
    tensors = [
        OmTensor(
            f"t{at}", kind, [4], "ND", stands_for=("y",) if at == 1 else ("z",) if at == 3 else ()
        )
        for at, kind in enumerate(kinds)
    ]
    steps = (
        ("Cast", 0, 1, ("y",)),
        ("Relu", 0, 1, ()),
        ("Cast", 2, 3, ()),
        ("TransData", 0, 3, ("z",)),
    )
    for op, source, target, names in steps:
        nodes = [OmNode(op, "n", "aicore", [source], [target], {}, None, [])]
        model: Any = SimpleNamespace(inputs=[], outputs=[], tensors=tensors, nodes=nodes)
        assert _Matcher(model, [], [])._find_names()[source] == names
