"""Surveying an ONNX file: everything that is known of it, whether or not it can be compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.frontend.folding.bind import input_faults, observe_inputs
from atc_py.frontend.folding.folded import FoldedModel
from atc_py.frontend.folding.if_branches import fold_with_branches
from atc_py.frontend.folding.views import view_nodes
from atc_py.frontend.rewriting.qdq.importing import import_quantized
from atc_py.source import InputView, ModelView
from atc_py.source.limits import FOLD_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atc_py.diag import Diagnostic
    from atc_py.frontend.reading.onnx_file import OnnxFile
    from atc_py.options.compile_options import QuantBias
    from atc_py.options.input_shapes import ShapeAdvice
    from atc_py.tensor.shapes import Shape

__all__ = ["Survey", "survey", "surveyed", "view_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """A file that was surveyed.

    Attributes:
        view: what is known of it.
        model: the same as a model whose nodes can be compiled, as far as they are known.
        input_faults: what keeps the model from compiling whatever is done with its inputs.
    """

    view: ModelView
    model: FoldedModel
    input_faults: tuple[Diagnostic, ...] = ()


def survey(
    file: OnnxFile,
    input_shapes: Mapping[str, Shape],
    limit: int = FOLD_LIMIT,
    quant_bias: QuantBias | None = None,
    suggest: Callable[[], ShapeAdvice] | None = None,
) -> ModelView:
    """Return what is known of the model in `file`; see `surveyed`."""
    return surveyed(file, input_shapes, limit, quant_bias, suggest).view


def surveyed(
    file: OnnxFile,
    input_shapes: Mapping[str, Shape],
    limit: int = FOLD_LIMIT,
    quant_bias: QuantBias | None = None,
    suggest: Callable[[], ShapeAdvice] | None = None,
) -> Survey:
    """What is known of the model in `file`; extents that the model leaves open stay open.

    Args:
        file: read leniently, so that a model that breaks ONNX's rules can be looked at, too.
        input_shapes: extents of inputs that the model leaves open, by name.
        limit: bytes that folding one node may make.
        quant_bias: the convention of biases of int8 layers; None for what the file says.
        suggest: finds shapes to propose where those given do not fit.

    Raises:
        AtcError: BAD_INPUT_SHAPE for shapes that fit no input.
    """
    inputs = observe_inputs(file.path, file.inputs, input_shapes, suggest)
    convention = file.bias_convention(quant_bias)
    graph = file.graph(inputs, convention)
    quantized = import_quantized(graph, file.tensors, limit)
    folded = fold_with_branches(graph, file.tensors, limit)
    views = tuple(
        InputView(each.name, input_shapes.get(each.name, each.dims)) for each in file.inputs
    )
    open_inputs = [each.name for each in views if each.is_open]
    seen = view_nodes(folded, file.tensors, open_inputs)
    model = FoldedModel(
        file.name,
        folded,
        file.tensors,
        file.file_nodes,
        file.contents.weight_bytes,
        (*quantized, *folded.quantized),
        convention,
    )
    view = ModelView(
        path=file.path,
        name=file.name,
        opsets=file.opsets,
        nodes=seen.nodes,
        inputs=views,
        file_nodes=file.file_nodes,
        faults=tuple(dict.fromkeys((*file.faults, *seen.faults))),
        quantized=model.quantized,
        bias_convention=convention,
        doubts=seen.doubts,
    )
    return Survey(view, model, tuple(input_faults(file.path, file.inputs, input_shapes)))


def view_of(model: FoldedModel) -> ModelView:
    """What is known of a model that is bound and folded already."""
    seen = view_nodes(model.folded, model.tensors, ())
    return ModelView(
        path=model.graph.path,
        name=model.name,
        opsets=model.graph.opsets,
        nodes=seen.nodes,
        inputs=tuple(InputView(name, known.shape) for name, known in model.graph.inputs.items()),
        file_nodes=model.file_nodes,
        faults=seen.faults,
        quantized=model.quantized,
        bias_convention=model.bias_convention,
    )
