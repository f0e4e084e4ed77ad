"""The outline of an ONNX file that was compiled, for a report about it."""

from pathlib import Path

from atc_py.onnx_graph.reading.outline import read_outline
from atc_py.onnx_graph.source.outline import ModelOutline
from atc_py.package.foreign import is_offline
from atc_py.results.compiled_model import CompiledModel


def outline_for(model: Path, compiled: CompiledModel) -> ModelOutline | None:
    """The outline of a model, with the dims that its values have in the compiled one.

    There is none for an offline model.

    Raises:
        AtcError: the file cannot be read any more.
    """
    if is_offline(model):
        return None
    dims = {tensor.name: tuple(tensor.shape) for tensor in compiled.description.tensors}
    return read_outline(model, dims)
