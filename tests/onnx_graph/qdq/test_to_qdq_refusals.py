"""Models in the deploy form that QDQ cannot say, and opsets that do not have it."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.diag.codes import BAD_NODE, NO_QDQ_FORM, NOT_QUANTIZED
from atc_py.options.compile_options import QuantBias
from atc_py.tensor.scale_words import GraphWords, encode_graph
from tests.end_to_end import run_with_onnxruntime
from tests.onnx_graph import onnx_files
from tests.onnx_graph.qdq.deploy_models import (
    QUANT,
    dequant,
    layer_model,
    operators,
    rewritten,
    words,
)

Array = npt.NDArray[Any]

node = helper.make_node
FLOAT = onnx_files.FLOAT


# Operators on codes ----------------------------------------------------------------------------

WRITTEN = "Relu Abs Clip Identity Transpose Flatten GlobalMaxPool ReduceMax Max Min Concat MaxPool"
REFUSED = "GlobalAveragePool Sigmoid ReduceMean ReduceSum Sum Softmax ArgMax Shape Not"
ATTRIBUTES: dict[str, dict[str, Any]] = {"MaxPool": {"kernel_shape": [2, 2]}, "Concat": {"axis": 1}}


def on_codes(op: str, opset: int) -> onnx.ModelProto:
    """Return an operator between AscendQuant and AscendAntiQuant."""
    reads = ["q", "r"] if op in {"Add", "Max", "Min", "Concat", "Sum"} else ["q"]
    nodes = [
        node("AscendQuant", ["x"], ["q"], scale=16.0, offset=3.0),
        node("AscendQuant", ["x"], ["r"], scale=16.0, offset=3.0),
        node(op, reads, ["c"], **ATTRIBUTES.get(op, {})),
        node("AscendAntiQuant", ["c"], ["y"], scale=1 / 16, offset=3.0),
    ]
    return onnx_files.model(nodes, {"x": (FLOAT, [1, 4, 4, 4])}, ["y"], opsets={"": opset})


@pytest.mark.parametrize("opset", [11, 13])
def test_operators_on_codes_are_written_so_that_they_run(opset: int, tmp_path: Path) -> None:
    x = (np.random.default_rng(1).integers(-64, 64, (1, 4, 4, 4)) / 16).astype(np.float32)
    for op in WRITTEN.split():
        result = run_with_onnxruntime(rewritten(on_codes(op, opset), tmp_path), {"x": x})["y"]
        if op == "MaxPool":
            windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))
            np.testing.assert_array_equal(result, windows.max((-1, -2)))


@pytest.mark.parametrize("op", REFUSED.split())
def test_operators_that_onnx_has_not_on_codes_are_refused(op: str, tmp_path: Path) -> None:
    onnx_files.fails(lambda: rewritten(on_codes(op, 11), tmp_path), NO_QDQ_FORM)


# Refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"scale": 4.0, "offset": 0.0, "round_mode": "Floor"}, "round_mode Round, found Floor"),
        ({"scale": 4.0, "offset": 0.0, "dst_type": "INT16"}, "dst_type INT8, found INT16"),
        ({"scale": 4.0, "offset": 0.0, "dst_type": "INT4"}, "dst_type INT8, found INT4"),
        ({"scale": 4.0, "offset": 0.5}, "offset from -128 to 127, found 0.5"),
        ({"scale": 4.0, "offset": 128.0}, "offset from -128 to 127, found 128"),
        ({"scale": -4.0, "offset": 0.0}, "positive scale, found -4"),
        ({"scale": 4.0}, "needs the attribute offset"),
    ],
)
def test_quants_without_such_a_form_are_refused(
    attributes: dict[str, Any], text: str, tmp_path: Path
) -> None:
    nodes = [node("AscendQuant", ["x"], ["y"], "here", **attributes)]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [2, 3])}, ["y"])
    error = onnx_files.fails(lambda: rewritten(proto, tmp_path), NO_QDQ_FORM)
    (finding,) = error.diagnostics
    assert text in finding.message
    assert finding.place is not None
    assert finding.place.node_name == "here"
    assert not (tmp_path / "model.qdq.onnx").exists()


def sums_model(last: onnx.NodeProto, weights: Mapping[str, Array]) -> onnx.ModelProto:
    """Return AscendQuant, MatMul, and a node that reads its sums."""
    nodes = [QUANT, node("MatMul", ["q", "w"], ["sum"]), last]
    consts = {"w": np.ones((3, 2), np.int8), **weights}
    return onnx_files.model(nodes, {"x": (FLOAT, [2, 3]), "c": (13, [1])}, ["y"], consts)


SHIFTED = encode_graph(GraphWords(np.ones(1, np.float32), np.full(1, 3), np.zeros(1, np.int64)))


@pytest.mark.parametrize(
    ("last", "factors", "text"),
    [
        (node("AscendDequant", ["sum", "c"], ["y"]), {}, "constant factors, found computed"),
        (node("AscendDequant", ["sum", "d"], ["y"]), {"d": SHIFTED}, "without a shift, found 3"),
        (
            node("AscendDequant", ["sum", "d"], ["y"]),
            {"d": np.ones(1, np.float32)},
            "uint64 or float16 deq_scale, found float32",
        ),
        (
            node("AscendDequant", ["sum", "d"], ["y"]),
            {"d": words([0])},
            "positive factors, found 0",
        ),
        (
            node("AscendRequant", ["sum", "d"], ["y"]),
            {"d": np.array([1 << 37, 2 << 37], np.uint64) | words([1, 1])},
            "a single offset within int8 in its factor words, found 1, 2",
        ),
        (
            node("AscendRequant", ["sum", "d"], ["y"]),
            {"d": np.ones(1, np.float16)},
            "uint64 req_scale, found float16",
        ),
        (node("AscendDequantS16", ["sum", "d"], ["y"]), {"d": words([1])}, "works on int16"),
    ],
)
def test_factors_without_such_a_form_are_refused(
    last: onnx.NodeProto, factors: dict[str, Array], text: str, tmp_path: Path
) -> None:
    error = onnx_files.fails(lambda: rewritten(sums_model(last, factors), tmp_path), NO_QDQ_FORM)
    assert text in error.diagnostics[0].message


@pytest.mark.parametrize(
    ("layer", "weights", "text"),
    [
        (node("Gemm", ["q", "w"], ["sum"], alpha=2.0), [3, 2], "alpha 1, found 2"),
        (node("Gemm", ["q", "w", "far"], ["sum"]), [3, 2], "bias within int32, found 2147484223"),
        (node("Gemm", ["q", "q2"], ["sum"]), [3, 2], "constant weights, found computed"),
        (node("MatMul", ["w", "q"], ["sum"]), [3, 2], "one factor where its left operand"),
    ],
)
def test_layers_without_such_a_form_are_refused(
    layer: onnx.NodeProto, weights: list[int], text: str, tmp_path: Path
) -> None:
    consts: dict[str, Array] = {
        "w": np.full(weights, -64, np.int8),
        "far": np.full(2, 2**31 - 1, np.int32),
        "d": words([1, 1]),
    }
    second = node("AscendQuant", ["z"], ["q2"], scale=1.0, offset=0.0)
    ports = {"x": (FLOAT, [2, 3]), "z": (FLOAT, [3, 2])}
    proto = onnx_files.model([QUANT, second, layer, dequant(consts["d"])[0]], ports, ["y"], consts)
    folded = QuantBias.FOLDED
    error = onnx_files.fails(lambda: rewritten(proto, tmp_path, quant_bias=folded), NO_QDQ_FORM)
    assert text in error.diagnostics[0].message


def test_a_quant_without_inputs_is_refused(tmp_path: Path) -> None:
    proto = onnx_files.model([node("AscendQuant", [], ["y"])], {"x": (FLOAT, [2])}, ["y"])
    onnx_files.fails(lambda: rewritten(proto, tmp_path), BAD_NODE)


def test_a_dequantization_to_other_dtypes_is_refused(tmp_path: Path) -> None:
    last, factors = dequant(words([1]), dtype=3)
    error = onnx_files.fails(lambda: rewritten(sums_model(last, factors), tmp_path), NO_QDQ_FORM)
    assert "dtype 0 (float32) or 1 (float16), found 3" in error.diagnostics[0].message


def test_quantized_nodes_in_a_branch_are_refused(tmp_path: Path) -> None:
    branches = {
        name: helper.make_graph(
            [node("AscendQuant", ["x"], [f"{name}/q"], scale=1.0, offset=0.0)],
            name,
            [],
            [onnx.ValueInfoProto(name=f"{name}/q")],
        )
        for name in ("then_branch", "else_branch")
    }
    nodes = [QUANT, node("If", ["flag"], ["y"], "choice", **branches)]
    ports = {"x": (FLOAT, [2, 3]), "flag": (TensorProto.BOOL, [])}
    proto = onnx_files.model(nodes, ports, ["q", "y"])
    error = onnx_files.fails(lambda: rewritten(proto, tmp_path), NO_QDQ_FORM)
    assert "in its subgraphs" in error.diagnostics[0].message


def test_a_long_chain_of_sums_is_read_to_its_end_by_nobody(tmp_path: Path) -> None:
    names = ["product", *(f"v{at}" for at in range(3000)), "sum"]
    adds = [node("Add", [x, "c"], [y]) for x, y in pairwise(names)]
    last, factors = dequant(words([0.5]))
    nodes = [QUANT, node("MatMul", ["q", "w"], ["product"]), *adds, last]
    consts: dict[str, Array] = {"w": np.ones((3, 2), np.int8), "c": np.ones(2, np.int32)}
    consts |= factors
    found = rewritten(onnx_files.model(nodes, {"x": (FLOAT, [2, 3])}, ["y"], consts), tmp_path)
    assert operators(found).count("Add") == 3001
    assert {"MatMulInteger", "DequantizeLinear"} <= set(operators(found))


def test_all_refusals_come_at_once(tmp_path: Path) -> None:
    nodes = [
        node("AscendQuant", ["x"], ["q"], offset=0.5, scale=1.0),
        node("AscendAntiQuant", ["q"], ["y"], offset=0.0, scale=-1.0),
    ]
    proto = onnx_files.model(nodes, {"x": (FLOAT, [2, 3])}, ["y"])
    onnx_files.fails(lambda: rewritten(proto, tmp_path), NO_QDQ_FORM, NO_QDQ_FORM)


def test_types_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    w = np.ones((4, 3, 9, 9), np.int8)
    proto = layer_model(node("Conv", ["q", "w"], ["sum"]), {"w": w}, [1, 3, 5, 5], [0.5])
    onnx_files.fails(lambda: rewritten(proto, tmp_path), BAD_NODE)


@pytest.mark.parametrize(("form", "operator"), [("qdq", "Relu"), ("ascend", "Relu")])
def test_a_model_that_is_not_quantized_is_refused(form: str, operator: str, tmp_path: Path) -> None:
    proto = onnx_files.model([node(operator, ["x"], ["y"])], {"x": (FLOAT, [2])}, ["y"])
    error = onnx_files.fails(lambda: rewritten(proto, tmp_path, form), NOT_QUANTIZED)
    assert "not quantized" in error.diagnostics[0].message


def test_a_model_that_is_in_the_form_already_is_refused(tmp_path: Path) -> None:
    w = np.ones((3, 2), np.int8)
    proto = layer_model(node("MatMul", ["q", "w"], ["sum"]), {"w": w}, [2, 3], [0.5])
    error = onnx_files.fails(lambda: rewritten(proto, tmp_path, "ascend"), NOT_QUANTIZED)
    assert error.diagnostics[0].help == "use it as it is, or rewrite it with --format qdq"
    found = rewritten(proto, tmp_path)
    onnx_files.fails(lambda: rewritten(found, tmp_path, "qdq", "again"), NOT_QUANTIZED)


# Opsets -----------------------------------------------------------------------------------------


def opset_model(opset: int, scale: Sequence[float], following: onnx.NodeProto) -> onnx.ModelProto:
    """Return a layer, and one more node, at an opset."""
    proto = layer_model(
        node("MatMul", ["q", "w"], ["sum"]),
        {"w": np.ones((3, 2), np.int8), "axes": np.array([0])},
        [2, 3],
        scale,
        opsets={"": opset},
    )
    proto.graph.node.append(following)
    proto.graph.output[0].name = "last"
    return proto


RELU = node("Relu", ["y"], ["last"])
UNSQUEEZE = node("Unsqueeze", ["y"], ["last"], axes=[0])


@pytest.mark.parametrize(
    ("opset", "scale", "following", "found"),
    [
        (11, [0.5], UNSQUEEZE, 11),
        (11, [0.5, 0.5], UNSQUEEZE, 11),
        (11, [0.5, 0.25], RELU, 13),
        (11, [0.5, 0.25], UNSQUEEZE, 13),
        (9, [0.5], RELU, 13),
        (17, [0.5, 0.25], RELU, 17),
    ],
)
def test_the_opset_is_raised_where_it_must_be(
    opset: int, scale: list[float], following: onnx.NodeProto, found: int, tmp_path: Path
) -> None:
    proto = rewritten(opset_model(opset, scale, following), tmp_path)
    assert [each.version for each in proto.opset_import] == [found]
    run_with_onnxruntime(proto, {"x": np.ones((2, 3), np.float32)})


@pytest.mark.parametrize("operator", ["LogSoftmax", "Softmax"])
def test_an_opset_that_cannot_be_raised_is_refused(operator: str, tmp_path: Path) -> None:
    following = node(operator, ["y"], ["last"], axis=1)
    proto = opset_model(11, [0.5, 0.25], following)
    error = onnx_files.fails(lambda: rewritten(proto, tmp_path), NO_QDQ_FORM)
    assert following.op_type in error.diagnostics[0].message
    assert "opset 13" in str(error.diagnostics[0].help)
