"""Decomposed normalizations become LayerNorm and RmsNorm, or stay with a reason."""

import numpy as np
import pytest

from atc_py.passes.base import Pass
from atc_py.passes.fusion.fuse_layer_norm import FuseLayerNormPass
from atc_py.passes.fusion.fuse_rms_norm import FuseRmsNormPass
from tests.passes.fusing import changed, fuse
from tests.passes.numbers import results

LAYER_NORM = """
graph @g phase lowered {
  input %x : float32[2,3,8] ND
  const %two : float32[] ND = dense [2.0]
  const %eps : float32[] ND = dense [0.001]
  const %gamma : float32[8] ND = dense [1.0, 2.0, 0.5, 1.0, -1.0, 3.0, 1.0, 0.25]
  const %beta : float32[8] ND = dense [0.0, 1.0, 0.5, 0.0, -1.0, 0.0, 2.0, 0.25]
  %m = ReduceMeanD(%x) {axes=[2], keep_dims=true} : float32[2,3,1] ND from [0 "mean" ReduceMean]
  %d = Sub(%x, %m) : float32[2,3,8] ND from [1 "sub" Sub]
  %s = Pow(%d, %two) : float32[2,3,8] ND from [2 "pow" Pow]
  %v = ReduceMeanD(%s) {axes=[2], keep_dims=true} : float32[2,3,1] ND from [3 "var" ReduceMean]
  %a = Add(%v, %eps) : float32[2,3,1] ND from [4 "eps" Add]
  %r = Sqrt(%a) : float32[2,3,1] ND from [5 "sqrt" Sqrt]
  %q = RealDiv(%d, %r) : float32[2,3,8] ND from [6 "div" Div]
  %g = Mul(%q, %gamma) : float32[2,3,8] ND from [7 "mul" Mul]
  %y = Add(%g, %beta) : float32[2,3,8] ND from [8 "add" Add]
  output %y
}
"""

RMS_NORM = """
graph @g phase lowered {
  input %x : float32[4,8] ND
  const %two : float32[] ND = dense [2.0]
  const %eps : float32[] ND = dense [0.001]
  const %gamma : float32[8] ND = dense [1.0, 2.0, 0.5, 1.0, -1.0, 3.0, 1.0, 0.25]
  %s = Pow(%x, %two) : float32[4,8] ND
  %v = ReduceMeanD(%s) {axes=[1], keep_dims=true} : float32[4,1] ND
  %a = Add(%eps, %v) : float32[4,1] ND
  %r = Sqrt(%a) : float32[4,1] ND
  %i = Reciprocal(%r) : float32[4,1] ND
  %q = Mul(%x, %i) : float32[4,8] ND
  %y = Mul(%gamma, %q) : float32[4,8] ND
  output %y
}
"""

POW = "%s = Pow(%d, %two)"
DIV = "  %q = RealDiv(%d, %r) : float32[2,3,8] ND"
FORMS = {
    "pow and div": {},
    "mul as square": {POW: "%s = Mul(%d, %d)"},
    "reciprocal": {
        DIV: "  %i = Reciprocal(%r) : float32[2,3,1] ND\n  %q = Mul(%i, %d) : float32[2,3,8] ND"
    },
    "cast before the square": {
        POW: "%c = Cast(%d) {dst_type=float32} : float32[2,3,8] ND\n  %s = Pow(%c, %two)"
    },
    "mean repeated": {
        "%d = Sub(%x, %m)": "%e = ExpandD(%m) {shape=[2,3,8]} : float32[2,3,8] ND\n"
        "  %d = Sub(%x, %e)"
    },
    "two differences": {
        DIV: "  %d2 = Sub(%x, %m) : float32[2,3,8] ND\n  %q = RealDiv(%d2, %r) : float32[2,3,8] ND"
    },
    "no beta": {"%y = Add(%g, %beta)": "%y = Mul(%q, %gamma)", "  %g = Mul": "  %idle = Mul"},
    "beta first": {"Add(%g, %beta)": "Add(%beta, %g)", "Mul(%q, %gamma)": "Mul(%gamma, %q)"},
    "negative axes": {"axes=[2]": "axes=[-1]"},
}
REFUSALS = {
    "difference handed out": ({"output %y": "output %y\n  output %d"}, "an output of the model"),
    "root read elsewhere": (
        {"  output %y": "  %o = Relu(%r) : float32[2,3,1] ND\n  output %y\n  output %o"},
        "one RealDiv or Reciprocal must read",
    ),
    "cube": ({"[2.0]": "[3.0]"}, "the mean must be of a square"),
    "another axis": (
        {"{axes=[2], keep_dims=true} : float32[2,3,1] ND from [3": "{axes=[1], keep_dims=true}"
         " : float32[2,1,8] ND from [3", "%a = Add(%v, %eps) : float32[2,3,1]":
         "%a = Add(%v, %eps) : float32[2,1,8]", "%r = Sqrt(%a) : float32[2,3,1]":
         "%r = Sqrt(%a) : float32[2,1,8]"},
        "the mean of x over [1] must be kept",
    ),
    "inner axis": ({"axes=[2]": "axes=[1]", "[2,3,1]": "[2,1,8]"}, "axes must be the last of 3"),
    "epsilon computed": (
        {"const %eps : float32[] ND = dense [0.001]": "input %eps : float32[1] ND"},
        "Add must have a constant",
    ),
    "kept as it is": ({}, "ReduceMeanD keeps its dtype (keep-dtype), but"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_layer_norm_is_found_as_exporters_write_it(form: str) -> None:
    text = changed(LAYER_NORM, FORMS[form])
    graph, record = fuse(FuseLayerNormPass, text)
    assert [node.op for node in graph.nodes if node.op != "Mul"] == ["LayerNorm"]
    assert (record.matched, record.effective) == (1, 1)


def test_layer_norm_comes_from_all_its_nodes() -> None:
    graph, _ = fuse(FuseLayerNormPass, LAYER_NORM)
    (node,) = graph.nodes
    assert [origin.name for origin in node.origins][::8] == ["mean", "add"]
    assert node.output.name == "y"
    assert node.attributes["begin_norm_axis"] == 2


@pytest.mark.parametrize("reason", REFUSALS)
def test_layer_norm_is_left_alone_and_says_why(reason: str) -> None:
    changes, message = REFUSALS[reason]
    keep = frozenset({"mean", "var"}) if reason == "kept as it is" else frozenset()
    graph, record = fuse(FuseLayerNormPass, changed(LAYER_NORM, changes), keep=keep)
    assert "LayerNorm" not in {node.op for node in graph.nodes}
    assert record.nearest is not None
    assert message in record.nearest.reason


def test_rms_norm_is_found_and_is_no_layer_norm() -> None:
    graph, _ = fuse(FuseRmsNormPass, RMS_NORM)
    assert [node.op for node in graph.nodes] == ["RmsNorm"]
    _, record = fuse(FuseLayerNormPass, RMS_NORM)
    assert record.nearest is not None
    assert "Sub must compute %x" in record.nearest.reason
    # where LayerNorm is switched off, what is left is the norm of the difference
    graph, _ = fuse(FuseRmsNormPass, LAYER_NORM)
    assert [node.op for node in graph.nodes] == ["ReduceMeanD", "Sub", "RmsNorm", "Add"]


@pytest.mark.parametrize(
    ("step", "text", "shape"),
    [(FuseLayerNormPass, LAYER_NORM, (2, 3, 8)), (FuseRmsNormPass, RMS_NORM, (4, 8))],
)
@pytest.mark.parametrize("mode", ["force_fp32", "force_fp16"])
def test_numbers_stay(step: type[Pass], text: str, shape: tuple[int, ...], mode: str) -> None:
    x = np.random.default_rng(5).normal(size=shape).astype(np.float32)
    fused = results(fuse(step, text)[0], {"x": x}, mode)["y"]
    apart = results(text, {"x": x}, mode)["y"]
    # every one of the ten kernels rounds once, and the largest results are below 8
    bound = 1e-5 if mode == "force_fp32" else 10 * 8 * 2.0**-11
    np.testing.assert_allclose(fused, apart, rtol=0, atol=bound)
    assert np.abs(fused - apart * 1.02).max() > bound
