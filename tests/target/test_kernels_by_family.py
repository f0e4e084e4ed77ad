"""How rows say which dtypes the AI Core kernel of an operator takes on which SoC family."""

import pytest

from atc_py.target import Resource, TargetOp, Unit, find_soc
from atc_py.target.kernels import FAMILY_WORDS, Kernels
from atc_py.target.row import Column, Operand
from atc_py.target.soc import SocFamily
from atc_py.tensor.dtypes import DType

F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16
I8, I32, I64, BOOL = DType.INT8, DType.INT32, DType.INT64, DType.BOOL
P310, P310P, A2 = SocFamily.ASCEND310, SocFamily.ASCEND310P, SocFamily.ASCEND910B


def row_with(kernels: Kernels | None, unit: Unit = Unit.VECTOR) -> TargetOp:
    """Return an operator with columns of its own and `kernels`."""
    columns = (Column((F16,), (F16,)), Column((F32,), (F32,), Resource.CUBE_FLOAT32))
    return TargetOp(
        "Made", (Operand("x"),), (Operand("y"),), "", unit=unit, columns=columns, kernels=kernels
    )


def test_dtypes_of_a_family_make_columns_of_the_form() -> None:
    kernels = Kernels("310: f16; 310P A2: f16 i32", "T T > b")
    assert kernels.published(P310) == (((F16, F16), (BOOL,)),)
    both = (((F16, F16), (BOOL,)), ((I32, I32), (BOOL,)))
    assert kernels.published(P310P) == kernels.published(A2) == both


def test_alternatives_and_whole_columns_are_written_out() -> None:
    kernels = Kernels("310: f16 (f16 f16 > f32|i8) i8", "T i32|i64 > T")
    assert kernels.published(P310) == (
        ((F16, I32), (F16,)),
        ((F16, I64), (F16,)),
        ((F16, F16), (F32,)),
        ((F16, F16), (I8,)),
        ((I8, I32), (I8,)),
        ((I8, I64), (I8,)),
    )


def test_absent_kernels_and_unpublished_dtypes_differ() -> None:
    kernels = Kernels("310: -; 310P: ?; A2: bf16")
    assert kernels.published(P310) == ()
    assert kernels.published(P310P) is None
    assert kernels.published(SocFamily.SIM) is None
    assert kernels.published(A2) == (((BF16,), (BF16,)),)


@pytest.mark.parametrize(
    "text", ["311: f16", "310: f17", "310: f16; 310 A2: f32", "310: (f16 > x)"]
)
def test_faulty_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"names|no dtype"):
        Kernels(text).published(P310)


def test_soc_has_the_columns_of_its_family() -> None:
    row = row_with(Kernels("310: -; 310P: ?; A2: f16 bf16"))
    names = {
        name: tuple(column.inputs[0] for column in row.columns_on(find_soc(name)))
        for name in ("sim", "Ascend310", "Ascend310P3", "Ascend910B3", "Ascend950PR_9599")
    }
    assert names == {
        "sim": (F16, F32),
        "Ascend310": (),
        "Ascend310P3": (F16,),  # as ever: its cube has no float32
        "Ascend910B3": (F16, BF16),
        "Ascend950PR_9599": (F16, F32),
    }
    assert row.takes_on(find_soc("Ascend910B3"), BF16)
    assert not row.takes_on(find_soc("Ascend910B3"), F32)


def test_operator_without_an_entry_or_a_kernel_keeps_its_columns() -> None:
    soc = find_soc("Ascend310")
    assert row_with(None).published_on(soc) is None
    assert row_with(None).columns_on(soc)
    local = row_with(Kernels("310: -"), Unit.LOCAL)
    assert [column.inputs for column in local.columns_on(soc)] == [(F16,)]


def test_every_family_but_the_generic_one_has_a_word() -> None:
    assert {*SocFamily} - {*FAMILY_WORDS.values()} == {SocFamily.SIM}
