"""Passes make no operator that the SoC has no AI Core kernel of.

Which SoCs have none is from the operator information of CANN 8.1.
"""

from pathlib import Path

import onnx
import onnx.parser
import pytest

import atc_py
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.fuse_gelu import FuseGeluPass
from atc_py.passes.fusion.fuse_hard_swish import FuseHardSwishPass
from atc_py.passes.fusion.fuse_masked_softmax import FuseMaskedSoftmaxPass
from atc_py.passes.fusion.fuse_rms_norm import FuseRmsNormPass
from atc_py.passes.fusion.fuse_swish import FuseSwishPass
from atc_py.passes.manager import run_passes
from atc_py.target import find_soc
from tests.passes.test_fuse_masked_softmax import MASKED
from tests.passes.test_fused_normalizations import RMS_NORM

SWISH = """
graph @g phase lowered {
  input %x : float32[2,8] ND
  %s = Sigmoid(%x) : float32[2,8] ND
  %y = Mul(%x, %s) : float32[2,8] ND
  output %y
}
"""
HARD_SWISH = """
graph @g phase lowered {
  input %x : float32[2,8] ND
  %s = HardSigmoid(%x) {alpha=0.16666667, beta=0.5} : float32[2,8] ND
  %y = Mul(%x, %s) : float32[2,8] ND
  output %y
}
"""
GELU = """
graph @g phase lowered {
  input %x : float32[2,8] ND
  const %one : float32[] ND = dense [1.0]
  %a = Muls(%x) {value=0.70710678} : float32[2,8] ND
  %e = Erf(%a) : float32[2,8] ND
  %o = Add(%e, %one) : float32[2,8] ND
  %p = Mul(%x, %o) : float32[2,8] ND
  %y = Muls(%p) {value=0.5} : float32[2,8] ND
  output %y
}
"""
SOCS = {
    "Ascend310": {"GeluV2", "RmsNorm"},
    "Ascend310P3": set(),
    "Ascend310B1": {"RmsNorm", "ScaledMaskedSoftmax"},
    "Ascend610": {"GeluV2", "HardSwish", "RmsNorm", "ScaledMaskedSoftmax", "Swish"},
    "Ascend910A": set(),
    "Ascend910B3": set(),
    "Ascend910_9391": set(),
    "Ascend950PR_9599": set(),
    "Hi3796CV300CS": {"GeluV2", "HardSwish", "RmsNorm", "ScaledMaskedSoftmax", "Swish"},
    "sim": set(),
}
"""What each SoC has no kernel of."""

RULES = {
    "GeluV2": (FuseGeluPass, GELU),
    "HardSwish": (FuseHardSwishPass, HARD_SWISH),
    "RmsNorm": (FuseRmsNormPass, RMS_NORM),
    "ScaledMaskedSoftmax": (FuseMaskedSoftmaxPass, MASKED),
    "Swish": (FuseSwishPass, SWISH),
}


def context_of(soc: str, mode: str = "force_fp16") -> PassContext:
    """Return what passes know of a SoC and a mode."""
    return PassContext(find_soc(soc), PrecisionMode(mode), "model.onnx")


@pytest.mark.parametrize("op", RULES)
@pytest.mark.parametrize("soc", SOCS)
def test_pattern_stays_where_the_fused_operator_has_no_kernel(soc: str, op: str) -> None:
    step, text = RULES[op]
    graph, context = parse_graph(text), context_of(soc)
    before = str(graph)
    fused = step().run(graph, context)
    assert fused == (op not in SOCS[soc])
    assert (op in {node.op for node in graph.nodes}) is bool(fused)
    if not fused:
        assert str(graph) == before
        miss = context.fusions[step.row.name].nearest
        assert miss is not None
        assert miss.reason == f"{op} has no AI Core kernel on {soc}"


@pytest.mark.parametrize(
    ("soc", "mode", "fused"),
    [
        ("Ascend310P3", "force_fp16", True),
        ("Ascend310P3", "allow_fp32_to_fp16", False),
        ("Ascend310P3", "must_keep_origin_dtype", False),
        ("Ascend310", "must_keep_origin_dtype", False),
        ("Ascend910A", "must_keep_origin_dtype", True),
        ("sim", "must_keep_origin_dtype", True),
    ],
)
def test_masked_softmax_needs_the_result_that_the_mode_keeps(
    soc: str, mode: str, *, fused: bool
) -> None:
    """On Ascend310 and 310P the kernel gives float16 for float32 scores as well."""
    # A node would have scores of float32 and a result of float16 where a mode leaves float32.
    graph = parse_graph(MASKED)
    assert bool(FuseMaskedSoftmaxPass().run(graph, context_of(soc, mode))) is fused


@pytest.mark.parametrize(("mode", "keep"), [("allow_fp32_to_fp16", ""), ("force_fp16", "OpType::")])
@pytest.mark.parametrize("soc", SOCS)
def test_masked_softmax_in_float32_converts_on_every_soc(
    soc: str, mode: str, keep: str, tmp_path: Path
) -> None:
    """Conversion runs the compiled model once, which finds types that no kernel gives."""
    text = """<ir_version: 8, opset_import: ["" : 13]>
        masked (float[2,3,5,8] x, bool[2,1,5,8] mask) => (float[2,3,5,8] y)
        <float fill = {-10000.0}, float scale = {0.5}> {
            scaled = Mul (x, scale)
            chosen = Where (mask, fill, scaled)
            y = Softmax <axis = -1> (chosen)
        }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    kept = tmp_path / "keep.txt"
    kept.write_text("".join(f"{keep}{op}\n" for op in ("Mul", "Where", "Softmax") if keep))
    atc_py.convert(
        tmp_path / "model.onnx",
        tmp_path / "model.om",
        soc=soc,
        precision_mode=mode,
        keep_dtype=kept if keep else None,
    )


@pytest.mark.parametrize("op", RULES)
@pytest.mark.parametrize("soc", SOCS)
def test_pattern_compiles_on_every_soc(soc: str, op: str) -> None:
    graph = parse_graph(RULES[op][1])
    run_passes(graph, context_of(soc), verify=True)
    assert graph.memory is not None
