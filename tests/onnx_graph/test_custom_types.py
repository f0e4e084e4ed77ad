"""Types of custom operators whose results the file does not state, or states in part."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py import api
from atc_py.diag.codes import BAD_MODEL
from atc_py.onnx_graph.reading.onnx_file import surveyed
from atc_py.onnx_graph.reading.read import read_model
from atc_py.spec import library
from atc_py.tensor.dtypes import DType
from tests.onnx_graph import onnx_files
from tests.spec.every_list import LISTS

FLOAT, HALF, INT = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32
F32, F16, I32 = DType.FLOAT32, DType.FLOAT16, DType.INT32
NMS = {"score_threshold": 0.5, "iou_threshold": 0.5, "max_size_per_class": 2, "max_total_size": 3}

NODES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], list[Any]]] = [
    (
        "AdaptiveAvgPool2D",
        {"x": (HALF, ["n", 3, 9, 9])},
        {},
        {"output_size": [4, 5]},
        [(F16, (2, 3, 4, 5))],
    ),
    (
        "AdaptiveMaxPool2D",
        {"x": (FLOAT, ["n", 3, 9, 9])},
        {},
        {"output_size": [4, 5]},
        [(F32, (2, 3, 4, 5)), (I32, (2, 3, 4, 5))],
    ),
    (
        "Addcmul",
        {"x": (FLOAT, ["n", 3]), "a": (FLOAT, [3]), "b": (FLOAT, [4, 1, 1]), "v": (FLOAT, [])},
        {},
        {},
        [(F32, (4, 2, 3))],
    ),
    (
        "BatchMatMul",
        {"x": (HALF, ["n", 4, 3]), "a": (HALF, [5, 1, 6, 4])},
        {},
        {"adj_x1": 1, "adj_x2": 1},
        [(F16, (5, 2, 3, 6))],
    ),
    (
        "AffineGrid",
        {"x": (FLOAT, ["n", 2, 3])},
        {"size": np.array([2, 1, 5, 6], np.int32)},
        {},
        [(F32, (2, 5, 6, 2))],
    ),
    (
        "DeformableConv2D",
        {"x": (FLOAT, ["n", 4, 9, 8]), "w": (FLOAT, [6, 4, 3, 3]), "o": (FLOAT, [2, 27, 4, 6])},
        {},
        {"strides": [1, 2, 1, 1], "pads": [0, 0, 0, 0]},
        [(F32, (2, 6, 4, 6))],
    ),
    (
        "EmbeddingBag",
        {"w": (FLOAT, [9, 4]), "x": (INT, ["n", 3])},
        {},
        {"mode": "max"},
        [(F32, (2, 4))],
    ),
    (
        "EmbeddingBag",
        {"w": (FLOAT, [9, 4]), "i": (INT, [7])},
        {"x": np.array([0, 2, 7], np.int32)},
        {"include_last_offset": 1},
        [(F32, (2, 4))],
    ),
    (
        "RoiExtractor",
        {"a": (FLOAT, [1, 4, 8, 8]), "b": (FLOAT, [1, 4, 4, 4]), "x": (FLOAT, ["n", 5])},
        {},
        {"spatial_scale": [0.5, 0.25], "pooled_width": 3},
        [(F32, (2, 4, 7, 3))],
    ),
    (
        "BatchMultiClassNMS",
        {"b": (HALF, ["n", 6, 1, 4]), "x": (HALF, ["n", 6, 5])},
        {},
        NMS,
        [(F16, (2, 3, 4)), (F16, (2, 3)), (F16, (2, 3)), (F16, (2,))],
    ),
]
IDS = [f"{op}-{number}" for number, (op, *_) in enumerate(NODES)]


def one(
    op: str,
    inputs: Mapping[str, Any],
    weights: Mapping[str, Any],
    attributes: Mapping[str, Any],
    count: int,
) -> onnx.ModelProto:
    """Return a model of one node of a foreign domain."""
    names = [f"y{position}" for position in range(count)]
    node = helper.make_node(op, [*inputs, *weights], names, "node", domain="any", **attributes)
    return onnx_files.model([node], inputs, names, weights, {"": 13, "any": 1})


@pytest.mark.parametrize(("op", "inputs", "weights", "attributes", "results"), NODES, ids=IDS)
def test_results_that_the_file_does_not_state_are_known(
    op: str, inputs: Any, weights: Any, attributes: Any, results: list[Any], tmp_path: Path
) -> None:
    proto = one(op, inputs, weights, attributes, len(results))
    bound = {
        name: tuple(2 if dim == "n" else dim for dim in dims) for name, (_, dims) in inputs.items()
    }
    model = onnx_files.source(proto, tmp_path, bound)
    (node,) = model.nodes
    assert [each and (each.dtype, each.shape) for each in node.outputs] == results
    path = onnx_files.save(proto, tmp_path)
    listed = next(name for name in LISTS if library(name).find(op))
    (checked,) = api.check_models(path, input_shape=bound, operator_list=listed).models
    # What CANN makes of it is another question.
    assert all(each.certainty for each in checked.findings)
    api.convert(path, tmp_path / "model.om", input_shape=bound, operator_list=listed)


@pytest.mark.parametrize(("op", "inputs", "weights", "attributes", "results"), NODES, ids=IDS)
def test_open_dims_stay_open_in_the_results(
    op: str, inputs: Any, weights: Any, attributes: Any, results: list[Any], tmp_path: Path
) -> None:
    proto = one(op, inputs, weights, attributes, len(results))
    (node,) = surveyed(read_model(onnx_files.save(proto, tmp_path)), {}).source.nodes
    for tensor, (dtype, shape) in zip(node.outputs, results, strict=True):
        assert tensor is not None
        assert tensor.dtype is dtype
        assert tensor.dims is not None
        assert len(tensor.dims) == len(shape)
        assert all(a in {None, b} for a, b in zip(tensor.dims, shape, strict=True))


def chain() -> onnx.ModelProto:
    """Return custom operators of which each needs the type of the one before it."""
    nodes = [
        helper.make_node("Addcmul", ["x", "x", "x", "x"], ["a"], domain="any"),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("BatchMatMul", ["r", "x"], ["m"], domain="any", adj_x2=1),
        helper.make_node("Addcmul", ["m", "m", "m", "m"], ["y"], domain="any"),
    ]
    return onnx_files.model(nodes, {"x": (FLOAT, [2, 3, 4])}, ["y"], None, {"": 13, "any": 1})


def test_custom_operators_in_a_row_are_known(tmp_path: Path) -> None:
    model = onnx_files.source(chain(), tmp_path)
    assert [each.shape for each in model.outputs] == [(2, 3, 3)]


def test_what_the_file_states_counts_and_what_it_leaves_open_is_worked_out(tmp_path: Path) -> None:
    proto = chain()
    proto.graph.value_info.append(helper.make_tensor_value_info("a", HALF, [2, 3, 4]))
    proto.graph.value_info.append(helper.make_tensor_value_info("m", FLOAT, [None, None, 3]))
    proto.graph.node[1].op_type = "Identity"
    nodes = surveyed(read_model(onnx_files.save(proto, tmp_path)), {}).source.nodes
    types = {each.name: (each.dtype, each.dims) for node in nodes for each in node.outputs if each}
    assert types["a"] == (F16, (2, 3, 4))
    assert types["m"] == (F32, (2, 3, 3))


def test_result_that_is_stated_stays_beside_one_that_is_worked_out(tmp_path: Path) -> None:
    inputs = {"x": (FLOAT, [1, 2, 8, 8])}
    proto = one("AdaptiveMaxPool2D", inputs, {}, {"output_size": [4, 4]}, 2)
    stated = helper.make_tensor_value_info("y0", FLOAT, [1, 1, 1])
    proto.graph.output[0].CopyFrom(stated)
    (node,) = surveyed(read_model(onnx_files.save(proto, tmp_path)), {}).source.nodes
    assert [each and each.dims for each in node.outputs] == [(1, 1, 1), (1, 2, 4, 4)]


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "words"),
    [
        ("Addcmul", {n: (FLOAT, [size]) for n, size in zip("abcd", (2, 3, 1, 1), strict=True)}, {}, "broadcast"),
        ("BatchMatMul", {"a": (FLOAT, [2, 3]), "b": (FLOAT, [2, 3])}, {}, "equal inner dims"),
        ("BatchMatMul", {"a": (FLOAT, [2, 3])}, {}, "needs input 1, found none"),
        ("AdaptiveMaxPool2D", {"x": (FLOAT, [1, 1, 4, 4])}, {"output_size": [0, 2]}, "positive"),
        ("AdaptiveAvgPool2D", {"x": (FLOAT, [1, 1, 0, 4])}, {"output_size": [2, 2]}, "with pixels"),
        ("DeformableConv2D", dict.fromkeys("abc", (FLOAT, [1, 1, 1])), {}, "tensors of four axes"),
        ("DeformableConv2D", dict.fromkeys("abc", (FLOAT, [1, 1, 1, 1])), {"groups": 0}, "groups"),
        ("DeformableConv2D", dict.fromkeys("abc", (FLOAT, [1, 1, 1, 1])), {}, "needs four strides"),
        ("DeformableConv2D", dict.fromkeys("abc", (FLOAT, [1, 1, 1, 1])),
         {"strides": [1, 0, 1, 1], "pads": [0] * 4}, "positive strides"),
        ("EmbeddingBag", {"w": (FLOAT, [3, 4]), "i": (INT, [2])}, {}, "needs a matrix of indices"),
        ("AffineGrid", {"t": (FLOAT, [1, 2, 3]), "s": (INT, [3])}, {}, "four or five dims"),
    ],
)  # fmt: skip
def test_node_without_a_result_is_a_fault_of_the_model(
    op: str, inputs: Any, attributes: Any, words: str, tmp_path: Path
) -> None:
    path = onnx_files.save(one(op, inputs, {}, attributes, 1), tmp_path)
    (checked,) = api.check_models(path).models
    assert any(f.code is BAD_MODEL and words in f.message for f in checked.faults)
    error = onnx_files.fails(lambda: read_model(path).fold({}).to_source(), BAD_MODEL)
    assert words in error.diagnostics[0].message
    assert error.diagnostics[0].place == checked.faults[0].place
