"""The roofs of a SoC's roofline: peak rates of arithmetic and of memory."""

from atc_py.cost.cores import cube_depth, vector_cores
from atc_py.target import Soc
from atc_py.target.rates import rates_of
from atc_py.tensor.dtypes import DType

_CUBE, _VECTOR = 16, 128
"""Rows and columns of the cube; elements of float16 that the vector unit takes in a cycle."""


def roofs_of(soc: Soc) -> dict[str, float]:
    """Return operations or bytes in a second: `cube`, `vector`, `memory`, and `l2` where it is known."""
    hertz = soc.mhz * 1e6
    rates = rates_of(soc)
    found = {
        "cube": 2.0 * _CUBE * _CUBE * cube_depth(DType.FLOAT16) * soc.aicores * hertz,
        "vector": float(_VECTOR * vector_cores(soc) * hertz),
        "memory": soc.gm_read * soc.aicores * hertz,
    }
    if rates.l2_read:
        found["l2"] = rates.l2_read * soc.aicores * hertz
    return found
