"""Operators on volumes (NCDHW) of the list cann-9.0 against onnxruntime, exactly.

All numbers are small multiples of 1/8, so that every product and sum is exact in float32: what is
left is the rounding of the result to float16.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from atc_py.diag import AtcError
from tests.end_to_end import run_with_atc_py, run_with_onnxruntime
from tests.failures import Failures

Array = NDArray[Any]

X = (2, 4, 5, 6, 4)
MODES = ("force_fp16", "allow_fp32_to_fp16")
_ALL_MODES = 11


def small(*shape: int, seed: int = 0) -> Array:
    """Return multiples of 1/8 between -1 and 1."""
    generator = np.random.default_rng([seed, *shape])
    return (generator.integers(-8, 9, shape) / 8).astype(np.float32)


def model(
    nodes: list[onnx.NodeProto], weights: dict[str, Array], opset: int = 13, dtype: Any = np.float32
) -> onnx.ModelProto:
    """Return a model of x and weights in one dtype; its output is y."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        nodes,
        "volumes",
        [helper.make_tensor_value_info("x", element, X)],
        [helper.make_tensor_value_info("y", element, None)],
        [numpy_helper.from_array(each.astype(dtype), name) for name, each in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def layer(op: str, weights: dict[str, Array], **attributes: Any) -> list[onnx.NodeProto]:
    """Return one node that reads x and its weights."""
    return [helper.make_node(op, ["x", *weights], ["y"], "layer", **attributes)]


def agree(nodes: list[onnx.NodeProto], weights: dict[str, Array], folder: Path, opset: int) -> None:
    """Check float32, at one opset in two modes, and float16 whose dtypes are kept."""
    feeds = {"x": small(*X, seed=9)}
    wide = model(nodes, weights, opset)
    (expected,) = run_with_onnxruntime(wide, feeds).values()
    narrow = expected.astype(np.float16)
    for mode in MODES if opset == _ALL_MODES else MODES[:1]:
        options = {"operator_list": "cann-9.0", "precision_mode": mode}
        (found,) = run_with_atc_py(wide, feeds, folder, **options).values()
        np.testing.assert_array_equal(found, narrow.astype(np.float32), strict=True)
    if opset != _ALL_MODES:
        return
    options = {"operator_list": "cann-9.0", "precision_mode": "must_keep_origin_dtype"}
    kept = model(nodes, weights, opset, np.float16)
    halves = {"x": feeds["x"].astype(np.float16)}
    (found,) = run_with_atc_py(kept, halves, folder, **options).values()
    np.testing.assert_array_equal(found, narrow, strict=True)


CONV: dict[str, tuple[tuple[int, ...], bool, dict[str, Any]]] = {
    "plain": ((3, 4, 2, 3, 2), False, {}),
    "pads, strides, bias": (
        (3, 4, 2, 3, 2),
        True,
        {"pads": [1, 0, 2, 0, 1, 1], "strides": [2, 1, 3]},
    ),
    "dilations": ((3, 4, 2, 2, 2), True, {"dilations": [3, 2, 1], "pads": [1, 1, 1, 1, 1, 1]}),
    "groups": ((6, 2, 2, 2, 3), True, {"group": 2, "pads": [0, 1, 1, 1, 0, 1]}),
    "depthwise": ((8, 1, 2, 3, 2), True, {"group": 4}),
    "one element": ((5, 4, 1, 1, 1), True, {"strides": [1, 2, 2], "kernel_shape": [1, 1, 1]}),
    "same upper": ((3, 4, 2, 3, 4), False, {"auto_pad": "SAME_UPPER", "strides": [2, 1, 3]}),
    "same lower": ((3, 4, 2, 3, 4), False, {"auto_pad": "SAME_LOWER", "strides": [2, 1, 3]}),
    "valid": ((3, 4, 2, 3, 4), False, {"auto_pad": "VALID", "strides": [2, 1, 3]}),
}
TRANSPOSED: dict[str, tuple[tuple[int, ...], bool, dict[str, Any]]] = {
    "plain": ((4, 3, 2, 3, 2), False, {"kernel_shape": [2, 3, 2]}),
    "strides, pads, bias": (
        (4, 3, 3, 3, 2),
        True,
        {"kernel_shape": [3, 3, 2], "strides": [2, 1, 3], "pads": [1, 0, 1, 0, 1, 0]},
    ),
    "output padding": (
        (4, 2, 2, 2, 2),
        False,
        {"kernel_shape": [2, 2, 2], "strides": [3, 2, 2], "output_padding": [2, 0, 1]},
    ),
    "output shape": (
        (4, 2, 3, 3, 3),
        True,
        {"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "output_shape": [10, 12, 8]},
    ),
    "same upper": (
        (4, 2, 3, 2, 3),
        False,
        {"kernel_shape": [3, 2, 3], "strides": [2, 2, 2], "auto_pad": "SAME_UPPER"},
    ),
    "groups, dilations": (
        (4, 3, 2, 2, 2),
        True,
        {"kernel_shape": [2, 2, 2], "group": 2, "dilations": [2, 1, 3]},
    ),
}


@pytest.mark.parametrize(("op", "cases"), [("Conv", CONV), ("ConvTranspose", TRANSPOSED)])
def test_convolutions_of_volumes_agree(
    tmp_path: Path, op: str, cases: dict[str, tuple[tuple[int, ...], bool, dict[str, Any]]]
) -> None:
    with Failures() as failures:
        for at, (name, (shape, with_bias, attributes)) in enumerate(cases.items()):
            channels = shape[0] if op == "Conv" else shape[1] * attributes.get("group", 1)
            weights = {"w": small(*shape)} | ({"b": small(channels)} if with_bias else {})
            with failures.of(name):
                opset = (11, 14, 18)[at % 3]
                agree(layer(op, weights, **attributes), weights, tmp_path, opset)


def normalization(channels: int) -> dict[str, Array]:
    """Return parameters whose factor is a power of 2, so that folding them is exact."""
    generator = np.random.default_rng(channels)
    return {
        "scale": generator.choice([0.5, 1.0, 2.0], channels).astype(np.float32),
        "shift": small(channels, seed=1),
        "mean": small(channels, seed=2),
        "var": generator.choice([0.25, 1.0, 4.0], channels).astype(np.float32),
    }


def test_what_stands_around_convolutions_goes_into_them(tmp_path: Path) -> None:
    """Check Pad before, and BatchNormalization, Add and Relu after, with passes and without."""
    weights = {"w": small(3, 4, 2, 2, 2), "a": small(3, 1, 1, 1, seed=4), **normalization(3)}
    weights["pads"] = np.array([0, 0, 1, 0, 2, 0, 0, 0, 1, 1], np.int64)
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["padded"], "pad"),
        helper.make_node("Conv", ["padded", "w"], ["sums"], "conv", pads=[1, 0, 0, 0, 0, 0]),
        helper.make_node(
            "BatchNormalization", ["sums", *normalization(3)], ["even"], "norm", epsilon=0.0
        ),
        helper.make_node("Add", ["even", "a"], ["more"], "add"),
        helper.make_node("Relu", ["more"], ["y"], "relu"),
    ]
    whole = model(nodes, {})
    whole.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in weights.items())
    feeds = {"x": small(*X, seed=9)}
    (expected,) = run_with_onnxruntime(whole, feeds).values()
    options = {"operator_list": "cann-9.0", "precision_mode": "force_fp16"}
    (found,) = run_with_atc_py(whole, feeds, tmp_path, **options).values()
    np.testing.assert_array_equal(found, expected.astype(np.float16).astype(np.float32))
    apart = ["fuse-conv-batch-norm", "fuse-pad-conv", "fuse-conv-bias", "assign-storage"]
    (found,) = run_with_atc_py(whole, feeds, tmp_path, disable_pass=apart, **options).values()
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4), X, (1, 2, 3, 2, 2, 2)])
def test_normalization_of_any_rank_is_that_of_images(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    parameters = normalization(shape[1])
    names = [*parameters]
    node = helper.make_node("BatchNormalization", ["x", *names], ["y"], "norm", epsilon=0.0)
    whole = model([node], parameters, 15)
    whole.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, shape))
    feeds = {"x": small(*shape, seed=9)}
    (expected,) = run_with_onnxruntime(whole, feeds).values()
    for mode in (*MODES, "must_keep_origin_dtype"):
        options = {"operator_list": "cann-9.0", "precision_mode": mode}
        (found,) = run_with_atc_py(whole, feeds, tmp_path, **options).values()
        np.testing.assert_array_equal(found, expected, strict=True)


def refused(
    nodes: list[onnx.NodeProto], weights: dict[str, Array], folder: Path, **how: Any
) -> str:
    """Return why a model is refused."""
    with pytest.raises(AtcError) as caught:
        run_with_atc_py(model(nodes, weights), {"x": small(*X)}, folder, **how)
    return str(caught.value)


def test_volumes_are_refused_where_the_list_has_none(tmp_path: Path) -> None:
    weights = {"w": small(3, 4, 2, 2, 2)}
    nodes = layer("Conv", weights)
    letter = {"operator_list": "base", "strict_list": True}
    assert "must have rank 4" in refused(nodes, weights, tmp_path, **letter)
    kept = {"operator_list": "cann-9.0", "precision_mode": "must_keep_origin_dtype"}
    found = refused(nodes, weights, tmp_path, **kept)
    assert "X of Conv must have dtype float16 or int8, when X has rank 5" in found
