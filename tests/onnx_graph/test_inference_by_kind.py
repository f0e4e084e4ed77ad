"""Types that are inferred kind by kind are those that onnx infers of the whole graph."""

from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest

from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.graph import OnnxGraph, ValueType
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.typing import infer, inference_by_kind
from atc_py.onnx_graph.typing.infer import infer_types
from atc_py.onnx_graph.typing.inference_by_kind import infer_by_kind
from atc_py.onnx_graph.typing.inference_model import inference_model
from tests.bench.growing_models import SHAPES

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'


def graph_of(model: onnx.ModelProto, folder: Path) -> OnnxGraph:
    """The graph of a model, of which nothing is inferred yet."""
    path = folder / "m.onnx"
    onnx.save(model, path)
    file = read_model(path, lenient=True)
    return file.graph(observe_inputs(path, file.inputs, {}))


def whole_types(graph: OnnxGraph) -> dict[str, ValueType]:
    """The types by inference of the whole graph."""
    whole = graph.copied()
    infer_types(whole)
    return whole.types


def parsed(text: str, folder: Path) -> OnnxGraph:
    return graph_of(onnx.parser.parse_model(HEAD + text), folder)


def by_kind(graph: OnnxGraph) -> tuple[dict[str, ValueType] | None, int]:
    """The types by kinds, and how many nodes onnx was asked about."""
    asked = 0

    def inferred(piece: OnnxGraph) -> dict[str, ValueType]:
        nonlocal asked
        asked += len(piece.nodes)
        return whole_types(piece)

    return infer_by_kind(graph, inferred), asked


@pytest.mark.parametrize("shape", ["convolutions", "transformer", "views"])
def test_layers_are_inferred_once(
    shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference_by_kind, "PIECE", 50)
    graph = graph_of(SHAPES[shape](400), tmp_path)
    types, asked = by_kind(graph)
    assert types == whole_types(graph)
    assert 0 < asked <= 100


@pytest.mark.parametrize("piece", [1, 2])
def test_kinds_differ_by_type_attribute_and_value_of_integers(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference_by_kind, "PIECE", piece)
    text = """ g (float[2, 6] x, float[3, 4] w) => (float[6, 2] e)
        <int64[2] s = {3, 4}, int64[2] t = {4, 3}, int64[2] u = {6, 2}> {
        a = Reshape (x, s)  b = Reshape (a, t)  c = Transpose <perm = [1, 0]> (b)
        d = Transpose <perm = [0, 1]> (c)  f = Add (d, w)  g = Cast <to = 10> (f)
        h = Reshape (g, u)  e = Cast <to = 1> (h)
    }"""
    graph = parsed(text, tmp_path)
    types, _ = by_kind(graph)
    assert types is not None
    assert types == whole_types(graph)
    assert [types[name].dims for name in "abdh"] == [(3, 4), (4, 3), (3, 4), (6, 2)]


def test_scales_differ_by_value(tmp_path: Path) -> None:
    text = """ g (float[1, 1, 2, 2] x) => (float[1, 1, 12, 12] z)
        <float[4] s = {1, 1, 2, 2}, float[4] t = {1, 1, 3, 3}> {
        y = Resize (x, , s)  z = Resize (y, , t)
    }"""
    graph = parsed(text, tmp_path)
    types, asked = by_kind(graph)
    assert types == whole_types(graph)
    assert asked > 0


@pytest.mark.parametrize(
    "text",
    [
        " g (float[2, 6] x) => (z) { s = Shape (x)  z = Reshape (x, s) }",
        " g (float[n, 6] x) => (z) { z = Relu (x) }",
        " g (float[2, 6] x) => (z) <int64[1] s = {2}> { t = Neg (s)  z = Reshape (x, t) }",
        " g (float[2, 6] x) => (z) { z, m = Dropout (x)  y = Relu (x)  y = Neg (x) }",
        " g (float[2, 6] x) => (z) { y = Unheard (x)  z = Relu (y) }",
        " g (float[2, 6] x, float[3] c) => (z) { y = Add (x, c)  z = Relu (y) }",
    ],
)
def test_what_follows_from_more_is_left_to_the_whole_graph(text: str, tmp_path: Path) -> None:
    assert by_kind(parsed(text, tmp_path))[0] is None


def test_large_graphs_are_inferred_by_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(SHAPES["transformer"](200), tmp_path)
    wanted = whole_types(graph)
    monkeypatch.setattr(infer, "MANY_NODES", 100)
    monkeypatch.setattr(inference_by_kind, "PIECE", 50)
    sizes: list[int] = []

    def noted(graph: OnnxGraph, *others: Any) -> onnx.ModelProto:
        sizes.append(len(graph.nodes))
        return inference_model(graph, *others)

    monkeypatch.setattr(infer, "inference_model", noted)
    assert whole_types(graph) == wanted
    assert sizes
    assert max(sizes) == 50
