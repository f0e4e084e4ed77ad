"""Quantized layers in the branches of If: imported there, and held to onnxruntime."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.onnx_graph.reading.onnx_file import surveyed
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import Outcome
from tests.end_to_end import run_with_onnxruntime

STEP = 0.25
"""A power of two, as all scales here: results are exact, in float16 too.

Zero points are even, so that ties go the same way before and after their addition.
"""

WEIGHTS: dict[str, Any] = {
    "s": np.float32(0.5),
    "z": np.int8(4),
    "w": np.random.default_rng(0).integers(-8, 9, (2, 2, 3, 3)).astype(np.int8),
    "ws": np.float32(0.125),
    "wz": np.int8(0),
    "ys": np.float32(STEP),
    "yz": np.int8(-6),
}


def quantized_layer(x: str, prefix: str, **conv: Any) -> list[onnx.NodeProto]:
    """Return conv between QuantizeLinear and DequantizeLinear; names begin with `prefix`."""

    def node(op: str, inputs: Sequence[str], output: str, **attributes: Any) -> onnx.NodeProto:
        return helper.make_node(op, inputs, [prefix + output], name=prefix + output, **attributes)

    return [
        node("QuantizeLinear", [x, "s", "z"], "q"),
        node("DequantizeLinear", [f"{prefix}q", "s", "z"], "d"),
        node("DequantizeLinear", ["w", "ws", "wz"], "k"),
        node("Conv", [f"{prefix}d", f"{prefix}k"], "c", **conv),
        node("QuantizeLinear", [f"{prefix}c", "ys", "yz"], "p"),
        node("DequantizeLinear", [f"{prefix}p", "ys", "yz"], "y"),
    ]


def branch(name: str, nodes: Sequence[onnx.NodeProto], output: str) -> onnx.GraphProto:
    """Return a branch that returns one tensor."""
    return helper.make_graph(
        nodes, name, [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, [1, 2, 4, 4])]
    )


def model_of(
    nodes: Sequence[onnx.NodeProto], *, known: bool | None = None, **weights: Any
) -> onnx.ModelProto:
    """Return a model of `x` and the condition `on`, which is a constant where it is known."""
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 4])]
    weights = {**WEIGHTS, **weights}
    if known is None:
        infos.append(helper.make_tensor_value_info("on", TensorProto.BOOL, []))
    else:
        weights["on"] = np.array(known)
    output = helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 2, 4, 4])
    held = [numpy_helper.from_array(np.asarray(each), name) for name, each in weights.items()]
    graph = helper.make_graph(nodes, "branching", infos, [output], held)
    opset = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


def choice(inside: str = "x") -> onnx.NodeProto:
    """Return an If of a quantized layer with padding, or one of another size after Relu."""
    other = [
        helper.make_node("Relu", [inside], ["r"], name="r"),
        *quantized_layer("r", "else.", pads=[2, 2, 2, 2], dilations=[2, 2]),
    ]
    return helper.make_node(
        "If",
        ["on"],
        ["chosen"],
        name="choose",
        then_branch=branch("then", quantized_layer(inside, "then.", pads=[1] * 4), "then.y"),
        else_branch=branch("else", other, "else.y"),
    )


def nested() -> list[onnx.NodeProto]:
    """Return a branch that chooses once more, between quantized layers."""
    inner = choice()
    outer = helper.make_node(
        "If",
        ["on"],
        ["out"],
        name="outer",
        then_branch=branch("first", [inner], "chosen"),
        else_branch=branch("second", quantized_layer("x", "second.", pads=[1] * 4), "second.y"),
    )
    return [outer]


MODELS = {
    "from a real tensor": [choice(), helper.make_node("Neg", ["chosen"], ["out"])],
    "from a quantized tensor": [
        *quantized_layer("x", "before.", pads=[1] * 4),
        choice("before.y"),
        helper.make_node("Neg", ["chosen"], ["out"]),
    ],
    "into a quantized layer": [
        choice(),
        *quantized_layer("chosen", "after.", pads=[1] * 4),
        helper.make_node("Neg", ["after.y"], ["out"]),
    ],
    "in a branch of a branch": nested(),
}


@pytest.mark.parametrize("known", [None, False, True])
@pytest.mark.parametrize("name", MODELS)
def test_layers_in_branches_run_on_int8_as_in_onnxruntime(
    name: str, known: bool | None, tmp_path: Path
) -> None:
    model = model_of(MODELS[name], known=known)
    onnx.save(model, tmp_path / "model.onnx")
    done = atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om", verify=True)
    assert done.check.layers
    assert all(each.outcome is Outcome.INTEGER for each in done.check.layers)
    x = np.random.default_rng(1).integers(-9, 10, (1, 2, 4, 4)).astype(np.float32) / 4
    with atc_py.load(tmp_path / "model.om") as ready:
        ops = {node.op for node in ready.description.nodes}
        assert not ops & {"QuantizeLinear", "DequantizeLinear"}
        kinds = [
            ready.description.tensors[node.inputs[0]].dtype
            for node in ready.description.nodes
            if node.op == "Conv2D"
        ]
        assert kinds
        assert set(kinds) == {"int8"}
        for on in (False, True) if known is None else (known,):
            feeds = {"x": x} if known is not None else {"x": x, "on": np.array(on)}
            expected = run_with_onnxruntime(model, feeds)["out"]
            np.testing.assert_array_equal(ready.run(feeds)["out"], expected)


def test_a_check_tells_of_layers_in_branches_where_they_stand(tmp_path: Path) -> None:
    onnx.save(model_of(MODELS["in a branch of a branch"]), tmp_path / "model.onnx")
    found = surveyed(read_model(tmp_path / "model.onnx"), {}).source.quantized
    assert all(each.outcome is Outcome.INTEGER for each in found)
    assert sorted(each.scope for each in found) == [
        'else_branch of "choose", then_branch of "outer"',
        'else_branch of "outer"',
        'then_branch of "choose", then_branch of "outer"',
    ]
    (checked,) = atc_py.check_models(tmp_path / "model.onnx").models
    reported = [each for each in checked.findings if each.code.name == "layer-on-int8"]
    assert sorted(each.scope for each in reported) == sorted(each.scope for each in found)


def test_what_cannot_be_rewritten_in_a_branch_is_reported_there(tmp_path: Path) -> None:
    onnx.save(model_of(MODELS["from a real tensor"], s=np.float32(-1)), tmp_path / "model.onnx")
    (checked,) = atc_py.check_models(tmp_path / "model.onnx").models
    reported = [each for each in checked.findings if each.code.name == "unsupported-form"]
    assert {each.scope for each in reported} == {
        'then_branch of "choose"', 'else_branch of "choose"',
    }  # fmt: skip
    assert all("its scale is -1.0" in each.observed.en for each in reported)
