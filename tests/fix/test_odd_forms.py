"""Forms that mutated models have: written as they are meant, or left alone."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import atc_py
from atc_py.fix.case import Fed, contrib_case
from atc_py.onnx_graph.reading.read import read_model
from tests.cli.test_fixed_origins import model as signals_with_a_choice
from tests.end_to_end import one_node_model, run_with_onnxruntime
from tests.fix.cases import write_case


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


def test_absent_operand_is_left_alone(tmp_path: Path) -> None:
    model = one_node_model("ArgMax", {"x": np.ones((2, 3), np.float32)}, 11, axis=-1)
    model.graph.node[0].input[0] = ""
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert not atc_py.fix_model(path, tmp_path / "fixed.onnx", operator_list="cann-9.0").rewrites


def test_attribute_by_reference_outside_a_function_is_left(tmp_path: Path) -> None:
    model = one_node_model("Gelu", {"x": np.ones((2, 3), np.float32)}, 20, approximate="tanh")
    model.graph.node[0].attribute[0].ref_attr_name = "outer"
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    done = atc_py.fix_model(path, dry_run=True, operator_list="base", seeds=0)
    assert not done.changes
    assert done.left


def test_scalars_of_a_condition_have_no_form_as_images(tmp_path: Path) -> None:
    path = signals_with_a_choice(str(tmp_path / "model.onnx"))
    done = atc_py.fix_model(path, tmp_path / "fixed.onnx", operator_list="base")
    assert not done.left
    assert all(each.error < 1e-5 for each in done.outputs.values())


def test_layers_of_int8_have_the_mark_of_their_biases(tmp_path: Path) -> None:
    """The zero point of the data is no part of the biases, and every reader has to know."""
    data: dict[str, np.ndarray[Any, Any]] = {
        "w": np.ones((4, 3, 1, 1), np.int8),
        "s": np.array(0.25, np.float32),
        "z": np.array(3, np.uint8),
        "none": np.zeros(4, np.int8),
        "steps": np.full(4, 0.5, np.float32),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "steps", "none"], ["v"], axis=0),
        helper.make_node("Conv", ["d", "v"], ["c"]),
        helper.make_node("HardSwish", ["c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])],
        [onnx.numpy_helper.from_array(each, name) for name, each in data.items()],
    )
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]), path)
    done = atc_py.fix_model(path, fixed, operator_list="base", all_findings=True)
    assert not done.left
    assert done.outputs["y"].error < 1e-5
    convention = read_model(fixed).bias_convention(None)
    assert convention is not None
    assert convention.as_json() == {"convention": "unfolded", "source": "mark"}


def test_scalar_has_no_axis_to_put_last(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Hardmax", ["x"], ["h"]),
        helper.make_node("Mish", ["h"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "scalar",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    assert atc_py.fix_model(path, tmp_path / "fixed.onnx", operator_list="base", seeds=0).left


def test_sequences_of_no_steps_end_in_zeros(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    shapes = {"x": (2, 3, 4), "w": (1, 5, 4), "r": (1, 5, 5), "b": (1, 10), "first": (1, 3, 5)}
    data = {name: generator.normal(size=dims).astype(np.float32) for name, dims in shapes.items()}
    feeds = {"x": data["x"], "lengths": np.array([0, 1, 2], np.int32), "first": data["first"]}
    weights = {name: data[name] for name in "wrb"}
    order = ["x", "w", "r", "b", "lengths", "first"]
    model = one_node_model(
        "RNN", feeds, 11, constants=weights, order=order, outputs=2, hidden_size=5
    )
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(model, path)
    assert not atc_py.fix_model(path, fixed, operator_list="base").left
    found, wanted = (run_with_onnxruntime(onnx.load(each), feeds) for each in (fixed, path))
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, atol=1e-6)


def test_words_of_a_mask_are_its_ones(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    tables = {name: generator.normal(size=(6, 4)).astype(np.float32) for name in ("words", "rows")}
    tables |= {name: np.ones(4, np.float32) for name in ("gamma", "beta")}
    feeds = {"ids": np.array([[2, 1, 2]], np.int32), "mask": np.array([[2, 1, 1]], np.int32)}
    order = ["ids", "", "words", "rows", "", "gamma", "beta", "mask"]
    model = one_node_model(
        "EmbedLayerNormalization", feeds, 17, constants=tables, order=order, outputs=2
    )
    model.graph.node[0].domain = "com.microsoft"
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(model, path)
    assert not atc_py.fix_model(path, fixed, operator_list="cann-9.0", seeds=0).left
    found, wanted = (run_with_onnxruntime(onnx.load(each), feeds) for each in (fixed, path))
    counts = model.graph.node[0].output[1]
    assert found[counts].tolist() == wanted[counts].tolist() == [2]


def test_condition_longer_than_its_axis_is_cut_off(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    chosen = np.array([True, False, True])
    model = one_node_model("Compress", {"x": x}, 11, constants={"chosen": chosen}, axis=-1)
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(model, path)
    assert not atc_py.fix_model(path, fixed, operator_list="base").left
    (found,) = run_with_onnxruntime(onnx.load(fixed), {"x": x}).values()
    np.testing.assert_array_equal(found, x[:, :1])


def test_zero_points_of_columns_that_are_computed_are_subtracted(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    shapes = {"a": (3, 4), "b": (4, 5), "of_all": (), "of_columns": (5,)}
    feeds = {name: np.array(rng.integers(0, 255, dims), np.uint8) for name, dims in shapes.items()}
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(one_node_model("MatMulInteger", feeds, 10), path)
    assert not atc_py.fix_model(path, fixed, operator_list="base", simulate=False).left
    found, wanted = (run_with_onnxruntime(onnx.load(each), feeds) for each in (fixed, path))
    np.testing.assert_array_equal(found["y0"], wanted["y0"])


def test_cache_longer_than_the_past_is_left_where_it_is_returned(tmp_path: Path) -> None:
    """A cache of 4 positions, 2 of which are the past; outputs have all of them."""
    query, key, cache = Fed((1, 1, 32)), Fed((1, 1, 16)), Fed((1, 1, 4, 16))
    lengths = (np.array([2], np.int32), np.array(3, np.int32))
    heads = {"num_heads": 2, "kv_num_heads": 1}
    case = contrib_case(
        "GroupQueryAttention", query, key, key, cache, cache, *lengths, **heads, outputs=3
    )
    path = write_case(case, tmp_path / "model.onnx")
    for absent in (1, 2):
        model = onnx.load(path)
        model.graph.node[0].output[absent] = ""
        del model.graph.output[absent]
        onnx.save(model, tmp_path / "some.onnx")
        (left,) = atc_py.fix_model(tmp_path / "some.onnx", tmp_path / "fixed.onnx").left
        assert "the cache holds no more than the past" in left.unfit[0][1]
