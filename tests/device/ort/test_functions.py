"""Elementary functions on onnxruntime."""

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import INTEGERS, Attributes
from tests.device.ort.apart import model_of
from tests.device.ort.single import agree
from tests.device.ort.twin import REFUSED, run_on_ort
from tests.device.ort.units import FLOATS, numbers, units_apart

F16, BF16, F32, F64 = FLOATS


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "op", ["Abs", "Ceil", "Floor", "Neg", "Reciprocal", "Round", "Rsqrt", "Sign", "Sqrt"]
)
def test_functions_that_ieee_754_rounds_are_equal_bit_for_bit(op: str, dtype: DType) -> None:
    x = numbers(dtype)
    agree(op, [x], [(dtype, x.shape)])


ANGLES = ["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Exp", "Log", "Sinh", "Tanh"]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", [*ANGLES, "Cos", "Erf", "Sin", "Tan"])
def test_functions_are_near(op: str, dtype: DType) -> None:
    if (op, dtype) == ("Erf", F64):
        return  # the device has none
    if (op, dtype) == ("Tan", F64):
        x = numbers(dtype)
        agree(op, [x], [(dtype, x.shape)], exact=False)  # runtimes' sines are absolute to 1e-16
        return
    units = {F16: 1, BF16: 1, F32: 6, F64: 10}[dtype]
    least = 2.0**20 if op in {"Cos", "Sin"} and dtype is F64 else 0.0
    ranges = {"Acosh": (1.0, 60.0), "Log": (1e-6, 60.0)}
    bounds = [ranges.get(op, (-8.0, 8.0)), (-1.0, 1.0)]
    for low, high in bounds:
        x = numbers(dtype, low=low, high=high)
        assert units_apart(op, [x], least=least) <= units


def test_float64_functions_hold_at_the_ends() -> None:
    ends = np.array([1e-300, 1e300, 1.7e308, 709.9, 710.4, 1 - 2.0**-53, 1 + 2.0**-52, -1.0, 1e-9])
    for op in ANGLES:
        assert units_apart(op, [ends]) <= 10


@pytest.mark.parametrize("op", ["Abs", "Neg", "Round", "Sign"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_equal(op: str, dtype: DType) -> None:
    limits = np.iinfo(dtype.numpy)
    x = np.array([limits.min, limits.min + 1, 0, 1, 7, limits.max], dtype.numpy)
    agree(op, [x], [(dtype, (6,))])


def test_tangent_of_integers_loses_its_fraction() -> None:
    x = np.arange(-3000, 3000, dtype=np.int32)
    agree("Tan", [x], [(DType.INT32, x.shape)])


@pytest.mark.parametrize(
    ("op", "dtype", "attributes", "words"),
    [
        ("Erf", F64, {}, "the data are float64"),
        ("Exp", F32, {"base": 2.0}, "base is 2.0"),
        ("Log", F32, {"scale": 2.0}, "scale is 2.0"),
        ("Log", F32, {"shift": 1.0}, "shift is 1.0"),
        ("Round", F32, {"decimals": 2}, "decimals is 2"),
    ],
)
def test_forms_that_the_device_lacks_are_refused(
    op: str, dtype: DType, attributes: Attributes, words: str
) -> None:
    x = np.ones(3, dtype.numpy)
    model, feeds = model_of(op, [x], [(dtype, (3,))], attributes)
    assert run_on_ort(model, feeds) is None
    assert any(words in each for each in REFUSED[op])
