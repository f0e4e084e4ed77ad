"""Products of uint8 and int8: onnxruntime's sums are exact on every processor."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.onnx_graph.running.engines import start_onnxruntime
from atc_py.onnx_graph.running.exact_products import shift_weights

DEPTH = 64
DATA = np.full((4, DEPTH), 255, np.uint8)
WEIGHTS = np.full((DEPTH, 8), 127, np.int8)
ZERO = {"none": None, "one": np.int8(-3), "columns": np.arange(-4, 4, dtype=np.int8)}


def model_of(
    node: onnx.NodeProto, fed: dict[str, Any], constants: dict[str, Any], domain: str = ""
) -> onnx.ModelProto:
    """Return a model of one node with the result y."""
    node.domain = domain
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in fed.items()
    ]
    weights = [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")], weights)
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("zero", ZERO)
@pytest.mark.parametrize("constant", [True, False])
def test_sums_beyond_16_bits_are_exact(zero: str, constant: bool) -> None:
    offset = ZERO[zero]
    node = helper.make_node(
        "MatMulInteger", ["a", "b", "", *(["z"] if offset is not None else [])], ["y"]
    )
    zeros = {} if offset is None else {"z": offset}
    fed = {"a": DATA} if constant else {"a": DATA, "b": WEIGHTS}
    model = model_of(node, fed, zeros | ({"b": WEIGHTS} if constant else {}))
    before = model.SerializeToString()
    found = start_onnxruntime(model, ("y",), 1).run(fed)["y"]
    wanted = DATA.astype(np.int64) @ (WEIGHTS.astype(np.int64) - (0 if offset is None else offset))
    assert np.array_equal(found, wanted)
    assert model.SerializeToString() == before


GENERATOR = np.random.default_rng(0)
X = GENERATOR.integers(0, 9, (4, 6)).astype(np.uint8)
W = GENERATOR.integers(-9, 9, (6, 5)).astype(np.int8)
IMAGE = GENERATOR.integers(0, 9, (1, 3, 5, 5)).astype(np.uint8)
FILTERS = GENERATOR.integers(-9, 9, (4, 3, 3, 3)).astype(np.int8)
SMALL: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "QLinearMatMul": ("", {"a": X}, {"as": np.float32(0.5), "az": np.uint8(3), "b": W,
        "bs": np.float32(0.25), "bz": np.int8(-2), "ys": np.float32(0.5), "yz": np.uint8(99)}),
    "QLinearConv": ("", {"a": IMAGE}, {"as": np.float32(0.5), "az": np.uint8(3), "b": FILTERS,
        "bs": np.full(4, 0.25, np.float32), "bz": np.zeros(4, np.int8), "ys": np.float32(0.5),
        "yz": np.uint8(99)}),
    "ConvInteger": ("", {"a": IMAGE}, {"b": FILTERS}),
    "QGemm": ("com.microsoft", {"a": X}, {"as": np.float32(0.5), "az": np.uint8(3), "b": W,
        "bs": np.float32(0.25), "bz": np.int8(-2)}),
    "MatMulIntegerToFloat": ("com.microsoft", {"a": X}, {"b": W, "as": np.float32(0.5),
        "bs": np.full(5, 0.25, np.float32)}),
    "DynamicQuantizeMatMul": ("com.microsoft", {"a": X.astype(np.float32)}, {"b": W,
        "bs": np.full(5, 0.25, np.float32)}),
}  # fmt: skip


@pytest.mark.parametrize("operator", SMALL)
def test_shifted_weights_give_the_same_where_nothing_saturates(
    operator: str, tmp_path: Path
) -> None:
    domain, fed, constants = SMALL[operator]
    node = helper.make_node(operator, [*fed, *constants], ["y"])
    model = model_of(node, fed, constants, domain)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    results = []
    for shift in (False, True):
        if shift:
            shift_weights(model)
            types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
            (row,) = [each for each in model.graph.node if each.op_type == operator]
            assert TensorProto.UINT8 in {types.get(name) for name in row.input}
        path = tmp_path / "model.onnx"  # sessions of bytes are shifted in all tests
        onnx.save(model, path)
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        results.append(session.run(None, fed)[0])
    assert np.array_equal(*results)
    assert np.unique(results[0]).size > 3


def test_data_after_an_unknown_operator_have_the_type_of_their_zero_point() -> None:
    _, fed, constants = SMALL["QLinearMatMul"]
    node = helper.make_node("QLinearMatMul", ["hidden", *constants], ["y"])
    model = model_of(node, fed, constants)
    before = helper.make_node("NoInference", ["a"], ["hidden"], domain="com.microsoft")
    model.graph.node.insert(0, before)
    shift_weights(model)
    types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    assert types[model.graph.node[-1].input[3]] == TensorProto.UINT8
