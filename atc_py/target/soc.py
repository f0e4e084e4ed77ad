"""The shape of a SoC's row: cores, buffers, rates and the units that its cores have."""

from enum import Enum

import msgspec

from atc_py.target.quant_rules import QuantRules
from atc_py.target.soc_storage import SocStorage


class SocFamily(Enum):
    """SoCs that share their kernels: CANN's short SoC version, and the generic device."""

    SIM = "sim"
    ASCEND310 = "Ascend310"
    ASCEND310B = "Ascend310B"
    ASCEND310P = "Ascend310P"
    ASCEND610 = "Ascend610"
    ASCEND910 = "Ascend910"
    ASCEND910B = "Ascend910B"
    ASCEND910_93 = "Ascend910_93"
    ASCEND910_95 = "Ascend910_95"
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
    """Facts about one SoC.

    Attributes:
        name: as `--soc` takes it.
        family: SoCs with the same kernels.
        isa: generation of the instruction set.
        arch: CCEC name of the core architecture.
        aicores: AI Cores (cube and vector in one, or the cube part where they are split).
        vector_cores: separate vector cores, 0 where there are none.
        aicpus: AI CPU cores; 0 where the figure is not published.
        mhz: cube clock in MHz.
        vector_mhz: clock of the vector cores in MHz; 0 where it is the cube's, or there are none.
        l2_kib: L2 cache in KiB.
        l0a_kib: buffer of the cube's left operand in KiB; the right one's is as large.
        l0c_kib: buffer of the cube's results in KiB.
        l1_kib: L1 buffer of a core in KiB.
        ub_kib: unified buffer of a core in KiB.
        gm_read: bytes read from device memory per cycle and core.
        gm_write: bytes written to device memory per cycle and core.
        memory: device memory in bytes; None where the figure is not published.
        cube_float32: True if the cube multiplies float32.
        cube_hf32: True if the cube multiplies float32 operands rounded to HF32.
        bfloat16: True if cube and vector take bfloat16.
        fix_pipe: True if a pipe after the cube converts, activates and stores its results.
        fix_pipe_functions: functions of each element that the fix pipe applies to what leaves
            the cube's buffer: Relu to any float, all others to float16 alone.
        ub_fusion: True if results of the cube reach the unified buffer within a core, so that
            vector operators can join the cube's launch. Elsewhere those of the fix pipe alone do.
        conversion_fusion: True if what turns sums of integers into floats or small integers shares
            the launch of the convolution or product before it.
        confusion_transpose: True if one kernel turns axes and changes the shape.
        cube_average_pools: True if average pools of float16 run on the cube.
        vector_fusion: True if vector operators that follow one another can share a launch.
        deq_words: True if AscendDequant takes 64-bit words; only float16 factors elsewhere.
        quant_float32: True if AscendQuant computes in float32; in float16 elsewhere.
        requant: True if there is a kernel that goes from int32 to int8 in one step; whether a pass
            makes nodes for it is in `quant_rules`.
        requant_s16: True if there are kernels that go from int32 to int8 over int16.
        quant_int4: True if AscendQuant gives int4.
        quant_int16: True if AscendQuant gives int16.
        assumed_kernels: True if CANN publishes no operator information for it, so that the dtypes
            of its kernels are those of the generic device and, with bfloat16, assumed.
        quant_rules: how CANN's passes treat quantized layers.
        fractal_copies: True if copies into L1 turn rows of a matrix into fractals, and those out
            of L0C turn them back; elsewhere the cube takes and gives FRACTAL_NZ alone.
        mixed_cores: True if some vector kernels run on AI Cores and vector cores at once.
        storage: what its kernels take in blocks.
        gm_align: bytes; tensors in device memory start at multiples. Transfers are split into
            pieces of at most 512 bytes and are fastest at addresses that are multiples of it.
        gm_padding: bytes; what follows each tensor in memory, after its size is rounded up to as
            many and before it is rounded up to `gm_align`. 0 where nothing follows.
    """

    name: str
    family: SocFamily
    isa: Isa
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
    memory: int | None = None
    cube_float32: bool = False
    cube_hf32: bool = False
    bfloat16: bool = False
    fix_pipe: bool = False
    fix_pipe_functions: frozenset[str] = frozenset()
    assumed_kernels: bool = False
    ub_fusion: bool = True
    conversion_fusion: bool = False
    confusion_transpose: bool = False
    cube_average_pools: bool = False
    vector_fusion: bool = True
    deq_words: bool = True
    quant_float32: bool = False
    requant: bool = False
    requant_s16: bool = False
    quant_int4: bool = False
    quant_int16: bool = False
    quant_rules: QuantRules = _PLAIN
    fractal_copies: bool = False
    vector_mhz: int = 0
    mixed_cores: bool = False
    storage: SocStorage = msgspec.field(default_factory=SocStorage)
    gm_align: int = 512
    gm_padding: int = 0

    def __hash__(self) -> int:
        """The hash of the name: equal SoCs have one, and hashing all facts takes long."""
        return hash(self.name)

    def has(self, resource: Resource | None) -> bool:
        """True if this SoC has what a dtype column needs."""
        if resource is None:
            return True
        return bool(getattr(self, resource.value))
