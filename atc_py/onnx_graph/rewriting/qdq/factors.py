"""Attributes of AscendQuant and AscendAntiQuant, whose factors the device holds as float16."""

import math
from typing import Any

from atc_py.onnx_graph.rewriting.qdq.parameters import Parameters
from atc_py.tensor.dtypes import DType

_LEAST, _MOST = 2.0**-14, 65504.0
"""Between these, factors are normal float16 numbers."""

_NUMBERS = {DType.FLOAT32: 0, DType.FLOAT16: 1}


def number_of(real: DType) -> int:
    """The value of CANN's attribute dtype: 0 for float32, 1 for float16."""
    return _NUMBERS[real]


def quantizing(parameters: Parameters) -> dict[str, Any] | None:
    """AscendQuant of a whole tensor: times 1 / scale, plus the zero point.

    The factor is whole: the compiler takes the root where float16 does not hold it, as ATC does,
    which reads `scale` alone and sets sqrt_mode itself.

    None where it cannot carry them: channels, and factors beyond what the device can hold.
    """
    if parameters.axis is not None:
        return None
    factor = 1.0 / parameters.factor
    if _factor_attributes(factor) is None:
        return None
    return {"scale": factor, "sqrt_mode": 0, **_quant(parameters.offset)}


def recoding(offset: int) -> dict[str, Any]:
    """AscendQuant of whole numbers, which adds an offset."""
    return {"scale": 1.0, "sqrt_mode": 0, **_quant(offset)}


def dequantizing(parameters: Parameters) -> dict[str, Any] | None:
    """AscendAntiQuant of a whole tensor: (x - zero point) * scale.

    None where it cannot carry them: channels, and factors beyond what the device can hold.
    """
    if parameters.axis is not None:
        return None
    scaled = _factor_attributes(parameters.factor)
    if scaled is None:
        return None
    return {**scaled, "offset": float(parameters.offset), "dtype": number_of(parameters.real)}


def widening(real: DType, offset: int = 0) -> dict[str, Any]:
    """AscendAntiQuant to whole numbers, which subtracts an offset."""
    return {"scale": 1.0, "sqrt_mode": 0, "offset": float(offset), "dtype": number_of(real)}


def _quant(offset: int) -> dict[str, Any]:
    """The attributes that every AscendQuant has."""
    return {"offset": float(offset), "round_mode": "Round", "dst_type": "INT8"}


def _factor_attributes(factor: float) -> dict[str, Any] | None:
    """A factor, or its root, applied twice, if it is not a normal float16 number."""
    root = not _LEAST <= factor <= _MOST
    scale = math.sqrt(factor) if root else factor
    return {"scale": scale, "sqrt_mode": int(root)} if _LEAST <= scale <= _MOST else None
