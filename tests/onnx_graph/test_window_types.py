"""Types that onnx's inference gets wrong, and graphs that would end the process."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper

from atc_py.diag import AtcError
from atc_py.onnx_graph.reading.read import read_model
from tests.end_to_end import run_with_atc_py, run_with_onnxruntime
from tests.onnx_graph import onnx_files


def model(nodes: list[NodeProto], shape: tuple[int, ...], opset: int = 11) -> onnx.ModelProto:
    """Return nodes from `x` to `y`."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, shape)],
        [onnx.ValueInfoProto(name="y")],
        [
            onnx.numpy_helper.from_array(np.array(value, np.int64), name)
            for name, value in {"zero": [0], "one": [1], "two": [2]}.items()
        ],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


SLICE = helper.make_node("Slice", ["p", "zero", "one", "two"], ["y"])


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("MaxPool", ["x"], ["p"], name="bad", kernel_shape=[9, 9]),
        helper.make_node("AveragePool", ["x"], ["p"], name="bad", kernel_shape=[9, 9]),
        helper.make_node("Conv", ["x", "w"], ["p"], name="bad"),
    ],
    ids=lambda node: str(node.op_type),
)
def test_window_beyond_its_input_before_a_slice_is_refused(node: NodeProto, tmp_path: Path) -> None:
    proto = model([node, SLICE], (1, 1, 4, 4))
    filter_ = np.ones((1, 1, 9, 9), np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(filter_, "w"))
    onnx.save(proto, tmp_path / "m.onnx")
    with pytest.raises(AtcError) as caught:
        read_model(tmp_path / "m.onnx").fold({})
    (found,) = caught.value.diagnostics
    assert found.code.exit == 1
    assert found.place is not None
    assert found.place.node_name == "bad"


def agree(proto: onnx.ModelProto, folder: Path) -> None:
    """Check that atc-py and onnxruntime give the same."""
    shape = [dim.dim_value for dim in proto.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected = run_with_onnxruntime(proto, {"x": x})["y"]
    found = run_with_atc_py(proto, {"x": x}, folder, precision_mode="must_keep_origin_dtype")["y"]
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "attributes",
    [
        {"output_shape": [3, 3]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2], "output_padding": [1, 1]},
        {"auto_pad": "SAME_LOWER", "strides": [3, 3]},
    ],
    ids=str,
)
def test_transposed_convolutions_are_typed_as_onnxruntime_does(
    attributes: dict[str, Any], tmp_path: Path
) -> None:
    nodes = [helper.make_node("ConvTranspose", ["x", "w"], ["y"], **attributes)]
    proto = model(nodes, (1, 2, 4, 4))
    weights = np.random.default_rng(1).standard_normal((2, 3, 2, 2)).astype(np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    agree(proto, tmp_path)


def test_slices_in_a_row_after_a_pool_with_ceil_mode(tmp_path: Path) -> None:
    pool: dict[str, Any] = {"kernel_shape": [1, 1], "strides": [2, 2], "ceil_mode": 1}
    nodes = [
        helper.make_node("MaxPool", ["x"], ["a"], **pool),
        helper.make_node("Slice", ["a", "zero", "two", "two"], ["b"]),
        helper.make_node("AveragePool", ["b"], ["p"], **pool),
        SLICE,
    ]
    agree(model(nodes, (1, 2, 8, 8)), tmp_path)


def test_constants_that_the_reference_gets_wrong_are_left_to_the_device(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("LRN", ["k"], ["n"], size=3, alpha=0.5),
        helper.make_node("Add", ["x", "n"], ["y"]),
    ]
    proto = model(nodes, (1, 4, 2, 2))
    data = np.random.default_rng(2).standard_normal((1, 4, 2, 2)).astype(np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(data, "k"))
    agree(proto, tmp_path)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (helper.make_node("Relu", ["x", "x"], ["y"]), "takes 1 inputs"),
        (helper.make_node("Relu", ["x"], ["y"], alpha=1.0), "no attribute 'alpha'"),
        (helper.make_node("LRN", ["x"], ["y"], size=3, alhpa=1.0), "did you mean alpha"),
    ],
)
def test_inputs_and_attributes_that_an_operator_lacks_are_refused(
    node: NodeProto, text: str, tmp_path: Path
) -> None:
    onnx.save(model([node], (1, 4, 2, 2)), tmp_path / "m.onnx")
    with pytest.raises(AtcError) as caught:
        read_model(tmp_path / "m.onnx")
    (found,) = caught.value.diagnostics
    assert text in f"{found.message} {found.help}"


def test_output_that_is_listed_twice_is_returned_once(tmp_path: Path) -> None:
    proto = model([helper.make_node("Relu", ["x"], ["y"])], (2, 3))
    proto.graph.output.append(onnx.ValueInfoProto(name="y"))
    x = np.ones((2, 3), np.float32)
    assert list(run_with_atc_py(proto, {"x": x}, tmp_path)) == ["y"]


def test_mask_of_an_old_dropout_has_the_type_of_the_data(tmp_path: Path) -> None:
    proto = model([helper.make_node("Dropout", ["x"], ["y", "mask"])], (2, 3), opset=9)
    proto.graph.output.append(onnx.ValueInfoProto(name="mask"))
    found = run_with_atc_py(proto, {"x": np.ones((2, 3), np.float32)}, tmp_path)
    np.testing.assert_array_equal(found["mask"], np.ones((2, 3), np.float32))


def test_normalization_without_axes_has_the_type_of_its_input(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"x": (onnx_files.FLOAT, [1, 2, 3, 4])}
    proto = onnx_files.model(
        [helper.make_node("MeanVarianceNormalization", ["x"], ["y"])], inputs, ["y"]
    )
    assert onnx_files.source(proto, tmp_path).outputs[0].shape == (1, 2, 3, 4)


@pytest.mark.parametrize(("op_type", "gates"), [("LSTM", 4), ("GRU", 3)])
def test_recurrent_layer_without_hidden_size_takes_it_from_its_weights(
    op_type: str, gates: int, tmp_path: Path
) -> None:
    inputs: onnx_files.Ports = {"x": (onnx_files.FLOAT, [5, 2, 3])}
    weights = {
        "w": np.zeros((1, gates * 7, 3), np.float32),
        "r": np.zeros((1, gates * 7, 7), np.float32),
    }
    nodes = [helper.make_node(op_type, ["x", "w", "r"], ["y", "h"])]
    source = onnx_files.source(onnx_files.model(nodes, inputs, ["y", "h"], weights), tmp_path)
    assert [value.shape for value in source.outputs] == [(5, 1, 2, 7), (1, 2, 7)]
