"""The graph of an ONNX file that was compiled, for a report about it."""

from pathlib import Path

from atc_py.onnx_graph.reading.file_graph import read_file_graph
from atc_py.onnx_graph.source.file_graph import FileGraph
from atc_py.package.foreign import is_offline
from atc_py.results.compiled_model import CompiledModel


def compiled_file_graph(model: Path, compiled: CompiledModel) -> FileGraph | None:
    """The graph of a model, with the dims that its values have in the compiled one.

    There is none for an offline model.

    Raises:
        AtcError: the file cannot be read any more.
    """
    if is_offline(model):
        return None
    dims = {tensor.name: tuple(tensor.shape) for tensor in compiled.description.tensors}
    return read_file_graph(model, dims)
