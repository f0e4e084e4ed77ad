"""Passes of fusion where one value has thousands of readers, or thousands of values are returned.

A pass that goes through all readers or all outputs at each of them executes four times as many
lines in a graph of twice the size.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np

from atc_py.ir import Engine, Graph, Origin, Phase, SplatConst, TensorType, Value
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.fusion.fuse_masked_softmax import FuseMaskedSoftmaxPass
from atc_py.passes.fusion.fuse_swish import FuseSwishPass
from atc_py.passes.fusion.merge_common_nodes import MergeCommonNodesPass
from atc_py.passes.fusion.merge_kernels import MergeElemwisePass
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from tests.executed_lines import PACKAGE, executed, steep

SIZES = (250, 500, 1000)
TYPE = TensorType(DType.FLOAT32, (4, 4))


def _graph(phase: Phase = Phase.LOWERED) -> tuple[Graph, Value, PassContext]:
    """Return a graph with one input, and what passes know."""
    graph = Graph("large", phase)
    context = PassContext(find_soc("sim"), PrecisionMode.FORCE_FP16, "model.onnx")
    return graph, graph.add_input("x", TYPE), context


def changed(step: Pass, build: Callable[[int], tuple[Graph, PassContext]]) -> tuple[Graph, int]:
    """Run a pass on graphs of three sizes; return the largest one, and how much changed in it.

    No function may execute lines out of proportion to the size.
    """
    counts, found = [], list[int]()
    for size in SIZES:
        graph, context = build(size)
        found.clear()
        run = lambda graph=graph, context=context: found.append(step.run(graph, context))  # noqa: E731
        counts.append(executed(run, PACKAGE))
    assert steep(counts) == {}
    return graph, found[0]


def test_thousand_equal_nodes_become_one_with_all_origins() -> None:
    def build(size: int) -> tuple[Graph, PassContext]:
        graph, x, context = _graph()
        for index in range(size):
            graph.add_node("Relu", [x], [("r", TYPE)], origins=[Origin(index, f"n{index}", "Relu")])
        results = [node.output for node in graph.nodes]
        last = graph.add_node("AddN", results, [("y", TYPE)], {"N": size})
        graph.add_output(last.output)
        return graph, context

    graph, changes = changed(MergeCommonNodesPass(), build)
    assert changes == SIZES[-1] - 1
    kept, adder = graph.nodes
    assert set(adder.present_inputs) == {kept.output}
    assert sorted(origin.index for origin in kept.origins) == list(range(SIZES[-1]))
    assert kept.origins[-1].index == 0


def test_patterns_are_found_where_a_thousand_values_are_returned() -> None:
    def build(size: int) -> tuple[Graph, PassContext]:
        graph, x, context = _graph()
        for _ in range(size):
            gate = graph.add_node("Sigmoid", [x], [("s", TYPE)])
            product = graph.add_node("Mul", [x, gate.output], [("y", TYPE)])
            graph.add_output(product.output)
        return graph, context

    graph, changes = changed(FuseSwishPass(), build)
    assert changes == SIZES[-1]
    assert {node.op for node in graph.nodes} == {"Swish"}


def test_thousand_layers_share_a_mask() -> None:
    def build(size: int) -> tuple[Graph, PassContext]:
        graph, x, context = _graph()
        mask = graph.add_input("mask", TensorType(DType.BOOL, (4, 4)))
        low, zero = (
            graph.constant(f"c{number}", SplatConst(number, DType.FLOAT32, ()))
            for number in (float(np.finfo(np.float32).min), 0.0)
        )
        choice = graph.add_node("SelectV2", [mask, zero, low], [("w", TYPE)])
        for _ in range(size):
            added = graph.add_node("Add", [x, choice.output], [("s", TYPE)])
            x = graph.add_node("SoftmaxV2", [added.output], [("y", TYPE)], {"axes": (-1,)}).output
        graph.add_output(x)
        return graph, context

    graph, changes = changed(FuseMaskedSoftmaxPass(), build)
    assert changes == SIZES[-1]
    found = Counter(node.op for node in graph.nodes)
    assert found == {"ScaledMaskedSoftmax": SIZES[-1], "LogicalNot": SIZES[-1]}


def test_reason_counts_readers_where_there_are_a_thousand() -> None:
    graph, x, context = _graph(Phase.LAID_OUT)
    many = SIZES[-1]
    head = graph.add_node("Relu", [x], [("r", TYPE)])
    for op in ("Exp", "Sqrt", "Exp"):
        for _ in range(many // 2 if op == "Exp" else 1):
            graph.add_output(graph.add_node(op, [head.output], [("y", TYPE)]).output)
    for node in graph.nodes:
        node.engine = Engine.AICORE
    assert MergeElemwisePass().run(graph, context) == 0
    miss = context.fusions["merge-elemwise"].nearest
    assert miss is not None
    assert miss.reason == f"one node must read %r, found {many} Exp, Sqrt"
