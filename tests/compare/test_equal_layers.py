"""No layer fails where the device computes what the original does: matches are of equal values."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import TYPE_CHECKING

import onnx
import pytest
from onnx import parser

import atc_py
from atc_py.diag import AtcError
from tests.fuzz.random_graphs import random_graph
from tests.sampling import rounds

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize("device", ["sim", "ort"])
@pytest.mark.parametrize("mode", ["must_keep_origin_dtype", "force_fp32"])
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
