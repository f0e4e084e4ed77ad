"""What of the pipeline is left where only passes of ATC may run, and which names passes have."""

from collections import Counter

import pytest

from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.manager import run_passes
from atc_py.passes.pipeline import PIPELINE
from atc_py.target import find_soc

OURS = {"fuse-softmax", "fuse-rms-norm", "fuse-masked-softmax", "fuse-hard-swish", "flatten-stacks"}
"""Rewrites that no pass in the configuration, the sources or the guide of CANN does."""

NAMES = {
    "rewrite-depthwise-conv": {"GroupConv2DFusionPass"},
    "fuse-scale-into-weights": {"AConv2dMulFusion"},
    "fuse-pad-pool": {"Padv3dAvgpoolFusionPass"},
    "fuse-pad-conv": {"PadConv2dFusionPass", "PadDepthwiseConv2dFusionPass"},
    "fuse-matmul-bias": {"MatMulBiasAddFusionPass", "MatMulReshapeBiasAddFusionPass"},
    "fuse-gelu": {"GeluONNXFusionPass", "GeluFusionPass"},
    "merge-conv-elemwise": {
        "TbeConvCommonRules0FusionPass",
        "TbeConvCommonRules2FusionPass",
        "TbeConv2DEltwisePass",
        "TbeConv3dElemwisePass",
        "TbeDepthwiseConvElemwiseFusionPass",
    },
}
"""Names that the sources of CANN's passes give to what these do."""

SWISH = """
graph @g phase lowered {
  input %x : float32[4,16] ND
  %s = Sigmoid(%x) : float32[4,16] ND
  %y = Mul(%x, %s) : float32[4,16] ND
  output %y
}
"""
SCALED = """
graph @g phase lowered {
  input %x : float32[1,2,4,4] ND
  const %w : float32[2,2,1,1] ND = splat 1.0
  const %c : float32[] ND = dense [FACTOR]
  %l = Conv2D(%x, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float32[1,2,4,4] ND
  %y = OP(%l, %c) : float32[1,2,4,4] ND
  output %y
}
"""
PRODUCT = """
graph @g phase lowered {
  input %x : float32[4,8] ND
  const %w : float32[8,4] ND = splat 1.0
  const %c : float32[] ND = dense [2.0]
  %l = MatMulV2(%x, %w) : float32[4,4] ND
  %y = Mul(%l, %c) : float32[4,4] ND
  output %y
}
"""
PADDED = """
graph @g phase lowered {
  input %x : float32[1,2,8,8] ND
  %p = PadV3D(%x) {constant_values=BORDER, mode="constant", paddings=[0,0,0,0,1,1,1,1]} : float32[1,2,10,10] ND
  %y = OP(%p) {ksize=[1,1,3,3], strides=[1,1,1,1]} : float32[1,2,8,8] ND
  output %y
}
"""


def _left(text: str, *, only_atc: bool) -> Counter[str]:
    """Return the operators that fusion leaves of a graph, casts aside."""
    graph = parse_graph(text)
    mode = PrecisionMode.MUST_KEEP_ORIGIN_DTYPE
    context = PassContext(find_soc("sim"), mode, "m.onnx", only_atc_passes=only_atc)
    run_passes(graph, context, verify=True, disabled=frozenset({"assign-storage"}))
    return Counter(node.op for node in graph.nodes if node.op != "Cast")


def test_passes_without_counterpart_are_marked_and_have_no_names() -> None:
    assert {row.name for row in PIPELINE if not row.in_atc} == OURS
    assert not any(row.atc_names for row in PIPELINE if not row.in_atc)


@pytest.mark.parametrize("name", NAMES)
def test_pass_has_the_names_of_the_sources(name: str) -> None:
    (row,) = [row for row in PIPELINE if row.name == name]
    assert set(row.atc_names) == NAMES[name]


def test_rewrite_without_counterpart_is_left_out() -> None:
    assert _left(SWISH, only_atc=False) == {"Swish": 1}
    assert _left(SWISH, only_atc=True) == {"Sigmoid": 1, "Mul": 1}


@pytest.mark.parametrize(
    ("op", "factor", "ours", "atcs"),
    [("Mul", 2.0, True, True), ("Mul", 64.0, False, True), ("RealDiv", 2.0, True, False)],
)
def test_scale_moves_as_far_as_atc_moves_it(op: str, factor: float, ours: bool, atcs: bool) -> None:
    """AConv2dMulFusion takes a constant of any size after Conv2D, and no division."""
    text = SCALED.replace("FACTOR", str(factor)).replace("OP", op)
    for only_atc, moved in ((False, ours), (True, atcs)):
        found = _left(text, only_atc=only_atc)
        assert found == ({"Conv2D": 1} if moved else {"Conv2D": 1, op: 1})


def test_scale_of_a_product_is_no_work_of_atc() -> None:
    assert _left(PRODUCT, only_atc=False) == {"MatMulV2": 1}
    assert _left(PRODUCT, only_atc=True) == {"MatMulV2": 1, "Mul": 1}


@pytest.mark.parametrize(
    ("op", "border", "atcs"), [("AvgPoolV2", "0.0", True), ("MaxPoolV3", "-inf", False)]
)
def test_border_moves_into_mean_pools_alone(op: str, border: str, atcs: bool) -> None:
    """Padv3dAvgpoolFusionPass takes PadV3D with AvgPoolV2; none takes it with MaxPoolV3."""
    text = PADDED.replace("OP", op).replace("BORDER", border)
    assert "PadV3D" not in _left(text, only_atc=False)
    assert ("PadV3D" not in _left(text, only_atc=True)) is atcs
