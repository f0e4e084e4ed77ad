"""Einsum through the whole compiler, against sums in double and onnxruntime; what it becomes."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.api import convert
from atc_py.diag import AtcError
from atc_py.spec import library
from atc_py.spec.rules import EquationOneOf
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.lowering.custom_nodes import FORCE, KEEP, RELATIVE, near
from tests.onnx_graph.onnx_files import save

Array = npt.NDArray[Any]

LISTED = "cann-9.0"
SIZES = dict(zip("abcdefg", (2, 3, 4, 5, 6, 7, 8), strict=True))


def equations() -> tuple[str, ...]:
    """Return the equations of the list."""
    spec = library(LISTED).find("Einsum")
    assert spec is not None
    (rule,) = (each for each in spec.constraints if isinstance(each, EquationOneOf))
    return rule.one_of


def operands(equation: str, dtype: str = "float32") -> dict[str, Array]:
    """Return operands with a size of its own for each letter."""
    generator = np.random.default_rng(len(equation))
    terms = equation.partition("->")[0].replace(" ", "").split(",")
    shapes = [tuple(SIZES[each.lower()] for each in letters) for letters in terms]
    return {
        name: generator.standard_normal(shape).astype(dtype)
        for name, shape in zip(("x", "y"), shapes, strict=True)
    }


def found(
    equation: str, feeds: dict[str, Array], folder: Path, mode: str = KEEP, opset: int = 12
) -> Array:
    """Return the result of a node."""
    model = one_node_model("Einsum", feeds, opset, equation=equation)
    options = {"precision_mode": mode, "operator_list": LISTED}
    (result,) = run_with_atc_py(model, feeds, folder, **options).values()
    return result


@pytest.mark.parametrize("place", range(20))
def test_equation_of_the_list(place: int, tmp_path: Path) -> None:
    equation = equations()[place]
    opset = 12 + place % 7
    for dtype, mode in (("float32", KEEP), ("float32", FORCE), ("float16", KEEP)):
        feeds = operands(equation, dtype)
        wide = (array.astype(np.float64) for array in feeds.values())
        expected = np.einsum(equation, *wide).astype(dtype)
        result = found(equation, feeds, tmp_path, mode, opset)
        near(result, expected, RELATIVE[FORCE if dtype == "float16" else mode])


@pytest.mark.parametrize("equation", ["ij,kj->ik", "Ba, ca -> Bc", "ab, cb", "b e a,b e d->d a"])
def test_equation_in_other_words_means_what_onnxruntime_makes_of_it(
    equation: str, tmp_path: Path
) -> None:
    generator = np.random.default_rng(1)
    shapes = [(2, 3, 4), (2, 3, 5)] if "e" in equation else [(2, 3), (4, 3)]
    feeds = {
        name: generator.standard_normal(shape).astype(np.float32)
        for name, shape in zip(("x", "y"), shapes, strict=True)
    }
    model = one_node_model("Einsum", feeds, 13, equation=equation)
    (expected,) = run_with_onnxruntime(model, feeds).values()
    near(found(equation, feeds, tmp_path), expected, RELATIVE[KEEP])


def test_special_values_go_through_the_product(tmp_path: Path) -> None:
    feeds = operands("ab,cb->ac")
    feeds["x"][0, 0], feeds["y"][1, 0] = np.nan, np.inf
    result = found("ab,cb->ac", feeds, tmp_path)
    np.testing.assert_array_equal(np.isnan(result), [[True] * 4, [False] * 4])
    assert abs(result[1, 1]) == np.inf


def test_einsum_becomes_what_the_pass_of_cann_makes_of_it(tmp_path: Path) -> None:
    made = {
        "abcd,acbe->aecd": ["TransposeD", "BatchMatMulV2", "TransposeD"],
        "abcd,aecd->aceb": ["TransposeD", "TransposeD", "BatchMatMulV2"],
        "abc,abd->dc": ["Reshape", "Reshape", "MatMulV2"],
        "ab,cb->ac": ["MatMulV2"],
    }
    for equation, operators in made.items():
        model = save(one_node_model("Einsum", operands(equation), 12, equation=equation), tmp_path)
        options: dict[str, Any] = {"operator_list": LISTED, "dump_ir": tmp_path / "ir"}
        facts = convert(model, tmp_path / "m.om", precision_mode=KEEP, **options).facts
        lowered = dict.fromkeys(operators, 0) | {each: operators.count(each) for each in operators}
        assert {n: c for n, c in facts.target_operators.items() if n in lowered} == lowered


@pytest.mark.parametrize(
    ("equation", "words"),
    [
        ("ab,bc->ac", "must be abc,cde->abde"),
        ("...ab,...cb->...ac", "must be abc,cde->abde"),
        ("ab->ba", "must be abc,cde->abde"),
    ],
)
def test_other_equations_are_refused(equation: str, words: str, tmp_path: Path) -> None:
    feeds = {"x": np.ones((2, 2), np.float32), "y": np.ones((2, 2), np.float32)}
    if "," not in equation:
        del feeds["y"]
    model = save(one_node_model("Einsum", feeds, 12, equation=equation), tmp_path)
    with pytest.raises(AtcError, match=words):
        convert(model, tmp_path / "m.om", operator_list=LISTED)


def test_letter_of_two_sizes_is_refused(tmp_path: Path) -> None:
    feeds = {"x": np.ones((2, 1), np.float32), "y": np.ones((2, 3), np.float32)}
    model = save(one_node_model("Einsum", feeds, 12, equation="ab,cb->ac"), tmp_path)
    with pytest.raises(AtcError, match="needs a single size for b, found 1 and 3"):
        convert(model, tmp_path / "m.om", operator_list=LISTED)
