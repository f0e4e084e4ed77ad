"""The content of an ONNX file, for `info`, and its graph, for reports on the compiled model."""

from pathlib import Path

from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.reading.file_graph import (
    dtype_name,
    external_tensors,
    operator_counts,
    output_types,
    parameter_count,
    read_file_graph,
)
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import FileGraph
from atc_py.package.foreign import is_offline
from atc_py.results.compiled_model import CompiledModel
from atc_py.results.onnx_facts import ExternalFile, OnnxFacts, OnnxOperator, OnnxPort


def onnx_facts(path: Path) -> OnnxFacts:
    """The content of the ONNX file at `path`; it is not folded or checked."""
    file = read_model(path)
    proto = file.proto
    counts = operator_counts(file)
    return OnnxFacts(
        model=str(path),
        name=file.name,
        producer=f"{proto.producer_name} {proto.producer_version}".strip(),
        ir_version=proto.ir_version,
        opsets=dict(file.opsets),
        inputs=tuple(_port(each) for each in file.inputs),
        outputs=tuple(_port(each) for each in output_types(file)),
        operators=tuple(
            OnnxOperator(op, domain, count)
            for (domain, op), count in sorted(counts.items(), key=lambda row: (-row[1], row[0]))
        ),
        parameters=parameter_count(file),
        weight_bytes=file.contents.weight_bytes,
        file_bytes=path.stat().st_size,
        external_data=tuple(
            ExternalFile(name, tensors, (path.parent / name).stat().st_size)
            for name, tensors in sorted(external_tensors(file).items())
        ),
    )


def _port(declared: DeclaredInput) -> OnnxPort:
    return OnnxPort(declared.name, dtype_name(declared), declared.dims)


def compiled_file_graph(model: Path, compiled: CompiledModel) -> FileGraph | None:
    """The graph of a model, with the dims that its values have in the compiled one.

    There is none for an offline model.
    """
    if is_offline(model):
        return None
    dims = {tensor.name: tuple(tensor.shape) for tensor in compiled.description.tensors}
    return read_file_graph(model, dims)
