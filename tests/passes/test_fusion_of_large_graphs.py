"""Passes of fusion where one value has thousands of readers, or thousands of values are handed out.

A pass that goes through all readers or all outputs at each of them takes minutes here. The limit is
some ten times of what a busy machine takes.
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

from atc_py.ir import Engine, Graph, Origin, Phase, SplatConst, TensorType, Value
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.fuse_masked_softmax import FuseMaskedSoftmaxPass
from atc_py.passes.fusion.fuse_swish import FuseSwishPass
from atc_py.passes.fusion.merge_common_nodes import MergeCommonNodesPass
from atc_py.passes.fusion.merge_elemwise import MergeElemwisePass
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType

MANY = 20_000
SECONDS = 10.0
TYPE = TensorType(DType.FLOAT32, (4, 4))


def _graph(phase: Phase = Phase.LOWERED) -> tuple[Graph, Value, PassContext]:
    """Return a graph with one input, and what passes know."""
    graph = Graph("large", phase)
    context = PassContext(find_soc("sim"), PrecisionMode.FORCE_FP16, "model.onnx")
    return graph, graph.add_input("x", TYPE), context


def test_thousands_of_equal_nodes_become_one_with_all_origins() -> None:
    graph, x, context = _graph()
    for index in range(MANY):
        graph.add_node("Relu", [x], [("r", TYPE)], origins=[Origin(index, f"n{index}", "Relu")])
    last = graph.add_node("AddN", [node.output for node in graph.nodes], [("y", TYPE)], {"N": MANY})
    graph.add_output(last.output)
    started = time.perf_counter()
    assert MergeCommonNodesPass().run(graph, context) == MANY - 1
    assert time.perf_counter() - started < SECONDS
    kept, adder = graph.nodes
    assert set(adder.present_inputs) == {kept.output}
    assert sorted(origin.index for origin in kept.origins) == list(range(MANY))
    assert kept.origins[-1].index == 0


def test_patterns_are_found_where_thousands_of_values_are_handed_out() -> None:
    graph, x, context = _graph()
    for _ in range(MANY):
        gate = graph.add_node("Sigmoid", [x], [("s", TYPE)])
        product = graph.add_node("Mul", [x, gate.output], [("y", TYPE)])
        graph.add_output(product.output)
    started = time.perf_counter()
    assert FuseSwishPass().run(graph, context) == MANY
    assert time.perf_counter() - started < SECONDS
    assert {node.op for node in graph.nodes} == {"Swish"}


def test_thousands_of_layers_share_a_mask() -> None:
    graph, x, context = _graph()
    mask = graph.add_input("mask", TensorType(DType.BOOL, (4, 4)))
    low, zero = (
        graph.constant(f"c{number}", SplatConst(number, DType.FLOAT32, ()))
        for number in (float(np.finfo(np.float32).min), 0.0)
    )
    choice = graph.add_node("SelectV2", [mask, zero, low], [("w", TYPE)])
    for _ in range(MANY):
        added = graph.add_node("Add", [x, choice.output], [("s", TYPE)])
        x = graph.add_node("SoftmaxV2", [added.output], [("y", TYPE)], {"axes": (-1,)}).output
    graph.add_output(x)
    started = time.perf_counter()
    assert FuseMaskedSoftmaxPass().run(graph, context) == MANY
    assert time.perf_counter() - started < SECONDS
    found = Counter(node.op for node in graph.nodes)
    assert found == {"ScaledMaskedSoftmax": MANY, "LogicalNot": MANY}


def test_reason_counts_readers_where_there_are_thousands() -> None:
    graph, x, context = _graph(Phase.LAID_OUT)
    head = graph.add_node("Relu", [x], [("r", TYPE)])
    for op in ("Exp", "Sqrt", "Exp"):
        for _ in range(MANY // 2 if op == "Exp" else 1):
            graph.add_output(graph.add_node(op, [head.output], [("y", TYPE)]).output)
    for node in graph.nodes:
        node.engine = Engine.AICORE
    assert MergeElemwisePass().run(graph, context) == 0
    miss = context.fusions.of("merge-elemwise").nearest
    assert miss is not None
    assert miss.reason == f"one node must read %r, found {MANY} Exp, Sqrt"
