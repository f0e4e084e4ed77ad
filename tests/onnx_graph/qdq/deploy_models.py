"""Small models in the deploy form, and their rewrites by way of files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.rewriting.qdq.rewriting import rewrite_file
from atc_py.options.compile_options import QuantBias
from atc_py.tensor.scale_words import GraphWords, encode_graph
from tests.onnx_graph import onnx_files

Array = npt.NDArray[Any]


node = helper.make_node
FLOAT = onnx_files.FLOAT
STEP, ZERO = 0.25, -3
QUANT = node("AscendQuant", ["x"], ["q"], "quant", scale=1 / STEP, offset=float(ZERO))


def words(scale: Sequence[float], offset_w: Sequence[int] | int = 0) -> Array:
    """Return graph words without shift."""
    factors = np.array(scale, np.float32)
    offsets = np.broadcast_to(np.array(offset_w, np.int64), factors.shape)
    return encode_graph(GraphWords(factors, np.zeros(factors.shape, np.int64), offsets))


def dequant(d: Array, **attributes: Any) -> tuple[onnx.NodeProto, dict[str, Array]]:
    """Return AscendDequant of `sum` with the factors given, or words."""
    return node("AscendDequant", ["sum", "d"], ["y"], "dequant", **attributes), {"d": d}


def rewritten(
    proto: onnx.ModelProto,
    folder: Path,
    form: str = "qdq",
    name: str = "model",
    quant_bias: QuantBias | None = None,
) -> onnx.ModelProto:
    """Return `proto` in another form, by way of files; the checker has passed it if it is QDQ."""
    path = folder / f"{name}.onnx"
    path.write_bytes(proto.SerializeToString())
    rewrite_file(read_model(path), folder / f"{name}.{form}.onnx", form, quant_bias=quant_bias)
    found = onnx.load(folder / f"{name}.{form}.onnx")
    if form == "qdq":
        onnx.checker.check_model(typed(found), full_check=True)
    return found


def typed(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return `proto` with the types of its outputs, which the checker wants."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    known = {each.name: each for each in onnx.shape_inference.infer_shapes(copy).graph.output}
    for output in copy.graph.output:
        output.CopyFrom(known[output.name])
    return copy


def operators(proto: onnx.ModelProto) -> list[str]:
    """Return the operators in order."""
    return [each.op_type for each in proto.graph.node]


def inputs_of(proto: onnx.ModelProto, output: str) -> list[Array]:
    """Return the constant inputs of the node that writes `output`."""
    consts = {each.name: numpy_helper.to_array(each) for each in proto.graph.initializer}
    found = next(each for each in proto.graph.node if output in each.output)
    return [consts[name] for name in found.input if name in consts]


def operands(proto: onnx.ModelProto, op_type: str) -> list[list[Array]]:
    """Return of the one node of that operator, the constants that each dequantized operand has."""
    (layer,) = (each for each in proto.graph.node if each.op_type == op_type)
    return [inputs_of(proto, name) for name in layer.input]


def layer_model(
    layer: onnx.NodeProto,
    weights: Mapping[str, Array],
    shape: Sequence[int],
    scale: Sequence[float],
    offset_w: Sequence[int] | int = 0,
    **options: Any,
) -> onnx.ModelProto:
    """Return AscendQuant, a layer whose sums are called `sum`, AscendDequant."""
    last, factors = dequant(words(scale, offset_w))
    return onnx_files.model(
        [QUANT, layer, last], {"x": (FLOAT, list(shape))}, ["y"], {**weights, **factors}, **options
    )
