"""A decomposed softmax becomes SoftmaxV2, or stays with a reason."""

import numpy as np
import pytest

from atc_py.passes.fusion.fuse_softmax import FuseSoftmaxPass
from tests.passes.fusing import changed, fuse
from tests.passes.numbers import results

SOFTMAX = """
graph @g phase lowered {
  input %x : float32[2,5,8] ND
  %m = ReduceMaxD(%x) {axes=[2], keep_dims=true} : float32[2,5,1] ND from [0 "max" ReduceMax]
  %d = Sub(%x, %m) : float32[2,5,8] ND from [1 "sub" Sub]
  %e = Exp(%d) : float32[2,5,8] ND from [2 "exp" Exp]
  %s = ReduceSumD(%e) {axes=[2], keep_dims=true} : float32[2,5,1] ND from [3 "sum" ReduceSum]
  %y = RealDiv(%e, %s) : float32[2,5,8] ND from [4 "div" Div]
  output %y
}
"""
MAX, SUB, DIV = "%m = ReduceMaxD(%x) {axes=[2]", "%d = Sub(%x, %m)", "%y = RealDiv(%e, %s)"
SUM = "%s = ReduceSumD(%e) {axes=[2]"
FORMS: dict[str, tuple[dict[str, str], int]] = {
    "division": ({}, 2),
    "reciprocal": (
        {f"  {DIV}": "  %i = Reciprocal(%s) : float32[2,5,1] ND\n  %y = Mul(%i, %e)"}, 2),
    "inner axis": ({"axes=[2]": "axes=[1]", "[2,5,1]": "[2,1,8]"}, 1),
    "axes counted from either end": ({MAX: "%m = ReduceMaxD(%x) {axes=[-1]"}, 2),
    "cast before the sum": (
        {SUM: "%c = Cast(%e) {dst_type=float32} : float32[2,5,8] ND\n  %s = ReduceSumD(%c) {axes=[2]"},
        2),
    "maximum repeated": (
        {SUB: "%r = ExpandD(%m) {shape=[2,5,8]} : float32[2,5,8] ND\n  %d = Sub(%x, %r)"}, 2),
}  # fmt: skip
REFUSALS = {
    "exponentials handed out": ({"output %y": "output %y\n  output %e"}, "an output of the model"),
    "sum read elsewhere": (
        {"  output %y": "  %o = Relu(%s) : float32[2,5,1] ND\n  output %y\n  output %o"},
        "one RealDiv or Reciprocal must read",
    ),
    "no maximum": ({SUB: "%d = Neg(%x)"}, "Sub must compute %d, found Neg"),
    "smallest subtracted": (
        {"ReduceMaxD": "ReduceMinD"}, "ReduceMaxD must compute %m, found ReduceMinD"),
    "another axis": (
        {f"{MAX}, keep_dims=true}} : float32[2,5,1]": "%m = ReduceMaxD(%x) {axes=[1], "
         "keep_dims=true} : float32[2,1,8]"},
        "the largest x over [2] must be subtracted"),
    "two axes": ({"axes=[2]": "axes=[1, 2]", "[2,5,1]": "[2,1,1]"}, "one axis must be summed over"),
    "powers of two": ({"Exp(%d)": "Exp(%d) {base=2.0}"}, "Exp must be to the base e"),
    "something else divided": ({DIV: "%y = RealDiv(%d, %s)"}, "the exponentials must be divided"),
    "turned over": (
        {f"  {DIV} : float32[2,5,8]": "  %y = RealDiv(%s, %e) : float32[2,5,8]"},
        "the result of ReduceSumD must be the divisor"),
    "kept as it is": ({}, "ReduceSumD keeps its dtype (keep-dtype), but"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_softmax_is_found_as_exporters_write_it(form: str) -> None:
    changes, axis = FORMS[form]
    graph, record = fuse(FuseSoftmaxPass, changed(SOFTMAX, changes))
    (node,) = graph.nodes
    assert (node.op, node.output.name, node.attributes) == ("SoftmaxV2", "y", {"axes": (axis,)})
    assert (record.matched, record.effective) == (1, 1)
    assert [origin.name for origin in node.origins][::4] == ["max", "div"]


@pytest.mark.parametrize("reason", REFUSALS)
def test_softmax_is_left_alone_and_says_why(reason: str) -> None:
    changes, message = REFUSALS[reason]
    keep = frozenset({"sum"}) if reason == "kept as it is" else frozenset()
    graph, record = fuse(FuseSoftmaxPass, changed(SOFTMAX, changes), keep=keep)
    assert "SoftmaxV2" not in {node.op for node in graph.nodes}
    assert record.nearest is not None
    assert message in record.nearest.reason


@pytest.mark.parametrize("mode", ["force_fp32", "force_fp16"])
@pytest.mark.parametrize("form", FORMS)
def test_numbers_stay(form: str, mode: str) -> None:
    text = changed(SOFTMAX, FORMS[form][0])
    x = (np.random.default_rng(5).normal(size=(2, 5, 8)) * 4).astype(np.float32)
    fused = results(fuse(FuseSoftmaxPass, text)[0], {"x": x}, mode)["y"]
    apart = results(text, {"x": x}, mode)["y"]
    # Each of the kernels rounds by half a unit of what is at most 1; in the exponent of exp it is
    # half a unit of a difference of at most 32, in the few that then are below exp(-16).
    bound = 1e-6 if mode == "force_fp32" else 6 * 2.0**-11
    np.testing.assert_allclose(fused, apart, rtol=0, atol=bound)
    np.testing.assert_allclose(fused.sum(axis=FORMS[form][1]), 1, atol=8 * 2.0**-11)
    assert np.abs(fused - 1.02 * apart).max() > bound
