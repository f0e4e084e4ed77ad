"""One row per SoC: cores, clock, buffers, rates, memory and what its cube can multiply.

It has more than 400 lines: one table, a row for each SoC.

Figures: `platform_config` of CANN 8.1 and, of the SoCs that it still has, of the open runtime
repository (v9.1.0, for two rows its master of August 2026); rates are bytes per cube-clock cycle
and core. int4 is that of AscendQuant in its operator information or definition, HF32 and float32
products are what the intrinsic `mmad` lists. A flag that CANN's passes decide is explained where it
is set.

Rules for quantized layers: the fusion engine of CANN as published (2019 to 2022) and the lists of
its passes in later versions, which register the pass for v100 and that for v200 for these
instruction sets alone. Taking layers back to float16 is certain for v100 and v200; that it is not
done for later instruction sets is inferred.

`sim` is a generic device of our own: the vector and memory figures of Ascend310P3 with a cube
that also multiplies float32, so that both precision modes can be tried.

Not here, as their kernels differ and are not transcribed: Ascend610Lite, AS31XM1X, BS9SX1A,
BS9SX2A, MC61AM21A, Hi3796CV300ES, SD3403, Ascend910_5591, Ascend031, Kirin9030, KirinX90 and the
KirinDev SoCs, and the SoCs without a cube for floats (Ascend035, 035A, 035B).
"""

from functools import partial

from atc_py.diag import UNKNOWN_SOC, nearest
from atc_py.system.structs import replace
from atc_py.target.soc import Isa, QuantRules, Requant, Soc, SocFamily, SocStorage
from atc_py.tensor.dtypes import DType
from atc_py.tensor.storage import FLOAT32_C0
from atc_py.text import Text

_GIB = 1024**3
_SMALL_GIB = 32

_STORAGE = SocStorage(
    depthwise_blocks=False, grouped_conv=True, int8_blocks=True, pads_to_four=False
)
"""Storage as the operator information and kernels of CANN 8.1 have it on every SoC.

The v200 kernels, those of 310P, 610 and Hi3796CV300CS, take FRACTAL_Z_C04 only in a first layer
after Aipp.
"""

_C04_STORAGE = replace(_STORAGE, c04_filters=True)
"""The same where the filter alone may be in FRACTAL_Z_C04: 310 and 910."""

_FLOAT32_STORAGE = replace(_C04_STORAGE, float32_c0=FLOAT32_C0)
"""The same where `mmad` multiplies float32: CANN's fusion engine refreshes C0 there."""

_ROW_QUANTS = frozenset({"AscendQuant", "AscendAntiQuant"})
"""Operators that list ND besides blocks on 310P, A2 and A3, for int8 alone.

AscendAntiQuant lists it in its kernel, which chooses formats on these families. Elsewhere there are
blocks alone, and so for AscendDequant and AscendRequant everywhere.
"""

_A2_STORAGE = replace(_FLOAT32_STORAGE, row_quants=_ROW_QUANTS)

_ASCEND950_STORAGE = replace(
    _FLOAT32_STORAGE, int8_blocks=False, c04_filters=False, rows_alone=True
)
"""Conv2DV2, pools and quantizations of Ascend950 list rows alone; x2 of MatMulV3 and of
QuantBatchMatmulV3 is in rows or FRACTAL_NZ."""

_RATE_310P = 204_000_000_000
"""Half of the 408 GB/s that the Atlas 300I Duo is sold with, which has two Ascend310P."""

_RATE_310 = 51_200_000_000
"""128 bits of LPDDR4X at 3200 Mbit/s, an assumption: no page that states it was found."""

_RATE_310B1 = 68_256_000_000
"""128 bits of LPDDR4X at 4266 Mbit/s, an assumption: networks with many weights are as quick on
boards as 55 to 60 GB/s, where the configuration has 20.8."""

_RATE_310B4 = 25_600_000_000
"""64 bits of LPDDR4X at 3200 Mbit/s: the page of the Atlas 200I DK A2."""

_RATE_A2 = 1_600_000_000_000
"""The Ascend C documentation of Atlas A2, with 64 GB; boards with 32 GB have the configuration's."""

_PADDING = 32
"""Bytes that CANN's graph engine adds to each tensor, whatever the SoC."""

_RELUS = frozenset({"Relu", "LeakyRelu", "PRelu"})
"""What `fix_pipe_pre_act` of Atlas A2, 310B and Ascend950 lists: normal, scalar and vector relu."""

_CLIPPED_RELUS = _RELUS | {"ClipByValue"}
"""With the clipped relu, which 310B and Ascend950 list as well."""

_INT8_ALONE = frozenset({DType.INT8})
"""Results of AscendQuant that its round_mode concerns, but on Ascend310, whose kernel ignores it."""

_V100 = QuantRules(
    roll_back=16,
    requant=Requant.FOLDED,
    flat_slope=1e-5,
    obeys_round_mode=_INT8_ALONE,
    cuts_offsets=True,
    needs_channels=True,
)
_V200 = replace(_V100, requant=Requant.FUSED)
_LATER = replace(_V100, roll_back=0, requant=Requant.NONE, flat_slope=0.0)
_ASCEND950_RULES = replace(
    _LATER, obeys_round_mode=frozenset({DType.INT8, DType.INT4}), even_int4=True
)


_published = partial(
    Soc,
    l0a_kib=64,
    gm_padding=_PADDING,
    conversion_fusion=True,
    folded_norms=True,
    confusion_transpose=True,
    cube_average_pools=True,
)
"""Make a row of a SoC of CANN; what differs is stated."""

_later = partial(
    _published,
    cube_float32=True,
    cube_hf32=True,
    bfloat16=True,
    fix_pipe=True,
    quant_rules=_LATER,
    fractal_copies=True,
)
"""Make a row of a SoC whose results leave the cube by a fix pipe."""


def _a2(
    name: str, *, aicores: int, mhz: int, l2_kib: int = 196608, memory_gib: int | None = 64
) -> Soc:
    """Make a row of the split-core generation: Atlas A2 and, where the name has `_93`, A3.

    Cube and vector are cores of their own that meet in L2, so neither joins the other's launch.
    """
    family = SocFamily.ASCEND910_93 if "_93" in name else SocFamily.ASCEND910B
    return _later(
        name=name,
        family=family,
        isa=Isa.V220,
        arch="dav-c220-cube",
        aicores=aicores,
        vector_cores=2 * aicores,
        aicpus=6,
        mhz=mhz,
        l2_kib=l2_kib,
        l0c_kib=128,
        l1_kib=512,
        ub_kib=192,
        gm_read=32,
        gm_write=32,
        memory=None if memory_gib is None else memory_gib * _GIB,
        memory_rate=_RATE_A2 if memory_gib != _SMALL_GIB else 0,
        fix_pipe_functions=_RELUS,
        ub_fusion=False,
        requant=True,
        quant_int4=True,
        storage=_A2_STORAGE,
    )


def _m200(name: str, *, aicores: int, vector_cores: int, aicpus: int, mhz: int) -> Soc:
    """Make a row of the inference generation around Ascend310P; Ascend610 gives no int4."""
    is_310p = name != "Ascend610"
    return _published(
        name=name,
        family=SocFamily.ASCEND310P if is_310p else SocFamily.ASCEND610,
        isa=Isa.V200,
        arch="dav-m200",
        aicores=aicores,
        vector_cores=vector_cores,
        aicpus=aicpus,
        mhz=mhz,
        l2_kib=16384,
        l0c_kib=256,
        l1_kib=1024,
        ub_kib=256,
        gm_read=17,
        gm_write=17,
        memory=24_000_000_000 if is_310p else None,
        memory_rate=_RATE_310P if is_310p else 0,
        requant=True,
        requant_s16=True,
        quant_int4=is_310p,
        storage=replace(_STORAGE, row_quants=_ROW_QUANTS) if is_310p else _STORAGE,
        quant_rules=_V200,
        vector_mhz=1000,
        mixed_cores=is_310p,
    )


def _m300(
    name: str, *, mhz: int, rate: int, memory_gib: int | None = None, memory_rate: int = 0
) -> Soc:
    return _later(
        name=name,
        family=SocFamily.ASCEND310B,
        isa=Isa.V300,
        arch="dav-m300",
        aicores=1,
        vector_cores=1,
        aicpus=4,
        mhz=mhz,
        l2_kib=4096,
        l0c_kib=128,
        l1_kib=1024,
        ub_kib=248,
        gm_read=rate,
        gm_write=rate,
        memory=None if memory_gib is None else memory_gib * _GIB,
        memory_rate=memory_rate,
        assumed_rate=memory_rate == _RATE_310B1,
        fix_pipe_functions=_CLIPPED_RELUS,
        fix_pipe_sums=True,
        channel_fusion=True,
        requant=True,
        quant_int4=True,
        storage=_FLOAT32_STORAGE,
    )


def _c100(name: str, *, aicores: int, mhz: int, aicpus: int = 4) -> Soc:
    return _published(
        name=name,
        family=SocFamily.ASCEND910,
        isa=Isa.V100,
        arch="dav-c100",
        aicores=aicores,
        vector_cores=0,
        aicpus=aicpus,
        mhz=mhz,
        l2_kib=32768,
        l0c_kib=256,
        l1_kib=1024,
        ub_kib=256,
        gm_read=32,
        gm_write=32,
        deq_words=False,
        storage=_C04_STORAGE,
        quant_rules=_V100,
    )


def _c310(  # noqa: PLR0913  (what rows of the newest generation differ in)
    name: str, *, cores: int, cpus: int, memory: int, l2_mib: int, rate: int, mhz: int = 1650
) -> Soc:
    """Make a row of the generation of Ascend950, whose cores are split; `rate` is that of memory.

    Ascend350 has the same core. Of its kernels products alone are published: all are taken to be
    those of Ascend950.
    """
    return _later(
        name=name,
        family=SocFamily.ASCEND950,
        isa=Isa.V310,
        arch="dav-c310",
        aicores=cores,
        vector_cores=2 * cores,
        aicpus=cpus,
        mhz=mhz,
        l2_kib=l2_mib * 1024,
        l0c_kib=256,
        l1_kib=512,
        ub_kib=248,
        gm_read=rate,
        gm_write=rate,
        memory=memory,
        fix_pipe_functions=frozenset({"Relu", "LeakyRelu"}),  # what ExtendConv2D's pass takes
        fix_pipe_half_images=True,
        ub_fusion=False,  # the graph engine of CANN 9 names this generation as one without it
        vector_fusion=False,
        quant_float32=True,
        quant_int4=True,
        quant_rules=_ASCEND950_RULES,
        assumed_kernels=name.startswith("Ascend350"),
        most_gears=256,
        storage=_ASCEND950_STORAGE,
        folded_norms=False,
        confusion_transpose=False,
        cube_average_pools=False,
    )


_SIM = Soc(
    name="sim",
    family=SocFamily.SIM,
    isa=Isa.NONE,
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
    quant_int16=True,
    fractal_copies=True,
)

_M100 = _published(
    name="Ascend310",
    family=SocFamily.ASCEND310,
    isa=Isa.V100,
    arch="dav-m100",
    aicores=2,
    vector_cores=0,
    aicpus=4,
    mhz=680,
    l2_kib=8192,
    l0c_kib=256,
    l1_kib=1024,
    ub_kib=248,
    gm_read=67,
    gm_write=64,
    memory_rate=_RATE_310,
    assumed_rate=True,
    deq_words=False,
    storage=_C04_STORAGE,
    quant_rules=replace(_V100, obeys_round_mode=frozenset()),
)

_S200 = _published(
    name="Hi3796CV300CS",
    family=SocFamily.HI3796CV300CS,
    isa=Isa.V200,
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
    folded_norms=False,  # its kernel of BNInfer takes statistics of float16
    requant=True,
    requant_s16=True,
    quant_int4=True,
    storage=_STORAGE,
    quant_rules=_V200,
)

_ROWS = (
    _SIM,
    _M100,
    _m300("Ascend310B1", mhz=1224, rate=17, memory_gib=32, memory_rate=_RATE_310B1),
    _m300("Ascend310B2", mhz=1224, rate=17),
    _m300("Ascend310B3", mhz=1224, rate=17),
    _m300("Ascend310B4", mhz=500, rate=8, memory_rate=_RATE_310B4),
    _m200("Ascend310P1", aicores=10, vector_cores=8, aicpus=8, mhz=1060),
    _m200("Ascend310P3", aicores=8, vector_cores=7, aicpus=7, mhz=1060),
    _m200("Ascend310P5", aicores=8, vector_cores=7, aicpus=8, mhz=800),
    _m200("Ascend310P7", aicores=8, vector_cores=7, aicpus=8, mhz=550),
    _m200("Ascend610", aicores=10, vector_cores=8, aicpus=2, mhz=960),
    _c100("Ascend910A", aicores=32, mhz=1000),
    _c100("Ascend910B", aicores=30, mhz=900, aicpus=6),
    _c100("Ascend910ProA", aicores=32, mhz=1100),
    _c100("Ascend910ProB", aicores=30, mhz=1150),
    _c100("Ascend910PremiumA", aicores=32, mhz=1220),
    _a2("Ascend910B1", aicores=24, mhz=1850),
    _a2("Ascend910B2", aicores=24, mhz=1800),
    _a2("Ascend910B2C", aicores=24, mhz=1800, memory_gib=None),
    _a2("Ascend910B3", aicores=20, mhz=1800),
    _a2("Ascend910B4", aicores=20, mhz=1500, l2_kib=98304, memory_gib=32),
    _a2("Ascend910B4-1", aicores=20, mhz=1500, l2_kib=172032, memory_gib=32),
    _a2("Ascend910_9362", aicores=20, mhz=1500, l2_kib=172032),
    _a2("Ascend910_9363", aicores=20, mhz=1500, l2_kib=172032, memory_gib=32),
    _a2("Ascend910_9372", aicores=20, mhz=1800),
    _a2("Ascend910_9381", aicores=24, mhz=1800),
    _a2("Ascend910_9382", aicores=24, mhz=1800),
    _a2("Ascend910_9391", aicores=24, mhz=1850),
    _a2("Ascend910_9392", aicores=24, mhz=1850),
    _c310("Ascend950PR_9599", cores=36, cpus=6, memory=137438953472, l2_mib=128, rate=31, mhz=1800),
    _c310("Ascend950PR_9589", cores=32, cpus=6, memory=137438953472, l2_mib=128, rate=31),
    _c310("Ascend950PR_958b", cores=32, cpus=7, memory=120259084288, l2_mib=112, rate=27),
    _c310("Ascend950PR_9579", cores=28, cpus=7, memory=137438953472, l2_mib=128, rate=31),
    _c310("Ascend950PR_957b", cores=28, cpus=5, memory=120259084288, l2_mib=112, rate=27),
    _c310("Ascend950PR_957bx", cores=28, cpus=5, memory=120259084288, l2_mib=112, rate=27),
    _c310("Ascend950PR_957c", cores=28, cpus=5, memory=90194313216, l2_mib=112, rate=27),
    _c310("Ascend950PR_957d", cores=28, cpus=5, memory=103079215104, l2_mib=96, rate=23),
    _c310("Ascend950PR_950z", cores=4, cpus=5, memory=25769803776, l2_mib=16, rate=4),
    _c310("Ascend950DT_950x", cores=8, cpus=5, memory=25769803776, l2_mib=32, rate=19),
    _c310("Ascend950DT_950y", cores=8, cpus=5, memory=17179869184, l2_mib=32, rate=14),
    _c310("Ascend950DT_9571", cores=28, cpus=7, memory=154618822656, l2_mib=128, rate=80),
    _c310("Ascend950DT_9572", cores=28, cpus=7, memory=103079215104, l2_mib=128, rate=80),
    _c310("Ascend950DT_9573", cores=28, cpus=5, memory=135291569824, l2_mib=112, rate=70),
    _c310("Ascend950DT_9574", cores=28, cpus=5, memory=90194313216, l2_mib=112, rate=70),
    _c310("Ascend950DT_9575", cores=28, cpus=7, memory=103079215104, l2_mib=128, rate=61),
    _c310("Ascend950DT_9576", cores=28, cpus=7, memory=68719476736, l2_mib=128, rate=61),
    _c310("Ascend950DT_9577", cores=28, cpus=5, memory=90194313216, l2_mib=112, rate=54),
    _c310("Ascend950DT_9578", cores=28, cpus=5, memory=60129542144, l2_mib=112, rate=54),
    _c310("Ascend950DT_9581", cores=32, cpus=6, memory=154618822656, l2_mib=128, rate=80),
    _c310("Ascend950DT_9581x", cores=32, cpus=6, memory=154618822656, l2_mib=128, rate=80),
    _c310("Ascend950DT_9582", cores=32, cpus=6, memory=103079215104, l2_mib=128, rate=80),
    _c310("Ascend950DT_9582x", cores=32, cpus=6, memory=103079215104, l2_mib=128, rate=80),
    _c310("Ascend950DT_9583", cores=32, cpus=7, memory=135291469824, l2_mib=112, rate=70),
    _c310("Ascend950DT_9584", cores=32, cpus=7, memory=90194313216, l2_mib=112, rate=70),
    _c310("Ascend950DT_9585", cores=32, cpus=6, memory=103079215104, l2_mib=128, rate=61),
    _c310("Ascend950DT_9586", cores=32, cpus=6, memory=68719476736, l2_mib=128, rate=61),
    _c310("Ascend950DT_9587", cores=32, cpus=7, memory=90194313216, l2_mib=112, rate=54),
    _c310("Ascend950DT_9588", cores=32, cpus=7, memory=60129542144, l2_mib=112, rate=54),
    _c310("Ascend950DT_9591", cores=36, cpus=6, memory=154618822656, l2_mib=128, rate=80, mhz=1800),
    _c310("Ascend950DT_9592", cores=36, cpus=6, memory=103079215104, l2_mib=128, rate=80, mhz=1800),
    _c310("Ascend950DT_9595", cores=36, cpus=6, memory=103079215104, l2_mib=128, rate=61, mhz=1800),
    _c310("Ascend950DT_9596", cores=36, cpus=6, memory=68719476736, l2_mib=128, rate=61, mhz=1800),
    _c310("Ascend950DT_95A1", cores=36, cpus=6, memory=154618822656, l2_mib=128, rate=80, mhz=1800),
    _c310("Ascend950DT_95A2", cores=36, cpus=6, memory=103079215104, l2_mib=128, rate=80, mhz=1800),
    _c310("Ascend350_354f", cores=14, cpus=2, memory=60129542144, l2_mib=56, rate=27),
    _c310("Ascend350_355e", cores=16, cpus=4, memory=68719476736, l2_mib=64, rate=31),
    _S200,
)

_BY_NAME = {row.name.lower(): row for row in _ROWS}

ALIASES = {"Ascend910_95": "Ascend950PR_9589"}
"""Names that CANN gave up, and the SoC of the same figures: short names that CANN 8 had."""

_BY_NAME |= {old.lower(): _BY_NAME[new.lower()] for old, new in ALIASES.items()}


def socs() -> tuple[Soc, ...]:
    return _ROWS


def is_former_name(name: str) -> bool:
    """True if CANN calls the SoC otherwise now."""
    return name.lower() in map(str.lower, ALIASES)


def find_soc(name: str) -> Soc:
    """The row called `name`, or once called so, in any case of letters; UNKNOWN_SOC for others."""
    row = _BY_NAME.get(name.lower())
    if row is None:
        names = [soc.name for soc in _ROWS]
        near = nearest(name, names, 2)
        guess = Text("did you mean {near}? ", near=Text(" or ").join(near)) if near else ""
        raise UNKNOWN_SOC.error(
            Text("no SoC is called {name}", name=repr(name)),
            help=Text("{guess}known are {names}", guess=guess, names=", ".join(names)),
        )
    return row
