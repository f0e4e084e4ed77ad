"""Quantizing what was quantized before gives it back."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.ir import Graph, Node
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.quant.constants import has_root
from atc_py.tensor.dtypes import DType


class CancelQuantPairsPass(Pass):
    """AscendQuant(AscendAntiQuant(x; s, o); 1 / s, -o) = x.

    The two are each other's inverse where they give back each of the 256 numbers of int8, with
    every step rounded as the kernels round it; all 256 are tried. The other order,
    AscendAntiQuant(AscendQuant(x)), rounds x and stays.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        single = context.soc.quant_float32
        matches = [node for node in graph.nodes if _gives_back(node, single=single)]
        gone = list(matches)
        for quant in matches:
            (floats,) = quant.present_inputs
            anti = floats.producer
            x = anti.input(0) if anti is not None else None
            if anti is None or x is None:
                continue
            quant.output.replace_by(x)
            quant.drop_inputs()
            if not floats.is_used:
                anti.drop_inputs()
                gone.append(anti)
        graph.remove_nodes(gone)
        return len(matches)


def _gives_back(quant: Node, *, single: bool) -> bool:
    """True if `quant` undoes an AscendAntiQuant before it; `single` where it has float32."""
    anti = quant.producer()
    if quant.op != "AscendQuant" or anti is None or anti.op != "AscendAntiQuant":
        return False
    if quant.output.type.dtype is not DType.INT8:
        return False
    if quant.attributes.get("round_mode", "Round") != "Round":
        return False
    numbers = np.arange(-128, 128)
    dtype = np.dtype(np.float32 if single else np.float16)
    with np.errstate(all="ignore"):
        values = _anti_quantized(anti, numbers, dtype)
        for given in (values, values.astype(np.float16)):  # precision modes choose one later
            found = _before_rounding(quant, given, dtype).astype(np.float32)
            if not np.array_equal(np.clip(np.rint(found), -128, 127), numbers):
                return False
    return True


def _anti_quantized(
    anti: Node, numbers: npt.NDArray[Any], dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    """(x + offset) * scale, with sqrt_mode times scale once more, all in `dtype`."""
    scale, offset = map(dtype.type, _scale_and_offset(anti))
    values: npt.NDArray[Any] = (numbers.astype(dtype) + offset) * scale
    return values * scale if anti.attributes.get("sqrt_mode", False) else values


def _before_rounding(
    quant: Node, values: npt.NDArray[Any], dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    """Values * scale + offset in `dtype`; with sqrt_mode times scale twice or squared.

    A scale that float16 does not hold becomes its root twice: see float16-quant-scales.
    """
    factor, shift = _scale_and_offset(quant)
    squares = quant.attributes.get("sqrt_mode", False)
    if dtype == np.float16 and not squares and has_root(factor):
        factor, squares = math.sqrt(factor), True
    scale, offset = dtype.type(factor), dtype.type(shift)
    found = values.astype(dtype)
    if not squares:
        found = found * scale
    elif dtype == np.float16:
        found = found * scale * scale
    else:
        found = found * (scale * scale)
    shifted: npt.NDArray[Any] = found + offset
    return shifted


def _scale_and_offset(node: Node) -> tuple[float, float]:
    scale, offset = (node.attributes[name] for name in ("scale", "offset"))
    return float(scale), float(offset)  # type: ignore[arg-type]  # verified: floats
