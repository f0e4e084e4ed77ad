"""Int8 layers that a SoC takes back to float16, found in the source model."""

from collections.abc import Mapping
from math import prod

from atc_py.source import SourceModel, SourceNode, SourceTensor
from atc_py.tensor.dtypes import DType

_LAYERS = frozenset({"Conv", "ConvTranspose"})
_IMAGE = 4
_CONSTANTS = slice(1, None)


def rolled_back_layers(model: SourceModel, limit: int) -> Mapping[SourceNode, int]:
    """Return the layers that the pass roll-back-quant takes back, with the channels of their data.

    Args:
        model: in the deploy form.
        limit: most channels of the data of such a layer; 0 where the SoC takes none back.
    """
    if not limit or all(node.op_type not in _LAYERS for node in model.all_nodes):
        return {}
    producers = {out: node for node in model.all_nodes for out in node.outputs if out is not None}
    readers: dict[SourceTensor, list[SourceNode | None]] = {}
    for node in model.all_nodes:
        for tensor in node.inputs:
            if tensor is not None:
                readers.setdefault(tensor, []).append(node)
    returned = (*model.outputs, *_returned_by_branches(model))
    for tensor in returned:
        readers.setdefault(tensor, []).append(None)
    found = {}
    for node in model.all_nodes:
        channels = _channels(node, producers)
        if channels is None or channels > limit:
            continue
        if not _has_int8_weights(node) or not _has_constants(node):
            continue
        if node.outputs[0] is not None and _is_dequantized(node, readers.get(node.outputs[0], [])):
            found[node] = channels
    return found


def _returned_by_branches(model: SourceModel) -> list[SourceTensor]:
    """Return the tensors that branches return."""
    branches = (branch for node in model.all_nodes for branch in node.branches.values())
    return [tensor for branch in branches for tensor in branch.outputs]


def _channels(layer: SourceNode, producers: Mapping[SourceTensor, SourceNode]) -> int | None:
    """Return the channels of what the AscendQuant before a layer reads; None for another node."""
    x = layer.inputs[0] if layer.op_type in _LAYERS and layer.inputs else None
    quant = None if x is None else producers.get(x)
    if x is None or quant is None or quant.op_type != "AscendQuant" or x.dtype is not DType.INT8:
        return None
    data = quant.inputs[0] if quant.inputs else None
    if data is None or data.dims is None or len(data.dims) != _IMAGE:
        return None
    return data.dims[1]


def _has_int8_weights(layer: SourceNode) -> bool:
    """Return True if the weights of a layer are int8."""
    weights = layer.inputs[1]
    return weights is not None and weights.dtype is DType.INT8


def _has_constants(node: SourceNode) -> bool:
    """Return True if all inputs but the first are constants."""
    return all(each is None or each.const is not None for each in node.inputs[_CONSTANTS])


def _is_dequantized(layer: SourceNode, readers: list[SourceNode | None]) -> bool:
    """Return True if an AscendDequant with constant factors alone reads the sums of a layer."""
    sums, dequant = layer.outputs[0], readers[0] if len(readers) == 1 else None
    if dequant is None or dequant.op_type != "AscendDequant" or dequant.inputs[0] is not sums:
        return False
    scale, dims = dequant.inputs[1], None if sums is None else sums.dims
    if not _has_constants(dequant) or scale is None or scale.dims is None or dims is None:
        return False
    return prod(scale.shape) in {1, dims[1]}
