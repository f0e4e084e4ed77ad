"""Activations, gates and their implementations on onnxruntime."""

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import Attributes
from tests.device.ort.apart import model_of
from tests.device.ort.single import agree
from tests.device.ort.twin import REFUSED, run_on_ort
from tests.device.ort.units import FLOATS, numbers, units_apart

F16, BF16, F32, F64 = FLOATS

EXACT: list[tuple[str, Attributes]] = [
    ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}),
    ("HardSwish", {}),
    ("LeakyRelu", {"negative_slope": 0.1}),
    ("LeakyRelu", {"negative_slope": 3.0}),
    ("LeakyRelu", {"negative_slope": -0.5}),
    ("Shrink", {"lambd": 1.0, "bias": 0.3}),
    ("Shrink", {"lambd": -1.0, "bias": 0.1}),
    ("Softsign", {}),
    ("Threshold", {"threshold": 0.1}),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("op", "attributes"), EXACT)
def test_sums_and_products_are_equal_bit_for_bit(
    op: str, attributes: Attributes, dtype: DType
) -> None:
    x = numbers(dtype)
    agree(op, [x], [(dtype, x.shape)], attributes)


EXPONENTIALS: list[tuple[str, Attributes]] = [
    ("Celu", {}),
    ("Celu", {"alpha1": 0.5, "alpha2": 0.5, "alpha3": 0.3}),
    ("Elu", {}),
    ("Elu", {"alpha": 0.3}),
    ("Elu", {"alpha": 2.0, "scale": 1.5, "input_scale": 0.5}),
    ("Elu", {"alpha": -0.5, "input_scale": -1.0}),
    ("Selu", {}),
    ("Softplus", {}),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("op", "attributes"), EXPONENTIALS)
def test_exponentials_are_near_also_for_small_results(
    op: str, attributes: Attributes, dtype: DType
) -> None:
    units = 1 if dtype in {F16, BF16} else 8
    assert units_apart(op, [numbers(dtype)], attributes) <= units


@pytest.mark.parametrize("dtype", FLOATS)
def test_celu_takes_attributes_of_any_sign(dtype: DType) -> None:
    for first, second in ((-2.0, 2.0), (1.0, -1.0), (-0.5, -2.0)):
        attributes: Attributes = {"alpha1": first, "alpha2": second, "alpha3": 0.3}
        assert units_apart("Celu", [numbers(dtype)], attributes, least=1.0) <= 8


@pytest.mark.parametrize(
    ("op", "attributes"), [("Sigmoid", {}), ("Swish", {}), ("Swish", {"scale": 1.702})]
)
def test_sigmoids_are_near(op: str, attributes: Attributes) -> None:
    for dtype in (BF16, F32, F64):
        x = numbers(dtype, low=-60, high=60)
        assert units_apart(op, [x], attributes) <= (1 if dtype is BF16 else 8)
    assert units_apart(op, [numbers(F16)], attributes, least=2.0**-7) <= 1


@pytest.mark.parametrize("op", ["Sigmoid", "Softplus", "Softsign"])
def test_steps_are_rounded_where_the_implementation_says_so(op: str) -> None:
    x = numbers(F16)
    mode: Attributes = {"impl_mode": "high_performance"}
    (narrow,) = agree(op, [x], [(F16, x.shape)], mode)
    (wide,) = agree(op, [x], [(F16, x.shape)], {"impl_mode": "high_precision"}, exact=False)
    assert np.count_nonzero(narrow != wide) > 300
    for dtype in (BF16, F32):
        assert units_apart(op, [numbers(dtype)], mode) <= 8


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_is_near(approximate: str) -> None:
    for dtype in (F16, BF16, F32):
        x = numbers(dtype)
        least = 8.0 if dtype is F32 else 2.0**-6
        assert units_apart("GeluV2", [x], {"approximate": approximate}, least=least) <= 2


@pytest.mark.parametrize("constants", [(), (1,)])
@pytest.mark.parametrize("shape", [(3, 5), (2, 5, 3, 4), (2, 5, 3), (1, 5, 2, 2, 2)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_prelu_has_a_weight_for_each_channel_or_one(
    dtype: DType, shape: tuple[int, ...], constants: tuple[int, ...]
) -> None:
    x = numbers(dtype)[-int(np.prod(shape)) :].reshape(shape)
    for count in (1, 5):
        weight = np.linspace(-0.3, 0.7, count).astype(dtype.numpy)
        agree("PRelu", [x, weight], [(dtype, shape)], constants=constants)
    row = x.reshape(-1)
    agree("PRelu", [row, np.array([0.2], dtype.numpy)], [(dtype, row.shape)], constants=constants)


def test_gelu_of_an_approximation_without_a_form_is_refused() -> None:
    x = np.ones(3, np.float32)
    model, feeds = model_of("GeluV2", [x], [(F32, (3,))], {"approximate": "erf"})
    assert run_on_ort(model, feeds) is None
    assert any("approximate 'erf' is not known" in each for each in REFUSED["GeluV2"])
