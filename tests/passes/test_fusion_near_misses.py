"""What looks like the pattern of a fusion and is another computation stays, with its numbers."""

import numpy as np
import pytest

from atc_py.passes.base import Pass
from atc_py.passes.fusion.fuse_conv_batch_norm import FuseConvBatchNormPass
from atc_py.passes.fusion.fuse_conv_bias import FuseConvBiasPass
from atc_py.passes.fusion.fuse_gelu import FuseGeluPass
from atc_py.passes.fusion.fuse_hard_swish import FuseHardSwishPass
from atc_py.passes.fusion.fuse_layer_norm import FuseLayerNormPass
from atc_py.passes.fusion.fuse_matmul_bias import FuseMatmulBiasPass
from atc_py.passes.fusion.fuse_pad_pool import FusePadPoolPass
from atc_py.passes.fusion.fuse_rms_norm import FuseRmsNormPass
from atc_py.passes.fusion.fuse_swish import FuseSwishPass
from atc_py.passes.fusion.fuse_transpose_matmul import FuseTransposeMatmulPass
from atc_py.passes.fusion.merge_common_nodes import MergeCommonNodesPass
from tests.passes.fusing import changed, fuse
from tests.passes.numbers import results


def _graph(head: str, body: str) -> str:
    """Return a lowered graph that returns `y`, of lines without their indentation."""
    lines = [line.strip() for line in (head + body).strip().splitlines()]
    return "\n".join(["graph @g phase lowered {", *lines, "output %y", "}"])


SWISH = _graph(
    "input %x : float32[8] ND\nconst %k : float32[1,1] ND = dense [2.0]\n",
    """%u = Mul(%x, %k) : float32[1,8] ND
    %s = Sigmoid(%u) : float32[1,8] ND
    %y = Mul(%s, %x) : float32[1,8] ND""",
)
GELU = _graph(
    """input %x : float32[8] ND
    const %root : float32[1,1] ND = dense [1.4142135]
    const %one : float32[] ND = dense [1.0]
    const %half : float32[] ND = dense [0.5]
    """,
    """%u = RealDiv(%x, %root) : float32[1,8] ND
    %e = Erf(%u) : float32[1,8] ND
    %s = Add(%e, %one) : float32[1,8] ND
    %p = Mul(%x, %s) : float32[1,8] ND
    %y = Mul(%p, %half) : float32[1,8] ND""",
)
HARD_SWISH = _graph(
    """input %x : float32[8] ND
    const %three : float32[] ND = dense [3.0]
    const %zero : float32[] ND = dense [0.0]
    const %six : float32[1] ND = dense [6.0]
    """,
    """%a = Add(%x, %three) : float32[8] ND
    %g = ClipByValue(%a, %zero, %six) : float32[8] ND
    %p = Mul(%g, %x) : float32[8] ND
    %y = RealDiv(%p, %six) : float32[8] ND""",
)
NORM = _graph(
    """input %x : float32[1,8] ND
    const %eps : float32[] ND = dense [0.001]
    """,
    """%z = ExpandD(%x) {shape=[3,8]} : float32[3,8] ND
    %m = ReduceMeanD(%z) {axes=[1], keep_dims=true} : float32[3,1] ND
    %d = Sub(%z, %m) : float32[3,8] ND
    %s = Mul(%d, %d) : float32[3,8] ND
    %v = ReduceMeanD(%s) {axes=[1], keep_dims=true} : float32[3,1] ND
    %a = Add(%v, %eps) : float32[3,1] ND
    %r = Sqrt(%a) : float32[3,1] ND
    %y = RealDiv(%d, %r) : float32[3,8] ND""",
)
LOST_AXIS = _graph(
    """input %x : float32[8,8] ND
    const %eps : float32[] ND = dense [0.001]
    """,
    """%s = Mul(%x, %x) : float32[8,8] ND
    %v = ReduceMeanD(%s) {axes=[1], keep_dims=false} : float32[8] ND
    %a = Add(%v, %eps) : float32[8] ND
    %r = Sqrt(%a) : float32[8] ND
    %y = RealDiv(%x, %r) : float32[8,8] ND""",
)
BIAS = _graph(
    """input %x : float32[2,8] ND
    const %w : float32[8,2] ND = splat 0.5
    const %b : float32[2] ND = dense [1.0, -2.0]
    const %column : int64[2] ND = dense [4, 1]
    """,
    """%p = MatMulV2(%x, %w) : float32[2,2] ND
    %q = Reshape(%p, %column) : float32[4,1] ND
    %y = Add(%q, %b) : float32[4,2] ND""",
)
SCALAR_BIAS = _graph(
    """input %x : float32[1,8] ND
    const %w : float32[8,1] ND = splat 0.5
    const %b : float32[1] ND = dense [1.0]
    const %none : int64[0] ND = dense []
    """,
    """%p = MatMulV2(%x, %w) : float32[1,1] ND
    %q = Reshape(%p, %none) : float32[] ND
    %y = Add(%q, %b) : float32[1] ND""",
)
CASES: dict[str, tuple[type[Pass], str, str]] = {
    "swish with more axes than x": (FuseSwishPass, SWISH, "the result must be float32[8] ND, found float32[1,8] ND"),
    "gelu with more axes than x": (FuseGeluPass, GELU, "the result must be float32[8] ND, found float32[1,8] ND"),
    "hard swish with more axes than x": (
        FuseHardSwishPass,
        changed(HARD_SWISH, {"%six : float32[1]": "%six : float32[1,1]", "RealDiv(%p, %six) : "
                             "float32[8]": "RealDiv(%p, %six) : float32[1,8]"}),
        "the result must be float32[8] ND, found float32[1,8] ND"),
    "bounded sum by x": (
        FuseHardSwishPass, changed(HARD_SWISH, {"%p = Mul": "%p = RealDiv"}),
        "Mul must read the result of RealDiv, found RealDiv"),
    "x by a bounded sum": (
        FuseHardSwishPass, changed(HARD_SWISH, {"%p = Mul(%g, %x)": "%p = RealDiv(%x, %g)"}),
        "Mul must read the result of RealDiv, found RealDiv"),
    "norm of rows that are repeated": (
        FuseLayerNormPass, NORM, "the result must be float32[1,8] ND, found float32[3,8] ND"),
    "mean square whose axis is gone": (
        FuseRmsNormPass, LOST_AXIS, "the mean must keep its axes"),
    "mean square of another value": (
        FuseRmsNormPass,
        changed(LOST_AXIS, {
            "keep_dims=false} : float32[8]": "keep_dims=true} : float32[8,1]",
            "%a = Add(%v, %eps) : float32[8]": "%a = Add(%v, %eps) : float32[8,1]",
            "%r = Sqrt(%a) : float32[8] ND":
                "%r = Sqrt(%a) : float32[8,1] ND\n%o = Neg(%x) : float32[8,8] ND",
            "RealDiv(%x, %r)": "RealDiv(%o, %r)",
        }),
        "what is squared must be divided"),
    "bias that repeats a column": (
        FuseMatmulBiasPass, BIAS, "the sum must keep the dims [4, 1], found [4, 2]"),
    "bias that gives a number an axis": (
        FuseMatmulBiasPass, SCALAR_BIAS, "the sum must keep the dims [], found [1]"),
    "bias of a number": (
        FuseMatmulBiasPass,
        changed(SCALAR_BIAS, {"%b : float32[1]": "%b : float32[]", "%y = Add(%q, %b) : float32[1]":
                              "%y = Add(%q, %b) : float32[]"}),
        "the vector must have shape [1], found []"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_pattern_that_computes_something_else_is_left_alone(case: str) -> None:
    step, text, reason = CASES[case]
    graph, record = fuse(step, text)
    assert record.effective == 0
    assert record.nearest is not None
    assert reason in record.nearest.reason
    shape = graph.inputs[0].type.shape
    x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    found, wanted = (results(each, {"x": x})["y"] for each in (graph, text))
    np.testing.assert_array_equal(found, wanted)


def test_hard_swish_of_integers_is_left_alone() -> None:
    text = changed(HARD_SWISH, {"float32": "int32", "3.0": "3", "0.0": "0", "6.0": "6"})
    _, record = fuse(FuseHardSwishPass, text)
    assert record.nearest is not None
    assert "floats must be computed" in record.nearest.reason


TURNS = """
graph @g phase lowered {
  input %x : float32[4,3] ND
  input %z : float32[5,4] ND
  %a = TransposeD(%x) {perm=[1,0]} : float32[3,4] ND from [0 "left" Transpose]
  %b = TransposeD(%z) {perm=[1,0]} : float32[4,5] ND from [1 "right" Transpose]
  %y = MatMulV2(%a, %b) : float32[3,5] ND from [2 "mm" MatMul]
  output %y
}
"""


@pytest.mark.parametrize("kept", ["left", "right"])
def test_product_of_two_transposes_one_of_which_keeps_its_dtype_stays_whole(kept: str) -> None:
    graph, record = fuse(FuseTransposeMatmulPass, TURNS, keep=frozenset({kept}))
    assert record.effective == 0
    assert [node.op for node in graph.nodes] == ["TransposeD", "TransposeD", "MatMulV2"]
    assert not any(graph.nodes[-1].attributes.values())


OPEN_CONV = """
graph @g phase lowered {
  input %z : float32[2,2,4,4] ND
  input %s : int64[4] ND
  const %w : float32[3,2,1,1] ND = splat 0.5
  const %c : float32[3,1,1] ND = dense [1.0, -2.0, 3.0]
  %x = Reshape(%z, %s) : float32[?,2,4,4] ND
  %k = Conv2D(%x, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float32[?,3,4,4] ND
  %y = Add(%k, %c) : float32[?,3,4,4] ND
  output %y
}
"""


def test_bias_of_a_convolution_of_an_open_batch_is_fused() -> None:
    graph, record = fuse(FuseConvBiasPass, OPEN_CONV)
    assert record.effective == 1
    conv = graph.nodes[-1]
    bias = conv.input(2)
    assert bias is not None
    assert bias.const is not None
    np.testing.assert_array_equal(bias.const.numpy(), np.array([1, -2, 3], np.float32))


NORMALIZED = """
graph @g phase lowered {
  input %x : float32[1,2,4,4] ND
  const %w : float32[2,2,1,1] ND = splat 0.5
  const %scale : float32[2] ND = dense [2.0, 3.0]
  const %offset : float32[2] ND = dense [0.25, -0.25]
  const %mean : float32[2] ND = dense [1.0, -1.0]
  const %variance : float32[2] ND = dense [4.0, 9.0]
  %k = Conv2D(%x, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float32[1,2,4,4] ND from [0 "conv" Conv]
  %y = BatchNorm(%k, %scale, %offset, %mean, %variance) {epsilon=0.0} : float32[1,2,4,4] ND from [1 "bn" BatchNormalization]
  output %y
}
"""


@pytest.mark.parametrize("kept", ["conv", "bn"])
def test_batch_norm_is_not_folded_where_one_node_keeps_its_dtype(kept: str) -> None:
    graph, record = fuse(FuseConvBatchNormPass, NORMALIZED, keep=frozenset({kept}))
    assert [node.op for node in graph.nodes] == ["Conv2D", "BatchNorm"]
    assert record.nearest is not None
    assert "keeps its dtype (keep-dtype)" in record.nearest.reason


@pytest.mark.parametrize("change", [{"[4.0, 9.0]": "[0.0, 9.0]"}, {"[2.0, 3.0]": "[2.0, inf]"}])
def test_batch_norm_with_an_infinite_factor_is_not_folded(change: dict[str, str]) -> None:
    _, record = fuse(FuseConvBatchNormPass, changed(NORMALIZED, change))
    assert record.effective == 0
    assert record.nearest is not None
    assert "factors must be finite, found 1 that are not" in record.nearest.reason


PAD_POOL = """
graph @g phase lowered {
  input %x : float32[1,2,4,4] ND
  %p = PadV3D(%x) {constant_values=-65504.0, paddings=[0,0,0,0,1,1,1,1]} : float32[1,2,6,6] ND
  %y = MaxPoolV3(%p) {ksize=[1,1,3,3], strides=[1,1,1,1]} : float32[1,2,4,4] ND
  output %y
}
"""


def test_border_of_the_least_float16_is_padding_of_float16_alone() -> None:
    _, record = fuse(FusePadPoolPass, PAD_POOL)
    assert record.effective == 0
    _, record = fuse(FusePadPoolPass, PAD_POOL.replace("float32", "float16"))
    assert record.effective == 1


SIGNS = """
graph @g phase lowered {
  input %x : float32[2,3] ND
  %a = PadV3D(%x) {constant_values=0.0, paddings=[1,0,0,0]} : float32[3,3] ND
  %b = PadV3D(%x) {constant_values=-0.0, paddings=[1,0,0,0]} : float32[3,3] ND
  %y = RealDiv(%a, %b) : float32[3,3] ND
  output %y
}
"""


def test_borders_of_zeros_of_either_sign_are_two_nodes() -> None:
    graph, record = fuse(MergeCommonNodesPass, SIGNS)
    assert record.effective == 0
    assert [node.op for node in graph.nodes] == ["PadV3D", "PadV3D", "RealDiv"]
