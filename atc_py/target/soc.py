"""The shape of a SoC's row: cores, buffers, rates and the units that its cores have."""

from collections.abc import Iterable
from enum import Enum

import msgspec

from atc_py.tensor.dtypes import DType


class SocStorage(msgspec.Struct, frozen=True, kw_only=True):
    """Storage that the kernels of a SoC ask for where SoCs differ; defaults are the generic device."""

    # True if the filter of DepthwiseConv2D is stored in C1HWNCoC0; elsewhere it is FRACTAL_Z with a
    # group for each channel
    depthwise_blocks: bool = True
    # True if one launch of Conv2D takes all groups, the filter in FRACTAL_Z(G); elsewhere a grouped
    # convolution is split into one for each group
    grouped_conv: bool = False
    # True if products of int8 are stored in blocks, and all that quantizes matrices with them: x1
    # and the result in FRACTAL_NZ, x2 in FRACTAL_Z. Elsewhere they are stored like products of
    # floats
    int8_blocks: bool = False
    # operators that quantize to int8, or back, in rows as well as in blocks; those that are not
    # named do so in blocks alone where `int8_blocks` is set
    row_quants: frozenset[str] = frozenset()
    # C0 of float32 in what a convolution or a product reads and writes, where its data and its
    # result are float32
    float32_c0: int = 16
    # True if the cube pads channels of a convolution that has at most four to four; elsewhere they
    # are padded to C0, unless the filter is stored in FRACTAL_Z_C04
    pads_to_four: bool = True
    # True if filters of at most four channels may be stored in FRACTAL_Z_C04 where the user asks
    # for it, beside data in NC1HWC0
    c04_filters: bool = False
    small_channel: bool = False  # True if the user asks for that
    # True if there are no blocks but FRACTAL_NZ, and these of the right operand of a product alone:
    # all else is row by row
    rows_alone: bool = False


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
    """Rules for quantized layers; the defaults are those of the generic device."""

    # most channels that the data of an int8 layer can have for the layer to be taken back to
    # float16; 0 where no layer is
    roll_back: int = 0
    requant: Requant = Requant.SINGLE  # what becomes of a chain from AscendDequant to AscendQuant
    # LeakyRelu after AscendDequant counts as Relu if its slope is nearer to 0 than this
    flat_slope: float = 0.0
    # dtypes of results that AscendQuant rounds as its round_mode says; it rounds others to the
    # nearest integer, ties to even
    obeys_round_mode: frozenset[DType] = frozenset({DType.INT4, DType.INT8, DType.INT16})
    # True if a fractional offset of AscendQuant loses its fraction where a layer needs it as int8;
    # it is rounded elsewhere
    cuts_offsets: bool = False
    # True if a layer whose data have an unknown number of channels gets neither the offset of its
    # data in its bias nor offset_x
    needs_channels: bool = False
    even_int4: bool = False  # True if AscendQuant gives int4 along a last axis of even length alone


class SocFamily(Enum):
    """SoCs that share their kernels: CANN's short SoC version, and the generic device.

    Ascend350 is counted to Ascend950, whose core it has.
    """

    SIM = "sim"
    ASCEND310 = "Ascend310"
    ASCEND310B = "Ascend310B"
    ASCEND310P = "Ascend310P"
    ASCEND610 = "Ascend610"
    ASCEND910 = "Ascend910"
    ASCEND910B = "Ascend910B"
    ASCEND910_93 = "Ascend910_93"
    ASCEND950 = "Ascend950"
    HI3796CV300CS = "Hi3796CV300CS"


class Resource(Enum):
    """Resource that a SoC must have for a dtype column; a flag of the SoC's row."""

    CUBE_FLOAT32 = "cube_float32"
    BFLOAT16 = "bfloat16"
    DEQ_WORDS = "deq_words"
    QUANT_FLOAT32 = "quant_float32"
    REQUANT = "requant"
    REQUANT_S16 = "requant_s16"
    QUANT_INT4 = "quant_int4"
    QUANT_INT16 = "quant_int16"


class Isa(Enum):
    """Generation of the instruction set, which decides what CANN's fusion engine registers.

    It follows from the figure of CANN's `AIC_version`: 100 is v100; 200, 202 and 210 are v200;
    220 is v220; 300 is v300; 310 is v310. The generic device has none.
    """

    NONE = ""
    V100 = "v100"
    V200 = "v200"
    V220 = "v220"
    V300 = "v300"
    V310 = "v310"


_PLAIN = QuantRules()
"""Rules of the generic device."""


class Soc(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about one SoC."""

    name: str  # as `--soc` takes it
    family: SocFamily  # SoCs with the same kernels
    isa: Isa  # generation of the instruction set
    arch: str  # CCEC name of the core architecture
    aicores: int  # AI Cores (cube and vector in one, or the cube part where they are split)
    vector_cores: int  # separate vector cores, 0 where there are none
    aicpus: int  # AI CPU cores; 0 where the figure is not published
    mhz: int  # cube clock in MHz
    l2_kib: int  # L2 cache in KiB
    l0a_kib: int  # buffer of the cube's left operand in KiB; the right one's is as large
    l0c_kib: int  # buffer of the cube's results in KiB
    l1_kib: int  # L1 buffer of a core in KiB
    ub_kib: int  # unified buffer of a core in KiB
    gm_read: int  # bytes read from device memory per cycle and core
    gm_write: int  # bytes written to device memory per cycle and core
    memory: int | None = None  # device memory in bytes; None where the figure is not published
    # bytes a second of the modules of device memory, reads and writes together; 0 where no figure
    # is known beside the configuration's `gm_read` and `gm_write`
    memory_rate: int = 0
    cube_float32: bool = False  # True if the cube multiplies float32
    cube_hf32: bool = False  # True if the cube multiplies float32 operands rounded to HF32
    bfloat16: bool = False  # True if cube and vector take bfloat16
    # True if a pipe after the cube converts, activates and stores its results
    fix_pipe: bool = False
    # functions of each element that the fix pipe applies to what leaves the cube's buffer: Relu to
    # any float, all others to float16 alone
    fix_pipe_functions: frozenset[str] = frozenset()
    # True if CANN's passes give the fix pipe functions of float16 alone, and of convolutions of
    # images alone: no product, volume, bfloat16, float32 or Cast
    fix_pipe_half_images: bool = False
    # True if the fix pipe adds another tensor of float16, or takes it off, and applies a function
    # before that and one after it
    fix_pipe_sums: bool = False
    # True if functions with a number for each channel, PRelu and BNInferenceD, share launches of
    # vector operators
    channel_fusion: bool = False
    # True if CANN publishes nothing of most of its kernels, so that those of its family are assumed
    assumed_kernels: bool = False
    assumed_rate: bool = False  # True if no page states `memory_rate`
    # True if results of the cube reach the unified buffer within a core, so that vector operators
    # can join the cube's launch. Elsewhere those of the fix pipe alone do
    ub_fusion: bool = True
    # True if what turns sums of integers into floats or small integers shares the launch of the
    # convolution or product before it
    conversion_fusion: bool = False
    folded_norms: bool = False  # True if BatchNorm of constants becomes BNInferenceD
    confusion_transpose: bool = False  # True if one kernel turns axes and changes the shape
    cube_average_pools: bool = False  # True if average pools of float16 run on the cube
    # True if vector operators that follow one another can share a launch
    vector_fusion: bool = True
    # True if AscendDequant takes 64-bit words; only float16 factors elsewhere
    deq_words: bool = True
    # True if AscendQuant and AscendAntiQuant compute in float32; in float16 elsewhere
    quant_float32: bool = False
    # True if there is a kernel that goes from int32 to int8 in one step; whether a pass makes nodes
    # for it is in `quant_rules`
    requant: bool = False
    requant_s16: bool = False  # True if there are kernels that go from int32 to int8 over int16
    quant_int4: bool = False  # True if AscendQuant gives int4
    quant_int16: bool = False  # True if AscendQuant gives int16
    quant_rules: QuantRules = _PLAIN  # how CANN's passes treat quantized layers
    # True if copies into L1 turn rows of a matrix into fractals, and those out of L0C turn them
    # back; elsewhere the cube takes and gives FRACTAL_NZ alone
    fractal_copies: bool = False
    # clock of the vector cores in MHz; 0 where it is the cube's, or there are none
    vector_mhz: int = 0
    # True if some vector kernels run on AI Cores and vector cores at once
    mixed_cores: bool = False
    # what its kernels take in blocks
    storage: SocStorage = msgspec.field(default_factory=SocStorage)
    most_gears: int = 100  # sets of shapes that a model may be compiled for
    # bytes; tensors in device memory start at multiples. Transfers are split into pieces of at most
    # 512 bytes and are fastest at addresses that are multiples of it
    gm_align: int = 512
    # bytes; what follows each tensor in memory, after its size is rounded up to as many and before
    # it is rounded up to `gm_align`. 0 where nothing follows
    gm_padding: int = 0

    def __hash__(self) -> int:
        """The hash of the name: equal SoCs have one, and hashing all facts takes long."""
        return hash(self.name)

    def has(self, resource: Resource | None) -> bool:
        if resource is None:
            return True
        return bool(getattr(self, resource.value))


class Rates(msgspec.Struct, frozen=True):
    """Rates inside a core and to the L2 cache: bytes per cycle of the cube's clock and core.

    Figures: `platform_config` of CANN as published, like those of the SoC rows; `sim` has the
    figures of Ascend310P3.
    """

    l2_read: int  # from the L2 cache; 0 where the SoC has none
    l2_write: int  # to the L2 cache
    l1_l0a: int  # from L1 to the buffer of the cube's left operand
    l1_l0b: int  # from L1 to the buffer of its right operand
    # from the buffer of the cube's results to the unified buffer. Atlas A2 and A3 have no such
    # path: that the fix pipe carries results out of their cores at this rate, which their
    # configuration states all the same, is an assumption
    l0c_ub: int
    ub_out: int  # from the unified buffer to L2
    ub_ddr: int  # from the unified buffer to device memory; no less than the memory takes
    # from the unified buffer of a vector core to L2; 0 where the configuration has no rates of its
    # own for vector cores
    vector_out: int = 0
    # whether cube and vector are cores of their own that exchange data through L2
    split: bool = False


_RATES = {  # by core, and by SoC where it differs from others of its core
    "dav-m100": Rates(128, 64, 512, 256, 256, 64, 64),
    "dav-m300": Rates(256, 128, 512, 256, 128, 128, 128),
    "Ascend310B4": Rates(256, 128, 512, 256, 128, 128, 64),
    "dav-m200": Rates(114, 114, 512, 256, 512, 114, 17),
    "dav-c100": Rates(110, 86, 512, 256, 256, 64, 64),
    "dav-c220-cube": Rates(110, 86, 512, 256, 256, 64, 64, split=True),
    "dav-c310": Rates(100, 100, 256, 256, 128, 128, 128, vector_out=42, split=True),
    "dav-s200": Rates(0, 0, 512, 256, 512, 18, 18),
    "sim": Rates(114, 114, 512, 256, 512, 114, 17),
}


def rates_of(soc: Soc) -> Rates:
    return _RATES.get(soc.name) or _RATES[soc.arch]


# The fix pipe: what it does to results of the cube while it stores them, and in which order.
#
# Its units come in the order of CANN's operator FixPipe: a conversion, a function, a sum, a function
# [proven by the operand slots of a real file for Ascend310B4 of CANN 8.0]. Which units there are
# follows from CANN's platform configuration; what they take, from its pass FIXPIPEFUSIONPASS as
# published in 2026: activations other than Relu float16, sums float16 of equal dims and format.

SUMS = frozenset({"Add"})
"""Functions of the unit between the two others; that of differences is in no file seen."""

IMAGE_CONVS = frozenset({"Conv2D", "DepthwiseConv2D"})
"""Heads of what a pass of CANN for Ascend950 turns into ExtendConv2D."""

SLOPED = "PRelu"
"""The function with a slope for each channel, which is float32 in the pipe whatever the data are."""

_BEFORE, _SUM, _AFTER, _END = range(4)


def fix_pipe_length(functions: Iterable[tuple[str, DType]], soc: Soc) -> int:
    """The number of functions at the front that the fix pipe of `soc` does, one after another.

    `functions` are operators after the cube and the dtypes of their results.
    """
    unit, count = _BEFORE, 0
    for op, dtype in functions:
        if op in SUMS:
            fits = soc.fix_pipe_sums and unit <= _SUM and dtype is DType.FLOAT16
            unit = _AFTER
        else:
            any_float = op == "Relu" and not soc.fix_pipe_half_images
            narrow = any_float or dtype is DType.FLOAT16
            fits = op in soc.fix_pipe_functions and unit in {_BEFORE, _AFTER} and narrow
            unit = _SUM if unit == _BEFORE else _END
        if not fits:
            break
        count += 1
    return count
