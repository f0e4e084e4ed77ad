"""The graph of a float model that is to be quantized, and the refusal of one that is quantized."""

from collections.abc import Iterator, Mapping

from atc_py.diag import Place
from atc_py.diag.codes import ALREADY_QUANTIZED
from atc_py.frontend.folding.bind import observe_inputs
from atc_py.frontend.folding.fold import fold_what_can_be
from atc_py.frontend.folding.graph import WorkGraph, WorkNode
from atc_py.frontend.reading.onnx_file import OnnxFile
from atc_py.frontend.rewriting.qdq.opening import is_opened
from atc_py.frontend.rewriting.qdq.sums import is_sum
from atc_py.frontend.rewriting.qdq.to_qdq import has_ascend_nodes
from atc_py.source.limits import FOLD_LIMIT
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

_QUANTIZING = frozenset(
    {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "DynamicQuantizeLSTM"}
)


def open_float(file: OnnxFile, shapes: Mapping[str, Shape] | None = None) -> WorkGraph:
    """Return the graph of a float model: constants folded, types known as far as they can be.

    Args:
        file: the model, read strictly.
        shapes: dims of inputs that the model leaves open, for what is to be known of its values.

    Raises:
        AtcError: ALREADY_QUANTIZED for a model with quantized layers.
    """
    _refuse_quantized(file)
    inputs = observe_inputs(file.path, file.inputs, shapes or {}, None, file.nodes)
    graph = file.graph(inputs)
    fold_what_can_be(graph, file.tensors, FOLD_LIMIT)
    return graph


def is_quantized(file: OnnxFile) -> bool:
    """Return True if a model has quantized layers, in whatever form."""
    return next(_quantized_nodes(file), None) is not None or has_ascend_nodes(file)


def _refuse_quantized(file: OnnxFile) -> None:
    """Refuse a model that is quantized already.

    Raises:
        AtcError: ALREADY_QUANTIZED, at the first such node.
    """
    if not is_quantized(file):
        return
    nodes = [*_quantized_nodes(file)]
    found = nodes or [node for node in file.nodes if node.op_type.startswith("Ascend")]
    place = found[0].place if found else Place(str(file.path))
    raise ALREADY_QUANTIZED.error(
        Text(
            "the model is quantized already, by {op_type}",
            op_type=found[0].op_type if found else "AscendQuant",
        ),
        place=place,
        help="leave out --data to write it in another form, or give the float model",
    )


def _quantized_nodes(file: OnnxFile) -> Iterator[WorkNode]:
    """Yield the nodes of ONNX's and onnxruntime's quantized operators."""
    for node in file.nodes:
        own = not node.domain and node.op_type in _QUANTIZING
        if own or is_opened(node) or is_sum(node):
            yield node
