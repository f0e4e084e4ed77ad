"""Columns of the quantization operators: what a node's attributes become, and on which SoC."""

import pytest

from atc_py.ir import Graph, Node
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.tensor.dtypes import DType
from tests.passes.conftest import RunPass

F16, F32 = DType.FLOAT16, DType.FLOAT32
FORCE, KEEP, ALLOW = "force_fp16", "must_keep_origin_dtype", "allow_fp32_to_fp16"

QUANT = """
graph @g phase lowered {
  input %x : float32[4] ND
  %y = AscendQuant(%x) {offset=0.0, scale=2.0} : int8[4] ND from [7 "q" AscendQuant]
  %z = AscendAntiQuant(%y) {dtype=float32, offset=0.0, scale=0.5} : float32[4] ND from [8 "a" A]
  output %z
}
"""

DEQUANT = """
graph @g phase lowered {
  input %x : int32[4] ND
  input %s : uint64[1] ND
  %y = AscendDequant(%x, %s) {dtype=float32} : float32[4] ND from [7 "d" AscendDequant]
  output %y
}
"""


def node_of(graph: Graph, op: str) -> Node:
    (found,) = [node for node in graph.nodes if node.op == op]
    return found


@pytest.mark.parametrize(
    ("mode", "taken", "given", "casts"),
    [(FORCE, F16, F16, 2), (KEEP, F32, F32, 0), (ALLOW, F32, F32, 0)],
)
@pytest.mark.parametrize(
    ("soc", "compute"), [("sim", F16), ("Ascend310P3", F16), ("Ascend950PR_9599", F32)]
)
def test_quant_and_anti_quant(  # noqa: PLR0913  (one column a parameter)
    run_pass: RunPass, mode: str, taken: DType, given: DType, casts: int, soc: str, compute: DType
) -> None:
    graph, count = run_pass(AssignPrecisionPass, QUANT, mode=mode, soc=soc)
    quant, anti = (node_of(graph, op) for op in ("AscendQuant", "AscendAntiQuant"))
    assert count == casts
    assert [value.type.dtype for value in quant.present_inputs] == [taken]
    assert quant.output.type.dtype is quant.attributes["dst_type"] is DType.INT8
    assert quant.attributes["compute_type"] is compute
    assert anti.output.type.dtype is anti.attributes["dtype"] is given
    assert anti.attributes.get("compute_type", F16) is compute


@pytest.mark.parametrize(("mode", "given"), [(FORCE, F16), (KEEP, F32), (ALLOW, F32)])
def test_the_dtype_of_a_dequantization_follows_its_result(
    run_pass: RunPass, mode: str, given: DType
) -> None:
    graph, _ = run_pass(AssignPrecisionPass, DEQUANT, mode=mode)
    dequant = node_of(graph, "AscendDequant")
    assert dequant.output.type.dtype is dequant.attributes["dtype"] is given
    assert graph.outputs[0].type.dtype is F32
