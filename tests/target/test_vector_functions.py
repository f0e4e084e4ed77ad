"""Vector functions: what rows say of them, and that nothing else lists operators by name."""

import ast
from pathlib import Path

import pytest

from atc_py.kernels.links import compute_type, instruction_of, operators_of
from atc_py.system.cache_folders import templates_dir
from atc_py.target import TargetOp, find_operator, operators
from atc_py.target.vector import LOW, MASK, Form, Temporary, VectorFunction
from atc_py.tensor.dtypes import DType

ROOT = Path(__file__).resolve().parents[2] / "atc_py"
FUNCTIONS = {row.name: row.vector for row in operators() if row.vector is not None}
ELSEWHERE = {Form.COMPARE, Form.SELECT, Form.CAST}
"""Forms whose templates have the only formula that there is."""

NAMELESS = (
    "kernels/elementwise.py",
    "kernels/families/elementwise.py",
    "kernels/links.py",
    "kernels/planes.py",
)
"""Modules that read rows and name no operator."""


@pytest.mark.parametrize("module", NAMELESS)
def test_no_module_lists_operators_by_name(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {row.name for row in operators()} & texts == set()


def test_every_function_has_an_instruction_or_a_formula() -> None:
    files = {path.stem for path in (templates_dir() / "kernels" / "functions").iterdir()}
    named = {op for op, row in FUNCTIONS.items() if row.instruction}
    wanted = {op for op, row in FUNCTIONS.items() if row.form not in ELSEWHERE}
    assert files == wanted - named
    assert {op for op, row in FUNCTIONS.items() if row.form is Form.COMPARE} <= named


def test_forms_part_the_functions() -> None:
    parts = [operators_of(form) for form in Form]
    assert sum(map(len, parts)) == len(FUNCTIONS)
    assert set().union(*parts) == set(FUNCTIONS)


@pytest.mark.parametrize(
    "facts",
    [
        {"form": Form.COMPARE},
        {"form": Form.SELECT},
        {"form": Form.TEST},
        {"form": Form.UNARY, "bits": True},
        {"form": Form.CAST},
        {"form": Form.UNARY, "scratch": (LOW, MASK)},
        {"form": Form.UNARY, "scratch": (Temporary("words", DType.FLOAT16),)},
    ],
    ids=["compare", "select", "test", "bits", "cast", "mask", "other-scratch"],
)
def test_a_function_that_no_other_kernel_has_room_for_cannot_be_linked(
    facts: dict[str, object],
) -> None:
    assert not VectorFunction(**facts, linked=False).linked  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="linked=False"):
        VectorFunction(**facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("native", "dtype", "expected"),
    [
        ((), DType.FLOAT16, "float"),
        ((), DType.FLOAT32, "float"),
        ((), DType.BFLOAT16, "float"),
        ((), DType.INT32, "scalar"),
        ((DType.FLOAT16,), DType.FLOAT16, "half"),
        ((DType.FLOAT16,), DType.BFLOAT16, "float"),
        ((DType.FLOAT16, DType.INT32), DType.INT32, "int32_t"),
        ((DType.FLOAT16, DType.INT32), DType.INT8, "scalar"),
        ((DType.BOOL,), DType.BOOL, "uint8_t"),
    ],
)
def test_arithmetic_is_native_or_goes_through_float32(
    native: tuple[DType, ...], dtype: DType, expected: str
) -> None:
    assert compute_type(VectorFunction(Form.UNARY, native=native), dtype) == expected


def test_what_selects_or_rounds_once_is_exact() -> None:
    def row(*, selects: bool = False, vector: VectorFunction | None = None) -> TargetOp:
        return TargetOp("F", (), (), "A function.", selects=selects, vector=vector)

    assert row(selects=True).is_exact
    assert row(vector=VectorFunction(Form.UNARY, rounded_once=True)).is_exact
    assert not row(vector=VectorFunction(Form.UNARY)).is_exact
    assert not row().is_exact
    moves = find_operator("TransposeD")
    assert moves is not None
    assert moves.is_exact


def test_instructions_are_those_of_rows() -> None:
    assert instruction_of("Log") == "Ln"
    assert instruction_of("GeluV2") == ""
    assert instruction_of("Conv2D") == ""
    assert instruction_of("Nothing") == ""


def test_passes_of_a_vector_function_are_at_least_one() -> None:
    assert all(row.passes is None or row.passes >= 1 for row in operators())
