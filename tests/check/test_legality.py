"""What each precision mode may make of each dtype, against a table of its own.

Source of the table: ATC's documented rule of each mode, and how its selection of columns raises and
lowers floats. Raising is to a wider float, never between float16 and bfloat16.
"""

import pytest

from atc_py.check.rules.dtypes import becomes, is_legal
from atc_py.options.compile_options import PrecisionMode
from atc_py.tensor.dtypes import DType

F16, BF16, F32, F64 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64
FLOATS = {"f16": F16, "bf16": BF16, "f32": F32}

CHANGES = """
force_fp16                f16: f16 f32       bf16: f16 f32       f32: f16 f32
force_fp32                f16: f32 f16       bf16: f32 bf16 f16  f32: f32 bf16 f16
cube_fp16in_fp32out       f16: f32 f16       bf16: f32 bf16 f16  f32: f32 bf16 f16
must_keep_origin_dtype    f16: f16 f32       bf16: bf16 f32      f32: f32
allow_fp32_to_fp16        f16: f16 f32       bf16: bf16 f32 f16  f32: f32 f16
allow_mix_precision       f16: f16 f32       bf16: bf16 f32 f16  f32: f32 f16
allow_mix_precision_fp16  f16: f16 f32       bf16: bf16 f32 f16  f32: f32 f16
allow_mix_precision_bf16  f16: f16 f32       bf16: bf16 f32      f32: f32 bf16
allow_fp32_to_bf16        f16: f16 f32       bf16: bf16 f32      f32: f32 bf16
"""
"""For each mode what a float may become, the one that is tried first first."""


def _table() -> dict[tuple[PrecisionMode, DType], list[DType]]:
    """Return the table, with what no mode changes."""
    found = {(mode, dtype): [dtype] for mode in PrecisionMode for dtype in DType}
    for line in CHANGES.split("\n"):
        mode, _, rest = line.partition(" ")
        target: list[DType] = []
        for word in rest.split():
            if word.endswith(":"):
                target = found[PrecisionMode(mode), FLOATS[word[:-1]]]
                target.clear()
            else:
                target.append(FLOATS[word])
    return found


TABLE = _table()


def test_table_has_every_mode() -> None:
    named = {line.partition(" ")[0] for line in CHANGES.strip().split("\n")}
    assert named == {mode.value for mode in PrecisionMode}, (
        "give each mode a line in CHANGES above and a row in _CHOICES of atc_py/check/rules/dtypes.py"
    )


@pytest.mark.parametrize("mode", PrecisionMode)
def test_dtype_is_legal_where_the_mode_may_make_it_the_one_listed(mode: PrecisionMode) -> None:
    for dtype in DType:
        for listed in DType:
            found = is_legal(dtype, [listed], mode)
            assert found is (listed in TABLE[mode, dtype]), (dtype, listed)


@pytest.mark.parametrize("mode", PrecisionMode)
def test_first_choice_that_is_listed_is_taken(mode: PrecisionMode) -> None:
    for dtype in DType:
        choices = TABLE[mode, dtype]
        for position, choice in enumerate(choices):
            assert becomes(dtype, set(DType) - set(choices[:position]), mode) is choice
        assert becomes(dtype, set(DType) - set(choices), mode) is None


@pytest.mark.parametrize("mode", PrecisionMode)
def test_float64_and_integers_are_neither_chosen_nor_changed(mode: PrecisionMode) -> None:
    fixed = {dtype for dtype in DType if not dtype.is_float} | {F64}
    for dtype in DType:
        for other in fixed - {dtype}:
            assert not is_legal(dtype, {other}, mode)
    for dtype in fixed:
        assert not is_legal(dtype, set(DType) - {dtype}, mode)
        assert becomes(dtype, list(DType), mode) is dtype


@pytest.mark.parametrize("mode", PrecisionMode)
def test_nothing_is_legal_where_nothing_is_listed(mode: PrecisionMode) -> None:
    assert not any(is_legal(dtype, (), mode) for dtype in DType)
