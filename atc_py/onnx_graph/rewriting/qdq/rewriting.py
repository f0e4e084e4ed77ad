"""The two rewrites of quantized models into files: into the deploy form, and into QDQ."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from atc_py.diag import NOT_QUANTIZED, AtcError, Diagnostic, Place
from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.onnx_file import MARK, OnnxFile
from atc_py.onnx_graph.rewriting.onnx_writer import bytes_read, write_onnx
from atc_py.onnx_graph.rewriting.qdq import import_quantized
from atc_py.onnx_graph.rewriting.qdq.importing import is_opened, open_operators
from atc_py.onnx_graph.rewriting.qdq.products import is_sum
from atc_py.onnx_graph.rewriting.qdq.to_qdq import import_qdq_opset, is_deploy_form, to_qdq
from atc_py.onnx_graph.source import BiasConvention, Outcome, QuantizedNode
from atc_py.onnx_graph.source.model import FOLD_LIMIT
from atc_py.onnx_graph.typing.infer import infer_types
from atc_py.options.compile_options import QuantBias
from atc_py.text import Text

_LAYERS = frozenset({"QGemm", "QLinearConv", "QLinearMatMul"})
_NOT_OPENED = Text("its scales are computed at run time, or its form has no counterpart")

_LINEAR = frozenset({"QuantizeLinear", "DequantizeLinear"})


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A quantized model in another form, in a file."""

    nodes: tuple[QuantizedNode, ...]  # what became of layers, and of nodes that have no counterpart
    data: Path | None  # the file with its weights beside it; None where the model holds them itself
    opset: int  # the version of ONNX's operators that it imports
    bytes_before: int  # size of the model that was read, weights included
    bytes_after: int  # size of the written model
    # the convention of the biases that were read; None where no layer was int8
    read_as: BiasConvention | None = None
    # the convention of those that were written; None where no layer is int8
    written_as: QuantBias | None = None


@dataclass(frozen=True, slots=True)
class FixedGraph:
    """A graph in the form that rules give it; its quantized layers are in the deploy form."""

    graph: OnnxGraph
    nodes: tuple[QuantizedNode, ...] = ()  # what became of its quantized layers
    # operators that were rewritten; they are not restored as sources of a constant
    gone: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()  # inputs that have become constants


def rewrite_file(
    file: OnnxFile,
    output: Path,
    form: str,
    *,
    external: bool = False,
    quant_bias: QuantBias | None = None,
    fix: Callable[[], FixedGraph] | None = None,
) -> Rewritten:
    """Write the model of `file`, read strictly, in another form, `ascend` or `qdq`.

    If `external`, weights go into a file beside the model. `quant_bias` is the convention of biases
    of int8 layers, None to use the file's; `fix` returns the graph as rules rewrite it, None where
    none may.

    NOT_QUANTIZED where there is nothing to rewrite; NO_QDQ_FORM; BAD_MODEL where types contradict
    each other; CANNOT_WRITE.
    """
    read_as = file.bias_convention(quant_bias)
    graph = file.graph(observe_inputs(file.path, file.inputs, {}), read_as)
    has_linear = any(map(_is_linear, graph.nodes))
    has_ascend = is_deploy_form(node.op_type for node in graph.nodes)
    if form == "ascend":
        if not has_linear:
            raise AtcError(_nothing_to_rewrite(file, form, other="qdq" if has_ascend else None))
    elif not has_ascend and not any(map(is_opened, graph.nodes)):
        raise AtcError(_nothing_to_rewrite(file, form, other="ascend" if has_linear else None))
    fixed = FixedGraph(graph) if fix is None else fix()
    graph, gone = fixed.graph, fixed.gone
    if form == "ascend":
        gone |= _LINEAR
        nodes = fixed.nodes if fix else import_quantized(graph, file.tensors, FOLD_LIMIT)
        _refuse_contradictions(graph)
    else:
        nodes = _open_quantized(graph) if any(map(is_opened, graph.nodes)) else ()
        if is_deploy_form(node.op_type for node in graph.nodes):
            nodes = (*nodes, *to_qdq(graph, file.tensors))
    before = bytes_read(file)
    written_as = graph.quant_bias if form == "ascend" else None
    marks = {MARK: written_as and written_as.value}
    written = write_onnx(
        file, graph, output, external=external, gone=gone, marks=marks, bound=fixed.bound
    )
    opset = graph.opsets.get("", 0)
    return Rewritten(nodes, written.data, opset, before, written.bytes, read_as, written_as)


def _refuse_contradictions(graph: OnnxGraph) -> None:
    faults = infer_types(graph)
    if faults:
        raise AtcError(*faults)


def _open_quantized(graph: OnnxGraph) -> tuple[QuantizedNode, ...]:
    """Open QLinearConv and its like; return the outcome of each layer among them."""
    before = [node for node in graph.nodes if is_opened(node)]
    open_operators(graph)
    import_qdq_opset(graph)
    left = set(graph.nodes)
    outcomes = []
    for node in before:
        if node in left:
            kept = (Outcome.KEPT, _NOT_OPENED)
            outcomes.append(QuantizedNode(node.index, node.name, node.op_type, *kept))
        elif node.op_type in _LAYERS:
            outcomes.append(
                QuantizedNode(node.index, node.name, node.op_type, Outcome.INTEGER, None)
            )
    return tuple(outcomes)


def _is_linear(node: OnnxNode) -> bool:
    """True if a node is one of ONNX's or onnxruntime's quantized operators."""
    return (not node.domain and node.op_type in _LINEAR) or is_opened(node) or is_sum(node)


def _nothing_to_rewrite(file: OnnxFile, form: str, other: str | None) -> Diagnostic:
    place = Place(str(file.path))
    if other is None:
        return NOT_QUANTIZED.diagnostic(
            Text(
                "the model is not quantized: it has no QuantizeLinear, QLinear... or Ascend operator"
            ),
            place=place,
            help=Text("quantize it first; `atc-py convert` takes it as it is"),
        )
    return NOT_QUANTIZED.diagnostic(
        Text(
            "the model has no operators that --format {form} would rewrite; it is in that form",
            form=form,
        ),
        place=place,
        help=Text("use it as it is, or rewrite it with --format {other}", other=other),
    )
