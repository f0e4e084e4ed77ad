"""Loops, branches and sequences that break their rules or have no other form: findings, nothing written."""

from pathlib import Path

import onnx
import pytest
from onnx import parser

import atc_py
from tests.fix.test_control_flow import fixed

pytestmark = pytest.mark.usefixtures("base_list")

LOOP = (
    "g (float[1,3] x) => (float[1,3] y) <int64 n = {3}, bool t = {1}, int64[2] v = {1, 2}> { y = "
)
STEP = "(int64 i, bool k, float[1,3] h) => (bool k2, float[1,3] h2) { k2 = Identity(k)  h2 = Add(h, x) }"
SCAN = "g (float[1,3] x, float[2,3] s) => (float[1,3] y) { y = Scan <body = b "
SCAN += "(float[1,3] h, float[3] e) => (float[1,3] h2) { h2 = Add(h, e) }, "
PARTS = "g (float[5,3] x) => (float[2,3] y) <int64[2] two = {2, 9}, int64 i = {0}> { s = "

UNSOUND = {
    "body-of-fewer-inputs": LOOP
    + "Loop(n, t, x) <body = b (int64 i, bool k) => (bool k2, float[1,3] h2) "
    "{ k2 = Identity(k)  h2 = Identity(x) }> }",
    "no-body": LOOP + "Loop(n, t, x) }",
    "no-trip-count-in-it": LOOP.replace("int64 n = {3}", "int64[0] n = {}")
    + f"Loop(n, t, x) <body = b {STEP}> }}",
    "condition-that-fails": LOOP
    + "Loop(n, t, x) <body = b "
    + STEP.replace(
        "k2 = Identity(k)", "w = Gather(v, i)  z = Constant <value_int = 5> ()  k2 = Less(w, z)"
    )
    + "> }",
    "axes-for-more-inputs": SCAN + "num_scan_inputs = 1, scan_input_axes = [0, 1, 2]> (x, s) }",
    "more-sequences-than-inputs": SCAN + "num_scan_inputs = 7> (x, s) }",
    "no-slices": SCAN.replace("float[2,3] s", "float[0,3] s") + "num_scan_inputs = 1> (x, s) }",
    "parts-that-do-not-fit": PARTS + "SplitToSequence(x, two)  y = SequenceAt(s, i) }",
    "parts-along-no-axis": PARTS + "SplitToSequence <axis = 7> (x)  y = SequenceAt(s, i) }",
    "parts-of-nothing": PARTS + "SplitToSequence(x, i)  y = SequenceAt(s, i) }",
    "branches-of-other-dims": "g (float[2,3] x, bool c, bool[2,3] q) => (float[N,3] y) { y = If(c) <"
    "then_branch = t () => (float[2,3] r) { m = Xor(q, q)  f = Cast <to = 1> (m)  r = Add(x, f) },"
    "else_branch = e () => (float[4,3] r) { r = Concat <axis = 0> (x, x) }> }",
}


@pytest.mark.parametrize("text", UNSOUND.values(), ids=UNSOUND)
def test_what_has_no_other_form_is_a_finding(text: str, tmp_path: Path) -> None:
    done = fixed(text, tmp_path)
    assert done.left
    assert done.rewrites == ()
    assert not (tmp_path / "fixed.onnx").exists()


FUNCTIONS = """<ir_version: 8, opset_import: ["": 17, "my": 1]>
g (float[2,3] x, bool c) => (float[2,3] y) { t = my.outer(x)  y = my.choose(t, c) }
<domain: "my", opset_import: ["": 17, "my": 1]>
outer (a) => (b) {
    n = Constant <value_int = 3> ()  t = Constant <value = bool {1}> ()  s = my.inner(a)
    b = Loop(n, t, s) <body = bb (int64 i, bool k, float[2,3] h) => (bool k2, float[2,3] h2) {
        k2 = Identity(k)  q = my.inner(h)  h2 = Add(q, s)
    }>
}
<domain: "my", opset_import: ["": 17]>
inner (a) => (b) {
    z = Constant <value_float = 0.0> ()  l = Less(a, z)  m = Xor(l, l)  f = Cast <to = 1> (m)
    b = Sub(a, f)
}
<domain: "my", opset_import: ["": 17, "my": 1]>
choose (a, c) => (b) {
    b = If(c) <
        then_branch = tb () => (float[2,3] r) { r = my.inner(a) },
        else_branch = eb () => (float[2,3] r) { r = Neg(a) }
    >
}"""


def test_functions_that_hold_graphs_and_call_others_are_fixed(tmp_path: Path) -> None:
    onnx.save(parser.parse_model(FUNCTIONS), tmp_path / "model.onnx")
    done = atc_py.fix_model(tmp_path / "model.onnx", tmp_path / "fixed.onnx", seeds=1)
    assert (done.errors, done.left) == ((3, 0), ())
    assert done.outputs["y"].error == 0.0
