"""Int8 layers of few input channels go back to float16."""

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from atc_py.ir import DenseConst, Graph, Node, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.precision.columns import insert_cast
from atc_py.passes.quant.constants import constant_codes, constant_factors, whole_scale
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import channel_axis
from atc_py.text import Text

Floats = npt.NDArray[np.float32]


_LAYERS = frozenset({"Conv2D", "DepthwiseConv2D", "Conv2DTransposeD"})
"""Layers of CANN's rule that models in ONNX have. It exempts products of matrices."""

_IMAGE = 4
_BIAS, _OFFSET_W = 2, 3


class RollBackQuantPass(Pass):
    """AscendDequant(layer(AscendQuant(x; s), w, b), d) = layer(x, (w - offset_w) * d * s, b * d).

    All is float16 on the right. Nodes must follow one another directly, and the data have at most
    as many channels, all groups together, as the SoC's rules say; where their number is unknown,
    nothing is done. Layers that read the same AscendQuant and have no such AscendDequant keep it.

    CANN's fusion engine has a pass for each kind of layer. It inserts the host operators
    QuantWeightRollBack and QuantBiasRollBack with these operands; their formulas are not published.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        limit = context.soc.quant_rules.roll_back
        layers = [_quantized(node, limit) for node in graph.nodes if limit and node.op in _LAYERS]
        found = [each for each in layers if each is not None]
        for each in found:
            _roll_back(graph, each, context)
        return len(found)


class _Quantized(msgspec.Struct, frozen=True):
    """A layer on int8 with the nodes around it, and its constants."""

    quant: Node  # the AscendQuant that its data come from
    layer: Node
    dequant: Node  # the AscendDequant that alone reads its sums
    channels: int
    weights: Floats  # its weights less their offset, as whole numbers in float32
    factors: Floats  # of its sums, one or one for each output channel


def _quantized(layer: Node, limit: int) -> _Quantized | None:
    quant = layer.producer()
    data = None if quant is None or quant.op != "AscendQuant" else quant.input(0)
    if quant is None or data is None or len(data.type.dims) != _IMAGE:
        return None
    channels = data.type.dims[1]
    if channels is None or channels > limit or quant.output.type.dtype is not DType.INT8:
        return None
    dequant, at = layer.output.uses[0] if len(layer.output.uses) == 1 else (layer, 0)
    if dequant.op != "AscendDequant" or at != 0:
        return None
    weights, factors = _weights(layer), constant_factors(dequant)
    bias = layer.input(_BIAS)
    if weights is None or factors is None or (bias is not None and constant_codes(bias) is None):
        return None
    if channel_axis(layer.output.type.shape, factors.size) != 1 and factors.size != 1:
        return None
    return _Quantized(quant, layer, dequant, channels, weights, factors.reshape(-1))


def _weights(layer: Node) -> Floats | None:
    weights, offset = layer.input(1), layer.input(_OFFSET_W)
    codes = constant_codes(weights)
    if codes is None or weights is None or weights.type.dtype is not DType.INT8:
        return None
    numbers: Floats = codes.astype(np.float32)
    if offset is None:
        return numbers
    offsets = constant_codes(offset)
    return None if offsets is None else numbers - _by_output(layer, offsets, numbers)


def _by_output(layer: Node, values: npt.NDArray[Any], weights: Floats) -> Floats:
    """One number, or one for each output channel, in a shape that goes with the weights.

    Filters have output channels first; those of a transposed convolution have the input channels
    of all groups first, then the output channels of one.
    """
    flat: Floats = values.astype(np.float32).reshape(-1)
    if flat.size == 1:
        return flat.reshape(1, 1, 1, 1)
    if layer.op != "Conv2DTransposeD":
        return flat.reshape(-1, 1, 1, 1)
    count = int(layer.attributes.get("groups", 1))  # type: ignore[arg-type]  # verified: an int
    groups = flat.reshape(count, -1)
    return groups.repeat(weights.shape[0] // count, axis=0)[:, :, None, None]


def _roll_back(graph: Graph, found: _Quantized, context: PassContext) -> None:
    layer, dequant = found.layer, found.dequant
    reason = Text("roll-back-quant: {channels} input channels", channels=found.channels)
    layer.set_inputs(_inputs(reason, graph, found, context))
    layer.attributes.pop("offset_x", None)
    relu = dequant.attributes.get("relu_flag", False)
    layer.output.stands_for = () if relu else dequant.output.stands_for  # it was sums of codes
    layer.origins = tuple(dict.fromkeys((*layer.origins, *dequant.origins)))
    result = hand_on_floats(reason, graph, layer, found.quant, dequant, context)
    result.name = dequant.output.name


def hand_on_floats(
    reason: Text, graph: Graph, layer: Node, quant: Node, dequant: Node, context: PassContext
) -> Value:
    """Let `layer` give float16 to the readers of `dequant`; that goes, and `quant` if it is idle."""
    layer.output.type = layer.output.type.with_dtype(DType.FLOAT16)
    if layer.origins:
        context.decisions.rolled_back[layer.origins[0]] = reason
    result = layer.output
    if dequant.attributes.get("relu_flag", False):
        typed = [(f"{dequant.output.name}.relu", result.type)]
        result = graph.add_node("Relu", [result], typed, {}, dequant.origins).output
    result = cast_for(reason, graph, result, dequant.output.type.dtype, context)
    dequant.output.replace_by(result)
    dequant.drop_inputs()
    graph.remove_nodes([dequant, *([] if quant.output.is_used else [quant])])
    return result


def _inputs(
    reason: Text, graph: Graph, found: _Quantized, context: PassContext
) -> list[Value | None]:
    """Operands of the layer: the floats before AscendQuant, weights and bias as float16."""
    layer, quant = found.layer, found.quant
    data, bias = quant.input(0), layer.input(_BIAS)
    name = layer.output.name
    inputs: list[Value | None] = [
        None if data is None else cast_for(reason, graph, data, DType.FLOAT16, context)
    ]
    with np.errstate(over="ignore"):
        steps = _by_output(layer, found.factors * whole_scale(quant), found.weights)
        weights = (found.weights * steps).astype(np.float16)
        inputs.append(graph.constant(f"{name}.weights", DenseConst(weights)))
        codes = constant_codes(bias)
        if codes is not None:
            floats = (codes.astype(np.float32) * found.factors).astype(np.float16)
            inputs.append(graph.constant(f"{name}.bias", DenseConst(floats)))
    return inputs


def cast_for(reason: Text, graph: Graph, value: Value, dtype: DType, context: PassContext) -> Value:
    """`value` as `dtype`, by a Cast that is on record with its reason where it needs one."""
    if value.type.dtype is dtype:
        return value
    made = insert_cast(graph, value, dtype, context.soc)
    if made.producer is not None:
        context.decisions.casts[made.producer.name] = lambda: reason
    return made
