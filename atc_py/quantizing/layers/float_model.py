"""A float model that can be written again: as it is, or with layers on int8 in either form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx

from atc_py.diag import ALREADY_QUANTIZED, NO_QDQ_FORM, AtcError, Diagnostic, Place
from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.folding.fold import fold_graph
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.onnx_file import MARK, OnnxFile, balance_mark
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.rewriting.onnx_writer import Written, bytes_read, write_onnx
from atc_py.onnx_graph.rewriting.qdq import import_quantized
from atc_py.onnx_graph.rewriting.qdq.importing import is_opened
from atc_py.onnx_graph.rewriting.qdq.products import is_sum
from atc_py.onnx_graph.rewriting.qdq.rewriting import Rewritten
from atc_py.onnx_graph.rewriting.qdq.to_qdq import is_deploy_form
from atc_py.onnx_graph.source import Outcome, QuantizedNode
from atc_py.onnx_graph.source.model import FOLD_LIMIT
from atc_py.options.compile_options import QuantBias
from atc_py.quantizing.layers.layers import FoundLayers, find_layers
from atc_py.quantizing.layers.qdq_nodes import Int8Layer, put_qdq
from atc_py.system.atomic_files import atomic_write
from atc_py.system.structs import replace
from atc_py.text import Text

_QUANTIZING = frozenset(
    {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "DynamicQuantizeLSTM"}
)


def open_float(file: OnnxFile) -> OnnxGraph:
    """The graph of a float model: constants folded, types known as far as they can be."""
    _refuse_quantized(file)
    inputs = observe_inputs(file.path, file.inputs, {}, None, file.nodes)
    graph = file.graph(inputs)
    fold_graph(graph, file.tensors, FOLD_LIMIT)
    return graph


def is_quantized(file: OnnxFile) -> bool:
    deploys = is_deploy_form(node.op_type for node in file.nodes)
    return deploys or next(_quantized_nodes(file), None) is not None


def _refuse_quantized(file: OnnxFile) -> None:
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
        help=Text("leave out --data to write it in another form, or give the float model"),
    )


def _quantized_nodes(file: OnnxFile) -> Iterator[OnnxNode]:
    for node in file.nodes:
        own = not node.domain and node.op_type in _QUANTIZING
        if own or is_opened(node) or is_sum(node):
            yield node


_PER_CHANNEL = 13
"""The opset since which DequantizeLinear takes a scale for each channel."""

_LINEAR = frozenset({"QuantizeLinear", "DequantizeLinear"})


class FloatModel:
    """A float model in a file."""

    def __init__(self, path: Path, origin: FloatModel | None = None) -> None:
        """Read a model; findings name nodes of `origin` if the file was made of that one."""
        self.file: OnnxFile = read_model(path)
        # the path of the user's file, which findings name
        self.shown: Path = path if origin is None else origin.shown
        # its graph with constants folded; it is not changed
        self.graph: OnnxGraph = open_float(self.file)
        if origin is not None:
            _place_in(self.graph, origin)
        self.found: FoundLayers = find_layers(self.graph)  # its layers

    def write(
        self,
        output: Path,
        rewrite: Callable[[OnnxGraph], None] | None = None,
        balanced: Collection[str] = (),
    ) -> Written:
        """Write the float model after `rewrite`.

        `balanced` are values whose channels it scales, to which it may add; the file names them.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        graph = self.graph.copied()
        if rewrite is not None:
            rewrite(graph)
        marks = balance_mark(balanced) if balanced else None
        return write_onnx(self.file, graph, output, marks=marks)

    def write_ascend(
        self,
        output: Path,
        layers: Collection[Int8Layer],
        *,
        external: bool = False,
        final: Path | None = None,
    ) -> Rewritten:
        """Write the model with `layers` of it on int8, in the form that Ascend's toolkit takes.

        With `external` weights go into a file beside the model; `final` is the path, of the same
        name, that the file is moved to afterwards.
        """
        graph, nodes = self._deploy_form(layers)
        bias = QuantBias.UNFOLDED
        marks = {MARK: bias.value}
        written = write_onnx(
            self.file, graph, output, external=external, gone=_LINEAR, marks=marks, final=final
        )
        opset, before = graph.opsets.get("", 0), bytes_read(self.file)
        return Rewritten(nodes, written.data, opset, before, written.bytes, None, bias)

    def write_qdq(
        self,
        output: Path,
        layers: Collection[Int8Layer],
        *,
        external: bool = False,
        final: Path | None = None,
    ) -> Rewritten:
        """Write the model, of opset 13 or later, in QDQ; see `write_ascend`."""
        graph = self.graph.copied()
        put_qdq(graph, layers, pools=True)
        written = write_onnx(self.file, graph, output, external=external, final=final)
        opset, before = graph.opsets.get("", 0), bytes_read(self.file)
        return Rewritten((), written.data, opset, before, written.bytes)

    def raised(self, folder: Path) -> FloatModel:
        """The model at an opset in which DequantizeLinear takes a scale for each channel.

        Its file goes to `folder` if the model has a lower one; NO_QDQ_FORM where onnx cannot
        convert it.
        """
        if self.graph.opsets.get("", 0) >= _PER_CHANNEL:
            return self
        path = folder / f"{self.file.path.stem}.{_PER_CHANNEL}.onnx"
        try:
            before = onnx.load(self.file.path)
            proto = onnx.version_converter.convert_version(before, _PER_CHANNEL)
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            raise NO_QDQ_FORM.error(
                Text(
                    "scales for each channel need opset {per_channel}, the model has "
                    "{opsets}, and onnx cannot convert it: {text}",
                    per_channel=_PER_CHANNEL,
                    opsets=self.graph.opsets.get("", 0),
                    text=text,
                ),
                place=Place(str(self.shown)),
                help=Text(
                    "export the model at opset {per_channel}, or use --format ascend",
                    per_channel=_PER_CHANNEL,
                ),
            ) from error
        del proto.metadata_props[:]
        proto.metadata_props.extend(before.metadata_props)
        with atomic_write(path, durable=False) as file:
            file.write(proto.SerializeToString())
        return FloatModel(path, self)

    def _deploy_form(
        self, layers: Collection[Int8Layer]
    ) -> tuple[OnnxGraph, tuple[QuantizedNode, ...]]:
        """The graph in the deploy form, and what became of its layers.

        A layer that has no such form stays as it was: its data and weights are not rounded in vain.
        MaxPool is not between QuantizeLinear and DequantizeLinear: Ascend's has floats alone on
        most SoCs.
        """
        refused: dict[int, QuantizedNode] = {}
        while True:
            graph = self.graph.copied()
            left = [layer for layer in layers if layer.layer.node.index not in refused]
            put_qdq(graph, left)
            indices = {layer.layer.node.index for layer in left}
            nodes = import_quantized(graph, self.file.tensors, FOLD_LIMIT, indices)
            failed = {
                node.index: node
                for node in nodes
                if node.index in indices and node.outcome is Outcome.FLOAT
            }
            if not failed:
                others = (node for node in nodes if node.index not in refused)
                return graph, tuple(sorted((*others, *refused.values()), key=lambda x: x.index))
            refused |= failed


def _place_in(graph: OnnxGraph, origin: FloatModel) -> None:
    """Give the nodes of a graph their places in the model that it was made of.

    A node that is not there under the same output, as rewrites may add, has the model's file alone.
    """
    places = {name: node.place for node in origin.graph.nodes for name in node.writes}
    nodes: list[OnnxNode] = []
    for node in graph.nodes:
        known = next((places[name] for name in node.writes if name in places), None)
        place = known or Place(str(origin.shown), None, node.name, node.op_type)
        nodes.append(replace(node, origin=place))
    graph.nodes = nodes


@contextmanager
def original_places(original: FloatModel, folder: Path) -> Iterator[None]:
    """Raise errors about files in `folder` as errors about the original."""
    try:
        yield
    except AtcError as error:
        raise AtcError(
            *(in_original(diagnostic, original, folder) for diagnostic in error.diagnostics)
        ) from error


def in_original(diagnostic: Diagnostic, original: FloatModel, folder: Path) -> Diagnostic:
    """A finding about a file in `folder` as one about the original."""
    place = diagnostic.place
    if place is None or place.file is None or Path(place.file).parent != folder:
        return diagnostic
    return diagnostic._replace(place=_original_place(place, original))


def _original_place(place: Place, original: FloatModel) -> Place:
    """The place of the node of that name; without a position where there is none."""
    named = (
        node
        for node in original.file.nodes
        if place.node_name and place.node_name in {node.name, *node.writes}
    )
    node = next(named, None)
    path = str(original.file.path)
    if node is None:
        return place._replace(file=path, node=None)
    return place._replace(file=path, node=node.index, node_name=node.name)
