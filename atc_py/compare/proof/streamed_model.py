"""A model that runs with its weights where they are: each piece reads those of its own nodes, and drops them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from atc_py.compare.node_order import read_by
from atc_py.compare.piece import Piece
from atc_py.compare.proof.node_group import FED_BYTES, constant_bytes
from atc_py.compare.reference import ReferenceModel
from atc_py.diag import Place
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.rewriting.model_message import whole_node

_PIECE = 128 << 20
"""Bytes of weights of a piece, unless one node has more."""


class StreamedModel(ReferenceModel):
    """A model whose weights are read from its file as pieces run.

    Attributes:
        file: the file.
    """

    def __init__(self, file: OnnxFile) -> None:
        self.file = file
        super().__init__(file.path, file.proto, _PIECE)

    def run_piece(self, at: int, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Results of the piece at `at`; those that are not tensors are left out.

        Raises:
            AtcError: REFERENCE_FAILED where neither onnxruntime nor onnx's evaluator runs it.
        """
        weights = self.file.contents.weights
        large = [name for name in self._constants_of(self.pieces[at]) if self._is_fed(name)]
        try:
            fed = {name: np.asarray(weights[name].numpy()) for name in large}
            return super().run_piece(at, {**feeds, **fed})
        finally:
            for name in large:
                weights[name].release()

    def constant(self, name: str) -> NDArray[Any] | None:
        """The constant of an initializer or a Constant node; None for other names."""
        found = self.file.contents.weights.get(name)
        return super().constant(name) if found is None else np.asarray(found.numpy())

    def _weight_bytes(self, name: str) -> int:
        """Bytes of initializer `name`; 0 where it is none."""
        found = self.file.contents.weights.get(name)
        return super()._weight_bytes(name) if found is None else constant_bytes(found)

    def _is_fed(self, name: str) -> bool:
        return name in self.file.contents.weights and self._weight_bytes(name) >= FED_BYTES

    def _constants_of(self, piece: Piece) -> list[str]:
        read = dict.fromkeys(name for node in piece.nodes for name in read_by(node))
        return [name for name in read if name in self.constants]

    def _model_of(self, piece: Piece, feeds: Mapping[str, NDArray[Any]]) -> onnx.ModelProto:
        """A model of the piece alone; the types of its inputs are those of `feeds`."""
        model = onnx.ModelProto(ir_version=self._proto.ir_version)
        model.opset_import.extend(self._proto.opset_import)
        graph, place = model.graph, Place(str(self.path))
        graph.name = "piece"
        graph.node.extend(whole_node(each, self.file.tensors, place) for each in piece.nodes)
        for name, array in feeds.items():
            element = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(helper.make_tensor_value_info(name, element, array.shape))
        for name in self._constants_of(piece):
            const = self.file.contents.weights.get(name)
            if const is None:
                graph.initializer.append(self.constants[name])
            elif name not in feeds:
                graph.initializer.append(numpy_helper.from_array(np.asarray(const.numpy()), name))
        graph.sparse_initializer.extend(self._proto.graph.sparse_initializer)
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in piece.writes)
        return model
