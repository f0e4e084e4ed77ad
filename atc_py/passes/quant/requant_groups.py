"""Dequantizations and quantizations that CANN's passes on requantization treat together.

They are those of its fusion engine as published in 2020, for v100 and v200 alike: a dequantization
whose results only quantizations read, perhaps through activations, and a quantization that reads
dequantizations through a Concat. Other movement ends a chain.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from atc_py.ir import Graph, Node, Origin
from atc_py.passes.quant.constants import (
    constant_like,
    constant_words,
    counts_as_relu,
    is_activation,
)
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import decode_graph

_NEAR = 1e-5
"""Scales that differ by this or less are the same to CANN; absolute."""

_IMAGE, _CHANNELS = 4, 1
_BLOCK = 32
"""Channels of int8 in a block of NC1HWC0."""

_OFFSETS = range(-128, 128)


class RequantGroup(msgspec.Struct, frozen=True):
    """A chain from AscendDequant to AscendQuant, with all its branches."""

    dequants: tuple[Node, ...]  # where it begins
    activations: tuple[Node, ...]  # between the two, in order; all count as Relu, or none
    cleared: tuple[Node, ...]  # the dequantizations after which an activation follows
    concat: Node | None  # what joins the results of the dequantizations; None for a single one
    quants: tuple[Node, ...]  # where it ends
    scale: float  # what the quantizations multiply by
    relu: bool  # True if the activations count as Relu; True, too, if there are none


class Finder(msgspec.Struct, frozen=True):
    """Search for groups."""

    flat_slope: float  # LeakyRelu with a slope nearer to 0 counts as Relu
    # True if a group is to become AscendRequant: all its quantizations must have one offset, and a
    # Concat of channels must join whole blocks of them
    joins: bool

    def groups(self, graph: Graph) -> list[RequantGroup]:
        """All groups; no node is in two of them."""
        found = []
        for node in graph.nodes:
            if node.op == "AscendDequant":
                found.append(self._after(node))
            elif node.op == "AscendQuant":
                found.append(self._before(node))
        return [group for group in found if group is not None]

    def _after(self, dequant: Node) -> RequantGroup | None:
        """The group of a dequantization whose results only quantizations read."""
        if _is_padded_pool(dequant):
            return None
        readers = [node for node, _ in dequant.output.uses]
        activations = [node for node in readers if is_activation(node)]
        if len(activations) not in {0, len(readers)}:
            return None
        quants = [node.output.uses[0][0] for node in activations] or readers
        # CANN fuses no Relu that several quantizations read; here it is a flag already.
        if len(quants) > 1 and dequant.attributes.get("relu_flag", False):
            return None
        return self._group([dequant], activations, [dequant] if activations else [], None, quants)

    def _before(self, quant: Node) -> RequantGroup | None:
        """The group of a quantization that reads dequantizations through a Concat."""
        node = quant.producer()
        last = node if node is not None and is_activation(node) else None
        concat = node if last is None else last.producer()
        if concat is None or concat.op != "ConcatD" or len(concat.output.uses) != 1:
            return None
        if self.joins and not _is_whole(concat):
            return None
        dequants, activations, cleared = [], [], []
        for value in concat.present_inputs:
            node = value.producer
            if node is not None and is_activation(node):
                activations.append(node)
                node = node.producer()
                if node is not None:
                    cleared.append(node)
            if node is None or node.op != "AscendDequant" or len(node.output.uses) != 1:
                return None
            if _is_padded_pool(node):
                return None
            dequants.append(node)
        if last is not None:
            activations, cleared = [*activations, last], dequants
        return self._group(dequants, activations, cleared, concat, [quant])

    def _group(
        self,
        dequants: Sequence[Node],
        activations: Sequence[Node],
        cleared: Sequence[Node],
        concat: Node | None,
        quants: Sequence[Node],
    ) -> RequantGroup | None:
        if not quants or not all(map(_is_plain, quants)):
            return None
        relus = [counts_as_relu(node, self.flat_slope) for node in activations]
        if any(relus) and not all(relus):
            return None
        if self.joins and len({quant.attributes["offset"] for quant in quants}) != 1:
            return None
        scale = _agreed([_scale(quant) for quant in quants])
        if scale is None:
            return None
        nodes = (tuple(dequants), tuple(activations), tuple(dict.fromkeys(cleared)), concat)
        return RequantGroup(*nodes, tuple(quants), scale, all(relus))


def _is_padded_pool(dequant: Node) -> bool:
    """True after an average pool on int8 with padding that counts: CANN's pass takes VALID alone."""
    pool = dequant.producer()
    if pool is None or pool.op != "DepthwiseConv2D" or not any(pool.attributes["pads"]):  # type: ignore[arg-type]  # verified: integers
        return False
    return any(origin.op_type == "AveragePool" for origin in pool.origins)


def _is_whole(concat: Node) -> bool:
    """True if a Concat joins other axes than channels of images, or whole blocks of them."""
    values = concat.present_inputs
    if concat.output.type.rank != _IMAGE:
        return True
    axis = concat.attributes["concat_dim"]
    if axis not in {_CHANNELS, _CHANNELS - _IMAGE}:
        return True
    return all((value.type.dims[_CHANNELS] or 1) % _BLOCK == 0 for value in values)


def _is_plain(quant: Node) -> bool:
    """True if a node quantizes to int8, with a whole-number offset once it is cut."""
    attributes = quant.attributes
    if quant.op != "AscendQuant" or quant.output.type.dtype is not DType.INT8:
        return False
    offset = attributes["offset"]
    if not isinstance(offset, float) or not _OFFSETS.start - 1 < offset < _OFFSETS.stop:
        return False
    return attributes.get("round_mode", "Round") == "Round"


def _scale(quant: Node) -> float:
    scale = float(quant.attributes["scale"])  # type: ignore[arg-type]  # verified: a float
    return scale * scale if quant.attributes.get("sqrt_mode", False) else scale


def _agreed(scales: Sequence[float]) -> float | None:
    """The scale that stands for all, as CANN finds it; None where they are apart."""
    base = 0.0
    for scale in scales:
        if abs(base) < _NEAR:
            base = scale
        elif abs(scale - base) > _NEAR:
            return None
    return base


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
