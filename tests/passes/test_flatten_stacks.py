"""What follows products of stacked rows works on the rows of one matrix, in FRACTAL_NZ."""

import numpy as np
import pytest

from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.flatten_stacks import FlattenStacksPass
from atc_py.passes.manager import run_passes
from atc_py.target import find_soc
from tests.passes.numbers import results_of_typed

BLOCK = """
graph @g phase lowered {
  input %x : float32[2,32,64] ND
  const %w : float32[64,64] ND = splat 0.125
  const %g : float32[64] ND = splat 0.5
  const %rows : int64[2] ND = dense [64, 64]
  const %stack : int64[3] ND = dense [2, 32, 64]
  %a = Reshape(%x, %rows) : float32[64,64] ND
  %b = MatMulV2(%a, %w) : float32[64,64] ND
  %c = Reshape(%b, %stack) : float32[2,32,64] ND
  %d = Add(%c, %x) : float32[2,32,64] ND
  %e = LayerNorm(%d, %g, %g) {begin_norm_axis=2, begin_params_axis=2} : float32[2,32,64] ND
  %f = Reshape(%e, %rows) : float32[64,64] ND
  %h = MatMulV2(%f, %w) : float32[64,64] ND
  %i = Reshape(%h, %stack) : float32[2,32,64] ND
  %j = GeluV2(%i) : float32[2,32,64] ND
  %k = Reshape(%j, %rows) : float32[64,64] ND
  %l = MatMulV2(%k, %w) : float32[64,64] ND
  %y = Reshape(%l, %stack) : float32[2,32,64] ND
  output %y
}
"""


def compiled(text: str, soc: str = "Ascend310P3", *disabled: str) -> tuple[Graph, PassContext]:
    """Return a graph after all passes, and what was known and found."""
    graph = parse_graph(text)
    context = PassContext(find_soc(soc), PrecisionMode.FORCE_FP16, "model.onnx")
    run_passes(graph, context, verify=True, disabled=frozenset(disabled))
    return graph, context


def test_stream_between_products_is_in_fractals_whatever_the_stack() -> None:
    ops = [node.op for node in compiled(BLOCK)[0].nodes]
    one = [
        node.op
        for node in compiled(BLOCK.replace("[2,32,64]", "[1,64,64]").replace("[2, 32, 64]", "[1, 64, 64]"))[0].nodes
    ]  # fmt: skip
    assert ops.count("TransData") == one.count("TransData") == 2  # into the stream and out of it
    apart = [
        node.op for node in compiled(BLOCK, "Ascend310P3", FlattenStacksPass.row.name)[0].nodes
    ]
    assert apart.count("TransData") > ops.count("TransData")


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910A"])
def test_numbers_stay_bit_by_bit(soc: str) -> None:
    feeds = {"x": np.random.default_rng(5).standard_normal((2, 32, 64)).astype(np.float32)}
    found, apart = (
        results_of_typed(compiled(BLOCK, soc, *off)[0], feeds, soc)["y"]
        for off in ((), (FlattenStacksPass.row.name,))
    )
    assert found.tobytes() == apart.tobytes()


@pytest.mark.parametrize(
    ("shape", "seen"),
    [
        ("[1,1,64]", (64,)),
        ("[1,64]", (64,)),
        ("[64]", (64,)),
        ("[1,1,1]", (1,)),
        ("[1,1]", (1, 1)),
        ("[]", ()),
    ],
)
def test_operands_that_all_rows_share_fit_rows_and_numbers_stay(
    shape: str, seen: tuple[int, ...]
) -> None:
    constant = f"  const %p : float32{shape} ND = splat 0.5\n  const %g"
    text = BLOCK.replace("Add(%c, %x)", "Add(%c, %p)").replace("  const %g", constant)
    rows = parse_graph(text)
    context = PassContext(find_soc("Ascend310P3"), PrecisionMode.FORCE_FP16, "model.onnx")
    FlattenStacksPass().run(rows, context)
    (sums,) = [node for node in rows.nodes if node.op == "Add"]
    assert [value.type.shape for value in sums.present_inputs] == [(64, 64), seen]
    feeds = {"x": np.random.default_rng(5).standard_normal((2, 32, 64)).astype(np.float32)}
    graph, context = compiled(text)
    assert context.fusions[FlattenStacksPass.row.name].effective
    apart = compiled(text, "Ascend310P3", FlattenStacksPass.row.name)[0]
    found, expected = (results_of_typed(each, feeds, "Ascend310P3")["y"] for each in (graph, apart))
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("%d = Add(%c, %x) : float32[2,32,64]", "%d = SoftmaxV2(%c) : float32[2,32,64]", "SoftmaxV2"),
        ("%d = Add(%c, %x)", "%d = Add(%c, %p)", "the same for all rows"),
        ("begin_norm_axis=2, begin_params_axis=2", "begin_norm_axis=1, begin_params_axis=1", "last axis"),
    ],
)  # fmt: skip
def test_others_stay_as_they_are_and_say_why(old: str, new: str, reason: str) -> None:
    assert old in BLOCK
    text = BLOCK.replace(old, new)
    if "%p" in new:
        text = text.replace("  const %g", "  input %p : float32[1,32,64] ND\n  const %g")
    if "axis=1" in new:
        text = text.replace("%g : float32[64] ND", "%g : float32[32,64] ND")
    record = compiled(text)[1].fusions[FlattenStacksPass.row.name]
    assert record.nearest is not None
    assert reason in record.nearest.reason


@pytest.mark.parametrize("soc", ["Ascend910B3", "sim"])
def test_rows_in_memory_are_left_alone(soc: str) -> None:
    graph, _ = compiled(BLOCK, soc)
    (norm,) = [node for node in graph.nodes if node.op == "LayerNorm"]
    assert norm.output.type.shape == (2, 32, 64)
