"""Models that pass tensors through sequences and optionals."""

from pathlib import Path

import onnx
import pytest

from tests.fix.test_control_flow import fixed

FOLDED = {
    "map": """g (float[4,3] x) => (float[4,3] y) {
        s = SplitToSequence <axis = 0> (x)
        t = SequenceMap(s, x) <body = b (float[1,3] e, float[4,3] w) => (float[1,3] o) {
            m = ReduceSum(w)  o = Mul(e, m)
        }>
        y = ConcatFromSequence <axis = 0> (t)
    }""",
    "grown-in-a-loop": """g (float[4,3] x) => (float[4,3] y) <int64 n = {4}, bool t = {1}> {
        s = SequenceEmpty()
        q = Loop(n, t, s) <body = b (int64 i, bool k, seq(float[3]) h) => (bool k2, seq(float[3]) h2) {
            k2 = Identity(k)  e = Gather <axis = 0> (x, i)  h2 = SequenceInsert(h, e)
        }>
        y = ConcatFromSequence <axis = 0, new_axis = 1> (q)
    }""",
    "read-in-a-loop": """g (float[4,3] x) => (float[1,3] y)
            <int64 n = {4}, bool t = {1}, float[1,3] z = {0, 0, 0}> {
        s = SplitToSequence <axis = 0> (x)
        y = Loop(n, t, z) <body = b (int64 i, bool k, float[1,3] h) => (bool k2, float[1,3] h2) {
            k2 = Identity(k)  e = SequenceAt(s, i)  h2 = Add(h, e)
        }>
    }""",
    "optional-sequence": """g (float[4,3] x) => (float[4,3] y) {
        s = SequenceConstruct(x, x)
        o = Optional(s)
        c = OptionalHasElement(o)
        y = If(c) <
            then_branch = a () => (float[4,3] r) {
                q = OptionalGetElement(o)  i = Constant <value_int = 1> ()  r = SequenceAt(q, i)
            },
            else_branch = e () => (float[4,3] r) { r = Neg(x) }
        >
    }""",
    "optional-without-value": """g (float[4,3] x) => (float[4,3] y) {
        o = Optional <type = optional(float[4,3])> ()
        c = OptionalHasElement(o)
        y = If(c) <
            then_branch = a () => (float[4,3] r) { r = OptionalGetElement(o) },
            else_branch = e () => (float[4,3] r) { r = Neg(x) }
        >
    }""",
}

LEFT = {
    "empty": "g (float[2] x) => (float[2] y) <int64 i = {0}> "
    "{ s = SequenceEmpty()  y = SequenceAt(s, i) }",
    "no-such-place": "g (float[2] x) => (float[2] y) <int64 i = {-3}> "
    "{ s = SequenceConstruct(x, x)  y = SequenceAt(s, i) }",
    "parts-that-engines-shape-differently": "g (float[1,2] x) => (float[1,1] y) "
    "<int64 one = {1}, int64 i = {0}> "
    "{ s = SplitToSequence <axis = 1, keepdims = 0> (x, one)  y = SequenceAt(s, i) }",
    "output": "g (float[2] x) => (seq(float[2]) s) { s = SequenceConstruct(x, x) }",
    "input": "g (seq(float[2]) s) => (float[2] y) <int64 i = {0}> { y = SequenceAt(s, i) }",
    "optional-input": "g (optional(float[2]) o) => (float[2] y) { y = OptionalGetElement(o) }",
}


@pytest.mark.parametrize("text", FOLDED.values(), ids=FOLDED)
def test_sequence_that_the_model_makes_goes_away(text: str, tmp_path: Path) -> None:
    done = fixed(text, tmp_path, opset=17)
    assert (done.errors[1], done.left) == (0, ())
    assert done.outputs["y"].error == 0.0
    onnx.checker.check_model(onnx.load(tmp_path / "fixed.onnx"), full_check=True)


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_other_sequence_is_a_finding(text: str, tmp_path: Path) -> None:
    done = fixed(text, tmp_path, opset=17)
    assert done.left
    assert not (tmp_path / "fixed.onnx").exists()
