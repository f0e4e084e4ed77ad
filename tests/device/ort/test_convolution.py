"""Convolutions as ONNX: geometry, dtypes, HF32, and int8 products that are exact."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from atc_py.device.ort.products import rounded_to_hf32
from atc_py.tensor.dtypes import DType
from tests.device.integer_layers import int8_array, offsets
from tests.device.models import Array, Attributes, ModelBuilder, random_array, run_model
from tests.device.ort.apart import apart, model_of
from tests.device.ort.single import agree
from tests.device.ort.twin import REFUSED, run_on_ort

F16, BF16, F32, F64 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64
I8, I32 = DType.INT8, DType.INT32

HF32 = {"impl_mode": "enable_hi_float_32_execution"}

FLOATS = [(F16, F16), (F16, F32), (F32, F32), (BF16, BF16), (BF16, F32)]
"""Dtypes of the operands and of the result."""

SPECIAL = np.array(
    [0, -0.0, 1e-45, -1e-40, 2.0**-126, 2.0**-137 * 1.5, 3.4028235e38, -3.4e38, np.inf, -np.inf,
     np.nan, 1 + 2.0**-12, 1 + 3 * 2.0**-12, -2 + 2.0**-12, 1e36, 4e34],
    np.float32,
)  # fmt: skip
"""Numbers at the ends and between two neighbors of HF32."""


def window(**others: Any) -> dict[str, Any]:
    """Return attributes of a convolution whose geometry differs from axis to axis."""
    return {
        "strides": [1, 1, 2, 1],
        "dilations": [1, 1, 1, 2],
        "pads": [1, 0, 2, 1],
        **others,
    }


def deep(**others: Any) -> dict[str, Any]:
    """Return the same for volumes."""
    return {
        "strides": [1, 1, 2, 1, 2],
        "dilations": [1, 1, 1, 2, 1],
        "pads": [1, 0, 2, 1, 0, 1],
        **others,
    }


CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "Conv2D": ((2, 6, 7, 8), (4, 3, 3, 2), (2, 4, 3, 9), window(groups=2)),
    "DepthwiseConv2D": ((2, 3, 7, 8), (6, 1, 3, 2), (2, 6, 3, 9), window()),
    "Conv3D": ((1, 4, 5, 6, 7), (2, 2, 2, 3, 3), (1, 2, 3, 5, 3), deep(groups=2)),
    "Conv2DTransposeD": (
        (2, 4, 3, 5), (4, 3, 3, 2), (2, 6, 7, 4),
        window(groups=2, input_size=[2, 6, 7, 4], output_padding=[0, 0, 1, 0]),
    ),
    "Conv3DTransposeD": (
        (1, 4, 3, 4, 3), (4, 3, 2, 3, 3), (1, 6, 5, 5, 6),
        deep(groups=2, input_size=[1, 6, 5, 5, 6], output_padding=[0, 0, 0, 0, 0]),
    ),
}  # fmt: skip
"""By operator: dims of data, filter and result, and attributes."""


@pytest.mark.parametrize(("dtype", "result"), FLOATS)
@pytest.mark.parametrize("op", CASES)
def test_floats_are_convolved_within_a_rounding(op: str, dtype: DType, result: DType) -> None:
    data, filters, dims, attributes = CASES[op]
    x, w = random_array(1, data, dtype), random_array(2, filters, dtype)
    bias = random_array(3, (dims[1],), F32 if dtype is BF16 or result is F32 else dtype)
    for operands, constants in product(([x, w], [x, w, bias]), ((), (1,))):
        far = apart(op, operands, [(result, dims)], attributes, constants=constants)
        assert far <= {F32: 1e-6, F16: 2.0**-10, BF16: 2.0**-7}[result]


@pytest.mark.parametrize("op", CASES)
def test_small_whole_numbers_are_convolved_exactly(op: str) -> None:
    data, filters, dims, attributes = CASES[op]
    x, w = (np.rint(random_array(at, shape)) for at, shape in enumerate((data, filters)))
    agree(op, [x, w], [(F32, dims)], attributes)


@pytest.mark.parametrize("dtype", [F16, F32, BF16])
@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_padding_times_infinity_is_nan(odd: float, dtype: DType) -> None:
    x, w = random_array(1, (1, 16, 9, 9), dtype), random_array(2, (16, 16, 3, 3), dtype)
    w.reshape(-1)[::301] = odd
    attributes: Attributes = {"strides": [1] * 4, "pads": [1] * 4}
    with np.errstate(all="ignore"):
        apart("Conv2D", [x, w], [(dtype, x.shape)], attributes, constants=[1])


NUMBERS = {
    "all": SPECIAL,
    "subnormal": SPECIAL[2:4],
    "large": SPECIAL[-2:],
    "zero": SPECIAL[:2],
    "ordinary": np.concatenate(
        [SPECIAL[-5:-2], random_array(5, (3000,)), np.arange(2**12, 2**13, dtype=np.float32) / 4096]
    ),
}  # fmt: skip


@pytest.mark.parametrize("constants", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("kind", NUMBERS)
def test_operands_are_rounded_to_hf32(kind: str, constants: tuple[int, ...]) -> None:
    numbers = NUMBERS[kind]
    ones, some = np.ones((len(numbers), 1, 1, 1), np.float32), numbers.reshape(1, -1, 1, 1)
    attributes: Attributes = {"strides": [1] * 4, "pads": [0] * 4, **HF32}
    dims = [(F32, some.shape)]
    (found,) = agree("DepthwiseConv2D", [some, ones], dims, attributes, constants=constants)
    np.testing.assert_array_equal(found, rounded_to_hf32(some))
    weights, one = some.reshape(-1, 1, 1, 1), np.ones_like(some)
    (found,) = agree("DepthwiseConv2D", [one, weights], dims, attributes, constants=constants)
    np.testing.assert_array_equal(found, rounded_to_hf32(some))


@pytest.mark.parametrize("op", CASES)
def test_products_of_hf32_are_those_of_rounded_operands(op: str) -> None:
    data, filters, dims, attributes = CASES[op]
    x, w = random_array(1, data), random_array(2, filters)
    apart(op, [x, w], [(F32, dims)], {**attributes, **HF32})
    assert apart(op, [x, w], [(F32, dims)], {**attributes, **HF32}, constants=[1]) <= 1e-6


@pytest.mark.parametrize("zero", [0, -128, 127])
@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("op", [op for op in CASES if op != "Conv3DTransposeD"])
def test_int8_is_convolved_exactly(op: str, kind: int, zero: int) -> None:
    data, filters, dims, attributes = CASES[op]
    generator = np.random.default_rng(kind)
    x, w = int8_array(generator, data), int8_array(generator, filters)
    bias = generator.integers(-(2**31), 2**31, dims[1]).astype(np.int32)
    operands = [x, w, bias, offsets(generator, kind, dims[1])]
    attributes = {**attributes, "offset_x": zero}
    for constants in ((), (1,), (1, 2, 3) if kind else (1, 2)):
        agree(op, operands, [(I32, dims)], attributes, constants=constants)


def test_filter_of_two_layers_has_a_form_for_each() -> None:
    generator, builder = np.random.default_rng(0), ModelBuilder()
    array = int8_array(generator, (1, 4, 5, 5))
    x = builder.input("x", "int8", array.shape)
    w = builder.constant(int8_array(generator, (4, 2, 1, 1)))
    for at, zero in enumerate((3, 5)):
        attributes: Attributes = {
            "strides": [1] * 4, "pads": [1] * 4, "groups": 2, "offset_x": zero,
        }  # fmt: skip
        (y,) = builder.node("Conv2D", [x, w], [("int32", (1, 4, 7, 7))], attributes)
        builder.output(f"y{at}", y)
    for at, groups in enumerate((1, 2)):
        dims = (1, 2 * groups, 9, 9)
        attributes = {
            "strides": [1, 1, 2, 2],
            "pads": [0] * 4,
            "groups": groups,
            "input_size": list(dims),
        }
        (y,) = builder.node("Conv2DTransposeD", [x, w], [("int32", dims)], attributes)
        builder.output(f"z{at}", y)
    model = builder.build()
    found, expected = run_on_ort(model, {"x": array}), run_model(model, {"x": array})
    assert found is not None
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


def refusal(op: str, x: Array, w: Array, result: DType, dims: list[int | None]) -> str:
    """Return why a convolution has no form."""
    attributes = {"strides": [1] * 4, "pads": [0] * 4}
    model, feeds = model_of(op, [x, w], [(result, [1, 1, 1, 1])], attributes)
    for tensor in model.description.tensors[:1]:
        tensor.shape[:] = dims
    REFUSED.clear()
    assert run_on_ort(model, feeds) is None
    ((reason,),) = REFUSED.values()
    REFUSED.clear()
    return reason


def test_what_has_no_form_is_refused() -> None:
    x = np.ones((1, 1, 1, 1), np.float32)
    reason = refusal("Conv2D", x.astype(np.float64), x.astype(np.float64), F64, [1, 1, 1, 1])
    assert reason == "Conv2D has no ONNX form: onnxruntime has no convolution of float64"
    reason = refusal("DepthwiseConv2D", x, x, F32, [1, None, 1, 1])
    assert reason.endswith("input 'x' has an open number of channels")


@pytest.mark.parametrize(
    ("pads", "extra", "dims"),
    [([0, 2, 1, 1], [1, 0], [1, 4, 5, 6]), ([0, 1, 0, 1], [1, 1], [1, 4, 6, 8])],
)
def test_output_padding_as_long_as_the_stride_is_left_off_the_padding(
    pads: list[int], extra: list[int], dims: list[int]
) -> None:
    model = _transposed(pads, extra, dims)
    feeds = {"x": random_array(1, [1, 3, 2, 2])}
    found = run_on_ort(model, feeds)
    assert found is not None
    np.testing.assert_allclose(found["y"], run_model(model, feeds)["y"], rtol=0, atol=1e-5)


def test_output_padding_beyond_the_padding_has_no_form() -> None:
    assert run_on_ort(_transposed([0, 0, 0, 0], [1, 0], [1, 4, 7, 8]), {}) is None
    assert "no pad does" in str(REFUSED.pop("Conv2DTransposeD"))


def _transposed(pads: list[int], extra: list[int], dims: list[int]) -> Any:
    """Return a transposed convolution of stride 1 with a 5x7 filter."""
    builder = ModelBuilder()
    x = builder.input("x", "float32", [1, 3, 2, 2])
    w = builder.constant(random_array(2, [3, 4, 5, 7]))
    attributes: Attributes = {
        "strides": [1, 1, 1, 1],
        "dilations": [1, 1, 1, 1],
        "pads": pads,
        "output_padding": [0, 0, *extra],
        "input_size": dims,
        "groups": 1,
    }
    (y,) = builder.node("Conv2DTransposeD", [x, w], [("float32", dims)], attributes)
    builder.output("y", y)
    return builder.build()
