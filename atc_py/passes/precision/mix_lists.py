"""White, gray and black lists of the mixed modes: which operators compute in 16 bits.

Source: `precision_reduce.flag` of CANN 8.1's operator information for Ascend310P: "true" is white,
"false" black, and absent gray. Of its lists only what atc-py has rows for stands here: the cube's
operators, white, and ReverseSequence, black. SoCs do not differ here; CANN's lists for the training
generations are longer and not known operator by operator.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["CUBE_LIST", "MixList", "default_list"]


class MixList(Enum):
    """The treatment of an operator by a mixed mode."""

    WHITE = "white"
    GRAY = "gray"
    BLACK = "black"


CUBE_LIST = frozenset(
    {
        "BatchMatMul",
        "BatchMatMulV2",
        "Conv2D",
        "Conv2DTransposeD",
        "DepthwiseConv2D",
        "MatMulV2",
    }
)
"""The rows that `fp16.op_type` of CANN's `fe.ini` names: what the float16 cube is for."""

_BLACK = frozenset({"ReverseSequence"})


def default_list(op: str) -> MixList:
    """Return the list that operator `op` is on when no user moved it."""
    if op in CUBE_LIST:
        return MixList.WHITE
    return MixList.BLACK if op in _BLACK else MixList.GRAY
