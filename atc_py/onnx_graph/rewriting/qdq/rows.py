"""Layers on int8 along one axis, written as CANN's parser makes them: on images of one row."""

from typing import Any

import numpy as np

from atc_py.ir import DeferredConst
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.tensor.dtypes import DType

_ROWS = 3
_SCALING = frozenset({"AscendDequant", "AscendRequant"})
_AXIS = 2
"""The axis of 1: before the last, so that the length is the width."""

_AXES_AS_INPUT = 13
"""The opset from which on Squeeze and Unsqueeze have axes as an input."""

_OF_ONE = {"dilations": 1, "kernel_shape": 1, "strides": 1, "output_padding": 0, "output_shape": 1}
"""Attributes with a number for each axis, and the number for an axis of 1."""


def write_rows_as_images(graph: OnnxGraph) -> None:
    """Write each convolution of rank 3 by int8 weights as that of an image of one row.

    Its data get an axis of 1 before the last, which the node that scales its sums loses again, or,
    where something else reads them, the sums.
    """
    layers = [node for node in graph.nodes if _is_of_rows(graph, node)]
    if not layers:
        return
    writer, images = Writer(graph), dict[str, str]()
    for node in graph.nodes:
        if node in layers:
            (y,) = node.output_names
            image = _write_image(writer, node)
            if _scaling(graph, y):
                images[y] = image
            else:
                _moved(writer, node, "Squeeze", image, y)
        elif node.input_names and node.input_names[0] in images:
            image, y = images[node.input_names[0]], node.output_names[0]
            scaled = writer.fresh(f"{y}/image")
            inputs = [image, *node.input_names[1:]]
            writer.again(node, node.op_type, inputs, [scaled], with_own=True)
            _moved(writer, node, "Squeeze", scaled, y)
        else:
            writer.keep(node)
    writer.finish()


def _scaling(graph: OnnxGraph, sums: str) -> bool:
    """True if AscendDequant or AscendRequant alone reads the sums of a layer."""
    if not graph.is_read_once(sums):
        return False
    (reader,) = graph.uses(sums)
    return reader.op_type in _SCALING and reader.input_names[0] == sums


def _is_of_rows(graph: OnnxGraph, node: OnnxNode) -> bool:
    if node.domain or node.op_type not in {"Conv", "ConvTranspose"} or node in graph.unsound:
        return False
    weights = graph.consts.get(node.input_names[1])
    return weights is not None and weights.dtype is DType.INT8 and len(weights.shape) == _ROWS


def _write_image(writer: Writer, node: OnnxNode) -> str:
    """Write the layer of an image; return the name of its sums."""
    data, weights, *bias = node.input_names
    known = writer.graph.consts[weights]
    shape = (*known.shape[:_AXIS], 1, known.shape[_AXIS])
    held = DeferredConst(DType.INT8, shape, [known], lambda codes: codes.reshape(shape), "codes")
    inputs = [
        _moved(writer, node, "Unsqueeze", data),
        writer.const(f"{weights}/image", held),
        *bias,
    ]
    changed: dict[str, Any] = {
        name: [one, *node.integers(name)]
        for name, one in _OF_ONE.items()
        if name in node.plain_attributes
    }
    if "pads" in node.plain_attributes:
        begin, end = node.integers("pads")
        changed["pads"] = [0, begin, 0, end]
    image = writer.fresh(f"{node.output_names[0]}/image")
    writer.again(node, node.op_type, inputs, [image], with_own=True, **changed)
    return image


def _moved(writer: Writer, node: OnnxNode, op_type: str, name: str, result: str = "") -> str:
    """Write Unsqueeze or Squeeze of the axis."""
    result = result or writer.fresh(f"{name}/image")
    if writer.graph.opsets.get("", 0) < _AXES_AS_INPUT:
        return writer.op(node, op_type, [name], result, axes=[_AXIS])
    axes = writer.const(f"{result}/axes", np.array([_AXIS], np.int64))
    return writer.op(node, op_type, [name, axes], result)
