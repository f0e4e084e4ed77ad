"""Casts: one conversion of the vector unit, a chain of them, or the scalar unit."""

from collections.abc import Mapping

from atc_py.kernels.cpp import C_TYPES
from atc_py.kernels.elementwise import ElementwiseFamily, rows_and_planes
from atc_py.kernels.links import operators_of
from atc_py.kernels.plan import KernelFacts
from atc_py.kernels.ports import Formula, Scratch, loaded
from atc_py.target.vector import Form
from atc_py.tensor.dtypes import DType

F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16
I8, I16, I32, I64, U8 = DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8

_STEPS: Mapping[tuple[DType, DType], str] = {
    **dict.fromkeys(
        [(F16, F32), (BF16, F32), (I8, F16), (U8, F16), (I16, F32), (I32, I64)], "CAST_NONE"
    ),
    **dict.fromkeys([(F32, F16), (F32, BF16), (I16, F16), (I32, F32), (I64, F32)], "CAST_RINT"),
    **dict.fromkeys(
        [(F16, I32), (F16, I16), (F16, I8), (F16, U8), (F32, I16), (F32, I32), (F32, I64)],
        "CAST_TRUNC",
    ),
}
"""Conversions of the vector unit, and how each of them rounds as ONNX's Cast does."""

_OVER: Mapping[tuple[DType, DType], DType] = {
    (F16, BF16): F32,
    (BF16, F16): F32,
    (BF16, I32): F32,
    (BF16, I16): F32,
    (I8, F32): F16,
    (U8, F32): F16,
    (I32, F16): F32,
}
"""The dtype between two others where two conversions equal one."""


def _chain(source: DType, target: DType) -> tuple[DType, ...]:
    """The dtypes from `source` to `target`, both included; empty where there is no path.

    A bool is a byte of 0 or 1.
    """
    source = U8 if source is DType.BOOL else source
    if (source, target) in _STEPS:
        return source, target
    middle = _OVER.get((source, target))
    return () if middle is None else (source, middle, target)


def _limits(dtype: DType) -> tuple[str, str]:
    bits = 8 * dtype.itemsize
    if dtype.value.startswith("u"):
        return "0", f"{2**bits - 1}u" if bits < 64 else f"{2**bits - 1}ull"  # noqa: PLR2004
    end = "ll" if bits == 64 else ""  # noqa: PLR2004
    return f"-{2 ** (bits - 1) - 1}{end} - 1", f"{2 ** (bits - 1) - 1}{end}"


class _Casts(ElementwiseFamily):
    """Conversions to another dtype."""

    def formula(self, kernel: KernelFacts) -> Formula:
        x, y = kernel.inputs[0], kernel.outputs[0]
        chain = _chain(x.dtype, y.dtype)
        if not chain:
            limits = _limits(y.dtype) if y.dtype.is_integer else ("", "")
            context = (("low", limits[0]), ("high", limits[1]))
            return Formula("scalar", loaded(kernel.inputs), context=context)
        names = [x.name, *(["middle"] if len(chain) > 2 else []), y.name]  # noqa: PLR2004
        steps = [
            {"source": names[at], "target": names[at + 1], "mode": _STEPS[chain[at], chain[at + 1]]}
            for at in range(len(chain) - 1)
        ]
        scratch = tuple(Scratch("middle", C_TYPES[dtype]) for dtype in chain[1:-1])
        return Formula(
            "vector", loaded(kernel.inputs), scratch=scratch, context=(("chain", steps),)
        )


FAMILIES = rows_and_planes(_Casts(Form.CAST.value, operators_of(Form.CAST)))
