"""Lists of the mixed modes per SoC family, and what a gray node follows.

Sources: `precision_reduce.flag` of the operator information of CANN 8.1, and for Ascend950PR_9599 the
open operator repositories of CANN 9; the rules of the fusion engine of CANN (2026).
"""

import pytest

from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.precision.mix_lists import MixList, default_list
from atc_py.target import SocFamily, find_soc, operators, socs
from atc_py.tensor.dtypes import DType
from tests.passes.conftest import RunPass

F16, BF16, F32 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32

CUBE = (
    "BatchMatMul BatchMatMulV2 Conv2D Conv2DTransposeD Conv3D Conv3DTransposeD DepthwiseConv2D "
    "MatMulV2"
)
TRAINING = "Log LogSoftmaxV2 Pow Power ReduceMeanD ReduceProdD ReduceSum SquareSumV1"
PUBLISHED = {
    "sim": (CUBE, "ReverseSequence"),
    "Ascend310": (CUBE, "ReduceMeanD"),
    "Ascend310B": (f"{CUBE} DynamicGRUV2 DynamicRNN", TRAINING),
    "Ascend310P": (f"{CUBE} DynamicGRUV2 IsInf", "ReverseSequence"),
    "Ascend610": (f"{CUBE} DynamicGRUV2", ""),
    "Ascend910": (f"{CUBE} DynamicGRUV2 DynamicRNN", TRAINING),
    "Ascend910B": (f"{CUBE} DynamicGRUV2 DynamicRNN IsInf MaxPoolV3 RmsNorm", TRAINING),
    "Ascend910_93": (f"{CUBE} DynamicGRUV2 DynamicRNN IsInf MaxPoolV3 RmsNorm", TRAINING),
    "Hi3796CV300CS": (CUBE.replace("BatchMatMul ", ""), ""),
}
"""White and black operators among those that have rows; the generic device is as it was."""

NEWEST_WHITE = (
    "Add Sub Mul RealDiv Exp Log Pow Sqrt Erf Tanh Sigmoid SoftmaxV2 LogSoftmaxV2 GeluV2 Shrink Tan "
    "BitwiseAnd BitwiseOr BitwiseXor IsInf IsNan RightShift Trilu Aipp GatherV2D PadV3D"
)
NEWEST_BLACK = "Acosh Asinh BatchMultiClassNonMaxSuppression GridSampler2D Selu"


@pytest.mark.parametrize("family", PUBLISHED)
def test_lists_are_those_published_for_the_family(family: str) -> None:
    white, black = (set(text.split()) for text in PUBLISHED[family])
    found = {row.name: default_list(row.name, SocFamily(family)) for row in operators()}
    assert {op for op, place in found.items() if place is MixList.WHITE} == white
    assert {op for op, place in found.items() if place is MixList.BLACK} == black


def test_newest_family_has_nearly_all_operators_on_its_white_list() -> None:
    found = {row.name: default_list(row.name, SocFamily.ASCEND950) for row in operators()}
    white = {op for op, place in found.items() if place is MixList.WHITE}
    assert {*NEWEST_WHITE.split(), *CUBE.split()} <= white
    assert len(white) == 84 + 8
    assert {op for op, place in found.items() if place is MixList.BLACK} == {*NEWEST_BLACK.split()}


def test_every_soc_has_lists() -> None:
    assert {soc.family for soc in socs()} == set(SocFamily)
    for soc in socs():
        assert default_list("MatMulV2", soc.family) is MixList.WHITE


LOG = """
graph @g phase lowered {
  input %x : float32[2,2] ND
  const %w : float32[2,2] ND = splat 2.0
  %p = MatMulV2(%x, %w) : float32[2,2] ND from [0 "product" MatMul]
  %r = Relu(%p) : float32[2,2] ND from [1 "relu" Relu]
  %y = Log(%r) : float32[2,2] ND from [2 "log" Log]
  output %y
}
"""


def dtypes(graph: Graph) -> dict[str, DType]:
    """Return the dtype of each node's result by the name of its origin."""
    return {n.origins[0].name: n.output.type.dtype for n in graph.nodes if n.op != "Cast"}


@pytest.mark.parametrize(
    ("soc", "log"),
    [
        ("sim", F16),
        ("Ascend310P3", F16),
        ("Ascend310", F16),
        ("Ascend310B1", F32),
        ("Ascend910A", F32),
        ("Ascend910B3", F32),
        ("Ascend910_9391", F32),
        ("Ascend950PR_9599", F16),
    ],
)
def test_logarithm_stays_float32_where_it_is_black(run_pass: RunPass, soc: str, log: DType) -> None:
    graph, _ = run_pass(AssignPrecisionPass, LOG, mode="allow_mix_precision", soc=soc)
    assert dtypes(graph) == {"product": F16, "relu": F16, "log": log}


def test_white_operator_is_narrow_at_the_input_of_the_model(run_pass: RunPass) -> None:
    text = LOG.replace("MatMulV2(%x, %w)", "Exp(%x)")
    graph, _ = run_pass(
        AssignPrecisionPass, text, mode="allow_mix_precision", soc="Ascend950PR_9599"
    )
    assert dtypes(graph)["product"] is F16
    graph, _ = run_pass(AssignPrecisionPass, text, mode="allow_mix_precision", soc="Ascend910B3")
    assert dtypes(graph)["product"] is F32


CHOICE = """
graph @g phase lowered {
  input %c : bool[2,2] ND
  input %x : float32[2,2] ND
  input %i : int32[2,2] ND
  %s = SelectV2(%c, %x, %x) : float32[2,2] ND from [0 "choice" Where]
  %n = Add(%i, %i) : int32[2,2] ND from [1 "count" Add]
  output %s
  output %n
}
"""


def test_white_list_narrows_the_floats_beside_other_dtypes(run_pass: RunPass) -> None:
    """A tensor that is not float keeps its dtype; the others of the node become 16 bits."""
    graph, _ = run_pass(
        AssignPrecisionPass, CHOICE, mode="allow_mix_precision", soc="Ascend950PR_9599"
    )
    assert dtypes(graph) == {"choice": F16, "count": DType.INT32}


FATHERS = """
graph @g phase lowered {
  input %x : float32[2,2] ND
  const %w : float32[2,2] ND = splat 2.0
  %p = MatMulV2(%x, %w) : float32[2,2] ND from [0 "product" MatMul]
  %a = Add(%x, %p) : float32[2,2] ND from [1 "input first" Add]
  %b = Add(%p, %x) : float32[2,2] ND from [2 "product first" Add]
  %c = Add(%w, %p) : float32[2,2] ND from [3 "constant first" Add]
  output %a
  output %b
  output %c
}
"""


@pytest.mark.parametrize("soc", ["sim", "Ascend310P3", "Ascend910B3"])
def test_gray_node_follows_its_first_input_and_constants_last(run_pass: RunPass, soc: str) -> None:
    """An input of the model is followed like a node: its float32 keeps the sum wide."""
    graph, _ = run_pass(AssignPrecisionPass, FATHERS, mode="allow_mix_precision", soc=soc)
    assert dtypes(graph) == {
        "product": F16,
        "input first": F32,
        "product first": F16,
        "constant first": F16,
    }


CASTS = """
graph @g phase lowered {
  input %x : float32[2,2] ND
  input %h : float16[2,2] ND
  %n = Cast(%x) {dst_type=float16} : float16[2,2] ND from [0 "narrow" Cast]
  %a = Relu(%n) : float16[2,2] ND from [1 "after narrowing" Relu]
  %w = Cast(%h) {dst_type=float32} : float32[2,2] ND from [2 "widen" Cast]
  %b = Relu(%w) : float32[2,2] ND from [3 "after widening" Relu]
  output %a
  output %b
}
"""


def test_gray_node_looks_through_a_cast_that_widens(run_pass: RunPass) -> None:
    """One that narrows counts as the node before; an input before one that widens counts, too."""
    graph, _ = run_pass(AssignPrecisionPass, CASTS, mode="allow_mix_precision", soc="Ascend910B3")
    found = dtypes(graph)
    assert (found["after narrowing"], found["after widening"]) == (F16, F16)


@pytest.mark.parametrize(
    ("soc", "words"), [("Ascend910B3", "black list of Ascend910B,"), ("sim", "gray list,")]
)
def test_rule_names_the_list_that_decided(soc: str, words: str) -> None:
    graph = parse_graph(LOG)
    context = PassContext(find_soc(soc), PrecisionMode.ALLOW_MIX_PRECISION, "model.onnx")
    AssignPrecisionPass().run(graph, context)
    (rule,) = [each.rule for name, each in context.decisions.nodes.items() if "Log" in name]
    assert words in rule
