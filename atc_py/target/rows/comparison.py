"""Comparisons, logic, and the choice between two tensors."""

from functools import partial

from atc_py.target.kernels import Kernels
from atc_py.target.layouts import Layout
from atc_py.target.rows.parts import BOOL, F16, FLOATS, I32, operator
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


_comparison = partial(
    operator, signature="x1 x2 > y", form="T T > b", family="binary", selects=True
)

_test = partial(
    operator,
    form="T > b",
    columns=FLOATS,
    aicpu="f16 f32 f64",
    family="unary",
    selects=True,
    passes=2.0,
    vector=VectorFunction(
        Form.TEST, native=(F16,), scratch=(Temporary("ones", F16), MASK), linked=False
    ),
)


_logic = partial(
    operator,
    columns="b",
    kernels=Kernels("310 310P 310B 610 910 A2 A3 950 CS: b"),
    family="binary",
    selects=True,
)

ROWS = (
    # uint16, uint32 and uint64 on the AI CPU are inferred: the list of CANN 9.0 has them, the
    # operator information of CANN 8.1 has not.
    _comparison(
        "Equal",
        "Whether two elements are equal, with broadcasting.",
        columns="f16 f32 i32 i64 u64 i8 u8 b",
        aicpu="f64 i16 i64 u16 u32 u64",
        kernels="310: f16 f32 i32 i8 u8 b; 310P 610: f16 f32 i32 i64 u64 i8 u8 b; "
        "310B: f16 f32 i32 i64 i8 u8 b; 910: f16 f32 i32 i64 u64 u32 i8 u8 b; "
        "A2 A3: f16 f32 bf16 i32 i64 i8 u8 b; CS: f16 i32 i8 u8 b; "
        "950: f16 f32 bf16 i32 i64 u64 i8 u8 b f64",
        vector=_compared("EQ", I32),
    ),
    _comparison(
        "Greater",
        "Whether elements of x1 exceed those of x2, with broadcasting.",
        columns=_ORDERED,
        aicpu="f64 i16 i32 i64 u16 u32 u64",
        kernels=f"310 610: f16 f32 i32 i8 u8; 310P 310B 910: f16 f32 i32 i64 i8 u8; {_NEWEST}",
        vector=_compared("GT"),
    ),
    _comparison(
        "GreaterEqual",
        "Whether elements of x1 reach those of x2, with broadcasting.",
        columns=_ORDERED,
        aicpu="f64 i16 i32 i64 u16 u32 u64",
        kernels=f"310 310P 310B 910: f16 f32 i32 i64 i8 u8; 610: f16 f32 i32 i8 u8; {_NEWEST}",
        vector=_compared("GE"),
    ),
    # What the AI CPU takes is that of Atlas 200/500 A2 inference products.
    _test(
        "IsInf",
        "Whether elements are infinite.",
        kernels="310 310B 610 910 CS: -; 310P: f16 f32; A2 A3 950: f16 f32 bf16",
    ),
    _test(
        "IsNan",
        "Whether elements are not a number.",
        kernels="310 310P 610 910 CS: -; 310B: f16 f32; A2 A3 950: f16 bf16 f32",
    ),
    _comparison(
        "Less",
        "Whether elements of x1 are below those of x2, with broadcasting.",
        columns=_ORDERED,
        aicpu="f64 i16 i32 i64 u16 u32 u64",
        kernels=f"310: f16 f32 i32 i8 u8; 310P 310B 610 910: f16 f32 i32 i64 i8 u8; {_NEWEST} f64",
        vector=_compared("LT"),
    ),
    _comparison(
        "LessEqual",
        "Whether elements of x1 do not exceed those of x2, with broadcasting.",
        columns=f"{_ORDERED} i64",
        aicpu="i32",
        kernels="310: f16 f32 i32 i8 u8; 310B: f16 f32 i32 i64 i8 u8; "
        f"310P 610 910: f16 f32 i32 i64 u64 i8 u8; {_NEWEST}",
        vector=_compared("LE"),
    ),
    _logic(
        "LogicalAnd",
        "Whether both elements are true, with broadcasting.",
        "x1 x2 > y",
        form="T T > T",
        vector=VectorFunction(Form.BINARY, "And", bits=True, linked=False),
    ),
    _logic(
        "LogicalNot",
        "Whether an element is false.",
        family="unary",
        vector=VectorFunction(
            Form.UNARY, native=(BOOL,), scratch=(Temporary("words", F16),), linked=False
        ),
    ),
    _logic(
        "LogicalOr",
        "Whether one of two elements is true, with broadcasting.",
        "x1 x2 > y",
        form="T T > T",
        vector=VectorFunction(Form.BINARY, "Or", bits=True, linked=False),
    ),
    operator(
        "SelectV2",
        "Elements of `then` where the condition is true, else of `else`, with broadcasting.",
        "condition then else > result",
        form="b T T > T",
        columns="f16 f32 i8 i32 i64 u8",
        kernels="310 610: f16 f32 i32 i8 u8; 310P 310B 910: f16 f32 i32 i8 u8 i64; "
        "A2 A3 950: f16 f32 bf16 i32 i8 u8 i64; CS: f16 i32 i8 u8",
        family="binary",
        selects=True,
        takes=Layout.ROWS,
        vector=VectorFunction(Form.SELECT, linked=False),
    ),
)
