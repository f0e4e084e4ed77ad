"""Scales of quantizations, moved into the factors of the dequantizations before them."""

import numpy as np
import numpy.typing as npt

from atc_py.ir import Graph, Node, Origin
from atc_py.passes.quant.constants import constant_like, constant_words
from atc_py.passes.quant.requant_groups import RequantGroup
from atc_py.tensor.scale_words import decode_graph


def scaled_factors(
    dequant: npt.NDArray[np.float32], scale: float
) -> npt.NDArray[np.float32] | None:
    """The float32 products; None if one is not finite, too small, or `scale` flips signs."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        factor = np.float32(scale)
        factors: npt.NDArray[np.float32] = dequant * factor
    lost = (np.abs(factors) < np.finfo(np.float32).tiny) & (dequant != 0)
    if not factor > 0 or not np.isfinite(factors).all() or lost.any():
        return None
    return factors


def fold_scale(graph: Graph, group: RequantGroup) -> bool:
    """Let dequantizations multiply by the scale, and quantizations by 1; False if that cannot be.

    Between them is a Concat or LeakyRelu, to which a positive factor makes no difference, or
    counts as Relu and becomes the flag of the dequantizations.
    """
    words = [_scaled_words(dequant, group.scale) for dequant in group.dequants]
    if any(each is None for each in words):
        return False
    for dequant, each in zip(group.dequants, words, strict=True):
        if each is not None:
            dequant.set_input(1, constant_like(graph, dequant.input(1), "scaled", each))
    for quant in group.quants:
        quant.attributes |= {"scale": 1.0, "sqrt_mode": False}
    kept = [*group.dequants, *([] if group.concat is None else [group.concat])]
    if group.relu:
        _clear(graph, group)
    else:
        kept += group.activations
    for node in kept:
        node.origins = _origins(node, group)
    return True


def _scaled_words(dequant: Node, scale: float) -> npt.NDArray[np.uint64] | None:
    old = constant_words(dequant.input(1))
    if old is None or decode_graph(old).shift.any():
        return None
    factors = scaled_factors(decode_graph(old).scale, scale)
    if factors is None:
        return None
    low = factors.view(np.uint32).astype(np.uint64)
    words: npt.NDArray[np.uint64] = (old & np.uint64(0xFFFFFFFF << 32)) | low
    return words


def _clear(graph: Graph, group: RequantGroup) -> None:
    for dequant in group.cleared:
        dequant.attributes["relu_flag"] = True
    for activation in group.activations:
        value = activation.input(0)
        if value is not None:
            activation.output.replace_by(value)
            activation.drop_inputs()
    graph.remove_nodes(group.activations)


def _origins(node: Node, group: RequantGroup) -> tuple[Origin, ...]:
    """The origins of a node whose result is scaled, so that it is not a value of the model.

    With those of the quantization last it is a step of that. Of several quantizations it is a step
    of none.
    """
    if len(group.quants) > 1:
        return ()
    return tuple(dict.fromkeys((*node.origins, *group.quants[0].origins)))
