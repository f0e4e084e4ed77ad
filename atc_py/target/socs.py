"""One row per SoC: cores, clock, buffers, rates and what its cube can multiply.

Figures: `platform_config` of CANN as published; rates are bytes per cube-clock cycle and core.
`sim` is a generic device of our own: the vector and memory figures of Ascend310P3 with a cube
that also multiplies float32, so that both precision modes can be tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.diag.codes import UNKNOWN_SOC

if TYPE_CHECKING:
    from atc_py.target.row import Resource

__all__ = ["Soc", "find_soc", "socs"]


@dataclass(frozen=True, slots=True)
class Soc:
    """Facts about one SoC.

    Attributes:
        name: as `--soc` takes it.
        arch: CCEC name of the core architecture.
        aicores: AI Cores (cube and vector in one, or the cube part where they are split).
        vector_cores: separate vector cores, 0 where there are none.
        aicpus: AI CPU cores; 0 where the figure is not published.
        mhz: cube clock in MHz.
        l2_kib: L2 cache in KiB.
        l0a_kib: buffer of the cube's left operand in KiB; the right one's is as large.
        l0c_kib: buffer of the cube's results in KiB.
        l1_kib: L1 buffer of a core in KiB.
        ub_kib: unified buffer of a core in KiB.
        gm_read: bytes read from device memory per cycle and core.
        gm_write: bytes written to device memory per cycle and core.
        cube_float32: whether the cube multiplies float32.
        bfloat16: whether cube and vector take bfloat16.
        deq_words: whether AscendDequant takes 64-bit words; only float16 factors elsewhere.
        quant_float32: whether AscendQuant computes in float32; in float16 elsewhere.
        requant: whether there is a kernel that goes from int32 to int8 in one step.
        requant_s16: whether there are kernels that go from int32 to int8 over int16.
        quant_int4: whether AscendQuant gives int4.
        fractal_copies: whether copies into L1 turn rows of a matrix into fractals, and those out of
            L0C turn them back; elsewhere the cube takes and gives FRACTAL_NZ alone.
        gm_align: bytes; tensors in device memory start at multiples. Transfers are split into
            pieces of at most 512 bytes and are fastest at addresses that are multiples of it.
    """

    name: str
    arch: str
    aicores: int
    vector_cores: int
    aicpus: int
    mhz: int
    l2_kib: int
    l0a_kib: int
    l0c_kib: int
    l1_kib: int
    ub_kib: int
    gm_read: int
    gm_write: int
    cube_float32: bool = False
    bfloat16: bool = False
    deq_words: bool = True
    quant_float32: bool = False
    requant: bool = False
    requant_s16: bool = False
    quant_int4: bool = False
    fractal_copies: bool = False
    gm_align: int = 512

    def has(self, resource: Resource | None) -> bool:
        """Return True if this SoC has what a dtype column needs."""
        if resource is None:
            return True
        return bool(getattr(self, resource.value))


def _a2(name: str, cores: int, mhz: int, l2_kib: int) -> Soc:
    """Return a row of the split-core generation (Atlas A2 and A3)."""
    return Soc(
        name, "dav-c220-cube", cores, 2 * cores, 4, mhz, l2_kib, 64, 128, 512, 192, 32, 32,
        cube_float32=True, bfloat16=True, requant=True, fractal_copies=True,
    )  # fmt: skip


def _m200(name: str, cores: tuple[int, int], aicpus: int, mhz: int) -> Soc:
    """Return a row of the inference generation around Ascend310P."""
    return Soc(
        name, "dav-m200", cores[0], cores[1], aicpus, mhz, 16384, 64, 256, 1024, 256, 17, 17,
        requant=True, requant_s16=True, quant_int4=True,
    )  # fmt: skip


def _m300(name: str, mhz: int, rate: int) -> Soc:
    """Return a row of the small inference generation around Ascend310B."""
    return Soc(
        name, "dav-m300", 1, 1, 4, mhz, 4096, 64, 128, 1024, 248, rate, rate,
        bfloat16=True, requant=True, fractal_copies=True,
    )  # fmt: skip


def _c100(name: str, cores: int, mhz: int) -> Soc:
    """Return a row of the first training generation."""
    return Soc(
        name, "dav-c100", cores, 0, 4, mhz, 32768, 64, 256, 1024, 256, 32, 32,
        deq_words=False,
    )  # fmt: skip


_SIM = Soc(
    "sim", "sim", 8, 7, 8, 1060, 16384, 64, 256, 1024, 256, 17, 17,
    cube_float32=True, requant=True, requant_s16=True, quant_int4=True, fractal_copies=True,
)  # fmt: skip

_M100 = Soc(
    "Ascend310", "dav-m100", 2, 0, 4, 680, 8192, 64, 256, 1024, 248, 67, 64,
    deq_words=False,
)  # fmt: skip

_C310 = Soc(
    "Ascend910_95", "dav-c310", 32, 64, 6, 1650, 131072, 64, 256, 512, 248, 31, 31,
    cube_float32=True, bfloat16=True, quant_float32=True, fractal_copies=True,
)  # fmt: skip

_S200 = Soc(
    "Hi3796CV300CS", "dav-s200", 1, 0, 0, 568, 0, 32, 128, 1024, 192, 18, 18,
    requant=True, requant_s16=True,
)  # fmt: skip

_ROWS = (
    _SIM,
    _M100,
    _m300("Ascend310B1", 1224, 17),
    _m300("Ascend310B4", 500, 8),
    _m200("Ascend310P1", (10, 8), 8, 1060),
    _m200("Ascend310P3", (8, 7), 16, 1060),
    _m200("Ascend310P5", (8, 7), 8, 800),
    _m200("Ascend310P7", (8, 7), 8, 550),
    _m200("Ascend610", (10, 8), 2, 960),
    _c100("Ascend910A", 32, 1000),
    _c100("Ascend910B", 30, 900),
    _c100("Ascend910ProA", 32, 1100),
    _c100("Ascend910ProB", 30, 1150),
    _c100("Ascend910PremiumA", 32, 1220),
    _a2("Ascend910B1", 24, 1850, 196608),
    _a2("Ascend910B2", 24, 1800, 196608),
    _a2("Ascend910B3", 20, 1800, 196608),
    _a2("Ascend910B4", 20, 1500, 98304),
    _a2("Ascend910_9391", 24, 1850, 196608),
    _a2("Ascend910_9392", 24, 1850, 196608),
    _C310,
    _S200,
)

_BY_NAME = {row.name.lower(): row for row in _ROWS}


def socs() -> tuple[Soc, ...]:
    """Return every row, the generic device first."""
    return _ROWS


def find_soc(name: str) -> Soc:
    """Return the row called `name`, in any case of letters.

    Raises:
        AtcError: UNKNOWN_SOC where there is none.
    """
    row = _BY_NAME.get(name.lower())
    if row is None:
        known = ", ".join(soc.name for soc in _ROWS)
        raise UNKNOWN_SOC.error(f"no SoC is called {name!r}", help=f"known are {known}")
    return row
