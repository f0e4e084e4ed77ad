"""Movement and pools between quantized layers: on codes, with the same results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import LAYERS_IN_BODIES, NO_FLOAT_LAYERS
from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.reading.read import read_model
from atc_py.quantizing.layers.layers import layer_name
from atc_py.quantizing.layers.qdq_nodes import _elements
from tests.onnx_graph import onnx_files
from tests.quantizing.float_networks import (
    FloatSketch,
    conv_network,
    relative_error,
    run_ort,
    run_sim,
    samples_of,
)


def makers_of(path: Path, op_type: str) -> list[str]:
    """Return the operators that make the first inputs of the nodes of an operator."""
    nodes = onnx.load(path).graph.node
    made = {name: node.op_type for node in nodes for name in node.output}
    return [made.get(node.input[0], "input") for node in nodes if node.op_type == op_type]


def test_pool_of_codes_has_the_results_of_the_pool_of_numbers(tmp_path: Path) -> None:
    model, samples = conv_network(tmp_path / "n.onnx"), samples_of(4, 1, 3, 16, 16)
    atc_py.quantize(model, tmp_path / "o.onnx", data=samples, format="both", measure=0)
    assert makers_of(tmp_path / "o.qdq.onnx", "MaxPool") == ["DequantizeLinear"]
    assert makers_of(tmp_path / "o.onnx", "MaxPool") == ["Relu"]
    proto = onnx.load(tmp_path / "o.qdq.onnx")
    pool = next(node for node in proto.graph.node if node.op_type == "MaxPool")
    makers = {name: node for node in proto.graph.node for name in node.output}
    pool.input[0] = makers[makers[pool.input[0]].input[0]].input[0]  # around the pair
    onnx.save(proto, tmp_path / "plain.onnx")
    for each in samples:
        found, plain = (run_ort(tmp_path / name, each)[0] for name in ("o.qdq.onnx", "plain.onnx"))
        assert found.tolist() == plain.tolist()


def sliced(net: FloatSketch) -> str:
    """Add what YOLO calls Focus: each second pixel, four times, joined."""
    x = net.input("x", ["n", 5, 8, 8])
    ends, axes = net.const("ends", np.array([8, 8])), net.const("axes", np.array([2, 3]))
    steps = net.const("steps", np.array([2, 2]))
    parts = []
    for at, start in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
        begins = net.const(f"begins{at}", np.array(start))
        parts.append(net.add("Slice", [x, begins, ends, axes, steps], f"s{at}"))
    x = net.add("Concat", parts, "j", axis=1)
    return net.add("Conv", [x, net.weight("w", 6, 20, 3, 3)], "y")


def test_slices_of_all_elements_run_on_codes(tmp_path: Path) -> None:
    net = FloatSketch()
    model, samples = net.save(tmp_path / "n.onnx", sliced(net)), samples_of(3, 1, 5, 8, 8)
    atc_py.quantize(model, tmp_path / "o.onnx", data=samples, format="both", measure=0)
    assert makers_of(tmp_path / "o.onnx", "Slice") == ["AscendQuant"] * 4
    assert sum(n.op_type == "AscendQuant" for n in onnx.load(tmp_path / "o.onnx").graph.node) == 1
    expected = run_ort(tmp_path / "o.qdq.onnx", samples[0])[0]
    assert relative_error(run_sim(tmp_path / "o.onnx", samples[0])[0], expected) < 0.005


def test_slice_of_a_part_is_quantized_after_it(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.add("Relu", [net.input("x", [1, 20, 8, 8])], "r")
    bounds = [
        net.const("a", np.array([0])),
        net.const("b", np.array([2])),
        net.const("c", np.array([2])),
    ]
    x = net.add("Slice", [x, *bounds], "s")
    net.add("Conv", [x, net.weight("w", 6, 20, 1, 1)], "y")
    model, samples = net.save(tmp_path / "n.onnx", "y"), samples_of(3, 1, 20, 8, 8)
    atc_py.quantize(model, tmp_path / "o.onnx", data=samples, measure=0)
    assert makers_of(tmp_path / "o.onnx", "Slice") == ["Relu"]
    assert makers_of(tmp_path / "o.onnx", "Conv") == ["AscendQuant"]


def test_average_pool_is_a_layer_but_over_all_of_an_image(tmp_path: Path) -> None:
    """CANN pools floats where the window is all of the image, whatever the file says."""
    net = FloatSketch()
    x = net.add("AveragePool", [net.input("x", [1, 20, 8, 8])], "a", kernel_shape=[2, 2])
    x = net.add("Conv", [x, net.weight("w", 6, 20, 1, 1)], "c")
    net.add("AveragePool", [x], "y", kernel_shape=[7, 7])
    model, samples = net.save(tmp_path / "n.onnx", "y"), samples_of(3, 1, 20, 8, 8)
    done = atc_py.quantize(model, tmp_path / "o.onnx", data=samples, format="both", measure=0)
    assert makers_of(tmp_path / "o.qdq.onnx", "AveragePool") == ["DequantizeLinear", "Conv"]
    assert makers_of(tmp_path / "o.onnx", "AveragePool") == ["AscendQuant", "AscendDequant"]
    assert (done.layers[0].kind, done.layers[0].weight_scales) == ("AveragePool", (1.0, 1.0))
    atc_py.quantize(model, tmp_path / "f.onnx", data=samples, skip=["OpType::AveragePool"])
    assert makers_of(tmp_path / "f.onnx", "AveragePool") == ["input", "AscendDequant"]


def branched(net: FloatSketch) -> onnx.ModelProto:
    """Return a model with a MatMul in a branch of If."""
    model = net.model("y")
    weights = helper.make_tensor("v", TensorProto.FLOAT, [3, 3], np.eye(3).ravel())
    branches = []
    for name, node in (
        ("then", helper.make_node("MatMul", ["h", "v"], ["t"])),
        ("else", helper.make_node("Identity", ["h"], ["t"])),
    ):
        output = helper.make_tensor_value_info("t", TensorProto.FLOAT, [4, 3])
        branches.append(helper.make_graph([node], name, [], [output], [weights]))
    chosen = {"then_branch": branches[0], "else_branch": branches[1]}
    model.graph.node.append(helper.make_node("If", ["c"], ["y"], "choice", **chosen))
    return model


@pytest.mark.parametrize("alone", [False, True])
def test_layers_in_branches_are_named(tmp_path: Path, *, alone: bool) -> None:
    net = FloatSketch()
    x, _ = net.input("x", [4, 3]), net.input("c", [], TensorProto.BOOL)
    if alone:
        net.add("Relu", [x], "h")
    else:
        net.add("MatMul", [x, net.weight("w", 3, 3)], "h")
    onnx.save(branched(net), tmp_path / "n.onnx")
    samples = [{**each, "c": np.ones((), np.bool_)} for each in samples_of(3, 4, 3)]
    if alone:
        with pytest.raises(AtcError, match="1 x it is in a subgraph of If") as refused:
            atc_py.quantize(tmp_path / "n.onnx", tmp_path / "o.onnx", data=samples)
        assert refused.value.diagnostics[0].code is NO_FLOAT_LAYERS
        return
    done = atc_py.quantize(tmp_path / "n.onnx", tmp_path / "o.onnx", data=samples, format="qdq")
    assert [each.code for each in done.warnings] == [LAYERS_IN_BODIES]
    assert "layers in subgraphs of If stay in floats: 1 MatMul" in done.warnings[0].message
    assert done.written[0].integer_layers == 1


def test_layers_have_names_of_their_own_and_open_values_no_size(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", [name], [f"{name}_out"], "relu") for name in "xz"]
    inputs: Mapping[str, Any] = {
        "x": (TensorProto.FLOAT, ["n", 3, "h"]),
        "z": (TensorProto.FLOAT, ["n", 3, 4]),
    }
    proto = onnx_files.model(nodes, inputs, ["x_out", "z_out"], {}, {"": 13})
    path = onnx_files.save(proto, tmp_path)
    file = read_model(path)
    graph = file.graph(observe_inputs(path, file.inputs, {}))
    taken: set[str] = set()
    named = [layer_name(graph.nodes[0], taken) for _ in range(3)]
    assert named == ["relu", "x_out", "x_out_2"]
    wanted = {("z",): 12, ("z", "z"): 24, ("x",): None, ("z", "x"): None, ("nowhere",): None}
    assert {names: _elements(graph, names) for names in wanted} == wanted
