"""The import of a quantized model: the graph in the form that Ascend's toolkit takes."""

from collections.abc import Callable

from atc_py.onnx_graph.folding.fold import fold_what_can_be
from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.rewriting.qdq.layers import rewrite_convolution, rewrite_gemm
from atc_py.onnx_graph.rewriting.qdq.movement import is_moving, move, nodes_before_codes, pool_codes
from atc_py.onnx_graph.rewriting.qdq.opening import is_opened, open_operators
from atc_py.onnx_graph.rewriting.qdq.parameters import read_parameters
from atc_py.onnx_graph.rewriting.qdq.products import rewrite_product
from atc_py.onnx_graph.rewriting.qdq.reasons import BOTH_CONSTANT, NoCounterpartError
from atc_py.onnx_graph.rewriting.qdq.sums import is_sum, rewrite_sum
from atc_py.onnx_graph.rewriting.qdq.tensors import KnownTensors
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.onnx_graph.source import Outcome, QuantizedNode
from atc_py.onnx_graph.typing.known_type import known_type

_HELD = frozenset({"QuantizeLinear", "DequantizeLinear"})

_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
_IMAGE = 4

_LAYERS: dict[str, Callable[[Writer, KnownTensors, WorkNode], None]] = {
    "Conv": rewrite_convolution,
    "ConvTranspose": rewrite_convolution,
    "Gemm": rewrite_gemm,
    "MatMul": rewrite_product,
}


def import_quantized(
    graph: WorkGraph, tensors: TensorReader, limit: int
) -> tuple[QuantizedNode, ...]:
    """Rewrite `graph`; one without quantization is only looked at.

    Constants are folded first, all but those that are dequantized, so that the graph is known as
    far as it can be. Its faults are left to the next fold.

    Returns:
        The outcome of the layers and of nodes without a counterpart; empty without quantization.
    """
    if any(node.is_if and _branches_quantize(node) for node in graph.nodes):
        fold_what_can_be(graph, tensors, limit, _HELD)  # what is chosen already comes up here
    if not any(_is_quantized(node) for node in graph.nodes):
        return ()
    open_operators(graph)
    fold_what_can_be(graph, tensors, limit, _HELD)
    return _Import(graph).run()


def _is_quantized(node: WorkNode) -> bool:
    """True if a node makes a model one that is quantized."""
    own = not node.domain and node.op_type in _HELD
    return own or is_opened(node) or is_sum(node)


def _branches_quantize(node: WorkNode) -> bool:
    """True if a branch of an If, or one inside it, quantizes or dequantizes."""
    graphs = [attribute.g for attribute in node.proto.attribute if attribute.HasField("g")]
    while graphs:
        for inner in graphs.pop().node:
            if not inner.domain and inner.op_type in _HELD:
                return True
            graphs += [attribute.g for attribute in inner.attribute if attribute.HasField("g")]
    return False


class _Import:
    """Writes one graph anew."""

    def __init__(self, graph: WorkGraph) -> None:
        self._graph = graph
        self._writer = Writer(graph)
        self._tensors = KnownTensors(self._writer)
        self._before_codes = nodes_before_codes(graph)
        self._found: list[QuantizedNode] = []

    def run(self) -> tuple[QuantizedNode, ...]:
        """Go through the nodes, producers first."""
        for node in self._graph.nodes:
            if not self._rewrite(node):
                for name in node.reads:
                    self._tensors.as_there(name)
                self._writer.keep(node)
        for name in self._graph.outputs:
            self._tensors.as_there(name)
        self._writer.finish()
        return tuple(self._found)

    def _rewrite(self, node: WorkNode) -> bool:
        """Write what stands for a node; False where it stays as it is."""
        if node.domain or node in self._graph.unsound:
            return False
        if node.op_type in _HELD:
            return self._try(node, self._quantization, Outcome.KEPT)
        if node.op_type in _LAYERS:
            return self._try(node, _LAYERS[node.op_type], Outcome.FLOAT)
        if is_sum(node):
            return self._try(node, rewrite_sum, Outcome.KEPT)
        if is_moving(node):
            before = node in self._before_codes
            return move(self._writer, self._tensors, node, before_codes=before)
        return node.op_type == "MaxPool" and pool_codes(self._writer, self._tensors, node)

    def _try(
        self,
        node: WorkNode,
        rewrite: Callable[[Writer, KnownTensors, WorkNode], None],
        otherwise: Outcome,
    ) -> bool:
        try:
            rewrite(self._writer, self._tensors, node)
        except NoCounterpartError as error:
            if error.reason is not BOTH_CONSTANT:
                self._note(node, otherwise, error)
            if node.op_type in _HELD:
                self._tensors.refused.update(node.outputs)
            return False
        if node.op_type not in _HELD:
            self._note(node, Outcome.INTEGER)
        return True

    def _note(
        self, node: WorkNode, outcome: Outcome, error: NoCounterpartError | None = None
    ) -> None:
        op_type = node.place.op_type or node.op_type
        reason, help_ = (None, None) if error is None else (error.reason, error.help)
        channels = self._channels(node) if outcome is Outcome.INTEGER else None
        self._found.append(
            QuantizedNode(node.index, node.name, op_type, outcome, reason, help_, channels=channels)
        )

    def _channels(self, node: WorkNode) -> int | None:
        known = known_type(self._graph, node.inputs[0])
        dims = None if known is None else known.dims
        is_image = node.op_type in _CONVOLUTIONS and dims is not None and len(dims) == _IMAGE
        return dims[1] if is_image and dims is not None else None

    def _quantization(self, _writer: Writer, tensors: KnownTensors, node: WorkNode) -> None:
        """Rewrite QuantizeLinear or DequantizeLinear.

        Raises:
            NoCounterpartError: it has no counterpart.
        """
        parameters = read_parameters(self._graph, node)
        if node.op_type == "QuantizeLinear":
            tensors.quantize(node, parameters)
        else:
            tensors.dequantize(node, parameters)
