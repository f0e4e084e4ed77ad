"""Sums, products, bounds, quotients, powers, casts and ranges on onnxruntime."""

import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import DEVICE_FAILED
from atc_py.tensor.dtypes import DType
from tests.device.models import INTEGERS, Array, Attributes, ModelBuilder, run_model
from tests.device.ort.apart import model_of
from tests.device.ort.single import agree
from tests.device.ort.twin import REFUSED, run_on_ort
from tests.device.ort.units import FLOATS, numbers, units_apart

PAIRS = ["Add", "Sub", "Mul", "RealDiv", "Mod", "FloorMod", "Maximum", "Minimum"]
F16, BF16, F32, F64 = FLOATS


def integers(dtype: DType, seed: int = 2) -> Array:
    """Return integers from all over the range, small ones and its ends."""
    limits, generator = np.iinfo(dtype.numpy), np.random.default_rng(seed)
    wide = generator.integers(limits.min, limits.max, 200, dtype.numpy, endpoint=True)
    small = generator.integers(0 if limits.min == 0 else -9, 10, 200).astype(dtype.numpy)
    return np.concatenate(
        [wide, small, np.array([limits.min, limits.min + 1, 0, 1, limits.max], dtype.numpy)]
    )


def pair(dtype: DType) -> tuple[Array, Array]:
    """Return a column and a row of numbers."""
    if dtype.is_float:
        return numbers(dtype)[-150:, None], numbers(dtype, seed=3)[-150:]
    return integers(dtype)[-150:, None], integers(dtype, 4)[-150:]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("op", PAIRS)
def test_pairs_are_equal_bit_for_bit(op: str, dtype: DType) -> None:
    agree(op, [*pair(dtype)], [(dtype, (150, 150))])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["Adds", "Muls"])
def test_numbers_of_attributes_are_those_of_the_carrier(op: str, dtype: DType) -> None:
    x = numbers(dtype)
    agree(op, [x], [(dtype, x.shape)], {"value": 0.1})


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_sums_of_several_are_rounded_once(dtype: DType) -> None:
    make = numbers if dtype.is_float else integers
    inputs = [make(dtype, seed=seed) for seed in range(4)]
    agree("AccumulateNV2", inputs, [(dtype, inputs[0].shape)], {"N": 4})
    agree("Addcmul", inputs, [(dtype, inputs[0].shape)])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_relu_keeps_nan_and_takes_every_integer(dtype: DType) -> None:
    x = numbers(dtype) if dtype.is_float else integers(dtype)
    agree("Relu", [x], [(dtype, x.shape)])


BOUNDS = [(1, 5), (5, 1), (0, 0)]


@pytest.mark.parametrize("constants", [(), (1, 2)])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_clip_takes_bounds_of_one_element(dtype: DType, constants: tuple[int, ...]) -> None:
    x = numbers(dtype) if dtype.is_float else integers(dtype)
    bounds = [*BOUNDS, (-np.inf, np.nan), (np.nan, 1)] if dtype.is_float else BOUNDS
    for low, high in bounds:
        operands = [x, np.array([low], dtype.numpy), np.array(high, dtype.numpy)]
        agree("ClipByValue", operands, [(dtype, x.shape)], constants=constants)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, DType.BOOL])
def test_expand_repeats_elements(dtype: DType) -> None:
    x = np.array([[1], [0], [1]], dtype.numpy)
    agree("ExpandD", [x], [(dtype, (2, 3, 4))], {"shape": [2, 1, 4]})


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_are_near(dtype: DType) -> None:
    for exponent in (2.0, 0.5, -1.0, 3.0, 2.3):
        attributes = {"power": exponent, "scale": 0.5, "shift": 0.25}
        assert units_apart("Power", [numbers(dtype)], attributes) <= 2
        single = np.array([exponent], dtype.numpy)
        assert units_apart("Pow", [numbers(dtype), single]) <= 2
    assert units_apart("Pow", [*pair(dtype)]) <= 2


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_of_integers_wrap_around(dtype: DType) -> None:
    agree("Pow", [*pair(dtype)], [(dtype, (150, 150))])
    empty = np.zeros((0,), dtype.numpy)
    agree("Pow", [empty, empty], [(dtype, (0,))])


@pytest.mark.parametrize("target", [*FLOATS, *INTEGERS, DType.BOOL])
@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, DType.BOOL])
def test_casts_are_equal_bit_for_bit(source: DType, target: DType) -> None:
    if source is DType.BOOL:
        x: Array = np.array([True, False])
    else:
        x = numbers(source) if source.is_float else integers(source)
    if source in {F32, F64, BF16}:
        powers = np.exp2(np.arange(3, 70.0))
        edges = np.concatenate([powers, -powers, np.nextafter(powers, 0), powers * 0.75 - 0.5])
        x = np.concatenate([x, edges.astype(source.numpy)])
    agree("Cast", [x], [(target, x.shape)], {"dst_type": target.value})


@pytest.mark.parametrize(("target", "bits"), [(F16, 11), (BF16, 8)])
def test_float64_is_narrowed_in_one_rounding(target: DType, bits: int) -> None:
    """Check numbers at and beside the middle of two neighbors, and around the largest number."""
    grid = np.random.default_rng(5).standard_normal(2000).astype(target.numpy).astype(np.float64)
    middles = grid * (1 + 2.0**-bits)
    beyond = 65520.0 if target is F16 else 2.0**128 - 2.0**119
    x = np.concatenate([middles, [beyond, np.nextafter(beyond, 0), beyond * 0.9999, 3e38]])
    x = np.concatenate([x * factor for factor in (1, -1, 1 + 1e-15, 1 - 1e-15, 1 + 1e-9)])
    agree("Cast", [x], [(target, x.shape)], {"dst_type": target.value})


RANGES = [(0, 10, 1), (1, 2, 0.1), (5, -5, -0.3), (0, -1, 1), (0, 1, 0.1), (3, 3, 1), (0, 999, 7)]


@pytest.mark.parametrize("constants", [(), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("dtype", [*FLOATS, DType.INT16, DType.INT32, DType.INT64])
def test_ranges_count_as_the_device_does(dtype: DType, constants: tuple[int, ...]) -> None:
    for start, limit, delta in RANGES:
        step = delta if dtype.is_float else int(np.sign(delta)) * max(1, int(abs(delta)))
        inputs = [np.array(each, dtype.numpy) for each in (start, limit, step)]
        inputs[1] = inputs[1].reshape(1)
        agree("Range", inputs, [(dtype, (None,))], constants=constants)


@pytest.mark.parametrize("dtype", [*FLOATS, DType.INT32])
def test_ranges_without_a_length_end_the_run(dtype: DType) -> None:
    bad = [(0, 3, 0)] if dtype.is_integer else [(0, 3, 0), (0, np.inf, 1), (np.nan, 3, 1)]
    for each in bad:
        inputs = [np.array(number, dtype.numpy) for number in each]
        model, feeds = model_of("Range", inputs, [(dtype, (None,))])
        for run in (run_model, run_on_ort):
            with pytest.raises(AtcError) as caught:
                run(model, feeds)
            assert caught.value.diagnostics[0].code is DEVICE_FAILED


def test_cast_to_int4_is_refused() -> None:
    model, feeds = model_of(
        "Cast", [np.ones(3, np.int8)], [(DType.INT4, (3,))], {"dst_type": "int4"}
    )
    assert run_on_ort(model, feeds) is None
    assert any("int4" in each for each in REFUSED["Cast"])


@pytest.mark.parametrize("op", [*PAIRS, "Pow"])
@pytest.mark.parametrize("dtype", [F16, F32, DType.INT8, DType.INT32, DType.UINT64])
def test_empty_and_single_numbers_are_computed(op: str, dtype: DType) -> None:
    x, y = np.zeros((0, 3), dtype.numpy), np.ones((3,), dtype.numpy)
    agree(op, [x, y], [(dtype, (0, 3))])
    agree(op, [np.array(7, dtype.numpy), np.array(2, dtype.numpy)], [(dtype, ())])


STEPS: list[tuple[str, Attributes]] = [
    ("Muls", {"value": 1.1}),
    ("Adds", {"value": 0.3}),
    ("Relu", {}),
    ("HardSwish", {}),
    ("Softsign", {}),
    ("Abs", {}),
    ("Rsqrt", {}),
    ("Reciprocal", {}),
    ("LeakyRelu", {"negative_slope": 0.1}),
]


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_result_of_a_chain_is_rounded(dtype: DType) -> None:
    """Check that no runtime takes roundings away between operators that are exact one by one."""
    builder, x = ModelBuilder(), numbers(dtype)
    start = value = builder.input("x", dtype.value, x.shape)
    out = [(dtype.value, x.shape)]
    for op, attributes in STEPS * 3:
        (value,) = builder.node(op, [value], out, attributes)
        for pair_op, other in (("Add", start), ("Maximum", start)):
            (value,) = builder.node(pair_op, [value, other], out)
    builder.output("y", value)
    model = builder.build()
    expected, found = run_model(model, {"x": x}), run_on_ort(model, {"x": x})
    assert found is not None
    ours, theirs = (each["y"].astype(np.float64) for each in (found, expected))
    np.testing.assert_array_equal(ours, theirs)
    assert np.isfinite(theirs).sum() > 1000
