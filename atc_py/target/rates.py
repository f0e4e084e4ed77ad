"""Rates inside a core and to the L2 cache, by architecture.

Figures: `platform_config` of CANN as published, like those of the SoC rows; bytes per cycle of the
cube's clock and core. `sim` has the figures of Ascend310P3.
"""

import msgspec

from atc_py.target.soc import Soc


class Rates(msgspec.Struct, frozen=True):
    """Bytes per cycle and core.

    Attributes:
        l2_read: from the L2 cache; 0 where the SoC has none.
        l2_write: to the L2 cache.
        l1_l0a: from L1 to the buffer of the cube's left operand.
        l1_l0b: from L1 to the buffer of its right operand.
        l0c_ub: from the buffer of the cube's results to the unified buffer. Atlas A2 and A3 have no
            such path: that the fix pipe carries results out of their cores at this rate, which their
            configuration states all the same, is an assumption.
        ub_out: from the unified buffer to L2.
        ub_ddr: from the unified buffer to device memory; no less than the memory takes.
        split: whether cube and vector are cores of their own that exchange data through L2.
    """

    l2_read: int
    l2_write: int
    l1_l0a: int
    l1_l0b: int
    l0c_ub: int
    ub_out: int
    ub_ddr: int
    split: bool = False


_BY_ARCH = {
    "dav-m100": Rates(128, 64, 512, 256, 256, 64, 64),
    "dav-m300": Rates(256, 128, 512, 256, 128, 128, 64),
    "dav-m200": Rates(114, 114, 512, 256, 512, 114, 17),
    "dav-c100": Rates(110, 86, 512, 256, 256, 64, 64),
    "dav-c220-cube": Rates(110, 86, 512, 256, 256, 64, 64, split=True),
    "dav-c310": Rates(100, 100, 256, 256, 128, 128, 128, split=True),
    "dav-s200": Rates(0, 0, 512, 256, 512, 18, 18),
    "sim": Rates(114, 114, 512, 256, 512, 114, 17),
}


def rates_of(soc: Soc) -> Rates:
    return _BY_ARCH[soc.arch]
