"""Comparison with expected data: what passes, and above all what does not."""

import math

import ml_dtypes
import msgspec
import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.package.schema import FORMAT, FORMAT_VERSION, OmModel, OmNode, OmPort, OmTensor
from atc_py.report.model.runs import comparison_table
from atc_py.results.comparison import (
    FLOAT16_CAP,
    FLOAT32_TOLERANCE,
    GRIDS,
    compare,
    default_tolerance,
    explained_share,
)
from atc_py.tensor.dtypes import DType

EXPECTED = np.linspace(-2, 2, 50, dtype=np.float32).reshape(5, 10)


def chain(*ops: str, dtype: str = "float16") -> OmModel:
    """Return a description of operators in a row."""
    tensors = [OmTensor(f"t{i}", dtype, [1], "ND") for i in range(len(ops) + 1)]
    nodes = [
        OmNode(
            op=op, name=f"n{i}", engine="aicore", inputs=[i], outputs=[i + 1], attributes={},
            kernel="k", origins=[],
        )
        for i, op in enumerate(ops)
    ]  # fmt: skip
    return OmModel(
        format=FORMAT, format_version=FORMAT_VERSION, producer="", name="", soc="sim", options={},
        inputs=[OmPort("x", 0)], outputs=[OmPort("y", len(ops))], tensors=tensors, nodes=nodes,
        members={},
    )  # fmt: skip


def test_equal_data_pass_at_no_tolerance() -> None:
    result = compare("y", EXPECTED, EXPECTED.copy(), 0.0)
    assert result.passed
    assert (result.max_error, result.same_argmax) == (0.0, True)
    assert result.cosine == pytest.approx(1.0)


@pytest.mark.parametrize("share", [0.02, 1e-3, 2e-4])
def test_error_is_measured_against_the_range(share: float) -> None:
    found = EXPECTED.copy()
    found[2, 3] += share * 4
    result = compare("y", found, EXPECTED, FLOAT32_TOLERANCE)
    assert result.range_error == pytest.approx(share, rel=1e-3)
    assert not result.passed


def test_range_beyond_float64_is_its_largest_number() -> None:
    largest = float(np.finfo(np.float64).max)
    expected = np.array([-largest, 0, largest] * 3)
    share = explained_share(chain("Add", dtype="float64"), "y", expected)
    assert share == FLOAT32_TOLERANCE
    assert compare("y", expected.copy(), expected, share).passed
    assert not compare("y", expected[::-1].copy(), expected, share).passed


def test_constant_data_are_measured_against_their_magnitude() -> None:
    expected = np.full(10, 0.001, np.float32)
    assert compare("y", expected * np.float32(1.00005), expected, FLOAT32_TOLERANCE).passed
    assert not compare("y", expected * np.float32(1.02), expected, FLOAT16_CAP).passed


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, 2.0])),
        (np.array([1.0, np.inf]), np.array([1.0, 2.0])),
        (np.array([1.0, 2.0]), np.array([1.0, np.nan])),
        (np.array([-np.inf, 2.0]), np.array([np.inf, 2.0])),
        (np.zeros((2, 3)), np.zeros((3, 2))),
    ],
)
def test_what_is_not_finite_or_of_another_shape_fails(
    found: np.ndarray, expected: np.ndarray
) -> None:
    result = compare("y", found, expected, 1.0)
    assert not result.passed
    assert result.as_json()["max_error"] is None


def test_infinities_and_nan_in_the_same_places_pass() -> None:
    data = np.array([np.nan, np.inf, -np.inf, 1.0])
    assert compare("y", data, data.copy(), 0.0).passed


@pytest.mark.parametrize("dtype", ["complex64", "S4", "V2", "object", "datetime64[s]"])
def test_data_that_are_not_real_numbers_are_refused(dtype: str) -> None:
    odd = np.zeros(EXPECTED.shape, dtype)
    for found, expected in ((odd, EXPECTED), (EXPECTED, odd)):
        with pytest.raises(AtcError, match="ATC1007: data for y must be real numbers"):
            compare("y", found, expected, 1.0)


def test_bfloat16_is_compared() -> None:
    assert compare("y", EXPECTED.astype(DType.BFLOAT16.numpy), EXPECTED, FLOAT16_CAP).passed


def test_argmax_is_compared_along_the_last_axis() -> None:
    found = EXPECTED.copy()
    found[3] = found[3][::-1]
    assert not compare("y", found, EXPECTED, 10.0).same_argmax


def test_float32_models_have_the_float32_tolerance() -> None:
    assert default_tolerance(chain("Conv2D", "Add", dtype="float32")) == FLOAT32_TOLERANCE


def test_float16_tolerance_grows_with_the_root_of_rounding_kernels_only() -> None:
    one, four = default_tolerance(chain("Add")), default_tolerance(chain(*["Add"] * 4))
    assert one == pytest.approx(2 * 2.0**-11)
    assert four == pytest.approx(2 * one)
    exact = ["Relu", "MaxPoolV3", "TransposeD", "Reshape", "ConcatD"]
    assert default_tolerance(chain("Add", *exact)) == one


def test_no_chain_lets_two_percent_pass() -> None:
    tolerance = default_tolerance(chain(*["Conv2D"] * 5000))
    assert tolerance == FLOAT16_CAP
    assert not compare("y", EXPECTED + np.float32(0.02 * 4), EXPECTED, tolerance).passed
    assert math.isclose(FLOAT16_CAP, 0.01)


def described(op: str, held: str, output: str) -> OmModel:
    """Return one kernel with results of dtype `held`, and a Cast to the output's dtype."""
    made = chain("Conv2D", op, "Cast")
    dtypes = ("float16", "float16", held, output)
    tensors = [OmTensor(f"t{at}", dtype, [1], "ND") for at, dtype in enumerate(dtypes)]
    return msgspec.structs.replace(made, tensors=tensors)


def test_bfloat16_tolerance_is_eight_times_that_of_float16() -> None:
    for ops in (["Add"], ["Conv2D", "Relu", "Add", "Add"], ["Conv2D"] * 5000):
        narrow = default_tolerance(chain(*ops, dtype="bfloat16"))
        assert narrow == pytest.approx(8 * default_tolerance(chain(*ops)))
    assert default_tolerance(chain("Add", dtype="bfloat16")) == 2 * 2.0**-8


def test_squares_of_both_roundings_add_up() -> None:
    mixed = chain("Add", "Add", "Add")
    dtypes = ("float32", "bfloat16", "float16", "float16")
    tensors = [OmTensor(f"t{at}", dtype, [1], "ND") for at, dtype in enumerate(dtypes)]
    mixed = msgspec.structs.replace(mixed, tensors=tensors)
    expected = 2 * math.sqrt(2.0**-16 + 2 * 2.0**-22)
    assert default_tolerance(mixed) == pytest.approx(expected)


@pytest.mark.parametrize("length", [1, 6, 20, 5000])
def test_no_chain_of_bfloat16_lets_twice_its_cap_pass(length: int) -> None:
    tolerance = default_tolerance(chain(*["Conv2D"] * length, dtype="bfloat16"))
    cap = GRIDS["bfloat16"].cap
    assert tolerance <= cap == 8 * FLOAT16_CAP
    assert not compare("y", EXPECTED + np.float32(2 * cap * 4), EXPECTED, tolerance).passed
    two_percent = compare("y", EXPECTED + np.float32(0.02 * 4), EXPECTED, tolerance)
    assert two_percent.passed == (length > 6)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_grid_is_that_of_its_type(name: str) -> None:
    kind = DType(name).numpy
    grid, info = GRIDS[name], ml_dtypes.finfo(kind)  # type: ignore[no-untyped-call]
    assert grid.unit == float(info.eps) / 2
    assert math.ldexp(0.5, grid.least_exponent) == float(info.smallest_normal)
    for magnitude in (1.0, 1.5, 3.9, 0.26, 2.0**-20):
        below = np.array(magnitude, kind)
        step = float(np.nextafter(below, np.array(np.inf, kind)) - below)
        assert grid.half_spacing(float(below)) == step / 2


def test_last_rounding_counts_where_values_are_far_from_zero() -> None:
    expected = np.linspace(-3.9, -3.6, 40, dtype=np.float32)
    rounded = expected.astype(np.float16).astype(np.float32)
    model = described("LogSoftmaxV2", "float16", "float32")
    share = explained_share(model, "y", expected)
    chained = default_tolerance(model) * 0.3
    assert share * 0.3 == pytest.approx(chained + 2.0**-10, rel=1e-5)
    assert not compare("y", rounded, expected, default_tolerance(model)).passed
    assert compare("y", rounded, expected, share).passed
    assert not compare("y", rounded + np.float32(0.02 * 0.3), expected, share).passed


def test_outputs_held_in_float32_have_no_last_rounding() -> None:
    expected = np.linspace(-3.9, -3.6, 40, dtype=np.float32)
    wide = described("LogSoftmaxV2", "float32", "float32")
    assert explained_share(wide, "y", expected) == pytest.approx(default_tolerance(wide))
    narrow = described("LogSoftmaxV2", "float16", "float16")
    assert explained_share(narrow, "y", expected) > 2 * default_tolerance(narrow)


def test_last_rounding_below_the_smallest_normal_keeps_its_size() -> None:
    expected = np.array([1e-8, 3e-8] * 5, np.float32)
    rounded = expected.astype(np.float16).astype(np.float32)
    share = explained_share(chain("Add"), "y", expected)
    assert compare("y", rounded, expected, share).passed
    assert share * 2e-8 == pytest.approx(2.0**-25, rel=1e-2)


def test_few_values_are_measured_against_their_magnitude() -> None:
    """Check that seven values have a range to speak of, six do not."""
    model = chain("Conv2D", dtype="float32")
    near = np.array([1.0, 1.001], np.float32)
    assert explained_share(model, "y", near) * 0.001 == pytest.approx(
        FLOAT32_TOLERANCE * 1.001, rel=1e-3
    )
    share = explained_share(model, "y", near)
    assert not compare("y", near + np.float32(3e-4), near, share).passed
    many = np.tile(near, 4)[:7]
    assert explained_share(model, "y", many) == FLOAT32_TOLERANCE
    assert explained_share(model, "y", many[:6]) > 100 * FLOAT32_TOLERANCE


@pytest.mark.parametrize("values", [[], [3.0], [0.0, 0.0], [np.inf, np.nan]])
def test_data_without_a_range_have_the_default(values: list[float]) -> None:
    expected = np.array(values, np.float32)
    model = chain("Add")
    share = explained_share(model, "y", expected)
    assert math.isfinite(share)
    assert share >= default_tolerance(model)
    assert compare("y", expected, expected, share).passed


def test_table_names_the_verdict() -> None:
    rows = comparison_table(
        [compare("a", EXPECTED, EXPECTED, 0.0), compare("b", EXPECTED + 1, EXPECTED, 0.0)]
    ).rows
    assert [row[:2] for row in rows] == [("a", "ok"), ("b", "FAILED")]


def test_last_rounding_of_bfloat16_is_larger() -> None:
    expected = np.linspace(-3.9, -3.6, 40, dtype=np.float32)
    rounded = expected.astype(DType.BFLOAT16.numpy).astype(np.float32)
    model = described("LogSoftmaxV2", "bfloat16", "float32")
    share = explained_share(model, "y", expected)
    assert share * 0.3 == pytest.approx(default_tolerance(model) * 0.3 + 2.0**-7, rel=1e-5)
    assert compare("y", rounded, expected, share).passed
    assert not compare("y", rounded + np.float32(2 * share * 0.3), expected, share).passed
    float16 = described("LogSoftmaxV2", "float16", "float32")
    assert not compare("y", rounded, expected, explained_share(float16, "y", expected)).passed


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_last_rounding_counts_twice_where_expected_data_were_rounded_too(dtype: str) -> None:
    grid, kind = GRIDS[dtype], DType.parse(dtype).numpy
    far = 100 + np.linspace(0, 0.5, 50)
    model = chain("Add", dtype=dtype)
    once, rounded = explained_share(model, "y", far), far.astype(kind).astype(np.float64)
    rounded[0], rounded[-1] = 100, 101  # so that it has a range
    twice = explained_share(model, "y", rounded)
    share = default_tolerance(model)
    assert once == pytest.approx(share + grid.half_spacing(100.5) / 0.5)
    assert twice == pytest.approx(share + 2 * grid.half_spacing(101))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_grid_has_the_numbers_of_its_dtype_and_no_others(dtype: str) -> None:
    grid, kind = GRIDS[dtype], DType.parse(dtype).numpy
    with np.errstate(invalid="ignore"):
        bits = np.arange(2**16, dtype=np.uint16).view(kind).astype(np.float64)
    assert grid.has_all(bits)
    finite = bits[np.isfinite(bits) & (bits != 0)]
    for value in np.random.default_rng(0).choice(finite, 200):
        assert not grid.has_all(np.array([np.nextafter(value, np.inf)]))
