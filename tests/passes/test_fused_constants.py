"""Constants after a layer go into its weights and bias, or stay with a reason."""

import numpy as np
import pytest

from atc_py.passes.base import Pass
from atc_py.passes.fusion.fuse_conv_bias import FuseConvBiasPass
from atc_py.passes.fusion.fuse_scale_into_weights import FuseScaleIntoWeightsPass
from tests.passes.fusing import changed, fuse
from tests.passes.numbers import constant, literal, results

RANDOM = np.random.default_rng(21)


def _conv(lines: str, shape: tuple[int, ...], op: str = "Conv2D") -> str:
    """Return a convolution of 2 channels to 3 with a bias, and what follows, with constant `c`."""
    turned = op == "Conv2DTransposeD"
    filter_ = RANDOM.normal(size=(2, 3, 3, 3) if turned else (3, 2, 3, 3)).round(3)
    size = "input_size=[1,3,4,4], " if turned else ""
    return f"""
graph @g phase lowered {{
  input %x : float32[1,2,4,4] ND
  {literal("w", filter_, "float32")}
  {literal("b", [0.5, -1.0, 2.0], "float32")}
  {literal("c", RANDOM.normal(size=shape).round(3) + 2, "float32")}
  %k = {op}(%x, %w, %b) {{{size}pads=[1,1,1,1], strides=[1,1,1,1]}} : float32[1,3,4,4] ND from [0 "conv" Conv]
  {lines} : float32[1,3,4,4] ND from [1 "last" Mul]
  output %y
}}
"""


def _product(flag: str = "") -> str:
    """Return a product with a bias, and a factor per column after it."""
    weights = RANDOM.normal(size=(3, 2) if flag else (2, 3)).round(3)
    return f"""
graph @g phase lowered {{
  input %x : float32[4,2] ND
  {literal("w", weights, "float32")}
  {literal("b", [0.5, -1.0, 2.0], "float32")}
  {literal("c", [2.0, 0.3, -1.0], "float32")}
  %k = MatMulV2(%x, %w, %b) {{{flag}}} : float32[4,3] ND
  %y = Mul(%c, %k) : float32[4,3] ND
  output %y
}}
"""


CASES: dict[str, tuple[type[Pass], str, str]] = {
    "bias per channel": (FuseConvBiasPass, _conv("%y = Add(%k, %c)", (3, 1, 1)), "Conv2D"),
    "bias for all": (FuseConvBiasPass, _conv("%y = Add(%c, %k)", ()), "Conv2D"),
    "bias where there was none": (
        FuseConvBiasPass,
        changed(_conv("%y = Add(%k, %c)", (1, 3, 1, 1)), {"(%x, %w, %b)": "(%x, %w)"}),
        "Conv2D",
    ),
    "bias of a transposed convolution": (
        FuseConvBiasPass,
        _conv("%y = Add(%k, %c)", (3, 1, 1), "Conv2DTransposeD"),
        "Conv2DTransposeD",
    ),
    "factor per channel": (
        FuseScaleIntoWeightsPass,
        _conv("%y = Mul(%c, %k)", (3, 1, 1)),
        "Conv2D",
    ),
    "divisor for all": (FuseScaleIntoWeightsPass, _conv("%y = RealDiv(%k, %c)", (1,)), "Conv2D"),
    "factor of a transposed convolution": (
        FuseScaleIntoWeightsPass,
        _conv("%y = Mul(%k, %c)", (1, 3, 1, 1), "Conv2DTransposeD"),
        "Conv2DTransposeD",
    ),
    "factor of a product": (FuseScaleIntoWeightsPass, _product(), "MatMulV2"),
    "factor of a turned product": (
        FuseScaleIntoWeightsPass,
        _product("transpose_x2=true"),
        "MatMulV2",
    ),
}

REFUSALS: dict[str, tuple[type[Pass], str, str]] = {
    "constant per row": (
        FuseConvBiasPass,
        _conv("%y = Add(%k, %c)", (4, 1)),
        "an element per output channel, found [4, 1]",
    ),
    "constant per column": (
        FuseScaleIntoWeightsPass,
        _conv("%y = Mul(%k, %c)", (4,)),
        "an element per output channel, found [4]",
    ),
    "tiny factor": (
        FuseScaleIntoWeightsPass,
        changed(_product(), {"dense [2.0, 0.3, -1.0]": "dense [2.0, 0.0003, -1.0]"}),
        "factors must be within 1 / 16 and 16, found 0.0003 to 2",
    ),
    "layer as divisor": (
        FuseScaleIntoWeightsPass,
        _conv("%y = RealDiv(%c, %k)", (3, 1, 1)),
        "the layer must be the dividend",
    ),
    "weights computed": (
        FuseScaleIntoWeightsPass,
        changed(_conv("%y = Mul(%c, %k)", (3, 1, 1)), {"const %w : float32[3,2,3,3]": "input %v :"})
        .replace("input %v :", "const %v : float32[3,2,3,3]")
        .replace("  %k =", "  %w = Neg(%v) : float32[3,2,3,3] ND\n  %k ="),
        "weights must be constant",
    ),
    "result read elsewhere": (
        FuseConvBiasPass,
        changed(_conv("%y = Add(%k, %c)", (3, 1, 1)), {"output %y": "output %y\n  output %k"}),
        "nothing else may read %k, found an output of the model",
    ),
    "no layer": (
        FuseConvBiasPass,
        changed(_conv("%y = Add(%k, %c)", (3, 1, 1)), {"Add(%k, %c)": "Add(%n, %c)"}).replace(
            "  %y =", "  %n = Neg(%k) : float32[1,3,4,4] ND\n  %y ="
        ),
        "must compute %n, found Neg",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_constant_goes_into_the_layer_and_numbers_stay(case: str) -> None:
    step, text, op = CASES[case]
    graph, record = fuse(step, text)
    (node,) = graph.nodes
    assert (node.op, node.output.name, record.effective) == (op, "y", 1)
    shape = graph.inputs[0].type.shape
    x = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    for mode, share in (("force_fp32", 2.0**-9), ("force_fp16", 2.0**-8)):
        # the cube takes float16 in both modes: products of other weights round otherwise
        fused = results(fuse(step, text)[0], {"x": x}, mode)["y"]
        apart = results(text, {"x": x}, mode)["y"]
        bound = share * np.abs(apart).max()
        np.testing.assert_allclose(fused, apart, rtol=0, atol=bound)
        assert np.abs(fused - 1.02 * apart).max() > bound


def test_weights_and_bias_are_multiplied_as_the_formula_says() -> None:
    graph, _ = fuse(FuseScaleIntoWeightsPass, _product())
    (node,) = graph.nodes
    np.testing.assert_allclose(constant(node, 2), [1.0, -0.3, -2.0], rtol=1e-7)


@pytest.mark.parametrize("reason", REFUSALS)
def test_constant_stays_and_says_why(reason: str) -> None:
    step, text, message = REFUSALS[reason]
    graph, record = fuse(step, text)
    assert record.effective == 0
    assert record.nearest is not None
    assert message in record.nearest.reason
    assert any(node.op in {"Add", "Mul", "RealDiv"} for node in graph.nodes)
