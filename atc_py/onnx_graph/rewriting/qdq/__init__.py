"""Quantized models of other tools, rewritten into the form that Ascend's toolkit takes.

Such models have QuantizeLinear and DequantizeLinear around layers on floats, or operators such as
QLinearConv. The result has AscendQuant, layers on int8 with int32 sums, AscendDequant and
AscendAntiQuant.
"""

import re
from collections.abc import Collection

from atc_py.onnx_graph.graph import OnnxGraph
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.source import QuantizedNode

_QUANTIZING = re.compile(r"[Qq]uantize|Integer\Z|QLinear|QGemm|AscendQuant|AscendRequant")
"""Names of operators on codes, or between codes and floats, and of some others."""


def import_quantized(
    graph: OnnxGraph, tensors: TensorReader, limit: int, pools: Collection[int] = ()
) -> tuple[QuantizedNode, ...]:
    """Rewrite `graph`; one without quantization is only looked at.

    Of one in the deploy form convolutions along one axis alone are written anew.

    Constants of up to `limit` bytes are folded first, all but those that are dequantized, so that
    the graph is known as far as it can be. Its faults are left to the next fold. AveragePools at
    the positions `pools` become layers on int8; others stay on floats.

    Returned is the outcome of the layers and of nodes without a counterpart.
    """
    if not any(node.is_if or _QUANTIZING.search(node.op_type) for node in graph.nodes):
        return ()
    from atc_py.onnx_graph.rewriting.qdq.importing import rewrite_graph  # most models need none

    return rewrite_graph(graph, tensors, limit, pools)
