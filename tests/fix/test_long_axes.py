"""Axes of 2^30 elements: checking and fixing work out no place along them."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import atc_py

LONG = 2**30
MOST = 64 * 2**20
"""Bytes that the work may take."""


def resize(x: list[int], scales: list[float], **attributes: Any) -> onnx.ModelProto:
    """Return a model of a Resize by scales, with the middle of X as its region."""
    arrays = {
        "roi": np.array([0.2] * len(x) + [1.4] * len(x), np.float32),
        "scales": np.array(scales, np.float32),
    }
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "roi", "scales"], ["y"], **attributes)],
        "long",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [onnx.ValueInfoProto(name="y")],
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def pool(x: list[int], op_type: str = "AveragePool", **attributes: Any) -> onnx.ModelProto:
    """Return a model of a pool."""
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x"], ["y"], **attributes)],
        "long",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [onnx.ValueInfoProto(name="y")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=8)


CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
MODELS = {
    "nearest": resize([1, 1, 4, 2**29], [1, 1, 1, 2]),
    "linear": resize([1, 1, 4, 2**29], [1, 1, 1, 2], mode="linear"),
    "linear to little": resize([1, 1, 4, LONG], [1, 1, 1, 2**-28], mode="linear"),
    "channels": resize([1, LONG, 4, 4], [1, 2, 1, 1]),
    "cropped": resize([1, 1, 4, 2**29], [1, 1, 2, 2], **CROP),
    "cropped on two axes": resize([1, 1, 2**18, 2**18], [1, 1, 2, 2], **CROP),
    "resized on two axes": resize([1, 1, 2**15, 2**15], [1, 1, 2, 2], nearest_mode="ceil"),
    "means": pool([1, 1, 1, LONG], kernel_shape=[1, 3], dilations=[1, 2]),
    "maxima": pool([1, 1, 1, LONG], "MaxPool", kernel_shape=[1, 3], dilations=[1, 2]),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cann", [None, 9])
def test_long_axis_takes_no_memory(name: str, cann: int | None, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(MODELS[name], path)
    tracemalloc.start()
    try:
        atc_py.check_models(path)
        atc_py.fix_model(
            path, tmp_path / "fixed.onnx", seeds=0, simulate=False, for_cann=cann is not None
        )
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MOST
