"""Conformance cases whose shapes are hidden: every input passes a Reshape that the run tells."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from tests.conformance.cases import Outcome, compiled_outcome

_FIRST_OPSET = 5
"""From here on Reshape takes its shape as an input."""

_SHAPE, _HIDDEN = ".shape", ".hidden"


def hidden(model: onnx.ModelProto) -> list[str]:
    """Hide the shapes of the inputs of `model` that have any; their names.

    The shape of input `x` is then fed as `x.shape`.
    """
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    names = [
        value.name
        for value in graph.input
        if value.name not in weights and value.type.tensor_type.shape.dim
    ]
    ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in graph.input}
    _rename(graph, {name: name + _HIDDEN for name in names})
    nodes = [helper.make_node("Reshape", [n, n + _SHAPE], [n + _HIDDEN]) for n in names]
    nodes += graph.node
    del graph.node[:]
    graph.node.extend(nodes)
    graph.input.extend(
        helper.make_tensor_value_info(name + _SHAPE, TensorProto.INT64, [ranks[name]])
        for name in names
    )
    return names


def _rename(graph: onnx.GraphProto, new: dict[str, str]) -> None:
    """Let the nodes of a graph, and of those in it, read other values."""
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g, new)


def hidden_outcome(case: Path, mode: str) -> Outcome | None:
    """Return the outcome of a case with hidden shapes; None where it has none to hide."""
    model = onnx.load(case / "model.onnx")
    opset = max((each.version for each in model.opset_import if not each.domain), default=0)
    if opset < _FIRST_OPSET or not (names := hidden(model)):
        return None

    def prepare(feeds: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        shapes = {name + _SHAPE: np.array(feeds[name].shape, np.int64) for name in names}
        return {**feeds, **shapes}

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, path)
        return compiled_outcome(case, path, mode, prepare)
