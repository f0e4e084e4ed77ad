"""What rows of target operators are made with: names of dtypes, operands, columns."""

from atc_py.target.kernels import on
from atc_py.target.row import Attribute, Column, Operand
from atc_py.target.soc import Resource
from atc_py.tensor.dtypes import DType

F16, F32, F64, BF16 = DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16
I4, I8, I16, I32, I64 = DType.INT4, DType.INT8, DType.INT16, DType.INT32, DType.INT64
U8, U16, U32, U64 = DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64
BOOL = DType.BOOL

FLOATS = (F16, F32)
STORAGE = (F16, F32, I8, I16, I32, I64, U8, U16, U32, U64, BOOL)
"""What data movement takes: it copies bits and does not look at them."""

ANY = (*STORAGE, F64)

FLOAT_KERNELS = on("310 310P 310B 610 910: f16 f32; A2 A3: f16 f32 bf16; CS: f16")
"""Of most functions of floats."""

DECIDED_LATER = on("310 310P 310B 610 910 A2 A3 CS: ?")
"""Of operators whose dtypes are decided when the kernel is compiled, or by another engine."""

LATER_KERNELS = on("310 310P 310B 610 910 A3 CS: ?; A2: f16 f32 bf16")
"""Of functions of floats whose dtypes are decided when the kernel is compiled; A2 has compiled ones."""

IMPL_MODE = Attribute("impl_mode", "string", "high_precision")
"""Of operators whose kernels for float16 differ in which steps they round to it: high_precision
rounds none, high_performance each; SoftmaxV2 may round the first (float16_difference) or the first
two (float16_exponential)."""


DIVISION, EXP, LOG, POLYNOMIAL = 2.0, 3.0, 3.0, 10.0
"""Vector instructions of a division or an exponential, counted as a handful; CANN publishes none."""


def same(*dtypes: DType, inputs: int = 1, outputs: int = 1) -> tuple[Column, ...]:
    """Columns in which all operands have one dtype."""
    return tuple(Column((dtype,) * inputs, (dtype,) * outputs) for dtype in dtypes)


def cube() -> tuple[Column, ...]:
    """Columns of (data, weights, bias, offset_w) of a cube operator.

    float16; float32 where the SoC's cube has it; int8, summed up in int32 with an int32 bias;
    float16 with the float32 sums as result, to which a float32 bias is added.
    Only int8 weights have offsets.
    """
    return (
        Column((F16,) * 3, (F16,)),
        Column((F32,) * 3, (F32,), Resource.CUBE_FLOAT32),
        Column((I8, I8, I32, I8), (I32,)),
        Column((F16, F16, F32), (F32,)),
    )


def inputs(*names: str) -> tuple[Operand, ...]:
    """Operands from names: `b?` is optional, `x*` variadic, `shape#` read as numbers."""
    return tuple(
        Operand(name.rstrip("?*#"), name.endswith("?"), name.endswith("*"), name.endswith("#"))
        for name in names
    )


Y = (Operand("y"),)
X1_X2 = inputs("x1", "x2")
