"""Where a Cast runs: pairs of dtypes that the AI Core converts differ by SoC family.

The pairs are from the operator information of CANN 8.1; all others go to the AI CPU.
"""

import pytest

from atc_py.ir import Engine, Graph, Phase, TensorType
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.precision.columns import cast_engine
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item

TABLE = """
float32  int32     Ascend310 aicpu, Ascend310P3 aicore, Ascend610 aicore, Ascend910B3 aicore
float32  float16   Ascend310 aicore, Hi3796CV300CS aicpu, sim aicore
float16  float32   Ascend310 aicore, Hi3796CV300CS aicore, sim aicore
int64    float32   Ascend310 aicpu, Ascend310P3 aicore, Ascend310B1 aicore, Ascend910A aicpu, sim aicore
int64    float16   Ascend310 aicpu, Ascend310P3 aicore, Ascend610 aicore, Ascend910A aicore
float32  int64     Ascend310 aicpu, Ascend310P3 aicore, Ascend910A aicpu, Ascend910B3 aicore
float32  bool      Ascend310 aicore, Ascend610 aicpu, Ascend910A aicore
float32  bfloat16  Ascend310B1 aicpu, Ascend910B3 aicore, Ascend910_9391 aicore, Ascend950PR_9599 aicore
bfloat16 float32   Ascend310B1 aicpu, Ascend310P3 aicpu, Ascend910B3 aicore, sim aicore
int16    float16   Ascend310P3 aicpu, Ascend910B3 aicore, sim aicpu
int16    int64     Ascend310P3 aicpu, Ascend910B3 aicore
uint8    bool      Ascend310P3 aicpu, Ascend910B3 aicpu, sim aicore
float64  float32   Ascend910B3 aicpu, sim aicpu
float32  float32   Ascend310 aicore, Hi3796CV300CS aicore
"""
ROWS = [
    (given, wanted, *place.split())
    for given, wanted, *places in (line.split(None, 2) for line in TABLE.strip().split("\n"))
    for place in places[0].split(", ")
]


@in_one_item(("given", "wanted", "soc", "engine"), ROWS)
def test_cast_runs_where_its_pair_is_listed(given: str, wanted: str, soc: str, engine: str) -> None:
    graph = Graph("cast", Phase.LOWERED)
    x = graph.add_input("x", TensorType(DType(given), (2,)))
    node = graph.add_node(
        "Cast", [x], [("y", TensorType(DType(wanted), (2,)))], {"dst_type": DType(wanted)}
    )
    assert cast_engine(node, find_soc(soc)) is Engine(engine)


@pytest.mark.parametrize(("soc", "engine"), [("Ascend310", "aicpu"), ("Ascend310P3", "aicore")])
def test_casts_of_the_model_and_of_the_compiler_ask_the_soc(soc: str, engine: str) -> None:
    text = """
graph @g phase lowered {
  input %x : int64[4] ND
  %c = Cast(%x) {dst_type=float32} : float32[4] ND
  %y = Relu(%c) : float32[4] ND
  output %y
}
"""
    graph = parse_graph(text)
    context = PassContext(find_soc(soc), PrecisionMode.FORCE_FP16, "model.onnx")
    AssignPrecisionPass().run(graph, context)
    engines = {
        (node.present_inputs[0].type.dtype.value, node.output.type.dtype.value): node.engine
        for node in graph.nodes
        if node.op == "Cast"
    }
    assert engines == {
        ("int64", "float32"): Engine(engine),
        ("float32", "float16"): Engine.AICORE,
        ("float16", "float32"): Engine.AICORE,
    }
