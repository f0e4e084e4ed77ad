"""HF32, the float32 of fewer digits that the cube multiplies faster: rounding, and where it applies.

HF32 has a sign, 8 bits of exponent and 11 of fraction (ATC guide, `--allow_hf32`); it is in the
32 bits of a float32 whose last 12 are 0. CANN publishes two ways of rounding to it (interface of
`SetHF32TransMode`): to the nearest with ties to even, or with ties away from even ones. The
convolutions of its open operator repository choose the first, and it is taken for all of them and
for matrix products here. The product of two such numbers is exact in float32; sums and the bias
stay float32. How the cube treats subnormal numbers and what rounds up beyond the largest number is
not published: they are rounded like the others, and it becomes infinite (inferred).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Launch, sequence
from atc_py.system.structs import replace
from atc_py.target.row import rounds_to_hf32
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

FRACTION_BITS = 11
"""Bits after the leading one."""

_CUT = np.uint32(23 - FRACTION_BITS)
_ONE = np.uint32(1)
_BELOW_HALF = np.uint32((1 << (22 - FRACTION_BITS)) - 1)
_KEPT = np.uint32(0xFFFFFFFF << (23 - FRACTION_BITS) & 0xFFFFFFFF)

_OPERANDS = (0, 1)
"""What the cube multiplies: data and weights, or the two matrices."""


def multiplies_hf32(call: Call) -> bool:
    """True if a node of the cube rounds its float32 operands to HF32."""
    return rounds_to_hf32(call.node.attributes) and call.node.x.dtype is DType.FLOAT32


def with_hf32(call: Call, bind: Callable[[Call], Launch]) -> Launch:
    """The launch of `bind` on operands in HF32, where the node multiplies these.

    What holds the same data in every launch is rounded once.
    """
    if not multiplies_hf32(call):
        return bind(call)
    refresh: list[Launch] = []
    inputs = list(call.inputs)
    for position in _OPERANDS:
        array = call.input(position)
        if position in call.fixed:
            call.workspace.require(array.nbytes, Text("weights in HF32"))
            inputs[position] = round_to_hf32(array)
            continue
        held = call.workspace.take(f"hf32 {position}", array.shape, np.float32)
        refresh.append(partial(round_to_hf32, array, held))
        inputs[position] = held
    return sequence([*refresh, bind(replace(call, inputs=tuple(inputs)))])


def round_to_hf32(
    array: NDArray[np.float32], out: NDArray[np.float32] | None = None
) -> NDArray[Any]:
    """Float32 numbers rounded to HF32, half to even, as float32; NaN stays NaN."""
    if out is None:
        out = np.empty(array.shape, np.float32)
    bits, rounded = array.view(np.uint32), out.view(np.uint32)
    np.right_shift(bits, _CUT, out=rounded)
    np.bitwise_and(rounded, _ONE, out=rounded)
    np.add(rounded, _BELOW_HALF, out=rounded)
    np.add(rounded, bits, out=rounded)
    np.bitwise_and(rounded, _KEPT, out=rounded)
    odd = np.isnan(array)
    if odd.any():
        out[odd] = array[odd]
    return out
