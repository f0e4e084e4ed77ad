"""A Transpose with a Reshape beside it: CANN's ConfusionTransposeD.

Conditions are those of TransposeReshapeFusionPass and ReshapeTransposeFusionPass in CANN's guide:
one reader between the two, known dims, and the last two dims of what goes in and comes out
divisible by 16. The kernel takes FRACTAL_NZ where four axes are turned whose last one stays, and
are seen as a matrix, first two by last two, before or after (its `op_select_format`).
"""

import numpy as np
import pytest

from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.fuse_confusion_transpose import FuseConfusionTransposePass
from atc_py.passes.manager import run_passes
from atc_py.target import find_soc, socs
from atc_py.target.soc import SocFamily
from tests.passes.numbers import results_of_typed

SPLIT = """
graph @g phase lowered {
  input %x : float32[64,64] ND
  const %w : float32[64,64] ND = splat 0.125
  const %s : int64[4] ND = dense [2, 32, 2, 32]
  %p = MatMulV2(%x, %w) : float32[64,64] ND
  %v = Reshape(%p, %s) : float32[2,32,2,32] ND
  %t = TransposeD(%v) {perm=[0,2,1,3]} : float32[2,2,32,32] ND
  %y = BatchMatMulV2(%t, %t) {adj_x2=true} : float32[2,2,32,32] ND
  output %y
}
"""
JOIN = """
graph @g phase lowered {
  input %x : float32[2,2,32,32] ND
  input %z : float32[2,2,32,32] ND
  const %w : float32[64,64] ND = splat 0.125
  const %s : int64[2] ND = dense [64, 64]
  %p = BatchMatMulV2(%z, %x) : float32[2,2,32,32] ND
  %t = TransposeD(%p) {perm=[0,2,1,3]} : float32[2,32,2,32] ND
  %v = Reshape(%t, %s) : float32[64,64] ND
  %y = MatMulV2(%v, %w) : float32[64,64] ND
  output %y
}
"""
CASES = {"split": (SPLIT, False, (2, 32, 2, 32)), "join": (JOIN, True, (64, 64))}


def _compiled(text: str, soc: str, *disabled: str) -> Graph:
    """Return a graph after all passes."""
    graph = parse_graph(text)
    context = PassContext(find_soc(soc), PrecisionMode.FORCE_FP16, "model.onnx")
    run_passes(graph, context, verify=True, disabled=frozenset(disabled))
    return graph


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310P3", "Ascend910A", "Ascend910B3"])
@pytest.mark.parametrize("case", CASES)
def test_heads_are_split_and_joined_by_one_operator(case: str, soc: str) -> None:
    text, first, shape = CASES[case]
    nodes = [node for node in _compiled(text, soc).nodes if node.op == "ConfusionTransposeD"]
    (found,) = nodes
    assert found.attributes == {"perm": (0, 2, 1, 3), "shape": shape, "transpose_first": first}


@pytest.mark.parametrize("case", CASES)
def test_matrices_stay_in_blocks_on_the_way(case: str) -> None:
    """Without it, each side of the Transpose would need a TransData."""
    name = FuseConfusionTransposePass.row.name
    counts = [
        [node.op for node in _compiled(CASES[case][0], "Ascend310P3", *off).nodes].count(
            "TransData"
        )
        for off in ((), (name,))
    ]
    assert counts[1] - counts[0] == 2
    (found,) = [
        node
        for node in _compiled(CASES[case][0], "Ascend310P3").nodes
        if node.op == "ConfusionTransposeD"
    ]
    assert str(found.output.type.storage) == "FRACTAL_NZ"


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
@pytest.mark.parametrize("case", CASES)
def test_numbers_stay_with_one_operator(case: str, soc: str) -> None:
    generator = np.random.default_rng(3)
    text = CASES[case][0]
    feeds = {
        value.name: generator.standard_normal(value.type.shape).astype(np.float32)
        for value in parse_graph(text).inputs
    }
    fused = results_of_typed(_compiled(text, soc), feeds, soc)["y"]
    apart = results_of_typed(_compiled(text, soc, FuseConfusionTransposePass.row.name), feeds, soc)[
        "y"
    ]
    assert fused.tobytes() == apart.tobytes()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"2, 32, 2, 32": "2, 32, 8, 8", "2,32,2,32": "2,32,8,8",
          "%t = TransposeD(%v) {perm=[0,2,1,3]} : float32[2,2,32,32]":
          "%t = TransposeD(%v) {perm=[0,2,1,3]} : float32[2,8,32,8]",
          "%y = BatchMatMulV2(%t, %t) {adj_x2=true} : float32[2,2,32,32]":
          "%y = BatchMatMulV2(%t, %t) {adj_x2=true} : float32[2,8,32,32]"},
         "must be multiples of 16"),
        ({"  output %y": "  %r = Relu(%v) : float32[2,32,2,32] ND\n  output %y\n  output %r"},
         "only the Transpose may read %v"),
    ],
)  # fmt: skip
def test_others_are_left_alone_and_say_why(changes: dict[str, str], reason: str) -> None:
    text = SPLIT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    graph = parse_graph(text)
    context = PassContext(find_soc("Ascend310P3"), PrecisionMode.FORCE_FP16, "model.onnx")
    run_passes(graph, context, verify=True)
    assert "ConfusionTransposeD" not in [node.op for node in graph.nodes]
    miss = context.fusions[FuseConfusionTransposePass.row.name].nearest
    assert miss is not None
    assert reason in miss.reason


def test_last_axis_that_moves_is_stored_in_rows() -> None:
    """`op_select_format` gives FRACTAL_NZ only where the last of four axes stays."""
    text = SPLIT.replace(
        "perm=[0,2,1,3]} : float32[2,2,32,32]", "perm=[0,2,3,1]} : float32[2,2,32,32]"
    )
    text = text.replace(
        "BatchMatMulV2(%t, %t) {adj_x2=true}", "BatchMatMulV2(%t, %t) {adj_x1=true}"
    )
    (found,) = [
        node for node in _compiled(text, "Ascend310P3").nodes if node.op == "ConfusionTransposeD"
    ]
    assert found.output.type.storage is None


def test_stack_of_matrices_is_stored_in_rows() -> None:
    """[b, s, heads d] is no form of which the kernel's `op_select_format` makes FRACTAL_NZ."""
    text = SPLIT.replace("%x : float32[64,64]", "%x : float32[2,32,64]")
    text = text.replace(
        "MatMulV2(%x, %w) : float32[64,64]", "BatchMatMulV2(%x, %w) : float32[2,32,64]"
    )
    (found,) = [
        node for node in _compiled(text, "Ascend310P3").nodes if node.op == "ConfusionTransposeD"
    ]
    assert found.output.type.storage is None


def test_pass_reports_the_pairs() -> None:
    graph = parse_graph(SPLIT)
    context = PassContext(find_soc("Ascend310P3"), PrecisionMode.FORCE_FP16, "model.onnx")
    run_passes(graph, context)
    assert context.fusions[FuseConfusionTransposePass.row.name].effective == 1


def test_rows_say_which_families_have_the_kernel() -> None:
    without = {SocFamily.SIM, SocFamily.ASCEND950}
    assert all(soc.confusion_transpose is (soc.family not in without) for soc in socs())
    assert "ConfusionTransposeD" not in [node.op for node in _compiled(SPLIT, "sim").nodes]
