"""What products and windows absorb from nodes around them: bias, transposition, padding."""

import numpy as np
import pytest

from atc_py.passes.base import Pass
from atc_py.passes.fusion.fuse_matmul_bias import FuseMatmulBiasPass
from atc_py.passes.fusion.fuse_pad_conv import FusePadConvPass
from atc_py.passes.fusion.fuse_pad_pool import FusePadPoolPass
from atc_py.passes.fusion.fuse_transpose_matmul import FuseTransposeMatmulPass
from tests.failures import in_one_item
from tests.passes.fusing import changed, fuse
from tests.passes.numbers import literal, results

RANDOM = np.random.default_rng(11)
WEIGHTS = RANDOM.normal(size=(4, 5)).round(3)

BIAS = f"""
graph @g phase lowered {{
  input %x : float32[2,3,4] ND
  {literal("w", WEIGHTS, "float32")}
  {literal("b", [0.5, 1.0, -1.5, 2.0, 0.0], "float32")}
  const %rows : int64[2] ND = dense [6, 4]
  const %back : int64[3] ND = dense [2, 3, 5]
  %r = Reshape(%x, %rows) : float32[6,4] ND from [0 "mm" MatMul]
  %p = MatMulV2(%r, %w) : float32[6,5] ND from [0 "mm" MatMul]
  %q = Reshape(%p, %back) : float32[2,3,5] ND from [0 "mm" MatMul]
  %y = Add(%b, %q) : float32[2,3,5] ND from [1 "add" Add]
  output %y
}}
"""
TURN = """
graph @g phase lowered {
  input %x : float32[2,4,3] ND
  input %z : float32[2,4,5] ND
  %t = TransposeD(%x) {perm=[0,2,1]} : float32[2,3,4] ND from [0 "turn" Transpose]
  %y = BatchMatMulV2(%t, %z) : float32[2,3,5] ND from [1 "mm" MatMul]
  output %y
}
"""
PAD_CONV = f"""
graph @g phase lowered {{
  input %x : float32[1,2,4,4] ND
  {literal("w", RANDOM.normal(size=(3, 2, 3, 3)).round(3), "float32")}
  %p = PadV3D(%x) {{paddings=[0,0,0,0,1,2,0,1]}} : float32[1,2,7,5] ND from [0 "pad" Pad]
  %y = Conv2D(%p, %w) {{pads=[0,0,1,0], strides=[1,1,1,1]}} : float32[1,3,5,4] ND from [1 "conv" Conv]
  output %y
}}
"""
PAD_POOL = """
graph @g phase lowered {
  input %x : float32[1,2,4,4] ND
  %p = PadV3D(%x) {constant_values=-inf, paddings=[0,0,0,0,1,1,1,1]} : float32[1,2,6,6] ND
  %y = MaxPoolV3(%p) {ksize=[1,1,3,3], strides=[1,1,1,1]} : float32[1,2,4,4] ND
  output %y
}
"""
AVERAGE = {
    "MaxPoolV3": "AvgPoolV2",
    "constant_values=-inf, ": "",
}

CASES: dict[str, tuple[type[Pass], str, list[str]]] = {
    "bias behind a Reshape": (FuseMatmulBiasPass, BIAS, ["Reshape", "MatMulV2", "Reshape"]),
    "bias": (
        FuseMatmulBiasPass,
        changed(BIAS, {"Add(%b, %q) : float32[2,3,5]": "Add(%p, %b) : float32[6,5]",
                       '  %q = Reshape(%p, %back) : float32[2,3,5] ND from [0 "mm" MatMul]\n': ""}),
        ["Reshape", "MatMulV2"],
    ),
    "left operand turned": (FuseTransposeMatmulPass, TURN, ["BatchMatMulV2"]),
    "right operand turned": (
        FuseTransposeMatmulPass,
        changed(TURN, {"(%t, %z)": "(%z, %t)", "%z : float32[2,4,5]": "%z : float32[2,5,4]",
                       "[2,4,3]": "[2,3,4]", "float32[2,3,4] ND from": "float32[2,4,3] ND from",
                       "float32[2,3,5] ND from": "float32[2,5,3] ND from"}),
        ["BatchMatMulV2"],
    ),
    "padding of a convolution": (FusePadConvPass, PAD_CONV, ["Conv2D"]),
    "padding of a maximum": (FusePadPoolPass, PAD_POOL, ["MaxPoolV3"]),
    "padding of a mean": (FusePadPoolPass, changed(PAD_POOL, AVERAGE), ["AvgPoolV2"]),
}  # fmt: skip

REFUSALS: dict[str, tuple[type[Pass], str, dict[str, str], str]] = {
    "vector along rows": (
        FuseMatmulBiasPass, BIAS,
        {"const %b : float32[5]": "const %b : float32[1,5]", "[0.5, 1.0, -1.5, 2.0, 0.0]":
         "[0.5, 1.0, -1.5, 2.0, 0.0]"}, "the vector must have shape [5], found [1, 5]"),
    "vector computed": (
        FuseMatmulBiasPass, BIAS,
        {literal("b", [0.5, 1.0, -1.5, 2.0, 0.0], "float32"): "input %b : float32[5] ND"},
        "one operand must be constant"),
    "product read elsewhere": (
        FuseMatmulBiasPass, BIAS, {"output %y": "output %y\n  output %p"},
        "nothing else may read %p, found an output of the model"),
    "bias twice": (
        FuseMatmulBiasPass, BIAS, {"MatMulV2(%r, %w)": "MatMulV2(%r, %w, %b)"},
        "the product must have no bias, found one"),
    "other axes": (
        FuseTransposeMatmulPass,
        TURN, {"perm=[0,2,1]": "perm=[2,1,0]", "%x : float32[2,4,3]": "%x : float32[4,3,2]"},
        "must exchange the last two axes and no other"),
    "no transposition": (
        FuseTransposeMatmulPass, TURN, {"(%t, %z)": "(%x, %z)", "[2,3,5]": "[2,4,5]",
                                       "%z : float32[2,4,5]": "%z : float32[2,3,5]"},
        "an operand must come from TransposeD, found a value from outside"),
    "border of ones": (
        FusePadConvPass, PAD_CONV, {"{paddings": "{constant_values=1.0, paddings"},
        "the border must be of 0, found 1.0"),
    "border of channels": (
        FusePadConvPass, PAD_CONV,
        {"[0,0,0,0,1,2,0,1]": "[0,0,1,0,1,2,0,1]", "input %x : float32[1,2,": "input %x : float32[1,1,"},
        "only spatial axes may get borders"),
    "mirrored border": (
        FusePadConvPass, PAD_CONV, {"{paddings": '{mode="reflect", paddings'},
        "the border must be constant, found reflect"),
    "pad read twice": (
        FusePadConvPass, PAD_CONV, {"output %y": "output %y\n  output %p"},
        "nothing else may read %p"),
    "maximum with zeros": (
        FusePadPoolPass, PAD_POOL, {"constant_values=-inf, ": ""},
        "the border must be less than every number, found 0.0"),
    "mean that leaves out its padding": (
        FusePadPoolPass, changed(PAD_POOL, AVERAGE),
        {"strides=[1,1,1,1]}": "pads=[1,0,0,0], strides=[1,1,1,1]}"},
        "the mean does not count its own padding [1, 0, 0, 0]"),
    "windows of border alone": (
        FusePadPoolPass, PAD_POOL,
        {"ksize=[1,1,3,3]": "ksize=[1,1,1,1]"}, "padding must be less than [1, 1]"),
    "windows of border alone at one end": (
        FusePadPoolPass, PAD_POOL,
        {"ksize=[1,1,3,3]": "ksize=[1,1,2,3]", "[0,0,0,0,1,1,1,1]": "[0,0,0,0,0,2,1,1]",
         "float32[1,2,4,4] ND\n  output": "float32[1,2,5,4] ND\n  output"},
        "padding must be less than [2, 3], found [0, 2, 1, 1]"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_operand_is_fused_and_numbers_stay(case: str) -> None:
    step, text, operators = CASES[case]
    graph, record = fuse(step, text)
    assert record.effective == 1
    assert [node.op for node in graph.nodes] == operators
    feeds = {
        value.name: RANDOM.normal(size=value.type.shape).astype(np.float32)
        for value in graph.inputs
    }
    for mode in ("force_fp32", "force_fp16"):
        fused = results(fuse(step, text)[0], feeds, mode)["y"]
        apart = results(text, feeds, mode)["y"]
        bound = {"force_fp32": 0.0, "force_fp16": 2.0**-7 if "bias" in case else 0.0}[mode]
        np.testing.assert_allclose(fused, apart, rtol=0, atol=bound)


@in_one_item("reason", REFUSALS)
def test_operand_is_left_alone_and_says_why(reason: str) -> None:
    step, text, changes, message = REFUSALS[reason]
    before = changed(text, changes)
    graph, record = fuse(step, before)
    assert record.effective == 0
    assert record.nearest is not None
    assert message in record.nearest.reason
    assert len(graph.nodes) == before.count(" = ") - before.count("const %")


def test_transpose_that_others_read_stays_for_them() -> None:
    graph, record = fuse(
        FuseTransposeMatmulPass, changed(TURN, {"output %y": "output %y\n  output %t"})
    )
    assert record.effective == 1
    assert [node.op for node in graph.nodes] == ["TransposeD", "BatchMatMulV2"]
    assert graph.nodes[1].attributes["adj_x1"] is True


def test_product_with_a_bias_comes_from_both_nodes() -> None:
    graph, _ = fuse(FuseMatmulBiasPass, BIAS)
    for node in graph.nodes[1:]:
        assert [origin.name for origin in node.origins] == ["mm", "add"]


def test_padding_is_added_to_the_padding_that_is_there() -> None:
    graph, _ = fuse(FusePadConvPass, PAD_CONV)
    assert graph.nodes[0].attributes["pads"] == (1, 2, 1, 1)
