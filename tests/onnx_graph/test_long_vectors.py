"""Vectors that are not shapes: inference takes no memory and no time for their elements."""

import resource
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, helper

from atc_py.onnx_graph.graph import ValueType
from atc_py.onnx_graph.typing import inference_model
from tests.onnx_graph import onnx_files

node = helper.make_node

READERS = {
    "Cast": [node("Cast", ["x"], ["y"], to=1)],
    "Concat": [node("Concat", ["x", "x"], ["y"], axis=0)],
    "Gather": [node("Gather", ["x", "i"], ["y"], axis=0)],
    "Slice": [node("Slice", ["x", "i", "n"], ["y"])],
    "Squeeze": [node("Squeeze", ["x"], ["y"])],
    "Unsqueeze": [node("Unsqueeze", ["x", "i"], ["y"])],
    "behind": [node("Relu", ["x"], ["r"]), node("Cast", ["r"], ["y"], to=1)],
}


@pytest.mark.parametrize("reader", READERS)
def test_long_vector_costs_nothing(tmp_path: Path, reader: str) -> None:
    length = 20_000_000
    weights = {"i": np.array([1], np.int64), "n": np.array([9], np.int64)}
    proto = onnx_files.model(READERS[reader], {"x": (onnx_files.FLOAT, [length])}, ["y"], weights)
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    model = onnx_files.source(proto, tmp_path)
    assert model.nodes
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB
    assert time.process_time() - started < 5


def test_shapes_are_followed_as_long_as_they_are_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "i"], ["g"], axis=0),
        node("Concat", ["g", "n"], ["t"], axis=0),
        node("Reshape", ["x", "t"], ["y"]),
    ]
    weights = {"i": np.array([0], np.int64), "n": np.array([-1], np.int64)}
    asked: list[bool] = []
    has_long_vectors = inference_model.has_long_vectors

    def asking(model: ModelProto, known: Mapping[str, ValueType]) -> bool:
        asked.append(has_long_vectors(model, known))
        return asked[-1]

    monkeypatch.setattr("atc_py.onnx_graph.typing.infer.has_long_vectors", asking)
    proto = onnx_files.model(nodes, {"x": (onnx_files.FLOAT, [2, 3, 4])}, ["y"], weights)
    assert onnx_files.source(proto, tmp_path).nodes
    assert asked
    assert not any(asked)


def test_vector_that_an_earlier_inference_does_not_know_is_found() -> None:
    nodes = [node("Relu", ["x"], ["r"]), node("Unsqueeze", ["r", "i"], ["y"])]
    weights = {"i": np.array([0], np.int64)}
    proto = onnx_files.model(nodes, {"x": (onnx_files.FLOAT, [1 << 17])}, ["y"], weights)
    known = {"x": ValueType(onnx_files.FLOAT, (1 << 17,))}
    assert inference_model.has_long_vectors(proto, known)
    assert not inference_model.has_long_vectors(proto, {**known, "r": ValueType(1, (4,))})
