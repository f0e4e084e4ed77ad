"""PRelu and sums in the launch of a product: what a fix pipe does, in which order, in which dtypes.

The counts are those of a file of CANN 8.0 for Ascend310B4: Conv2D + PRelu + Add + PRelu is one launch,
with slopes of float32; a sum of what ConcatD gives is apart, and PRelu joins it there.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from atc_py.ir import Engine, Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.manager import _dtypes_ok, run_passes
from atc_py.target import find_soc
from atc_py.target.soc import fix_pipe_length
from atc_py.tensor.dtypes import DType
from tests.passes.numbers import constant, literal, results_of_typed

F16, F32 = DType.FLOAT16, DType.FLOAT32
RANDOM = np.random.default_rng(5)
SLOPES = RANDOM.normal(size=16).round(4)

ROW_BY_ROW = ("assign-storage",)
"""Without storage in blocks, whose conversions cut launches where they are cheapest."""

RESIDUAL = f"""
graph @g phase lowered {{
  input %x : float32[2,16,9,7] ND
  input %z : float32[2,16,9,7] ND
  {literal("w", RANDOM.normal(size=(16, 16, 3, 3)).round(3), "float32")}
  {literal("s", SLOPES, "float32")}
  const %one : float32[1] ND = dense [0.3]
  %c = Conv2D(%x, %w) {{pads=[1,1,1,1], strides=[1,1,1,1]}} : float32[2,16,9,7] ND
  %p = PRelu(%c, %s) : float32[2,16,9,7] ND
  %a = Add(%z, %p) : float32[2,16,9,7] ND
  %y = PRelu(%a, %one) : float32[2,16,9,7] ND
  output %y
}}
"""
JOINED = """
graph @g phase lowered {
  input %x : float32[1,16,9,7] ND
  input %u : float32[1,16,9,7] ND
  input %v : float32[1,16,9,7] ND
  const %w : float32[32,16,1,1] ND = splat 0.5
  const %s : float32[1] ND = dense [0.25]
  %c = Conv2D(%x, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float32[1,32,9,7] ND
  %p = PRelu(%c, %s) : float32[1,32,9,7] ND
  %m = ConcatD(%u, %v) {N=2, concat_dim=1} : float32[1,32,9,7] ND
  %a = Add(%m, %p) : float32[1,32,9,7] ND
  %y = PRelu(%a, %s) : float32[1,32,9,7] ND
  output %y
}
"""
ROWS = """
graph @g phase lowered {
  input %x : float32[STACK6,16] ND
  const %w : float32[STACK16,8] ND = splat 0.5
  const %s : float32[SLOPES] ND = splat 0.25
  %c = OPERATOR(%x, %w) : float32[STACK6,8] ND
  %y = PRelu(%c, %s) : float32[STACK6,8] ND
  output %y
}
"""
TURNED = """
graph @g phase lowered {
  input %x : float32[1,16,9,7] ND
  const %w : float32[16,16,2,2] ND = splat 0.5
  const %k : float32[16,1,3,3] ND = splat 0.5
  const %s : float32[16] ND = splat 0.25
  %t = Conv2DTransposeD(%x, %w) {input_size=[1,16,18,14], strides=[1,1,2,2], pads=[0,0,0,0]} : float32[1,16,18,14] ND
  %p = PRelu(%t, %s) : float32[1,16,18,14] ND
  %d = DepthwiseConv2D(%p, %k) {strides=[1,1,1,1], pads=[1,1,1,1]} : float32[1,16,18,14] ND
  %y = PRelu(%d, %s) : float32[1,16,18,14] ND
  output %y
}
"""


def compiled(text: str, soc: str, disabled: Sequence[str] = ()) -> Graph:
    """Return a graph after all passes, verified after each phase."""
    graph = parse_graph(text)
    context = PassContext(find_soc(soc), PrecisionMode.FORCE_FP16, "model.onnx")
    run_passes(graph, context, verify=True, disabled=frozenset(disabled))
    return graph


def launches(graph: Graph) -> list[list[str]]:
    """Return the operators of each launch in order, conversions aside."""
    found: dict[object, list[str]] = {}
    for node in graph.nodes:
        if node.op not in {"Cast", "TransData"}:
            found.setdefault(node.scope or node, []).append(node.op)
    return list(found.values())


@pytest.mark.parametrize(
    ("soc", "wanted"),
    [
        ("Ascend310B4", [["Conv2D", "PRelu", "Add", "PRelu"]]),
        ("Ascend910B3", [["Conv2D", "PRelu"], ["Add"], ["PRelu"]]),
        ("Ascend910_9391", [["Conv2D", "PRelu"], ["Add"], ["PRelu"]]),
        ("Ascend950PR_9599", [["Conv2D"], ["PRelu"], ["Add"], ["PRelu"]]),
        ("Ascend310P3", [["Conv2D"], ["PRelu"], ["Add"], ["PRelu"]]),
        ("Ascend310", [["Conv2D"], ["PRelu"], ["Add"], ["PRelu"]]),
        ("sim", [["Conv2D"], ["PRelu"], ["Add"], ["PRelu"]]),
    ],
)
def test_prelu_and_the_sum_join_where_the_pipe_has_them(soc: str, wanted: list[list[str]]) -> None:
    assert launches(compiled(RESIDUAL, soc, ROW_BY_ROW)) == wanted


def test_sum_of_joined_tensors_is_a_launch_of_the_vector_unit() -> None:
    wanted = [["Conv2D", "PRelu"], ["PhonyConcat"], ["Add", "PRelu"]]
    assert sorted(launches(compiled(JOINED, "Ascend310B4", ROW_BY_ROW))) == sorted(wanted)


def test_products_of_every_kind_are_heads() -> None:
    found = launches(compiled(TURNED, "Ascend310B4"))
    assert found == [["Conv2DTransposeD", "PRelu"], ["DepthwiseConv2D", "PRelu"]]


@pytest.mark.parametrize(
    ("soc", "op", "scope", "taken"),
    [
        ("Ascend910B3", "PRelu", 1, True),
        ("Ascend910B3", "PRelu", 0, False),  # in a launch of its own
        ("Ascend910B3", "Mul", 1, False),
        ("Ascend310P3", "PRelu", 1, False),  # no fix pipe
    ],
)
def test_wide_slopes_are_for_a_fix_pipe(soc: str, op: str, scope: int, taken: bool) -> None:
    graph = parse_graph(f"""
graph @g phase lowered {{
  input %x : float16[1,2,4,4] ND
  const %w : float32[2,1,1] ND = splat 0.5
  %y = {op}(%x, %w) : float16[1,2,4,4] ND
  output %y
}}""")
    (node,) = graph.nodes
    node.engine, node.scope = Engine.AICORE, scope
    assert (_dtypes_ok(node, soc=find_soc(soc)) is None) is taken


@pytest.mark.parametrize(
    ("stack", "operator", "slopes", "joins"),
    [
        ("", "MatMulV2", "8", True),
        ("", "MatMulV2", "1", True),
        ("3,", "BatchMatMulV2", "1", True),
        ("3,", "BatchMatMulV2", "6", False),
    ],
)
def test_slopes_of_a_product_are_those_of_columns(
    stack: str, operator: str, slopes: str, joins: bool
) -> None:
    text = ROWS.replace("STACK", stack).replace("OPERATOR", operator).replace("SLOPES", slopes)
    assert len(launches(compiled(text, "Ascend310B4"))) == (1 if joins else 2)


@pytest.mark.parametrize(("soc", "wide"), [("Ascend310B4", 2), ("Ascend910B3", 1), ("sim", 0)])
def test_slopes_are_those_of_the_model_in_a_fix_pipe_alone(soc: str, wide: int) -> None:
    slopes = [node for node in compiled(RESIDUAL, soc, ROW_BY_ROW).nodes if node.op == "PRelu"]
    found = [constant(node, 1) for node in slopes]
    assert [each.dtype for each in found] == [np.float32] * wide + [np.float16] * (2 - wide)
    first = SLOPES.astype(np.float32)
    np.testing.assert_array_equal(found[0], first if wide else first.astype(np.float16))


def test_each_step_of_the_pipe_is_rounded() -> None:
    """The order and the roundings are those that files of atc are opened with: inferred."""
    graph = compiled(RESIDUAL, "Ascend310B4", ROW_BY_ROW)
    feeds = {
        value.name: (RANDOM.normal(size=value.type.shape) * 3).astype(np.float32)
        for value in graph.inputs
    }
    found = results_of_typed(graph, feeds, "Ascend310B4")["y"]
    bare = RESIDUAL.replace("output %y", "output %c")
    bare = "\n".join(
        line for line in bare.splitlines() if not line.startswith(("  %p", "  %a", "  %y"))
    )
    feeds_of_x = {"x": feeds["x"]}
    bare = bare.replace("  input %z : float32[2,16,9,7] ND\n", "")
    sums = results_of_typed(compiled(bare, "Ascend310B4", ROW_BY_ROW), feeds_of_x, "Ascend310B4")[
        "c"
    ]
    slopes = SLOPES.astype(np.float32).reshape(-1, 1, 1)
    half = np.float16
    step = np.where(sums >= 0, sums, (sums * slopes).astype(half)).astype(np.float32)
    added = (feeds["z"].astype(half).astype(np.float32) + step).astype(half).astype(np.float32)
    wanted = np.where(added >= 0, added, (added * np.float32(0.3)).astype(half))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("functions", "length"),
    [
        ([], 0),
        ([("PRelu", F16)], 1),
        ([("PRelu", F32)], 0),
        ([("Relu", F32), ("Add", F32)], 1),
        ([("Add", F16), ("Relu", F16), ("Relu", F16)], 2),
        ([("Relu", F16), ("Relu", F16)], 1),
        ([("Relu", F16), ("Add", F16), ("PRelu", F16), ("Add", F16)], 3),
        ([("Add", F16), ("Add", F16)], 1),
        ([("Sigmoid", F16), ("Relu", F16)], 0),
    ],
)
def test_units_come_in_one_order(functions: list[tuple[str, DType]], length: int) -> None:
    assert fix_pipe_length(functions, find_soc("Ascend310B4")) == length
    assert fix_pipe_length(functions, find_soc("Ascend310P3")) == 0


def test_pipe_without_sums_does_one_function() -> None:
    soc = find_soc("Ascend910B3")
    assert fix_pipe_length([("Relu", F16), ("Add", F16)], soc) == 1
    assert fix_pipe_length([("Add", F16)], soc) == 0
