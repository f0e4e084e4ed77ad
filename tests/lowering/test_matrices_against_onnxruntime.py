"""Matrix products of all ranks, and determinants, through the whole compiler."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from atc_py.tensor.dtypes import DType
from tests.device.tolerances import assert_close
from tests.end_to_end import one_node_model
from tests.lowering.precise import KEEP, MODES, NARROW, Feeds, agree, compiled, numbers

Array = npt.NDArray[Any]

OPSETS = st.sampled_from([8, 9, 13])


@st.composite
def stacks(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Return shapes of two operands: vectors, matrices, or stacks of them that broadcast."""
    rows, inner, columns = draw(st.tuples(*[st.integers(1, 4)] * 3))
    above = draw(st.lists(st.integers(1, 3), max_size=4))
    shapes = []
    for vector, matrix in (([inner], [rows, inner]), ([inner], [inner, columns])):
        if draw(st.integers(0, 4)) == 0:
            shapes.append(vector)
            continue
        start = draw(st.integers(0, len(above)))
        shapes.append([draw(st.sampled_from([1, n])) for n in above[start:]] + matrix)
    return shapes[0], shapes[1]


@pytest.mark.parametrize("constant", [False, True])
@given(
    stacks(), OPSETS, st.sampled_from([("float16", KEEP), ("float16", NARROW), ("float32", NARROW)])
)
def test_matmul(
    constant: bool, shapes: tuple[list[int], list[int]], opset: int, form: tuple[str, str]
) -> None:
    a, b = (numbers(seed, shape, form[0]) for seed, shape in enumerate(shapes))

    def oracle(feeds: Feeds) -> Sequence[Array]:
        other = feeds.get("b", np.asarray(b, np.float16).astype(np.float32))
        return [np.matmul(feeds["a"], other)]

    if constant:
        agree("MatMul", {"a": a}, opset, form[1], oracle, constants={"b": b})
    else:
        agree("MatMul", {"a": a, "b": b}, opset, form[1], oracle)


@pytest.mark.parametrize(
    ("left", "right"), [((4,), (4,)), ((2, 1, 3, 4, 5, 6), (7, 1, 1, 6, 2)), ((5, 6), (2, 3, 6, 4))]
)
def test_matmul_agrees_with_onnxruntime(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    agree("MatMul", {"a": numbers(1, left), "b": numbers(2, right)}, 13, NARROW)


def test_matmul_accumulates_in_float32() -> None:
    a, b = np.full((1, 4096), 1, np.float16), np.full((4096, 1), 1, np.float16)
    model = one_node_model("MatMul", {"a": a, "b": b}, 13)
    assert compiled(model, {"a": a, "b": b})["y0"].item() == 4096


@given(
    st.booleans(),
    st.booleans(),
    st.sampled_from([1.0, 0.5, -2.0, 3.0]),
    st.sampled_from([1.0, 0.0, 0.25]),
    st.sampled_from([(5,), (1, 5), (4, 1), (4, 5), ()]),
    st.data(),
)
def test_gemm_of_float16(
    turn_a: bool,
    turn_b: bool,
    alpha: float,
    beta: float,
    shape: tuple[int, ...],
    data: st.DataObject,
) -> None:
    mode, opset = data.draw(st.sampled_from(MODES)), data.draw(st.sampled_from([8, 9, 11, 13]))
    a = numbers(1, (3, 4) if turn_a else (4, 3), "float16")
    b = numbers(2, (5, 3) if turn_b else (3, 5), "float16")
    c = numbers(3, shape, "float16")
    arrays = {"a": a, "b": b, "c": c}
    fixed = data.draw(st.sets(st.sampled_from("abc"), max_size=2))
    feeds = {name: array for name, array in arrays.items() if name not in fixed}
    model = one_node_model(
        "Gemm", feeds, opset, constants={name: arrays[name] for name in fixed}, order=list("abc"),
        transA=int(turn_a), transB=int(turn_b), alpha=alpha, beta=beta,
    )  # fmt: skip
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    left, right = wide["a"].T if turn_a else wide["a"], wide["b"].T if turn_b else wide["b"]
    product, added = alpha * (left @ right), beta * wide["c"]
    (found,) = compiled(model, feeds, mode).values()
    # three roundings, of operand or product, of C, and of the sum, each half a unit of 2^-10
    reach = abs(alpha) * (abs(left) @ abs(right)) + abs(added)
    assert found.dtype == np.float16
    assert (abs(found - (product + added)) <= 1.5 * 2**-10 * reach + 2**-24).all()


def test_alpha_of_two_variables_does_not_overflow_on_the_way() -> None:
    a, b = np.full((1, 100), 100, np.float16), np.full((100, 2), 100, np.float16)
    model = one_node_model("Gemm", {"a": a, "b": b}, 13, alpha=0.01)
    (y,) = compiled(model, {"a": a, "b": b}).values()
    np.testing.assert_allclose(y, 10000, rtol=2e-3)


def test_large_alpha_does_not_overflow_an_operand() -> None:
    a, b = np.full((1, 2), 60000, np.float16), np.full((2, 1), 1e-3, np.float16)
    model = one_node_model("Gemm", {"a": a, "b": b}, 13, alpha=4.0)
    (y,) = compiled(model, {"a": a, "b": b}).values()
    np.testing.assert_allclose(y, 480, rtol=2e-3)


@pytest.mark.parametrize("fixed", [(), ("c",)])
def test_large_alpha_and_a_row_to_add(fixed: tuple[str, ...]) -> None:
    arrays = {
        "a": numbers(1, (4, 3), "float16"),
        "b": numbers(2, (3, 5), "float16"),
        "c": numbers(3, (5,), "float16"),
    }
    feeds = {name: array for name, array in arrays.items() if name not in fixed}
    constants = {name: arrays[name] for name in fixed}
    model = one_node_model("Gemm", feeds, 13, constants=constants, order=list("abc"), alpha=4.0)
    a, b, c = (array.astype(np.float64) for array in arrays.values())
    (y,) = compiled(model, feeds).values()
    reach = 4 * (abs(a) @ abs(b)) + abs(c)
    assert (abs(y - (4 * (a @ b) + c)) <= 1.5 * 2**-10 * reach + 2**-24).all()


@given(
    st.lists(st.integers(1, 3), max_size=2),
    st.integers(1, 5),
    st.sampled_from([11, 13]),
    st.sampled_from(["float32", "float16"]),
    st.sampled_from(MODES),
)
def test_determinant(above: list[int], size: int, opset: int, dtype: str, mode: str) -> None:
    x = numbers(4, (*above, size, size), dtype)
    model = one_node_model("Det", {"x": x}, opset)
    (found,) = compiled(model, {"x": x}, mode).values()
    expected = np.linalg.det(x.astype(np.float64))
    assert (found.dtype, found.shape) == (x.dtype, expected.shape)
    assume(np.abs(expected).min() > 1e-3)  # of singular ones float32 has no digits
    # the AI CPU has float32 and double only, so the mode changes nothing
    assert_close(found, expected, DType(dtype))


def test_determinant_agrees_with_onnxruntime() -> None:
    agree("Det", {"x": numbers(5, (2, 4, 4))}, 11)


def test_determinant_of_a_singular_matrix_is_0() -> None:
    x = np.array([[1, 2], [2, 4]], np.float32)
    for mode in MODES:
        assert compiled(one_node_model("Det", {"x": x}, 13), {"x": x}, mode)["y0"].item() == 0
