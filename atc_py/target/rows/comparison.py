"""Comparisons, logic, and the choice between two tensors."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import TargetOp
from atc_py.target.rows.parts import BOOL, F16, FLOATS, I32, columns, operands
from atc_py.target.vector import MASK, Form, Temporary, VectorFunction
from atc_py.tensor.dtypes import DType

_ORDERED = "f16 f32 i32 i8 u8"
"""Dtypes that AI Core kernels put in order."""

_NEWEST = "A2 A3: f16 f32 bf16 i32 i64 i8 u8; CS: f16 i8 u8; 950: f16 f32 bf16 i32 i64 u64 i8 u8"
"""Dtypes that those of the newest families and of the smallest SoC put in order."""


def _compared(mode: str, *native: DType) -> VectorFunction:
    """Describe a comparison in half, in float32 and in further dtypes, by way of a mask."""
    ones = Temporary("ones", F16)
    return VectorFunction(
        Form.COMPARE, mode, native=(F16, *native), scratch=(ones, MASK), linked=False
    )


def _comparison(
    name: str,
    summary: str,
    aicore: str,
    aicpu: str,
    kernels: str,
    vector: VectorFunction,
) -> TargetOp:
    return TargetOp(
        name,
        *operands("x1 x2 > y"),
        summary,
        columns=columns(aicore, "T T > b"),
        kernels=on(kernels, "T T > b"),
        aicpu=columns(aicpu, "T T > b"),
        family="binary",
        selects=True,
        vector=vector,
    )


def _test(name: str, summary: str, kernels: str) -> TargetOp:
    ones = Temporary("ones", F16)
    return TargetOp(
        name,
        *operands("x > y"),
        summary,
        columns=columns(FLOATS, "T > b"),
        kernels=on(kernels, "T > b"),
        aicpu=columns("f16 f32 f64", "T > b"),
        family="unary",
        selects=True,
        passes=2.0,
        vector=VectorFunction(Form.TEST, native=(F16,), scratch=(ones, MASK), linked=False),
    )


def _logic(name: str, signature: str, summary: str, vector: VectorFunction) -> TargetOp:
    return TargetOp(
        name,
        *operands(signature),
        summary,
        columns=columns("b", "T T > T" if "x2" in signature else "T > T"),
        kernels=on("310 310P 310B 610 910 A2 A3 950 CS: b"),
        family=vector.form.value,
        selects=True,
        vector=vector,
    )


ROWS = (
    # uint16, uint32 and uint64 on the AI CPU are inferred: the list of CANN 9.0 has them, the
    # operator information of CANN 8.1 has not.
    _comparison(
        "Equal",
        "Whether two elements are equal, with broadcasting.",
        "f16 f32 i32 i64 u64 i8 u8 b",
        "f64 i16 i64 u16 u32 u64",
        "310: f16 f32 i32 i8 u8 b; 310P 610: f16 f32 i32 i64 u64 i8 u8 b; "
        "310B: f16 f32 i32 i64 i8 u8 b; 910: f16 f32 i32 i64 u64 u32 i8 u8 b; "
        "A2 A3: f16 f32 bf16 i32 i64 i8 u8 b; CS: f16 i32 i8 u8 b; "
        "950: f16 f32 bf16 i32 i64 u64 i8 u8 b f64",
        vector=_compared("EQ", I32),
    ),
    _comparison(
        "Greater",
        "Whether elements of x1 exceed those of x2, with broadcasting.",
        _ORDERED,
        "f64 i16 i32 i64 u16 u32 u64",
        f"310 610: f16 f32 i32 i8 u8; 310P 310B 910: f16 f32 i32 i64 i8 u8; {_NEWEST}",
        vector=_compared("GT"),
    ),
    _comparison(
        "GreaterEqual",
        "Whether elements of x1 reach those of x2, with broadcasting.",
        _ORDERED,
        "f64 i16 i32 i64 u16 u32 u64",
        f"310 310P 310B 910: f16 f32 i32 i64 i8 u8; 610: f16 f32 i32 i8 u8; {_NEWEST}",
        vector=_compared("GE"),
    ),
    # What the AI CPU takes is that of Atlas 200/500 A2 inference products.
    _test(
        "IsInf",
        "Whether elements are infinite.",
        "310 310B 610 910 CS: -; 310P: f16 f32; A2 A3 950: f16 f32 bf16",
    ),
    _test(
        "IsNan",
        "Whether elements are not a number.",
        "310 310P 610 910 CS: -; 310B: f16 f32; A2 A3 950: f16 bf16 f32",
    ),
    _comparison(
        "Less",
        "Whether elements of x1 are below those of x2, with broadcasting.",
        _ORDERED,
        "f64 i16 i32 i64 u16 u32 u64",
        f"310: f16 f32 i32 i8 u8; 310P 310B 610 910: f16 f32 i32 i64 i8 u8; {_NEWEST} f64",
        vector=_compared("LT"),
    ),
    _comparison(
        "LessEqual",
        "Whether elements of x1 do not exceed those of x2, with broadcasting.",
        f"{_ORDERED} i64",
        "i32",
        "310: f16 f32 i32 i8 u8; 310B: f16 f32 i32 i64 i8 u8; "
        f"310P 610 910: f16 f32 i32 i64 u64 i8 u8; {_NEWEST}",
        vector=_compared("LE"),
    ),
    _logic(
        "LogicalAnd",
        "x1 x2 > y",
        "Whether both elements are true, with broadcasting.",
        vector=VectorFunction(Form.BINARY, "And", bits=True, linked=False),
    ),
    _logic(
        "LogicalNot",
        "x > y",
        "Whether an element is false.",
        vector=VectorFunction(
            Form.UNARY, native=(BOOL,), scratch=(Temporary("words", F16),), linked=False
        ),
    ),
    _logic(
        "LogicalOr",
        "x1 x2 > y",
        "Whether one of two elements is true, with broadcasting.",
        vector=VectorFunction(Form.BINARY, "Or", bits=True, linked=False),
    ),
    TargetOp(
        "SelectV2",
        *operands("condition then else > result"),
        "Elements of `then` where the condition is true, else of `else`, with broadcasting.",
        columns=columns("f16 f32 i8 i32 i64 u8", "b T T > T"),
        kernels=on(
            "310 610: f16 f32 i32 i8 u8; 310P 310B 910: f16 f32 i32 i8 u8 i64; "
            "A2 A3 950: f16 f32 bf16 i32 i8 u8 i64; CS: f16 i32 i8 u8",
            "b T T > T",
        ),
        family="binary",
        selects=True,
        takes=Layout.ROWS,
        vector=VectorFunction(Form.SELECT, linked=False),
    ),
)
