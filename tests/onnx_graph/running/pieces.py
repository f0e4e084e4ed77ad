"""Pieces of nodes that no file has."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
from onnx import helper

from atc_py.ir import ConstData
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.running.piece import Piece, PieceSettings


def piece(
    nodes: Sequence[onnx.NodeProto],
    writes: tuple[str, ...] = ("y",),
    constants: Mapping[str, ConstData] | None = None,
) -> Piece:
    """Return nodes of opset 13 as a piece."""
    graph = helper.make_graph(
        list(nodes), "piece", [], [onnx.ValueInfoProto(name=name) for name in writes]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    file = read_model(Path("piece.onnx"), lenient=True, data=model.SerializeToString())
    return Piece(file.nodes, constants or {}, writes, PieceSettings(file.opsets, file.tensors))
