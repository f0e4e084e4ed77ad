"""Models with control flow in forms that one node alone does not show."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import atc_py
from atc_py.results.fixing import Fixing

pytestmark = pytest.mark.usefixtures("base_list")

HEAD = '<ir_version: 8, opset_import: ["": {}]>\n'

LOOP = """g (float[2] x, bool c) => (float[2] y) <int64 n = {4}, bool on = {1}, int64 two = {2}> {
    y = Loop(n, on, x) <body = b (int64 i, bool k, float[2] h) => (bool k2, float[2] h2) {
        k2 = Identity(k)
        BODY
    }>
}"""

STEPS = {
    "if-of-a-run": "h2 = If(c) <then_branch = t () => (float[2] r) { r = Add(h, x) }, "
    "else_branch = e () => (float[2] r) { r = Neg(h) }>",
    "if-of-the-step": "d = Less(i, two)  h2 = If(d) <then_branch = t () => (float[2] r) "
    "{ r = Add(h, x) }, else_branch = e () => (float[2] r) { r = Neg(h) }>",
    "loop-in-loop": "h2 = Loop(two, on, h) <body = b2 (int64 i2, bool k3, float[2] q) => "
    "(bool k4, float[2] q2) { k4 = Identity(k3)  q2 = Add(q, h) }>",
    "tensor-attribute": "s = Shape(h)  o = ConstantOfShape <value = float[1] {2.5}> (s)  "
    "h2 = Add(h, o)",
    "captured-name-of-the-body": "i2 = Identity(h)  h2 = Add(i2, x)",
}


def fixed(text: str, path: Path, opset: int = 13) -> Fixing:
    """Fix a model in ONNX's text form."""
    onnx.save(parser.parse_model(HEAD.format(opset) + text), path / "model.onnx")
    return atc_py.fix_model(path / "model.onnx", path / "fixed.onnx", seeds=2)


@pytest.mark.parametrize("body", STEPS.values(), ids=STEPS)
def test_body_with_more_than_plain_nodes_is_written_out(body: str, tmp_path: Path) -> None:
    done = fixed(LOOP.replace("BODY", body), tmp_path)
    assert (done.errors, done.left) == ((1, 0), ())
    onnx.checker.check_model(onnx.load(tmp_path / "fixed.onnx"), full_check=True)


def test_body_with_weights_is_written_out(tmp_path: Path) -> None:
    """Weights of a body are as large as those of the graph, and stored like them."""
    text = LOOP.replace("BODY", "m = MatMul(h, w)  h2 = Add(m, x)").replace("[2]", "[1, 200]")
    model = parser.parse_model(HEAD.format(13) + text)
    weights = np.random.default_rng(0).normal(size=(200, 200)).astype(np.float32)
    body = next(each.g for each in model.graph.node[0].attribute if each.name == "body")
    body.initializer.append(numpy_helper.from_array(weights, "w"))
    onnx.save(model, tmp_path / "model.onnx")
    done = atc_py.fix_model(tmp_path / "model.onnx", tmp_path / "fixed.onnx", seeds=1)
    assert (done.errors, done.left) == ((1, 0), ())


@pytest.mark.parametrize(
    ("trips", "condition", "reason"),
    [("n", "k2 = Identity(k)", "at most 512 steps"), ("", "k2 = Identity(k)", "at most 512 steps")],
    ids=["a-million", "for-ever"],
)
def test_loop_of_too_many_steps_is_left(
    trips: str, condition: str, reason: str, tmp_path: Path
) -> None:
    text = LOOP.replace("n = {4}", "n = {1000000}").replace("Loop(n,", f"Loop({trips},")
    text = text.replace("k2 = Identity(k)", condition).replace("BODY", "h2 = Add(h, x)")
    done = fixed(text, tmp_path)
    assert done.rewrites == ()
    assert not (tmp_path / "fixed.onnx").exists()
    assert dict(done.left[0].unfit)["loop-unroll"].en == reason


def test_loop_of_loops_stops_at_the_limit_of_nodes(tmp_path: Path) -> None:
    """Bodies inside of bodies multiply: 512 times 512 steps are too many, although each is not."""
    body = (
        "h2 = Loop(n, on, h) <body = b2 (int64 i2, bool k3, float[2] q) => (bool k4, float[2] q2)"
    )
    body += " { k4 = Identity(k3)  q2 = Add(q, h) }>"
    done = fixed(LOOP.replace("n = {4}", "n = {512}").replace("BODY", body), tmp_path)
    assert done.left
    assert any("limit of nodes" in words.en for _, words in done.left[0].unfit)


def test_loop_without_steps_returns_what_it_starts_from(tmp_path: Path) -> None:
    done = fixed(LOOP.replace("n = {4}", "n = {0}").replace("BODY", "h2 = Add(h, x)"), tmp_path)
    assert (done.errors, done.left) == ((1, 0), ())
    assert done.outputs["y"].error == 0.0


def test_number_of_steps_given_at_run_time_is_said(tmp_path: Path) -> None:
    text = LOOP.replace("bool c)", "bool c, int64 n)").replace("int64 n = {4}, ", "")
    done = fixed(text.replace("BODY", "h2 = Add(h, x)"), tmp_path)
    assert dict(done.left[0].unfit)["loop-unroll"].en == "n is constant"


BRANCHES = """g (float[2,3] x, bool c, bool[2,3] q, int32[2,3] n) => (float[2,3] y, int64[2,3] z) {
    y, z = If(c) <
        then_branch = t () => (float[2,3] r, int64[2,3] s) {
            a = Xor(q, q)  u = Cast <to = 1> (a)  r = Add(x, u)  s = Cast <to = 7> (n)
        },
        else_branch = e () => (float[2,3] r, int64[2,3] s) {
            d = Not(c)
            r = If(d) <
                then_branch = t2 () => (float[2,3] v) { v = Neg(x) },
                else_branch = e2 () => (float[2,3] v) { v = Abs(x) }
            >
            m = Neg(n)  s = Cast <to = 7> (m)
        }
    >
}"""


def test_both_branches_run_where_one_has_a_refused_node(tmp_path: Path) -> None:
    done = fixed(BRANCHES, tmp_path)
    assert (done.errors, done.left) == ((1, 0), ())
    assert {each.differing for each in done.outputs.values()} == {0}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("m = Neg(n)", "m = Div(n, n)"),
        ("r = Add(x, u)", "i = Cast <to = 6> (c)  w = Gather <axis = 0> (x, i)  r = Add(w, u)"),
        ("r = Add(x, u)", "o = RandomNormalLike(x)  r = Add(o, u)"),
    ],
    ids=["divisor", "index", "random"],
)
def test_branch_that_may_fail_or_draws_is_left(old: str, new: str, tmp_path: Path) -> None:
    done = fixed(BRANCHES.replace(old, new), tmp_path)
    assert all("if-as-where" not in each.rules for each in done.rewrites)
    reasons = [words.en for each in done.left for _, words in each.unfit]
    assert any("defined for all values" in each for each in reasons)


def test_a_chosen_branch_and_what_rules_change_in_it_are_two_changes(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 18]>
    g (float[2,3] x) => (float[2,3] y) <bool c = {1}> {
        y = If (c) <
            then_branch = t () => (float[2,3] a) { a = Mish (x) },
            else_branch = e () => (float[2,3] b) { b = Neg (x) }
        >
    }"""
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    done = atc_py.fix_model(tmp_path / "m.onnx", tmp_path / "fixed.onnx", operator_list="base")
    assert [(change.kind.value, change.before.operator) for change in done.changes] == [
        ("chosen", "If"),
        ("rules", "Mish"),
    ]
