"""Forms that mutated models have: written as they are meant, or left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper

import atc_py
from tests.end_to_end import one_node_model, run_with_onnxruntime

if TYPE_CHECKING:
    from pathlib import Path


def test_mean_of_half_rows_stays_float32(tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(2, 3, 8)).astype(np.float16)
    scale = np.ones(8, np.float16)
    model = one_node_model(
        "LayerNormalization", {"x": x}, 17, constants={"scale": scale}, outputs=3
    )
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(model, path)
    assert not atc_py.fix_model(path, fixed, operator_list="base").left
    found, wanted = (run_with_onnxruntime(onnx.load(each), {"x": x}) for each in (fixed, path))
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_allclose(found[name], array, atol=1e-2)


def test_batch_normalization_of_integers_is_left_alone(tmp_path: Path) -> None:
    x = np.ones((1, 3, 4, 4), np.int32)
    parameters = {name: np.full(3, 2, np.int32) for name in ("s", "b", "m", "v")}
    path = tmp_path / "model.onnx"
    onnx.save(one_node_model("BatchNormalization", {"x": x}, 11, constants=parameters), path)
    done = atc_py.fix_model(path, tmp_path / "fixed.onnx", operator_list="cann-9.0")
    assert done.left
    assert not done.rewrites


def test_softmax_of_an_open_rank_keeps_its_opset(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "dims"], ["open"]),
        helper.make_node("Softmax", ["open"], ["y"], axis=-1),
        helper.make_node("HardSwish", ["x"], ["wide"]),
        helper.make_node("Unsqueeze", ["wide", "axes"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes,
        "open",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
            helper.make_tensor_value_info("dims", TensorProto.INT64, ["n"]),
        ],
        [onnx.ValueInfoProto(name="y"), onnx.ValueInfoProto(name="z")],
        [onnx.numpy_helper.from_array(np.array([0]), "axes")],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    done = atc_py.fix_model(path, tmp_path / "fixed.onnx", operator_list="base")
    assert done.opset == (17, 17)


def test_infinite_slopes_make_no_nan_of_positive_numbers(tmp_path: Path) -> None:
    x = np.array([[-2, 3, np.inf]], np.float32)
    slope = np.full((1, 3), np.inf, np.float32)
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(one_node_model("PRelu", {"x": x, "slope": slope}, 9), path)
    assert not atc_py.fix_model(path, fixed, operator_list="base").left
    (found,) = run_with_onnxruntime(onnx.load(fixed), {"x": x, "slope": slope}).values()
    np.testing.assert_array_equal(found, [[-np.inf, 3, np.inf]])


def test_axis_that_is_none_is_left_alone(tmp_path: Path) -> None:
    x, scale = np.ones((2, 3, 4), np.float32), np.ones(4, np.float32)
    model = one_node_model("LayerNormalization", {"x": x}, 17, constants={"s": scale}, axis=-1)
    model.graph.node[0].attribute[0].i = 7
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert not atc_py.fix_model(path, tmp_path / "fixed.onnx", operator_list="base").rewrites


def test_state_without_elements_stays_an_output(tmp_path: Path) -> None:
    x, weight = np.ones((2, 4, 8), np.float32), np.ones((4, 1, 1), np.float32)
    model = one_node_model("CausalConvWithState", {"x": x}, 27, constants={"w": weight}, outputs=2)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert atc_py.fix_model(path, tmp_path / "fixed.onnx", operator_list="base", seeds=0).left
