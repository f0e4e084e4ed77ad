"""Functions of each element are launched with what is before them, and numbers stay bit by bit."""

from collections import Counter

import numpy as np
import pytest

from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import Pass, PassContext, PassFusions
from atc_py.passes.fusion.merge_branches import MergeBranchesPass
from atc_py.passes.fusion.merge_groups import MergeGroupsPass
from atc_py.passes.fusion.merge_kernels import (
    MergeConvElemwisePass,
    MergeElemwisePass,
    MergeMatmulElemwisePass,
)
from atc_py.passes.layout.assign_formats import AssignFormatsPass
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.target import find_soc
from tests.passes.fusing import changed
from tests.passes.numbers import literal, results_of_typed

RANDOM = np.random.default_rng(3)

CONV = f"""
graph @g phase lowered {{
  input %x : float32[2,3,40,33] ND
  input %z : float32[2,5,40,33] ND
  const %low : float32[] ND = dense [0.0]
  const %high : float32[] ND = dense [6.0]
  {literal("w", RANDOM.normal(size=(5, 3, 3, 3)).round(3), "float32")}
  {literal("b", RANDOM.normal(size=5).round(3), "float32")}
  %c = Conv2D(%x, %w, %b) {{pads=[1,1,1,1], strides=[1,1,1,1]}} : float32[2,5,40,33] ND
  %s = Add(%z, %c) : float32[2,5,40,33] ND
  %g = Sigmoid(%s) : float32[2,5,40,33] ND
  %y = ClipByValue(%g, %low, %high) : float32[2,5,40,33] ND
  output %y
}}
"""
PRODUCT = """
graph @g phase lowered {
  input %x : float32[2,130,16] ND
  input %z : float32[2,16,20] ND
  input %mask : float32[1,130,20] ND
  input %r : float32[2,2600] ND
  const %scale : float32[] ND = dense [0.3]
  const %flat : int64[2] ND = dense [2, 2600]
  %p = BatchMatMulV2(%x, %z) : float32[2,130,20] ND
  %k = RealDiv(%p, %scale) : float32[2,130,20] ND
  %m = Add(%k, %mask) : float32[2,130,20] ND
  %v = Reshape(%m, %flat) : float32[2,2600] ND
  %a = Sub(%r, %v) : float32[2,2600] ND
  %y = Mul(%a, %a) : float32[2,2600] ND
  output %y
}
"""
CHAIN = """
graph @g phase lowered {
  input %x : float32[70000] ND
  input %z : float32[70000] ND
  %a = Mul(%x, %z) : float32[70000] ND
  %t = Tanh(%a) : float32[70000] ND
  %y = Sub(%t, %x) : float32[70000] ND
  output %y
}
"""
BOXES = """
graph @g phase lowered {
  input %p : float32[1,2,70] ND
  input %l : float32[1,2,70] ND
  input %r : float32[1,2,70] ND
  const %half : float32[] ND = dense [0.5]
  %a = Sub(%p, %l) : float32[1,2,70] ND
  %b = Add(%p, %r) : float32[1,2,70] ND
  %s = Add(%a, %b) : float32[1,2,70] ND
  %c = Mul(%s, %half) : float32[1,2,70] ND
  %w = Sub(%b, %a) : float32[1,2,70] ND
  %y = ConcatD(%c, %w) {N=2, concat_dim=1} : float32[1,4,70] ND
  output %y
}
"""
CASES = {"convolution": (CONV, 1), "product": (PRODUCT, 1), "elementwise": (CHAIN, 1)}

APART: dict[str, tuple[str, dict[str, str], str, str]] = {
    "result handed out": (
        CONV, {"output %y": "output %y\n  output %c"}, "merge-conv-elemwise",
        "one node must read %c, found Add, Cast"),
    "two readers": (
        CONV, {"Add(%z, %c)": "Add(%c, %c)", "  output %y":
               "  %o = Relu(%c) : float32[2,5,40,33] ND\n  output %y\n  output %o"},
        "merge-conv-elemwise", "one node must read %c, found Add, Relu"),
    "another operator": (
        CONV, {"%s = Add(%z, %c)": "%s = HardMax(%c)"}, "merge-conv-elemwise",
        "a function of each element must follow, found HardMax"),
    "repeated operand": (
        CONV, {"%z : float32[2,5,40,33]": "%z : float32[2,5,1,33]"}, "merge-conv-elemwise",
        "the other operand must have 1 or 13200 elements"),
}  # fmt: skip


BRANCHED: dict[str, tuple[dict[str, str], list[set[str]]]] = {
    "both readers are functions": ({}, [{"a", "s", "c", "w"}]),
    "one reader is": ({"Sub(%b, %a)": "SoftmaxV2(%a) {axes=[1]}"}, [{"a", "s", "c"}]),
    "it is read before the launch ends": (
        {"  %b = Add": "  %w = SoftmaxV2(%a) {axes=[1]} : float32[1,2,70] ND\n  %b = Add",
         "  %w = Sub(%b, %a) : float32[1,2,70] ND\n": ""}, [{"a", "s", "c"}]),
    "three readers": (
        {"Mul(%s, %half)": "Mul(%s, %a)", "Add(%p, %r)": "SoftmaxV2(%r) {axes=[1]}"},
        [{"s", "c"}]),
    "a reader is between two parts": (
        {"%b = Add(%p, %r)": "%b = SoftmaxV2(%a) {axes=[1]}", "%w = Sub(%b, %a)": "%w = Abs(%b)"},
        [{"s", "c"}]),
    "a launch is between two parts of another": (
        {"%b = Add(%p, %r)": "%b = SoftmaxV2(%a) {axes=[1]}",
         "%s = Add(%a, %b)": "%q = Abs(%r) : float32[1,2,70] ND\n"
                             "  %c = Add(%q, %b) : float32[1,2,70] ND\n  %s = Neg(%q)",
         "  %c = Mul(%s, %half) : float32[1,2,70] ND\n": "", "Sub(%b, %a)": "Sub(%a, %s)"},
        [{"a", "w"}]),
}  # fmt: skip
"""Nodes that share a launch where a result has two readers."""


def _compiled(text: str, mode: str, *, merged: bool) -> tuple[Graph, dict[str, PassFusions]]:
    """Return a lowered graph with dtypes and formats, and launches merged where that is wanted."""
    graph = parse_graph(text)
    context = PassContext(find_soc("sim"), PrecisionMode(mode), "model.onnx")
    steps = [AssignPrecisionPass(), AssignFormatsPass()]
    merging = [MergeConvElemwisePass(), MergeMatmulElemwisePass(), MergeElemwisePass()]
    for step in [*steps, *(merging if merged else [])]:
        step.run(graph, context)
        graph.sort()
    return graph, context.fusions


def _feeds(graph: Graph) -> dict[str, np.ndarray]:
    """Return numbers for every input, some of them large."""
    made = np.random.default_rng(9)
    return {
        value.name: (made.normal(size=value.type.shape) * 3).astype(np.float32)
        for value in graph.inputs
    }


@pytest.mark.parametrize("mode", ["force_fp16", "force_fp32"])
@pytest.mark.parametrize("case", CASES)
def test_merged_launches_give_the_same_bits(case: str, mode: str) -> None:
    text, scopes = CASES[case]
    merged, _ = _compiled(text, mode, merged=True)
    apart, _ = _compiled(text, mode, merged=False)
    named = {node.scope for node in merged.nodes if node.scope}
    assert len(named) == scopes
    feeds = _feeds(apart)
    found, wanted = results_of_typed(merged, feeds)["y"], results_of_typed(apart, feeds)["y"]
    assert found.tobytes() == wanted.tobytes()


def test_scope_ends_with_the_last_function_and_spans_views() -> None:
    graph, fusions = _compiled(PRODUCT, "force_fp16", merged=True)
    scopes = {node.op: node.scope for node in graph.nodes if node.op != "Cast"}
    assert scopes == dict.fromkeys(["BatchMatMulV2", "RealDiv", "Add", "Reshape", "Sub", "Mul"], 1)
    assert fusions["merge-matmul-elemwise"].effective == 1


@pytest.mark.parametrize("reason", APART)
def test_launches_stay_apart_and_say_why(reason: str) -> None:
    text, changes, name, message = APART[reason]
    graph, fusions = _compiled(changed(text, changes), "force_fp16", merged=True)
    assert next(node for node in graph.nodes if node.op == "Conv2D").scope == 0
    nearest = fusions[name].nearest
    assert nearest is not None
    assert message in nearest.reason
    # Only a function of each element that cannot join is a near miss.
    assert nearest.depth == (2 if reason == "repeated operand" else 1)
    assert nearest.anchor in {node.name for node in graph.nodes if node.op == "Conv2D"}


def test_integers_are_not_merged() -> None:
    text = CHAIN.replace("float32", "int32").replace("Tanh(%a)", "Neg(%a)")
    graph, _ = _compiled(text, "force_fp16", merged=True)
    assert not any(node.scope for node in graph.nodes)


def test_launch_holds_a_bounded_number_of_functions() -> None:
    lines = "\n".join(f"  %v{at + 1} = Sigmoid(%v{at}) : float32[8] ND" for at in range(40))
    text = f"graph @g phase lowered {{\n  input %v0 : float32[8] ND\n{lines}\n  output %v40\n}}"
    graph, fusions = _compiled(text, "force_fp32", merged=True)
    sizes = Counter(node.scope for node in graph.nodes)
    assert sizes == {1: 17, 2: 17, 3: 6}
    assert fusions["merge-elemwise"].effective == 3


GROUPED: dict[str, tuple[dict[str, str], list[set[str]]]] = {
    "every reader is a function": ({}, [{"a", "b", "s", "c", "w"}]),
    "one reader is not": ({"Sub(%b, %a)": "SoftmaxV2(%a) {axes=[1]}"}, [{"b", "s", "c"}]),
    "an operand is repeated": (
        {"%l : float32[1,2,70]": "%l : float32[1,2,1]"}, [{"a", "b", "s", "c", "w"}]),
    "a result is repeated": (
        {"%a = Sub(%p, %l) : float32[1,2,70]": "%a = Sub(%l, %l) : float32[1,2,1]",
         "%l : float32[1,2,70]": "%l : float32[1,2,1]"}, [{"a", "b", "s", "c", "w"}]),
    "six operands read it": (
        {"Add(%a, %b)": "Add(%a, %a)", "Mul(%s, %half)": "Mul(%s, %a)",
         "%w = Sub(%b, %a)": "%d = Add(%a, %a) : float32[1,2,70] ND\n  %w = Sub(%a, %d)"},
        [{"a", "s", "c", "d", "w"}]),
    "seven operands read it": (
        {"Add(%a, %b)": "Add(%a, %a)", "Mul(%s, %half)": "Mul(%s, %a)",
         "%w = Sub(%b, %a)": "%d = Add(%a, %a) : float32[1,2,70] ND\n  %e = Mul(%a, %d)"
         " : float32[1,2,70] ND\n  %w = Sub(%a, %e)"}, [{"s", "c"}, {"d", "e", "w"}]),
    "what is between is no function": (
        {"%b = Add(%p, %r)": "%e = Abs(%a) : float32[1,2,70] ND\n  %b = SoftmaxV2(%e) {axes=[1]}",
         "%w = Sub(%b, %a)": "%w = Abs(%r)"}, [{"s", "c"}]),
}  # fmt: skip
"""Nodes that share a launch where all readers of a result are functions."""


@pytest.mark.parametrize(
    ("step", "changes", "wanted"),
    [(MergeBranchesPass, *case) for case in BRANCHED.values()]
    + [(MergeGroupsPass, *case) for case in GROUPED.values()],
    ids=[*BRANCHED, *GROUPED],
)
def test_result_of_several_readers_is_inside_of_a_launch_and_numbers_stay(
    step: type[Pass], changes: dict[str, str], wanted: list[set[str]]
) -> None:
    graph, _ = _compiled(changed(BOXES, changes), "force_fp32", merged=False)
    apart = results_of_typed(graph, _feeds(graph))["y"]
    context = PassContext(find_soc("Ascend310P3"), PrecisionMode.FORCE_FP32, "model.onnx")
    for each in (step(), MergeElemwisePass()):
        each.run(graph, context)
    launches: dict[int, set[str]] = {}
    for node in graph.nodes:
        if node.scope:
            launches.setdefault(node.scope, set()).add(node.output.name)
    assert [*launches.values()] == wanted
    # Launches run at their last node: before what reads any of their results.
    place = {node: at for at, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        readers = [reader for reader in node.output.consumers if reader in place]
        outside = [reader for reader in readers if reader.scope != node.scope or not node.scope]
        ends = [place[other] for other in graph.nodes if node.scope and other.scope == node.scope]
        assert all(place[reader] > max(ends, default=place[node]) for reader in outside)
    assert results_of_typed(graph, _feeds(graph))["y"].tobytes() == apart.tobytes()


@pytest.mark.parametrize(("count", "sizes"), [(29, [29]), (31, [29, 2])])
def test_group_has_at_most_29_nodes(count: int, sizes: list[int]) -> None:
    lines = "\n".join(f"  %v{at + 1} = Sigmoid(%v{at}) : float32[8] ND" for at in range(count))
    text = (
        f"graph @g phase lowered {{\n  input %v0 : float32[8] ND\n{lines}\n  output %v{count}\n}}"
    )
    graph, _ = _compiled(text, "force_fp32", merged=False)
    context = PassContext(find_soc("Ascend310P3"), PrecisionMode.FORCE_FP32, "model.onnx")
    assert MergeGroupsPass().run(graph, context) == len(sizes)
    made = Counter(node.scope for node in graph.nodes if node.scope)
    assert sorted(made.values(), reverse=True) == sizes


@pytest.mark.parametrize("step", [MergeBranchesPass, MergeGroupsPass])
def test_soc_that_launches_functions_one_by_one_leaves_them_apart(step: type[Pass]) -> None:
    graph, _ = _compiled(BOXES, "force_fp32", merged=False)
    context = PassContext(find_soc("Ascend950PR_9599"), PrecisionMode.FORCE_FP32, "model.onnx")
    assert step().run(graph, context) == 0
    assert not any(node.scope for node in graph.nodes)
