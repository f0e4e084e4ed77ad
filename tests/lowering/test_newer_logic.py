"""Bits, truth values and tests of numbers that only the list of CANN 9.0 has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_NODE
from tests.end_to_end import one_node_model
from tests.lowering.newer_list import Case, hold_to_formulas, opsets_of
from tests.relaxed_specs import relaxed_specs

Array = NDArray[Any]

UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
SIGNED = (np.int8, np.int16, np.int32, np.int64)
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3, 5), (2, 3, 5)),
    ((3, 1), (2, 1, 7)),
    ((7,), ()),
    ((0, 3), (1, 3)),
]
PAIRS = {
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}


def integers(dtype: type[Any], shape: tuple[int, ...], seed: int) -> Array:
    """Return integers of the dtype's whole range, its ends among them where there is room."""
    limits = np.iinfo(dtype)
    drawn = np.random.default_rng(seed).integers(
        limits.min, limits.max, shape, dtype, endpoint=True
    )
    drawn.reshape(-1)[:3] = [limits.max, limits.min, 1][: drawn.size]
    return drawn


@pytest.mark.parametrize("op_type", PAIRS)
def test_bits_of_two_integers_are_combined(op_type: str) -> None:
    cases = [
        Case(op_type, [integers(dtype, one, 1), integers(dtype, other, 2)], PAIRS[op_type])
        for dtype in (*SIGNED, *UNSIGNED)
        for one, other in SHAPES
    ]
    hold_to_formulas(cases, 18)


def test_bits_of_an_integer_are_reversed() -> None:
    cases = [
        Case("BitwiseNot", [integers(dtype, shape, 3)], np.invert)
        for dtype in (*SIGNED, *UNSIGNED)
        for shape in ((2, 3, 5), (), (0, 3))
    ]
    hold_to_formulas(cases, 18)


@pytest.mark.parametrize("opset", opsets_of("BitShift"))
def test_shifted_bits_leave_the_integer(opset: int) -> None:
    shifts = {"LEFT": np.left_shift, "RIGHT": np.right_shift}
    cases = []
    for dtype in (*UNSIGNED, *SIGNED[:3]):
        by = np.arange(0, 2 * np.iinfo(dtype).bits, 3).astype(dtype)
        if dtype in SIGNED:
            by[-1] = -1
        for direction, function in shifts.items():
            given = {"direction": direction}
            cases.append(Case("BitShift", [integers(dtype, by.shape, 5), by], function, given))
            cases.append(Case("BitShift", [integers(dtype, (3, 1), 6), by], function, given))
    hold_to_formulas(cases, opset)


NUMBERS = [0.0, -0.0, 1.0, -1.0, 65504.0, 3e-8, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("opset", opsets_of("IsNaN"))
def test_nan_is_found(opset: int) -> None:
    cases = [
        Case("IsNaN", [np.array(NUMBERS, dtype).reshape(shape)], np.isnan)
        for dtype in (np.float16, np.float32)
        for shape in ((9,), (3, 1, 3))
    ]
    cases.append(Case("IsNaN", [np.zeros((0, 3), np.float32)], np.isnan))
    hold_to_formulas(cases, opset)


@pytest.mark.parametrize("opset", opsets_of("IsInf"))
def test_infinities_of_the_signs_that_count_are_found(opset: int) -> None:
    def formula(given: dict[str, int]) -> Callable[[Array], Any]:
        counted = [
            sign * np.inf
            for sign, name in ((1, "detect_positive"), (-1, "detect_negative"))
            if given.get(name, 1)
        ]
        return lambda x: np.isin(x, counted)

    cases = []
    for dtype in (np.float32, np.float64):
        for given in (
            {},
            {"detect_negative": 0},
            {"detect_positive": 0},
            {"detect_negative": 0, "detect_positive": 0},
            {"detect_negative": 1, "detect_positive": 1},
        ):
            arrays = (np.array(NUMBERS, dtype), np.array(-np.inf, dtype), np.zeros((0, 3), dtype))
            cases += [Case("IsInf", [x], formula(given), given) for x in arrays]
    hold_to_formulas(cases, opset)


def test_direction_that_is_none_is_refused_beyond_the_list(tmp_path: Path) -> None:
    x = np.ones(3, np.uint8)
    model = one_node_model("BitShift", {"x": x, "y": x}, 11, direction="UP")
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(
            tmp_path / "model.onnx", tmp_path / "model.om", op_specs=relaxed_specs(model)
        )
    (found,) = caught.value.diagnostics
    assert found.code is BAD_NODE
    assert "needs direction LEFT or RIGHT, found 'UP'" in found.message


@pytest.mark.parametrize("opset", opsets_of("Xor"))
def test_xor_is_true_where_one_of_two_is(opset: int) -> None:
    generator = np.random.default_rng(7)
    cases = [
        Case("Xor", [generator.integers(0, 2, s).astype(np.bool_) for s in pair], np.logical_xor)
        for pair in SHAPES
    ]
    hold_to_formulas(cases, opset)
