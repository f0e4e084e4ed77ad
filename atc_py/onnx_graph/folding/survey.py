"""Survey of an ONNX file: everything known about it, whether or not it compiles."""

from collections.abc import Callable, Mapping

import msgspec

from atc_py.diag import Diagnostic
from atc_py.onnx_graph.folding.bind import input_faults, observe_inputs
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.folding.if_branches import fold_with_branches
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.rewriting.qdq.importing import import_quantized
from atc_py.onnx_graph.source import SourceModel
from atc_py.onnx_graph.source.limits import FOLD_LIMIT
from atc_py.options.compile_options import QuantBias
from atc_py.options.input_shapes import ShapeAdvice
from atc_py.tensor.shapes import Shape


class Survey(msgspec.Struct, frozen=True, eq=False):
    """A file that was surveyed.

    Attributes:
        folded: the model after folding.
        input_faults: faults of inputs that no choice of shapes removes.
    """

    folded: FoldedModel
    input_faults: tuple[Diagnostic, ...] = ()

    @property
    def model(self) -> SourceModel:
        """The model as far as it is known."""
        return self.folded.source


def survey(
    file: OnnxFile,
    input_shapes: Mapping[str, Shape],
    limit: int = FOLD_LIMIT,
    quant_bias: QuantBias | None = None,
    suggest: Callable[[], ShapeAdvice] | None = None,
) -> SourceModel:
    """The survey of the model in `file`; see `surveyed`."""
    return surveyed(file, input_shapes, limit, quant_bias, suggest).model


def surveyed(
    file: OnnxFile,
    input_shapes: Mapping[str, Shape],
    limit: int = FOLD_LIMIT,
    quant_bias: QuantBias | None = None,
    suggest: Callable[[], ShapeAdvice] | None = None,
) -> Survey:
    """The survey of the model in `file`; dims that the model leaves open stay open.

    Args:
        file: read leniently, so that a model that breaks ONNX's rules can be looked at, too.
        input_shapes: dims of inputs that the model leaves open, by name.
        limit: bytes that folding one node may make.
        quant_bias: the convention of biases of int8 layers; None to use the file's.
        suggest: finds shapes to propose where those given do not fit.

    Raises:
        AtcError: BAD_INPUT_SHAPE for shapes that fit no input.
    """
    inputs = observe_inputs(file.path, file.inputs, input_shapes, suggest, file.nodes)
    convention = file.bias_convention(quant_bias)
    graph = file.graph(inputs, convention)
    quantized = import_quantized(graph, file.tensors, limit)
    folded = fold_with_branches(graph, file.tensors, limit)
    found = file.translated(folded, quantized, convention)
    return Survey(found, tuple(input_faults(file.path, file.inputs, input_shapes)))
