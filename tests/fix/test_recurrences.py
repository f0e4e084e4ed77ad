"""Loops as exporters write recurrent layers, which become one node each."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import atc_py
from tests.end_to_end import one_node_model
from tests.fix.cases import write_case
from tests.fix.draws import all_draws
from tests.fix.test_control_flow import HEAD

WHILE = """g (float[2,STEPS,5] x) => (float[2,4] last, float[2,STEPS,4] all) <int32 zero = {0},
        int32 limit = {STEPS}, int32 one = {1}, bool on = {1}, int64 most = {9223372036854775807}> {
    xt = Transpose <perm = [1, 0, 2]> (x)
    a, t, l, last, cf, outs = Loop(most, on, zero, zero, limit, h0, c0) <body = b (
        int64 i, bool k, int32 it, int32 time, int32 lm, float[2,4] h, float[2,4] c
    ) => (
        bool k2, int32 it2, int32 time2, int32 lm2, float[2,4] h2, float[2,4] c2, float[2,4] o
    ) {
        it2 = Add(it, one)  time2 = Add(time, one)  lm2 = Identity(lm)
        ka = Less(time2, lm)  kb = Less(it2, lm)  k2 = And(ka, kb)
        e = Gather <axis = 0> (xt, time)
        m = MatMul(e, w)  n = MatMul(h, r)  s0 = Add(m, n)  s = Add(s0, b4)
        gi, gf, gc, go = Split <axis = 1> (s)
        si = Sigmoid(gi)  sf = Sigmoid(gf)  so = Sigmoid(go)  tc = Tanh(gc)
        p = Mul(sf, c)  q = Mul(si, tc)  c2 = Add(p, q)
        th = Tanh(c2)  h2 = Mul(so, th)  o = Identity(h2)
    }>
    all = Transpose <perm = [1, 0, 2]> (outs)
}"""
"""A while loop of Keras: two counters, a limit that is a state, sequences with the steps first."""

APPENDING = """g (float[2,6,5] x, float[2,4] h0) => (float[2,6,4] all, float[2,4] last)
        <bool on = {1}, int64 n = {6}> {
    e = SequenceEmpty()
    last, q = Loop(n, on, h0, e) <body = b (int64 i, bool k, float[2,4] h, seq(float[2,4]) s) =>
            (bool k2, float[2,4] h2, seq(float[2,4]) s2) {
        k2 = Identity(k)
        five = Constant <value_int = 5> ()
        j = Sub(five, i)
        e2 = Gather <axis = 1> (x, j)
        a = Gemm <transB = 1> (e2, w3, b3)
        rt = Transpose <perm = [1, 0]> (r3)
        p0 = MatMul(h, rt)  p = Add(b3, p0)
        ir, iz, in_ = Split <axis = 1> (a)
        hr, hz, hn = Split <axis = 1> (p)
        r0 = Add(ir, hr)  z0 = Add(iz, hz)  r2 = Sigmoid(r0)  z = Sigmoid(z0)
        n0 = Mul(r2, hn)  n1 = Add(in_, n0)  n2 = Tanh(n1)
        d = Sub(h, n2)  zd = Mul(z, d)  h2 = Add(n2, zd)
        s2 = SequenceInsert(s, h2)
    }>
    all = ConcatFromSequence <axis = 1, new_axis = 1> (q)
}"""
"""A loop of PyTorch over a GRU cell, backwards, which appends to a list."""


@pytest.mark.parametrize(
    ("text", "layer"),
    [
        (WHILE.replace("STEPS", "600"), "LSTM"),
        (WHILE.replace("STEPS", "1"), "LSTM"),
        (APPENDING, "GRU"),
    ],
    ids=["while", "one step", "appending"],
)
def test_loop_over_a_cell_becomes_a_layer(text: str, layer: str, tmp_path: Path) -> None:
    model = parser.parse_model(HEAD.format(13) + text)
    rng = np.random.default_rng(3)
    dims = {"w": (5, 16), "r": (4, 16), "b4": (16,), "w3": (12, 5), "r3": (12, 4), "b3": (12,)}
    weights = {name: rng.normal(size=each).astype(np.float32) for name, each in dims.items()}
    weights |= {"h0": np.zeros((2, 4), np.float32), "c0": np.ones((2, 4), np.float32)}
    fed = {each.name for each in model.graph.input}
    model.graph.initializer.extend(
        numpy_helper.from_array(each, name) for name, each in weights.items() if name not in fed
    )
    onnx.save(model, tmp_path / "model.onnx")
    done = atc_py.fix_model(tmp_path / "model.onnx", tmp_path / "fixed.onnx", seeds=2)
    assert (done.errors[1], done.left) == (0, ())
    assert max(each.error for each in done.outputs.values()) < 1e-5
    nodes = [node.op_type for node in onnx.load(tmp_path / "fixed.onnx").graph.node]
    assert nodes.count(layer) == 1
    assert len(nodes) < 12


def test_a_cell_with_closed_gates_is_judged_by_the_magnitude_of_its_states(tmp_path: Path) -> None:
    """Gates of large inputs are nearly 0; engines compute those with other relative errors."""
    case = all_draws()["loop-as-lstm"](np.random.default_rng([13, 7]))
    done = atc_py.fix_model(
        write_case(case, tmp_path / "case.onnx"),
        tmp_path / "fixed.onnx",
        simulate=False,
        operator_list=case.operator_list,
        seeds=1,
    )
    assert done.left == ()


def test_state_of_a_layer_of_one_direction_is_not_cut(tmp_path: Path) -> None:
    """Slices are those of the three steps alone, though the state is computed."""
    rng = np.random.default_rng(0)
    dims = {"x": (3, 2, 4), "h": (1, 2, 5), "w": (1, 5, 4), "r": (1, 5, 5)}
    arrays = {name: rng.normal(size=each).astype(np.float32) for name, each in dims.items()}
    feeds, constants = ({name: arrays[name] for name in names} for names in ("xh", "wr"))
    model = one_node_model(
        "RNN",
        feeds,
        13,
        constants=constants,
        order=["x", "w", "r", "", "", "h"],
        hidden_size=5,
        activations=["Relu"],
    )
    onnx.save(model, tmp_path / "model.onnx")
    atc_py.fix_model(tmp_path / "model.onnx", tmp_path / "fixed.onnx", simulate=False)
    nodes = [node.op_type for node in onnx.load(tmp_path / "fixed.onnx").graph.node]
    assert (nodes.count("Slice"), nodes.count("RNN")) == (3, 0)
