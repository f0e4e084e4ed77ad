"""Nodes that ONNX does not define, or whose results it leaves open: no rule rewrites them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.results.fixing import Fixing
from tests.end_to_end import one_node_model

pytestmark = pytest.mark.usefixtures("base_list")

X = np.ones((2, 3, 8), np.float32)
RECURRENT = {"x1": np.ones((1, 4, 8), np.float32), "x2": np.full((1, 4, 4), np.nan, np.float32)}


def fixed(model: onnx.ModelProto, folder: Path, **options: Any) -> Fixing:
    """Return the record of fixing a model."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    return atc_py.fix_model(path, folder / "fixed.onnx", seeds=0, simulate=False, **options)


def of_onnxruntime(op_type: str, state: tuple[int, ...]) -> onnx.ModelProto:
    """Return a model of one node of onnxruntime: x, weights of two taps, and a state."""
    shapes = {"x": (2, 3, 8), "w": (3, 1, 2), "state": state}
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x", "w", "", "state"], ["y"], domain="com.microsoft")],
        "one",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
            for name, dims in shapes.items()
        ],
        [onnx.ValueInfoProto(name="y")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def pool(op_type: str = "MaxPool", x: Any = X, **attributes: Any) -> onnx.ModelProto:
    """Return a model of a pool."""
    return one_node_model(op_type, {"x": x}, 12, **attributes)


def normalization(dtype: type) -> onnx.ModelProto:
    """Return a BatchNormalization whose parameters have a dtype."""
    parameters: dict[str, Any] = {name: np.full(3, 2, dtype) for name in ("s", "b", "m", "v")}
    return one_node_model("BatchNormalization", {"x": X}, 13, constants=parameters)


def absent() -> onnx.ModelProto:
    """Return a model of a Min one of whose operands is absent."""
    model = one_node_model("Min", {"x": X.astype(np.int8)}, 12)
    model.graph.node[0].input.append("")
    return model


def referring() -> onnx.ModelProto:
    """Return a model of a Gelu whose attribute is that of a function."""
    model = one_node_model("Gelu", {"x": X}, 20, approximate="none")
    model.graph.node[0].attribute[0].ClearField("s")
    model.graph.node[0].attribute[0].ref_attr_name = "outer"
    return model


UNDEFINED = {
    "HardSwish of int32": one_node_model("HardSwish", {"x": X.astype(np.int32)}, 18),
    "BatchNormalization with other parameters": normalization(np.int32),
    "Min without an operand": absent(),
    "keepdims of 64": one_node_model("ReduceLogSum", {"x": X}, 11, axes=[1], keepdims=64),
    "state of other dims": of_onnxruntime("CausalConvWithState", (2, 3, 8)),
    "weights of NaN": one_node_model(
        "RNN", {"x": X}, 11, constants=RECURRENT, hidden_size=4, activations=["Relu"]
    ),
    "weights of NaN and Tanh": one_node_model(
        "RNN", {"x": X}, 11, constants=RECURRENT, hidden_size=4
    ),
    "weights excluded of nearest elements": one_node_model(
        "Resize",
        {"x": X[None]},
        13,
        constants={"s": np.array([1, 1, 2, 2], np.float32)},
        order=["x", "", "s"],
        exclude_outside=16,
        nearest_mode="ceil",
    ),
    "pads by name of few windows": one_node_model(
        "Conv",
        {"x": X[None, :, :, :, None]},
        16,
        constants={"w": np.ones((2, 2, 1, 1, 1), np.float32)},
        auto_pad="SAME_UPPER",
        strides=[1, 64, 1],
    ),
    "attribute of a function": referring(),
    "result that memory does not hold": one_node_model(
        "MaxUnpool",
        {"x": X[None]},
        13,
        kernel_shape=[2, 2],
        constants={"i": np.zeros((1, 2, 3, 8), np.int64), "s": np.array([2**40, 2, 6, 16])},
    ),
    "window before X": pool(kernel_shape=[1], pads=[1, 2], strides=[64], ceil_mode=1),
    "window after X": pool(kernel_shape=[2], pads=[0, 3]),
    "window around X": pool(x=X[..., :3], kernel_shape=[2], dilations=[4], pads=[1, 1]),
    "mean of no element": pool("AveragePool", kernel_shape=[1], pads=[1, 1]),
    "window in the padding of images": pool(
        x=X[None], kernel_shape=[1, 1], pads=[0, 1, 0, 2], auto_pad="NOTSET", dilations=[2, 1]
    ),
}


@pytest.mark.parametrize("case", UNDEFINED)
def test_node_without_a_meaning_is_left_alone(case: str, tmp_path: Path) -> None:
    done = fixed(UNDEFINED[case], tmp_path, operator_list="base")
    assert not done.rewrites
    assert done.left
    assert done.output is None


@pytest.mark.parametrize(
    "model",
    [
        normalization(np.float32),
        one_node_model("ReduceLogSum", {"x": X}, 11, axes=[1], keepdims=0),
        of_onnxruntime("CausalConvWithState", (2, 3, 1)),
        pool(kernel_shape=[2], pads=[1, 1]),
        pool(x=X[..., :3], kernel_shape=[2], dilations=[2], pads=[1, 1]),
        pool("AveragePool", kernel_shape=[2], pads=[1, 1], count_include_pad=1),
    ],
    ids=["dtypes", "keepdims", "state", "pads", "dilated", "mean with pads"],
)
def test_node_beside_them_is_rewritten(model: onnx.ModelProto, tmp_path: Path) -> None:
    done = fixed(model, tmp_path, operator_list="base")
    assert done.rewrites
    assert not done.left


@pytest.mark.parametrize(("pads", "rewritten"), [([1, 1], 1), ([2, 0], 0), ([0, 2], 0)])
def test_pads_of_an_open_axis_are_below_the_window(
    pads: list[int], rewritten: int, tmp_path: Path
) -> None:
    model = pool(kernel_shape=[2], pads=pads)
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "n"
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].ClearField("type")
    assert len(fixed(model, tmp_path).rewrites) == rewritten


def test_operator_that_onnxruntime_has_at_an_older_opset_is_rewritten(tmp_path: Path) -> None:
    scale = {"scale": np.ones(8, np.float32)}
    model = one_node_model("LayerNormalization", {"x": X}, 17, constants=scale)
    model.opset_import[0].version = 13
    assert fixed(model, tmp_path).rewrites


def test_depth_of_nan_is_not_judged(tmp_path: Path) -> None:
    constants = {"depth": np.array(np.nan, np.float16), "values": np.array([0, 1], np.float16)}
    x = np.ones(3, np.float16)
    assert fixed(one_node_model("OneHot", {"x": x}, 13, constants=constants), tmp_path).verdicts


def test_axis_that_x_does_not_have_is_a_finding_of_each_list(tmp_path: Path) -> None:
    model = one_node_model("MeanVarianceNormalization", {"x": X}, 13)  # axes are 0, 2 and 3
    for name in ("base", "cann-9.0"):
        done = fixed(model, tmp_path, operator_list=name)
        assert [each.code for each in done.left] == ["ATC4012"]
        assert done.output is None
