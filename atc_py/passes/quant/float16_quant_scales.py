"""Factors of quantization as float16, for SoCs whose units read no 64-bit words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atc_py.diag import Sink
from atc_py.diag.codes import NO_KERNEL
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.constants import constant_like, constant_words
from atc_py.tensor.scale_words import decode_graph

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from atc_py.ir import Graph, Node

    Floats = npt.NDArray[np.float32]

__all__ = ["Float16QuantScalesPass"]

_LEAST, _LARGEST = 2.0**-14, 65504.0
"""The smallest and the largest normal number of float16."""


class Float16QuantScalesPass(Pass):
    """AscendDequant(x, words(d)) = AscendDequant(x, float16(d)), or with its root twice.

    A factor of magnitude below 2^-14 or above 65504 is none that float16 holds well. The node then
    gets float16(sqrt(d)) for all its channels and sqrt_mode, with which it multiplies twice. 0 is
    held as it is. A factor below 0 has no root: float16 rounds it where it is small, and a large
    one is refused. AscendQuant gets sqrt(scale) and sqrt_mode likewise.
    CANN's way on SoCs without a unit that requantizes.
    """

    name = "float16-quant-scales"
    atc_names = ("V100RequantFusionPass",)
    summary = (
        "Turns 64-bit scale words into float16 factors, or their roots, where the SoC needs it."
    )
    optional = False

    def run(self, graph: Graph, context: PassContext) -> int:
        """Rewrite every node that needs it; returns how many."""
        if context.soc.deq_words:
            return 0
        sink = Sink()
        changes = sum(
            _narrow(graph, node, context, sink)
            if node.op == "AscendDequant"
            else node.op == "AscendQuant" and _take_root(node)
            for node in graph.nodes
        )
        sink.raise_errors()
        return changes


def _narrow(graph: Graph, dequant: Node, context: PassContext, sink: Sink) -> bool:
    """Give a dequantization with constant words float16 factors."""
    old = dequant.input(1)
    words = constant_words(old)
    if words is None:
        return False
    import numpy as np

    scale = decode_graph(words).scale
    rooted = _needs_root(scale)
    with np.errstate(over="ignore"):
        factors = (np.sqrt(scale) if rooted else scale).astype(np.float16)
    if not np.isfinite(factors).all():
        worst = scale[~np.isfinite(factors)].flat[0]
        message = (
            f"deq_scale must be a number that {context.soc.name} can multiply by, once or by its "
            f"root twice, as float16; found {worst:g}"
        )
        hint = "quantize the layer with other factors, or choose another --soc"
        sink.add(NO_KERNEL.diagnostic(message, place=context.place(dequant), help=hint))
        return False
    dequant.set_input(1, constant_like(graph, old, "float16", factors))
    dequant.attributes["sqrt_mode"] = rooted
    return True


def _needs_root(scale: Floats) -> bool:
    """Return True if a factor lies beyond float16's normal numbers and all of them have a root."""
    import numpy as np

    beyond = ((scale < _LEAST) & (scale != 0)) | (scale > _LARGEST)
    return bool(beyond.any() and (scale >= 0).all() and np.isfinite(scale).all())


def _take_root(quant: Node) -> bool:
    """Give a quantization the root of a scale that float16 does not hold well."""
    scale = quant.attributes["scale"]
    if not isinstance(scale, float) or quant.attributes.get("sqrt_mode", False):
        return False
    if not 0 < scale < math.inf or _LEAST <= scale <= _LARGEST:
        return False
    quant.attributes |= {"scale": math.sqrt(scale), "sqrt_mode": True}
    return True
