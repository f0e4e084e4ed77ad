"""A float model that can be written again: as it is, or with layers on int8 in either form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from atc_py.diag import Place
from atc_py.diag.codes import NO_QDQ_FORM
from atc_py.frontend.quantizing.float_graph import open_float
from atc_py.frontend.quantizing.layers import find_layers
from atc_py.frontend.quantizing.qdq_nodes import put_qdq
from atc_py.frontend.reading.read import read_model
from atc_py.frontend.rewriting.onnx_writer import bytes_read, write_onnx
from atc_py.frontend.rewriting.qdq.convention import MARK
from atc_py.frontend.rewriting.qdq.importing import import_quantized
from atc_py.frontend.rewriting.qdq.rewriting import Rewritten
from atc_py.options.compile_options import QuantBias
from atc_py.source.limits import FOLD_LIMIT
from atc_py.system.atomic_files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from atc_py.frontend.folding.graph import WorkGraph
    from atc_py.frontend.quantizing.layers import FoundLayers
    from atc_py.frontend.quantizing.qdq_nodes import Int8Layer
    from atc_py.frontend.reading.onnx_file import OnnxFile
    from atc_py.frontend.rewriting.onnx_writer import Written

    Numbers: TypeAlias = Callable[[FoundLayers], Sequence[Int8Layer]]

__all__ = ["FloatModel"]

_PER_CHANNEL = 13
"""The opset since which DequantizeLinear takes a scale for each channel."""

_LINEAR = frozenset({"QuantizeLinear", "DequantizeLinear"})


class FloatModel:
    """A float model in a file.

    Attributes:
        file: the file.
        graph: its graph with constants folded; it is not changed.
        found: its layers.
    """

    def __init__(self, path: Path) -> None:
        """Read a model.

        Raises:
            AtcError: what `read_model` and `open_float` raise.
        """
        self.file: OnnxFile = read_model(path)
        self.graph: WorkGraph = open_float(self.file)
        self.found: FoundLayers = find_layers(self.graph)

    def write(self, output: Path, rewrite: Callable[[WorkGraph], None] | None = None) -> Written:
        """Write the float model.

        Args:
            output: the file.
            rewrite: changes the graph before it is written.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        graph = open_float(self.file)
        if rewrite is not None:
            rewrite(graph)
        return write_onnx(self.file, graph, output)

    def write_ascend(
        self,
        output: Path,
        numbers: Numbers,
        *,
        external: bool = False,
        final: Path | None = None,
    ) -> Rewritten:
        """Write the model with layers on int8, in the form that Ascend's toolkit takes.

        Args:
            output: the file.
            numbers: returns the numbers of each layer that is to be on int8, of those found.
            external: put weights into a file beside the model.
            final: the path, of the same name, that the file is moved to afterwards.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        graph = self._with_qdq(numbers)
        nodes = import_quantized(graph, self.file.tensors, FOLD_LIMIT)
        bias = QuantBias.UNFOLDED
        marks = {MARK: bias.value}
        written = write_onnx(self.file, graph, output, external=external, gone=_LINEAR, marks=marks)
        opset, before = graph.opsets.get("", 0), bytes_read(self.file)
        return Rewritten(nodes, written.data, opset, before, written.bytes, None, bias)

    def write_qdq(
        self,
        output: Path,
        numbers: Numbers,
        *,
        external: bool = False,
        final: Path | None = None,
    ) -> Rewritten:
        """Write the model with layers on int8, in QuantizeLinear and DequantizeLinear.

        The opset of the model must be 13 at least: see `raised`. Arguments are those of
        `write_ascend`.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        graph = self._with_qdq(numbers)
        written = write_onnx(self.file, graph, output, external=external, final=final)
        opset, before = graph.opsets.get("", 0), bytes_read(self.file)
        return Rewritten((), written.data, opset, before, written.bytes)

    def raised(self, folder: Path) -> FloatModel:
        """Return the model at an opset in which DequantizeLinear takes a scale for each channel.

        Args:
            folder: where the file goes if the model has a lower one.

        Raises:
            AtcError: NO_QDQ_FORM where onnx cannot convert it.
        """
        if self.graph.opsets.get("", 0) >= _PER_CHANNEL:
            return self
        path = folder / f"{self.file.path.stem}.{_PER_CHANNEL}.onnx"
        try:
            proto = onnx.version_converter.convert_version(onnx.load(self.file.path), _PER_CHANNEL)
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            raise NO_QDQ_FORM.error(
                f"scales for each channel need opset {_PER_CHANNEL}, the model has "
                f"{self.graph.opsets.get('', 0)}, and onnx cannot convert it: {text}",
                place=Place(str(self.file.path)),
                help=f"export the model at opset {_PER_CHANNEL}, or use --format ascend",
            ) from error
        with atomic_write(path, durable=False) as file:
            file.write(proto.SerializeToString())
        return FloatModel(path)

    def _with_qdq(self, numbers: Numbers) -> WorkGraph:
        """Return the graph with QuantizeLinear and DequantizeLinear."""
        graph = open_float(self.file)
        put_qdq(graph, numbers(find_layers(graph)))
        return graph
