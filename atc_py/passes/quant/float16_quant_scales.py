"""Factors of quantization as float16, or their roots where float16 does not hold them."""

import math

import numpy as np
import numpy.typing as npt

from atc_py.diag import NO_KERNEL, Sink
from atc_py.ir import Graph, Node
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.constants import LARGEST, LEAST, constant_like, constant_words, has_root
from atc_py.tensor.scale_words import decode_graph
from atc_py.text import Text

Floats = npt.NDArray[np.float32]


class Float16QuantScalesPass(Pass):
    """AscendQuant(x; s) = AscendQuant(x; sqrt(s), sqrt_mode) where float16 does not hold s.

    A factor of magnitude below 2^-14 or above 65504 is none that float16 holds well. AscendQuant
    then gets its root and sqrt_mode, with which it multiplies twice: on every SoC where it computes
    in float16. 0 is held as it is, and a factor below 0 has no root.

    Where the SoC reads no 64-bit words, AscendDequant gets float16(d) in their place, or
    float16(sqrt(d)) for all its channels and sqrt_mode. A small factor below 0 is rounded, and a
    large one is refused.

    Files carry the whole factor: CANN reads scale alone and sets sqrt_mode itself.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        soc, changes, sink = context.soc, 0, Sink()
        for node in graph.nodes:
            if node.op == "AscendDequant" and not soc.deq_words:
                changes += _narrow(graph, node, context, sink)
            elif node.op == "AscendQuant" and not soc.quant_float32:
                changes += _take_root(node)
        sink.raise_errors()
        return changes


def _narrow(graph: Graph, dequant: Node, context: PassContext, sink: Sink) -> bool:
    old = dequant.input(1)
    words = constant_words(old)
    if words is None:
        return False
    scale = decode_graph(words).scale
    beyond = ((scale < LEAST) & (scale != 0)) | (scale > LARGEST)
    rooted = bool(beyond.any() and (scale >= 0).all() and np.isfinite(scale).all())
    with np.errstate(over="ignore"):
        factors = (np.sqrt(scale) if rooted else scale).astype(np.float16)
    if not np.isfinite(factors).all():
        worst = scale[~np.isfinite(factors)].flat[0]
        message = Text(
            "deq_scale must be a number that {soc} can apply in float16, either once or as its "
            "root twice; found {worst}",
            soc=context.soc.name,
            worst=f"{worst:g}",
        )
        hint = Text("quantize the layer with other factors, or choose another --soc")
        sink.add(NO_KERNEL.diagnostic(message, place=context.place(dequant), help=hint))
        return False
    dequant.set_input(1, constant_like(graph, old, "float16", factors))
    dequant.attributes["sqrt_mode"] = rooted
    return True


def _take_root(quant: Node) -> bool:
    """Give a quantization the root of a scale that float16 does not hold well."""
    scale = quant.attributes["scale"]
    if not isinstance(scale, float) or quant.attributes.get("sqrt_mode", False):
        return False
    if not has_root(scale):
        return False
    quant.attributes |= {"scale": math.sqrt(scale), "sqrt_mode": True}
    return True
