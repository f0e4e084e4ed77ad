"""What rows of target operators are made with: names of dtypes, operands, columns."""

from enum import Enum
from functools import cache, partial

from atc_py.target.kernels import Kernels, pairs
from atc_py.target.layouts import Layout
from atc_py.target.row import (
    Attribute,
    AttributeValue,
    Column,
    Limit,
    Operand,
    TargetOp,
    Unit,
    Values,
)
from atc_py.target.soc import Resource
from atc_py.target.vector import VectorFunction
from atc_py.tensor.dtypes import DType

F16, F32, BOOL = DType.FLOAT16, DType.FLOAT32, DType.BOOL
I4, I8, I16, I32, I64, U64 = (
    DType.INT4, DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT64,
)  # fmt: skip

FLOATS = "f16 f32"
STORAGE = "f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b"
"""What data movement takes: it copies bits and does not look at them."""

ANY = f"{STORAGE} f64"

FLOAT_KERNELS = Kernels("310 310P 310B 610 910: f16 f32; A2 A3 950: f16 f32 bf16; CS: f16")
"""Of most functions of floats."""

UNDECIDED = "310 310P 310B 610 910 A2 A3 CS: ?"
"""Families whose kernels have their dtypes decided when they are compiled, or by another engine."""

ELSEWHERE = Kernels(f"{UNDECIDED}; 950: ?")
"""Of operators that another engine than that of the AI Core does on all SoCs."""

MOVED = "f16 f32 bf16 i32 i64 i8 u8 i16 u16 u32 u64"
"""What most kernels of Ascend950 move, beside bools: all that a register holds."""

LATER_KERNELS = Kernels("310 310P 310B 610 910 A3 CS: ?; A2 950: f16 f32 bf16")
"""Of functions of floats whose dtypes are decided when the kernel is compiled; A2 has compiled ones."""


class Needed(Enum):
    """Type of an attribute that every node states."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STRING = "string"
    INTS = "ints"
    FLOATS = "floats"
    DTYPE = "dtype"


def attributes(**defaults: Needed | AttributeValue) -> tuple[Attribute, ...]:
    """Attributes, each with its default, whose type it has; an empty list is one of ints."""
    return tuple(
        Attribute(name, default.value)
        if isinstance(default, Needed)
        else Attribute(name, _type_of(default), default)
        for name, default in defaults.items()
    )


def _type_of(default: AttributeValue) -> str:
    if isinstance(default, tuple):
        return "floats" if default and isinstance(default[0], float) else "ints"
    return _TYPES[type(default)]


_TYPES = {bool: "bool", int: "int", float: "float", str: "string", DType: "dtype"}

IMPL_MODE = Attribute("impl_mode", "string", "high_precision")
"""Of operators whose kernels for float16 differ in which steps they round to it: high_precision
rounds none, high_performance each; SoftmaxV2 may round the first (float16_difference) or the first
two (float16_exponential)."""


DIVISION, EXP, LOG, POLYNOMIAL = 4.0, 4.0, 4.0, 10.0
"""Vector instructions of a division, an exponential or a logarithm, counted as a handful.

CANN publishes none; these are what networks with Swish and GELU take on Ascend310P3, where kernels
compute them in float32, two repeats for one of float16."""


@cache
def columns(dtypes: str, form: str = "T > T", needs: Resource | None = None) -> tuple[Column, ...]:
    """Columns as kernels write them: `f16 f32 (f16 f16 > f32)` in columns of `form`."""
    return tuple(Column(*pair, needs) for pair in pairs(dtypes, form))


CUBE = (
    *columns("f16", "T T T > T"),
    *columns("f32", "T T T > T", Resource.CUBE_FLOAT32),
    *columns("(i8 i8 i32 i8 > i32) (f16 f16 f32 > f32)"),
)
"""Columns of (data, weights, bias, offset_w) of a cube operator.

float16; float32 where the SoC's cube has it; int8, summed up in int32 with an int32 bias;
float16 with the float32 sums as result, to which a float32 bias is added.
Only int8 weights have offsets.
"""


def operands(signature: str) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Inputs and outputs from a text such as `x shape# bias? > y`.

    `b?` is optional, `x*` variadic, `shape#` read as numbers, `axes#!` numbers that kernels are
    compiled for.
    """
    inputs, _, outputs = signature.partition(">")
    return _operands(inputs), _operands(outputs)


def operator(  # noqa: PLR0913  (the facts of a row)
    name: str,
    summary: str,
    signature: str = "x > y",
    *,
    form: str = "T > T",
    columns: str | tuple[Column, ...] = (),
    kernels: str | Kernels | None = None,
    aicpu: str | tuple[Column, ...] = (),
    unit: Unit = Unit.VECTOR,
    attributes: tuple[Attribute, ...] = (),
    limits: tuple[Limit | Values, ...] = (),
    family: str = "",
    selects: bool = False,
    saturates: bool = False,
    formula: str = "",
    takes: Layout | None = None,
    vector: VectorFunction | None = None,
    passes: float | None = None,
    picks: bool = False,
) -> TargetOp:
    """The row of an operator; texts of columns and kernels are in columns of `form`."""
    inputs, outputs = operands(signature)
    return TargetOp(
        name, inputs, outputs, summary, unit, attributes, _columns(columns, form),
        Kernels(kernels, form) if isinstance(kernels, str) else kernels, _columns(aicpu, form),
        limits, family, selects, saturates, formula, takes, vector, passes, picks,
    )  # fmt: skip


def _columns(given: str | tuple[Column, ...], form: str) -> tuple[Column, ...]:
    return columns(given, form) if isinstance(given, str) else given


of_floats = partial(operator, columns=FLOATS, kernels=FLOAT_KERNELS, family="unary")
"""Make the row of a function of each element of one tensor of floats."""


of_moves = partial(operator, unit=Unit.MOVE, family="move")
"""Make the row of an operator whose results are elements of its inputs, at other places."""


def _operands(names: str) -> tuple[Operand, ...]:
    return tuple(
        Operand(name.rstrip("?*#!"), *(mark in name for mark in "?*#!")) for name in names.split()
    )
