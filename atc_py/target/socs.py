"""One row per SoC: cores, clock, buffers, rates, memory and what its cube can multiply.

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

_GIB = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
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
        memory_gib: device memory in GiB; None where the figure is not published.
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
    memory_gib: int | None = None
    cube_float32: bool = False
    bfloat16: bool = False
    deq_words: bool = True
    quant_float32: bool = False
    requant: bool = False
    requant_s16: bool = False
    quant_int4: bool = False
    fractal_copies: bool = False
    gm_align: int = 512

    @property
    def memory(self) -> int | None:
        """Bytes of device memory; None where the figure is not published."""
        return None if self.memory_gib is None else self.memory_gib * _GIB

    def has(self, resource: Resource | None) -> bool:
        """Return True if this SoC has what a dtype column needs."""
        if resource is None:
            return True
        return bool(getattr(self, resource.value))


def _a2(name: str, *, aicores: int, mhz: int, l2_kib: int, memory_gib: int) -> Soc:
    """Make a row of the split-core generation (Atlas A2 and A3)."""
    return Soc(
        name=name,
        arch="dav-c220-cube",
        aicores=aicores,
        vector_cores=2 * aicores,
        aicpus=4,
        mhz=mhz,
        l2_kib=l2_kib,
        l0a_kib=64,
        l0c_kib=128,
        l1_kib=512,
        ub_kib=192,
        gm_read=32,
        gm_write=32,
        memory_gib=memory_gib,
        cube_float32=True,
        bfloat16=True,
        requant=True,
        fractal_copies=True,
    )


def _m200(
    name: str,
    *,
    aicores: int,
    vector_cores: int,
    aicpus: int,
    mhz: int,
    memory_gib: int | None = None,
) -> Soc:
    """Make a row of the inference generation around Ascend310P."""
    return Soc(
        name=name,
        arch="dav-m200",
        aicores=aicores,
        vector_cores=vector_cores,
        aicpus=aicpus,
        mhz=mhz,
        l2_kib=16384,
        l0a_kib=64,
        l0c_kib=256,
        l1_kib=1024,
        ub_kib=256,
        gm_read=17,
        gm_write=17,
        memory_gib=memory_gib,
        requant=True,
        requant_s16=True,
        quant_int4=True,
    )


def _m300(name: str, *, mhz: int, rate: int, memory_gib: int | None = None) -> Soc:
    """Make a row of the small inference generation around Ascend310B."""
    return Soc(
        name=name,
        arch="dav-m300",
        aicores=1,
        vector_cores=1,
        aicpus=4,
        mhz=mhz,
        l2_kib=4096,
        l0a_kib=64,
        l0c_kib=128,
        l1_kib=1024,
        ub_kib=248,
        gm_read=rate,
        gm_write=rate,
        memory_gib=memory_gib,
        bfloat16=True,
        requant=True,
        fractal_copies=True,
    )


def _c100(name: str, *, aicores: int, mhz: int) -> Soc:
    """Make a row of the first training generation."""
    return Soc(
        name=name,
        arch="dav-c100",
        aicores=aicores,
        vector_cores=0,
        aicpus=4,
        mhz=mhz,
        l2_kib=32768,
        l0a_kib=64,
        l0c_kib=256,
        l1_kib=1024,
        ub_kib=256,
        gm_read=32,
        gm_write=32,
        deq_words=False,
    )


_SIM = Soc(
    name="sim",
    arch="sim",
    aicores=8,
    vector_cores=7,
    aicpus=8,
    mhz=1060,
    l2_kib=16384,
    l0a_kib=64,
    l0c_kib=256,
    l1_kib=1024,
    ub_kib=256,
    gm_read=17,
    gm_write=17,
    cube_float32=True,
    requant=True,
    requant_s16=True,
    quant_int4=True,
    fractal_copies=True,
)

_M100 = Soc(
    name="Ascend310",
    arch="dav-m100",
    aicores=2,
    vector_cores=0,
    aicpus=4,
    mhz=680,
    l2_kib=8192,
    l0a_kib=64,
    l0c_kib=256,
    l1_kib=1024,
    ub_kib=248,
    gm_read=67,
    gm_write=64,
    deq_words=False,
)

_C310 = Soc(
    name="Ascend910_95",
    arch="dav-c310",
    aicores=32,
    vector_cores=64,
    aicpus=6,
    mhz=1650,
    l2_kib=131072,
    l0a_kib=64,
    l0c_kib=256,
    l1_kib=512,
    ub_kib=248,
    gm_read=31,
    gm_write=31,
    cube_float32=True,
    bfloat16=True,
    quant_float32=True,
    fractal_copies=True,
)

_S200 = Soc(
    name="Hi3796CV300CS",
    arch="dav-s200",
    aicores=1,
    vector_cores=0,
    aicpus=0,
    mhz=568,
    l2_kib=0,
    l0a_kib=32,
    l0c_kib=128,
    l1_kib=1024,
    ub_kib=192,
    gm_read=18,
    gm_write=18,
    requant=True,
    requant_s16=True,
)

_ROWS = (
    _SIM,
    _M100,
    _m300("Ascend310B1", mhz=1224, rate=17, memory_gib=32),
    _m300("Ascend310B4", mhz=500, rate=8),
    _m200("Ascend310P1", aicores=10, vector_cores=8, aicpus=8, mhz=1060, memory_gib=22),
    _m200("Ascend310P3", aicores=8, vector_cores=7, aicpus=16, mhz=1060, memory_gib=22),
    _m200("Ascend310P5", aicores=8, vector_cores=7, aicpus=8, mhz=800, memory_gib=22),
    _m200("Ascend310P7", aicores=8, vector_cores=7, aicpus=8, mhz=550, memory_gib=22),
    _m200("Ascend610", aicores=10, vector_cores=8, aicpus=2, mhz=960),
    _c100("Ascend910A", aicores=32, mhz=1000),
    _c100("Ascend910B", aicores=30, mhz=900),
    _c100("Ascend910ProA", aicores=32, mhz=1100),
    _c100("Ascend910ProB", aicores=30, mhz=1150),
    _c100("Ascend910PremiumA", aicores=32, mhz=1220),
    _a2("Ascend910B1", aicores=24, mhz=1850, l2_kib=196608, memory_gib=64),
    _a2("Ascend910B2", aicores=24, mhz=1800, l2_kib=196608, memory_gib=64),
    _a2("Ascend910B3", aicores=20, mhz=1800, l2_kib=196608, memory_gib=64),
    _a2("Ascend910B4", aicores=20, mhz=1500, l2_kib=98304, memory_gib=32),
    _a2("Ascend910_9391", aicores=24, mhz=1850, l2_kib=196608, memory_gib=64),
    _a2("Ascend910_9392", aicores=24, mhz=1850, l2_kib=196608, memory_gib=64),
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
