"""How CANN's fusion engine treats the int8 layers of a SoC."""

from enum import Enum

import msgspec

from atc_py.tensor.dtypes import DType


class Requant(Enum):
    """Fate of a chain from AscendDequant to AscendQuant."""

    NONE = "none"
    """Both stay: no pass of CANN for this SoC fuses them."""

    SINGLE = "single"
    """Each AscendQuant becomes an AscendRequant, through data movement too: the generic device."""

    FUSED = "fused"
    """AscendRequant under the conditions of CANN's pass for the instruction set v200."""

    FOLDED = "folded"
    """The scale of AscendQuant goes into the factors of AscendDequant: CANN's pass for v100."""


class QuantRules(msgspec.Struct, frozen=True, kw_only=True):
    """Rules for quantized layers; the defaults are those of the generic device.

    Attributes:
        roll_back: most channels that the data of an int8 layer can have for the layer to be taken
            back to float16; 0 where no layer is.
        requant: what becomes of a chain from AscendDequant to AscendQuant.
        flat_slope: LeakyRelu after AscendDequant counts as Relu if its slope is nearer to 0 than
            this.
        obeys_round_mode: dtypes of results that AscendQuant rounds as its round_mode says; it
            rounds others to the nearest integer, ties to even.
        cuts_offsets: True if a fractional offset of AscendQuant loses its fraction where a
            layer needs it as int8; it is rounded elsewhere.
        needs_channels: True if a layer whose data have an unknown number of channels gets neither
            the offset of its data in its bias nor offset_x.
    """

    roll_back: int = 0
    requant: Requant = Requant.SINGLE
    flat_slope: float = 0.0
    obeys_round_mode: frozenset[DType] = frozenset({DType.INT4, DType.INT8, DType.INT16})
    cuts_offsets: bool = False
    needs_channels: bool = False
