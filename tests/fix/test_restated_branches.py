"""An If that stays is stated at a listed opset, and its branches with it."""

from pathlib import Path

import onnx
import pytest

from tests.fix.test_control_flow import fixed

MOVED = """g (float[2,8] x, bool c) => (float[2,8] y) <int64[1] last = {1}> {
    p = Relu(x)
    y = If(c) <
        then_branch = t () => (float[2,8] r) <int64[1] first = {0}> {
            u = Softmax <axis = 0> (p)  v = Unsqueeze(u, first)  r = Squeeze(v, first)
        },
        else_branch = e () => (float[2,8] s) {
            half = Constant <value = float {0.5}> ()  m = ReduceSum(x, last)  n = Mul(m, half)
            s = Add(p, n)
        }
    >
}"""
"""Forms that opset 13 changed."""

NESTED = """g (float[2,8] x, bool c, bool d) => (float[2,8] y) {
    y = If(c) <
        then_branch = t () => (float[2,8] r) <int64[1] first = {0}, float[1,8] w = {1,2,3,4,5,6,7,8}> {
            k = Mul(x, w)
            r = If(d) <
                then_branch = u () => (float[2,8] a) {
                    v = Unsqueeze(k, first)  z = Squeeze(v, first)  a = Add(z, w)
                },
                else_branch = o () => (float[2,8] b) { b = Softmax <axis = 0> (k) }
            >
        },
        else_branch = e () => (float[2,8] s) {
            s = Constant <value = float[2,8] {1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}> ()
        }
    >
}"""
"""A constant of one branch that a branch inside reads, and a branch that is a constant."""


@pytest.mark.parametrize("text", [MOVED, NESTED], ids=["moved", "nested"])
def test_branches_that_stay_are_stated_with_the_graph(text: str, tmp_path: Path) -> None:
    done = fixed(text, tmp_path, opset=17)
    assert (done.opset, done.left) == ((17, 12), ())
    assert done.verdicts == ("rewrite", "supported")
    assert max(each.error for each in done.outputs.values()) < 1e-6
    model = onnx.load(tmp_path / "fixed.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert any(node.op_type == "If" for node in model.graph.node)
