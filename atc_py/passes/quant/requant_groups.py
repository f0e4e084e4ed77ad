"""Dequantizations and quantizations that CANN's passes on requantization treat together.

They are those of its fusion engine as published in 2020, for v100 and v200 alike: a dequantization
whose results only quantizations read, perhaps through activations, and a quantization that reads
dequantizations through a Concat. Other movement ends a chain.
"""

from collections.abc import Sequence

import msgspec

from atc_py.ir import Graph, Node
from atc_py.passes.quant.constants import counts_as_relu, is_activation
from atc_py.tensor.dtypes import DType

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
        node = _producer(quant)
        last = node if node is not None and is_activation(node) else None
        concat = node if last is None else _producer(last)
        if concat is None or concat.op != "ConcatD" or len(concat.output.uses) != 1:
            return None
        if self.joins and not _is_whole(concat):
            return None
        dequants, activations, cleared = [], [], []
        for value in concat.present_inputs:
            node = value.producer
            if node is not None and is_activation(node):
                activations.append(node)
                node = _producer(node)
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
    pool = _producer(dequant)
    if pool is None or pool.op != "DepthwiseConv2D" or not any(pool.attributes["pads"]):  # type: ignore[arg-type]  # verified: integers
        return False
    return any(origin.op_type == "AveragePool" for origin in pool.origins)


def _producer(node: Node) -> Node | None:
    value = node.input(0)
    return None if value is None else value.producer


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
