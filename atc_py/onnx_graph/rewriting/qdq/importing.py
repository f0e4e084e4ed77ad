"""The import of a quantized model: the graph in the form that Ascend's toolkit takes.

QLinearConv and its like are opened first into DequantizeLinear, the operator on floats and
QuantizeLinear. Those of ONNX's own domain are of its QOperator form; those of com.microsoft are the
ones that onnxruntime's static quantization writes.
"""

from collections.abc import Callable, Collection, Sequence

import msgspec
import numpy as np

from atc_py.onnx_graph.folding.fold import fold_graph
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.nodes import nodes_within
from atc_py.onnx_graph.reading.tensors import TensorReader, known_type
from atc_py.onnx_graph.rewriting.qdq.layers import rewrite_convolution, rewrite_gemm, rewrite_pool
from atc_py.onnx_graph.rewriting.qdq.movement import is_moving, move, nodes_before_codes, pool_codes
from atc_py.onnx_graph.rewriting.qdq.parameters import NoCounterpartError, Reason, read_parameters
from atc_py.onnx_graph.rewriting.qdq.products import is_sum, rewrite_product, rewrite_sum
from atc_py.onnx_graph.rewriting.qdq.rows import write_rows_as_images
from atc_py.onnx_graph.rewriting.qdq.tensors import KnownTensors
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.onnx_graph.source import Outcome, QuantizedNode

_HELD = frozenset({"QuantizeLinear", "DequantizeLinear"})

_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
_IMAGE = 4

_LAYERS: dict[str, Callable[[Writer, KnownTensors, OnnxNode], None]] = {
    "AveragePool": rewrite_pool,
    "Conv": rewrite_convolution,
    "ConvTranspose": rewrite_convolution,
    "Gemm": rewrite_gemm,
    "MatMul": rewrite_product,
}


def rewrite_graph(
    graph: OnnxGraph, tensors: TensorReader, limit: int, pools: Collection[int] = ()
) -> tuple[QuantizedNode, ...]:
    """Rewrite `graph` as `import_quantized` does."""
    nodes = _rewrite_linear(graph, tensors, limit, pools)
    write_rows_as_images(graph)
    return nodes


def _rewrite_linear(
    graph: OnnxGraph, tensors: TensorReader, limit: int, pools: Collection[int]
) -> tuple[QuantizedNode, ...]:
    """Rewrite QuantizeLinear, DequantizeLinear and operators with scales of their own."""
    if any(node.is_if and _branches_quantize(node) for node in graph.nodes):
        fold_graph(graph, tensors, limit, _HELD)  # what is chosen already comes up here
    own = (not node.domain and node.op_type in _HELD for node in graph.nodes)
    if not any(own) and not any(is_opened(node) or is_sum(node) for node in graph.nodes):
        return ()
    open_operators(graph)
    fold_graph(graph, tensors, limit, _HELD)
    return _Import(graph, pools).run()


def _branches_quantize(node: OnnxNode) -> bool:
    """True if a branch of an If, or one inside it, quantizes or dequantizes."""
    inside = (inner for graph in node.graphs.values() for inner in nodes_within(graph.node))
    return any(not inner.domain and inner.op_type in _HELD for inner in inside)


class _Import:
    """Writes one graph anew."""

    def __init__(self, graph: OnnxGraph, pools: Collection[int]) -> None:
        self._graph, self._pools = graph, pools
        self._writer = Writer(graph)
        self._tensors = KnownTensors(self._writer)
        self._before_codes = nodes_before_codes(graph)
        self._found: list[QuantizedNode] = []

    def run(self) -> tuple[QuantizedNode, ...]:
        for node in self._graph.nodes:
            if not self._rewrite(node):
                for name in node.reads:
                    self._tensors.as_there(name)
                self._writer.keep(node)
        for name in self._graph.outputs:
            self._tensors.as_there(name)
        self._writer.finish()
        return tuple(self._found)

    def _rewrite(self, node: OnnxNode) -> bool:
        """Write what stands for a node; False where it stays as it is."""
        if node.domain or node in self._graph.unsound:
            return False
        if node.op_type in _HELD:
            return self._try(node, _rewrite_quantization, Outcome.KEPT)
        if node.op_type in _LAYERS and (node.op_type != "AveragePool" or node.index in self._pools):
            return self._try(node, _LAYERS[node.op_type], Outcome.FLOAT)
        if is_sum(node):
            return self._try(node, rewrite_sum, Outcome.KEPT)
        if is_moving(node):
            before = node in self._before_codes
            return move(self._writer, self._tensors, node, before_codes=before)
        return node.op_type == "MaxPool" and pool_codes(self._writer, self._tensors, node)

    def _try(
        self,
        node: OnnxNode,
        rewrite: Callable[[Writer, KnownTensors, OnnxNode], None],
        otherwise: Outcome,
    ) -> bool:
        try:
            rewrite(self._writer, self._tensors, node)
        except NoCounterpartError as error:
            if error.reason is not Reason.BOTH_CONSTANT:
                self._note(node, otherwise, error)
            if node.op_type in _HELD:
                self._tensors.refused.update(node.output_names)
            return False
        if node.op_type not in _HELD:
            self._note(node, Outcome.INTEGER)
        return True

    def _note(
        self, node: OnnxNode, outcome: Outcome, error: NoCounterpartError | None = None
    ) -> None:
        op_type = node.place.op_type or node.op_type
        reason, help_ = (None, None) if error is None else (error.reason, error.help)
        channels = None
        if outcome is Outcome.INTEGER and node.op_type in _CONVOLUTIONS:
            known = known_type(self._graph, node.input_names[0])
            dims = () if known is None else known.dims or ()
            channels = dims[1] if len(dims) == _IMAGE else None
        self._found.append(
            QuantizedNode(node.index, node.name, op_type, outcome, reason, help_, channels=channels)
        )


_MICROSOFT = "com.microsoft"
_COALESCED = 13
"""The opset from which on Softmax works along one axis."""


class _Form(msgspec.Struct, frozen=True):
    """Positions of the inputs of an operator."""

    op_type: str  # the operator on floats
    data: tuple[int, ...]  # positions of its operands, each followed by scale and zero point
    result: int  # position of the result's scale, followed by its zero point
    fewest: int  # inputs that there must be
    bias: int | None = None  # position of an int32 bias; None where the operator has none
    own: tuple[str, ...] = ()  # attributes that do not come along


_FORMS = {
    ("", "QLinearConv"): _Form("Conv", (0, 3), 6, 8, bias=8),
    ("", "QLinearMatMul"): _Form("MatMul", (0, 3), 6, 8),
    (_MICROSOFT, "QLinearMatMul"): _Form("MatMul", (0, 3), 6, 8),
    (_MICROSOFT, "QLinearAdd"): _Form("Add", (0, 3), 6, 7),
    (_MICROSOFT, "QLinearMul"): _Form("Mul", (0, 3), 6, 7),
    (_MICROSOFT, "QGemm"): _Form("Gemm", (0, 3), 7, 6, bias=6),
    (_MICROSOFT, "QLinearSigmoid"): _Form("Sigmoid", (0,), 3, 4),
    (_MICROSOFT, "QLinearLeakyRelu"): _Form("LeakyRelu", (0,), 3, 4),
    (_MICROSOFT, "QLinearSoftmax"): _Form("Softmax", (0,), 3, 4, own=("opset",)),
    (_MICROSOFT, "QLinearAveragePool"): _Form("AveragePool", (0,), 3, 4, own=("channels_last",)),
    (_MICROSOFT, "QLinearGlobalAveragePool"): _Form(
        "GlobalAveragePool", (0,), 3, 4, own=("channels_last",)
    ),
}

_CONCAT = (_MICROSOFT, "QLinearConcat")
_RENAMED = {(_MICROSOFT, "QuantizeLinear"), (_MICROSOFT, "DequantizeLinear")}
_OPENED = {*_FORMS, _CONCAT, *_RENAMED}


def is_opened(node: OnnxNode) -> bool:
    return (node.domain, node.op_type) in _OPENED


def result_scale_at(domain: str, op_type: str) -> int | None:
    """The input with the scale of an operator's quantized result; its zero point follows.

    None for operators whose results are not quantized codes.
    """
    if (domain, op_type) == _CONCAT:
        return 0
    if op_type == "QuantizeLinear" and domain in {"", _MICROSOFT}:
        return 1
    form = _FORMS.get((domain, op_type))
    return None if form is None else form.result


def open_operators(graph: OnnxGraph) -> None:
    """Open all operators whose scales and zero points are constants."""
    opener = _Opener(graph)
    for node in graph.nodes:
        opener.open(node)
    opener.writer.finish()


def _rewrite_quantization(writer: Writer, tensors: KnownTensors, node: OnnxNode) -> None:
    parameters = read_parameters(writer.graph, node)
    if node.op_type == "QuantizeLinear":
        tensors.quantize(node, parameters)
    else:
        tensors.dequantize(node, parameters)


class _Opener:
    def __init__(self, graph: OnnxGraph) -> None:
        self.writer = Writer(graph)
        known = set(graph.consts)
        for node in graph.nodes:
            same = node.op_type == "Identity" and node.input_names and node.input_names[0] in known
            if not node.domain and (node.op_type == "Constant" or same):
                known.update(node.writes)
        self._known = known
        self._unsound = graph.unsound
        self._coalesced = graph.opsets.get("", 0) >= _COALESCED

    def open(self, node: OnnxNode) -> None:
        """Open a node where it can be opened; others stay."""
        key = (node.domain, node.op_type)
        if key not in _OPENED or node in self._unsound or len(node.output_names) != 1:
            self.writer.keep(node)
        elif key in _RENAMED and len(node.input_names) > 1:
            self.writer.again(
                node, node.op_type, node.input_names, node.output_names, with_own=True
            )
        elif key == _CONCAT and self._fits_concat(node):
            self._open_concat(node)
        elif key in _FORMS and self._matches_form(node, _FORMS[key]):
            self._open_operator(node, _FORMS[key])
        else:
            self.writer.keep(node)

    def _matches_form(self, node: OnnxNode, form: _Form) -> bool:
        """True if a node matches its form, and means what the operator on floats does."""
        inputs = node.input_names
        if not form.fewest <= len(inputs) <= form.result + 2 + (form.bias == form.result + 2):
            return False
        for at in form.data:
            if not inputs[at] or not self._is_known(inputs[at + 1 : at + 3]):
                return False
        result = inputs[form.result : form.result + 2]
        if any(result) and not (all(result) and len(result) > 1 and self._is_known(result)):
            return False
        if node.op_type == "QLinearSoftmax":
            return (node.integer("opset") >= _COALESCED) == self._coalesced
        return bool(any(result) or form.op_type == "Gemm") and not node.integer("channels_last")

    def _fits_concat(self, node: OnnxNode) -> bool:
        """True if a QLinearConcat has scale and zero point for result and operands."""
        result, rest = node.input_names[:2], node.input_names[2:]
        operands = [rest[at : at + 3] for at in range(0, len(rest), 3)]
        whole = bool(rest) and len(rest) % 3 == 0 and all(result) and self._is_known(result)
        return whole and all(names[0] and self._is_known(names[1:]) for names in operands)

    def _is_known(self, numbers: Sequence[str]) -> bool:
        """True if a scale is present and constant, and so is any zero point."""
        return bool(numbers and numbers[0]) and all(name in self._known for name in numbers if name)

    def _open_operator(self, node: OnnxNode, form: _Form) -> None:
        """Write DequantizeLinear of the operands, the operator, QuantizeLinear."""
        operands = [
            self._dequantize(node, node.input_names[at : at + 3], _axis(form, position, node))
            for position, at in enumerate(form.data)
        ]
        bias = "" if form.bias is None else node.input_name(form.bias)
        if bias:
            operands.append(self._dequantize(node, [bias, self._bias_scale(node, form)], -1))
        y, more = node.output_names[0], {}
        if node.op_type == "QLinearSoftmax":
            more["axis"] = node.integer("axis", -1)
        result = [name for name in node.input_names[form.result : form.result + 2] if name]
        real = self.writer.fresh(f"{y}/real") if result else y
        self.writer.again(
            node, form.op_type, operands, [real], without=form.own, with_own=True, **more
        )
        if result:
            self.writer.op(node, "QuantizeLinear", [real, *result], y)

    def _bias_scale(self, node: OnnxNode, form: _Form) -> str:
        """The product of the operands' scales and alpha, which the first fold computes."""
        writer, y = self.writer, node.output_names[0]
        scales = [node.input_names[at + 1] for at in form.data]
        product = writer.op(node, "Mul", scales, writer.fresh(f"{y}/scale"))
        alpha = node.number("alpha", 1.0)
        if form.op_type != "Gemm" or alpha == 1.0:
            return product
        factor = writer.const(f"{y}/alpha", np.array(alpha, np.float32))
        return writer.op(node, "Mul", [product, factor], writer.fresh(f"{y}/scale"))

    def _open_concat(self, node: OnnxNode) -> None:
        """Write DequantizeLinear of each operand, Concat, QuantizeLinear."""
        result, rest = node.input_names[:2], node.input_names[2:]
        operands = [self._dequantize(node, rest[at : at + 3], 0) for at in range(0, len(rest), 3)]
        y = node.output_names[0]
        real = self.writer.fresh(f"{y}/real")
        self.writer.again(node, "Concat", operands, [real], with_own=True)
        self.writer.op(node, "QuantizeLinear", [real, *result], y)

    def _dequantize(self, node: OnnxNode, numbers: Sequence[str], axis: int) -> str:
        real = self.writer.fresh(f"{node.output_names[0]}/operand")
        inputs = [name for name in numbers if name]
        return self.writer.op(node, "DequantizeLinear", inputs, real, axis=axis)


def _axis(form: _Form, position: int, node: OnnxNode) -> int:
    """The axis along which an operand may have a scale each."""
    if form.op_type == "Conv":
        return 0
    if form.op_type == "Gemm":
        return 0 if node.integer("transB") else 1
    return -1 if position else -2
