"""A rule makes no operator that the AI Cores of the SoC have no kernel for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.fusion import matching
from atc_py.passes.fusion.fuse_swish import FuseSwishPass
from atc_py.target import TargetOp, find_operator, find_soc
from atc_py.target.kernels import on

TEXT = """
graph @g phase lowered {
  input %x : float32[4,16] ND
  %s = Sigmoid(%x) : float32[4,16] ND
  %y = Mul(%x, %s) : float32[4,16] ND
  output %y
}
"""


def _without_kernel(name: str) -> TargetOp | None:
    """Return an operator's row, that of Swish without a kernel on Ascend310."""
    row = find_operator(name)
    if row is None or name != "Swish":
        return row
    return replace(row, kernels=on("310: -; 310P: f16 f32"))


@pytest.mark.parametrize(
    ("soc", "fuses"), [("Ascend310", False), ("Ascend310P3", True), ("sim", True)]
)
def test_operator_without_a_kernel_is_not_made_and_says_why(
    soc: str, fuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operator information of CANN 8.1 has Swish without a kernel on Ascend610, for one."""
    monkeypatch.setattr(matching, "find_operator", _without_kernel)
    graph = parse_graph(TEXT)
    context = PassContext(find_soc(soc), PrecisionMode.FORCE_FP16, "model.onnx")
    assert FuseSwishPass().run(graph, context) == fuses
    assert ("Swish" in [node.op for node in graph.nodes]) is fuses
    miss = context.fusions.of(FuseSwishPass.name).nearest
    reason = "" if miss is None else miss.reason
    assert reason == ("" if fuses else "Swish has no AI Core kernel on Ascend310")
