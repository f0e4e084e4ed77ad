"""Products of uint8 and int8 in a form whose sums onnxruntime gets right on every processor.

On x86-64 without VNNI onnxruntime adds pairs of such products in 16 bits, which saturate: 64 times
255 * 127 is 1,048,544 in place of 2,072,640 (seen with 1.32.0 on AVX2). Its option
`session.x64quantprecision` mends constant weights of optimized sessions alone. Both operands in
uint8 are added in 32 bits, and w - z = (w + 128) - (z + 128).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_SHIFT = 128


class _Weights(NamedTuple):
    """Positions of weights and of their zero point, of the data and of theirs.

    `scale` is that of the scales with which a zero point goes. Data without a position are floats,
    which the layer makes uint8.
    """

    weights: int
    zero: int
    data: int | None = 0
    data_zero: int = 2
    scale: int | None = None


_LAYERS: Mapping[str, tuple[_Weights, ...]] = {
    "MatMulInteger": (_Weights(1, 3),),
    "ConvInteger": (_Weights(1, 3),),
    "QLinearMatMul": (_Weights(3, 5),),
    "QLinearConv": (_Weights(3, 5),),
    "QGemm": (_Weights(3, 5),),
    "MatMulIntegerToFloat": (_Weights(1, 5, data_zero=4, scale=3),),
    "DynamicQuantizeMatMul": (_Weights(1, 3, None, scale=2),),
    "QAttention": (_Weights(1, 7, data_zero=6, scale=4),),
    "DynamicQuantizeLSTM": (_Weights(1, 9, None, scale=8), _Weights(2, 11, None, scale=10)),
}


def has_products(nodes: Iterable[onnx.NodeProto]) -> bool:
    """True if one of the nodes multiplies codes of 8 bits."""
    return any(node.op_type in _LAYERS for node in nodes)


def shift_weights(model: onnx.ModelProto) -> None:
    """Give layers of uint8 data uint8 weights in place of int8 ones, with the same results.

    Only nodes of the main graph are looked at. Types that cannot be inferred leave a node as it is.
    """
    graph = model.graph
    if not has_products(graph.node):
        return
    elements = _elements(model)
    constants = {tensor.name: tensor for tensor in graph.initializer}
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        for row in _LAYERS.get(node.op_type, ()):
            if _is_mixed(node, row, elements):
                nodes += _shifted(graph, node, row, constants)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


def _is_mixed(node: onnx.NodeProto, row: _Weights, elements: Mapping[str, int]) -> bool:
    if elements.get(node.input[row.weights]) != TensorProto.INT8:
        return False
    # The zero point has the data's type, and is known after an operator that inference does not know.
    data = () if row.data is None else (row.data, row.data_zero)
    names = [node.input[position] for position in data if position < len(node.input)]
    return not data or TensorProto.UINT8 in map(elements.get, names)


def _shifted(
    graph: onnx.GraphProto,
    node: onnx.NodeProto,
    row: _Weights,
    constants: Mapping[str, onnx.TensorProto],
) -> list[onnx.NodeProto]:
    """Let `node` read shifted weights; the nodes that make what is no constant."""
    before: list[onnx.NodeProto] = []
    node.input.extend([""] * (row.zero + 1 - len(node.input)))
    for position in (row.weights, row.zero):
        name = node.input[position]
        shifted = f"{name}/{node.output[0]}/{position}/uint8"
        tensor = constants.get(name)
        if tensor is not None and tensor.data_location != TensorProto.EXTERNAL:
            codes = numpy_helper.to_array(tensor).astype(np.int16) + _SHIFT
            graph.initializer.append(numpy_helper.from_array(codes.astype(np.uint8), shifted))
        elif name:
            before += _shift_nodes(graph, name, shifted)
        elif row.scale is not None:
            value = helper.make_tensor("value", TensorProto.UINT8, [1], [_SHIFT])
            before += [
                helper.make_node("Shape", [node.input[row.scale]], [f"{shifted}/dims"]),
                helper.make_node("ConstantOfShape", [f"{shifted}/dims"], [shifted], value=value),
            ]
        else:
            graph.initializer.append(numpy_helper.from_array(np.uint8(_SHIFT), shifted))
        node.input[position] = shifted
    return before


def _shift_nodes(graph: onnx.GraphProto, name: str, shifted: str) -> list[onnx.NodeProto]:
    graph.initializer.append(numpy_helper.from_array(np.int32(_SHIFT), f"{shifted}/128"))
    return [
        helper.make_node("Cast", [name], [f"{shifted}/int32"], to=TensorProto.INT32),
        helper.make_node("Add", [f"{shifted}/int32", f"{shifted}/128"], [f"{shifted}/sum"]),
        helper.make_node("Cast", [f"{shifted}/sum"], [shifted], to=TensorProto.UINT8),
    ]


def _elements(model: onnx.ModelProto) -> dict[str, int]:
    """ONNX's numbers of element types, by value, as far as they are stated or inferred."""
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # noqa: BLE001  (onnx raises anything; what is stated is known all the same)
        graph = model.graph
    typed = (*graph.input, *graph.value_info, *graph.output)
    stated = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    return {value.name: value.type.tensor_type.elem_type for value in typed} | stated
