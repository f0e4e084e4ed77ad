"""No layer fails where the device computes what the original does: matches are of equal values."""

import os
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser

import atc_py
from atc_py.diag import AtcError
from tests.fuzz.random_graphs import random_graph
from tests.onnx_graph import onnx_files
from tests.onnx_graph.qdq.test_quantized_round_trips import quantized_network
from tests.sampling import WHOLE, rounds

HEAD = '<ir_version: 8, opset_import: ["" : 13]>'
GATES = f"""{HEAD} g (float[1,256] x, float[1,256] t) => (float[1,256] y) <float[1] one = {{1.0}}> {{
    z = Sigmoid(x)  s = Sub(one, z)  a = Mul(s, t)  w = Sigmoid(a)  s2 = Sub(one, w)
    y = Mul(s2, t)
}}"""
"""Two gates of a GRU: each `1 - z` needs the same ones, of which it is no value."""

SHARED = f"""{HEAD} g (float[1,256] x) => (float[1,256] y) <float[1] one = {{1.0}},
        int64[2] dims = {{1, 256}}> {{
    z = Sigmoid(x)  s = Sub(one, z)  e = Expand(one, dims)  y = Mul(s, e)
}}"""
"""A node whose value is a step of another."""

UNLIKE = {"Cast", "DequantizeLinear", "MaxPool", "QuantizeLinear"}
"""Operators that take odd values, or halves, otherwise than onnxruntime does."""

MODES = ("must_keep_origin_dtype", "force_fp32")
SUITE = sorted(onnx_files.SHARED.glob("onnx_suite/*/*/model.onnx"))

BEYOND_INT32 = "test_pow_types_int32_int32"
"""A case whose drawn powers are beyond int32, which ONNX does not define."""

SHARING = (64, 984)
"""Random graphs with a step in common. Many of the others are refused."""


def twinned(model: onnx.ModelProto, rng: random.Random) -> onnx.ModelProto:
    """Return a model with every node twice, the second on results of second ones or first ones."""
    graph, names = (
        model.graph,
        {name: f"{name}_twin" for n in model.graph.node for name in n.output},
    )
    nodes = []
    for node in graph.node:
        twin = deepcopy(node)
        twin.name = f"{node.name}_twin"
        twin.input[:] = [names[n] if n in names and rng.random() < 0.8 else n for n in node.input]
        twin.output[:] = [names[name] for name in node.output]
        nodes += [node, twin]
    outputs = [deepcopy(output) for output in graph.output]
    for output in outputs:
        output.name = names[output.name]
    del graph.node[:]
    graph.node.extend(nodes)
    graph.output.extend(outputs)
    return model


def unrolled_gru(steps: int) -> onnx.ModelProto:
    """Return a GRU that is written out step by step, so that each has its `1 - z`."""
    weights = ", ".join(f"float[4,4] {kind}{gate}" for kind in "wr" for gate in "zrn")
    lines = [f"{', '.join(f'x{t}' for t in range(steps))} = Split <axis = 0> (x)"]
    for t in range(steps):
        for gate in "zrn":
            lines.append(f"a{gate}{t} = Gemm(x{t}, w{gate}, b)")
            lines.append(f"h{gate}{t} = Gemm(h{t}, r{gate}, b)")
        lines += [f"s{g}{t} = Add(a{g}{t}, h{g}{t})  {g}{t} = Sigmoid(s{g}{t})" for g in "zr"]
        lines.append(f"m{t} = Mul(r{t}, hn{t})  sn{t} = Add(an{t}, m{t})  n{t} = Tanh(sn{t})")
        lines.append(f"k{t} = Sub(one, z{t})  p{t} = Mul(k{t}, n{t})  q{t} = Mul(z{t}, h{t})")
        lines.append(f"{'y' if t + 1 == steps else f'h{t + 1}'} = Add(p{t}, q{t})")
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 12]> g (float[{steps},4] x, float[1,4] h0, {weights},
        float[4] b) => (float[1,4] y) <float[1] one = {{1.0}}> {{ {"  ".join(lines)} }}"""
    )


def failing(path: Path, **options: Any) -> list[str]:
    """Return the values that fail in a comparison."""
    done = atc_py.compare_model(path, **options)
    return [layer.value for layer in done.layers if layer.faults]


@pytest.mark.parametrize("device", ["sim", "ort"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "values"),
    [(GATES, "z s a w s2 y"), (SHARED, "z s y")],
    ids=["gates", "step that is a value"],
)
def test_step_of_two_nodes_is_the_value_of_neither(
    text: str, values: str, mode: str, device: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(parser.parse_model(text), path)
    done = atc_py.compare_model(path, precision_mode=mode, device=device)
    assert done.first_failing is None
    assert all(layer.figures.distance < 1e-6 for layer in done.layers)
    assert set(values.split()) <= {layer.value for layer in done.layers}


def test_no_layer_of_a_random_graph_with_equal_nodes_fails(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for seed in (*SHARING, *rounds(12, 400)):
        rng = random.Random(seed)  # noqa: S311
        model = twinned(random_graph(rng, *(["cann-9.0"] if seed % 2 else [])), rng)
        if not UNLIKE.isdisjoint(node.op_type for node in model.graph.node):
            continue
        onnx.save(model, path)
        try:
            done = atc_py.compare_model(path, precision_mode="force_fp32")
        except AtcError:
            assert seed not in SHARING
            continue
        assert [(seed, layer.value) for layer in done.layers if layer.faults] == []


@pytest.mark.parametrize("mode", MODES)
def test_no_layer_of_an_unrolled_gru_fails(mode: str, tmp_path: Path) -> None:
    onnx.save(unrolled_gru(3), tmp_path / "gru.onnx")
    assert failing(tmp_path / "gru.onnx", precision_mode=mode) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("signed", [True, False])
def test_no_layer_of_a_quantized_network_fails(signed: bool, mode: str, tmp_path: Path) -> None:
    path = tmp_path / "qdq.onnx"
    onnx.save(quantized_network(signed=signed), path)
    assert failing(path, precision_mode=mode, input_shape={"x": [2, 3, 8, 8]}) == []


@pytest.mark.skipif(not SUITE, reason="the shared cases are absent")
def test_no_layer_of_a_stored_case_fails() -> None:
    failed, ran = {}, 0
    for path in SUITE[:: 1 if WHOLE in os.environ else 40]:
        if path.parent.name == BEYOND_INT32:
            continue
        for mode, device in zip(MODES, ("sim", "ort"), strict=True):
            try:
                failed[path.parent.name, mode] = failing(path, precision_mode=mode, device=device)
            except AtcError:
                continue  # the list refuses it, or drawn data do not fit it
            ran += 1
    assert {case: values for case, values in failed.items() if values} == {}
    assert ran >= 15


@pytest.mark.parametrize("form", ["constant", "dropout_default"])
def test_a_model_without_values_to_observe_is_compared(form: str, tmp_path: Path) -> None:
    text = {
        "constant": "g (float[2] x) => (float[2] y) { y = Constant <value = float[2] {1, 2}> () }",
        "dropout_default": "g (float[2] x) => (float[2] y) { y = Dropout (x) }",
    }[form]
    onnx.save(parser.parse_model(f"{HEAD} {text}"), tmp_path / "model.onnx")
    done = atc_py.compare_model(tmp_path / "model.onnx", device="ort")
    assert done.first_failing is None
