"""Small offline models: of one shape, with two inputs, and with gears of each kind."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.adapters.ais_bench import runtime

WEIGHTS = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
EXACT = "must_keep_origin_dtype"


def convolution(shape: Sequence[int | str]) -> onnx.ModelProto:
    """Return a convolution and Relu of an input of that shape."""
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], name="Conv_0", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["y"], name="Relu_1"),
        ],
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(WEIGHTS, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


def two_inputs() -> onnx.ModelProto:
    """Return a sum of float32 data and a comparison of int32 data, in batches of two."""
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["a", "a"], ["s"], name="Add_0"),
            helper.make_node("Neg", ["b"], ["n"], name="Neg_1"),
        ],
        "two",
        [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 3]),
            helper.make_tensor_value_info("b", TensorProto.INT32, [2, 2]),
        ],
        [
            helper.make_tensor_value_info("s", TensorProto.FLOAT, None),
            helper.make_tensor_value_info("n", TensorProto.INT32, None),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


MODELS: dict[str, tuple[onnx.ModelProto, dict[str, str]]] = {
    "one": (convolution([1, 3, 8, 8]), {"precision_mode": EXACT}),
    "two": (two_inputs(), {"precision_mode": EXACT}),
    "b": (convolution(["n", 3, 8, 8]), {"input_shape": "x:-1,3,8,8", "batch_sizes": "1,2,4"}),
    "hw": (
        convolution([1, 3, "h", "w"]),
        {"input_shape": "x:1,3,-1,-1", "image_sizes": "8,8;16,12"},
    ),
    "r": (convolution(["n", 3, "h", 8]), {"input_shape": "x:1~4,3,-1,8"}),
    "d": (convolution([1, 3, "h", "w"]), {"input_shape": "x:1,3,-1,-1", "dims": "8,8;16,12"}),
}
"""Models and how they are converted, by name."""


@cache
def converted(name: str) -> bytes:
    """Return the bytes of an offline model."""
    model, options = MODELS[name]
    onnx.save(model, f"{name}.onnx")
    choice: Any = options
    atc_py.convert(f"{name}.onnx", f"{name}.om", **choice)
    return Path(f"{name}.om").read_bytes()


def saved(name: str) -> str:
    """Write an offline model to the current folder; return its name."""
    Path(f"{name}.om").write_bytes(converted(name))
    return f"{name}.om"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, in a process that has opened no device."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runtime, "_opened", set())


@pytest.fixture
def om() -> str:
    """Return a model of one shape, in float32."""
    return saved("one")


@pytest.fixture
def two() -> str:
    """Return a model with two inputs and two outputs."""
    return saved("two")


@pytest.fixture
def batches() -> str:
    """Return a model with gears of batches 1, 2 and 4."""
    return saved("b")


@pytest.fixture
def images() -> str:
    """Return a model with gears of image sizes 8x8 and 16x12."""
    return saved("hw")


@pytest.fixture
def ranges() -> str:
    """Return a model with a range of batches and any height."""
    return saved("r")


@pytest.fixture
def dims() -> str:
    """Return a model with gears of dims."""
    return saved("d")
