"""Quantization and requantization as ONNX: every code is that of the device."""

from itertools import product

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import HardwareWords, encode_hardware
from tests.device.models import Array, Attributes, ModelBuilder
from tests.device.ort.single import agree
from tests.device.ort.twin import REFUSED, run_on_ort

F16, F32 = DType.FLOAT16, DType.FLOAT32
I4, I8, I16, I32, U64 = DType.INT4, DType.INT8, DType.INT16, DType.INT32, DType.UINT64

HALF = np.arange(2**16, dtype=np.uint16).view(np.float16)
"""All numbers of float16."""

EDGES = np.array(
    [np.nan, np.inf, -np.inf, -0.0, 1e30, 0.5, 1.5, 2.5, -0.5, 126.5, 127.5], np.float32
)


def floats(dtype: DType) -> Array:
    """Return all of float16, or in float32 what is around it as well."""
    with np.errstate(all="ignore"):
        wide = HALF.astype(np.float32)
        return HALF if dtype is F16 else np.concatenate([wide, np.float32(1.0003) * wide, EDGES])


@pytest.mark.parametrize("mode", ["Round", "Floor", "Ceil", "Trunc"])
@pytest.mark.parametrize("target", [I4, I8, I16])
@pytest.mark.parametrize(("dtype", "compute"), [(F16, F16), (F32, F16), (F16, F32), (F32, F32)])
def test_codes_of_floats_are_equal(dtype: DType, compute: DType, target: DType, mode: str) -> None:
    x = floats(dtype)
    for scale, offset, root in ((1.0, 0.0, False), (0.37, -3.3, False), (11.3, 0.5, True)):
        attributes: Attributes = {
            "scale": scale,
            "offset": offset,
            "sqrt_mode": root,
            "round_mode": mode,
            "dst_type": target.value,
            "compute_type": compute.value,
        }
        with np.errstate(all="ignore"):
            agree("AscendQuant", [x], [(target, x.shape)], attributes)


def test_factor_beyond_float16_is_infinite() -> None:
    attributes: Attributes = {"scale": 1e6, "offset": 0.0, "compute_type": "float16"}
    with np.errstate(all="ignore"):
        (y,) = agree("AscendQuant", [np.array([-1, 0, 1], np.float32)], [(I8, (3,))], attributes)
    assert list(y) == [-128, 0, 127]


@pytest.mark.parametrize("compute", [F16, F32])
@pytest.mark.parametrize("dtype", [F16, F32])
def test_codes_become_floats_in_steps_of_a_dtype(dtype: DType, compute: DType) -> None:
    x = np.arange(-128, 128).astype(np.int8)
    for scale, offset, root in ((0.37, 0.0, False), (0.37, -3.3, False), (11.3, 2000.0, True)):
        attributes: Attributes = {
            "scale": scale, "offset": offset, "sqrt_mode": root, "dtype": dtype.value,
            "compute_type": compute.value,
        }  # fmt: skip
        agree("AscendAntiQuant", [x], [(dtype, x.shape)], attributes)


def sums(shape: tuple[int, ...], dtype: DType = I32) -> Array:
    """Return numbers of all sizes."""
    generator = np.random.default_rng(1)
    bits = generator.integers(1, dtype.bits, shape)
    values = generator.integers(-(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1), shape)
    return (values >> bits).astype(dtype.numpy)


def words(count: int) -> Array:
    """Return words that use every field."""
    generator = np.random.default_rng(2)
    return encode_hardware(
        HardwareWords(
            (generator.standard_normal(count) * 0.01).astype(np.float32),
            generator.integers(1, 17, count),
            generator.integers(-256, 256, count),
            generator.random(count) < 0.5,
            generator.random(count) < 0.5,
        )
    ) | (generator.integers(0, 2**13, count).astype(np.uint64))


SHAPES = [((), 1), ((9,), 9), ((40, 6), 6), ((2, 6, 7, 5), 6), ((2, 6, 7, 5), 1), ((3, 4, 7), 7)]
"""Of the data, and the number of words."""


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(("shape", "count"), SHAPES)
def test_sums_become_what_words_say(shape: tuple[int, ...], count: int, *, constant: bool) -> None:
    x, short, scale = sums(shape), sums(shape, I16), words(count)
    constants = (1,) if constant else ()
    for relu, dtype in product((False, True), (F16, F32)):
        relu_flag: Attributes = {"relu_flag": relu}
        attributes: Attributes = {"relu_flag": relu, "dtype": dtype.value}
        with np.errstate(all="ignore"):
            agree("AscendDequant", [x, scale], [(dtype, shape)], attributes, constants=constants)
        agree("AscendRequant", [x, scale], [(I8, shape)], relu_flag, constants=constants)
        for addend in (None, short, *([short.reshape(-1)[:count]] if count > 1 else [])):
            agree(
                "AscendDequantS16",
                [x, scale, addend],
                [(I16, shape)],
                relu_flag,
                constants=constants,
            )
            if addend is short or addend is None:
                inputs = [short, scale, addend]
                agree("AscendRequantS16", inputs, [(I8, shape)], relu_flag, constants=constants)
                both: Attributes = {"relu_flag": relu, "dual_output": True}
                types = [(I8, shape), (I16, shape)]
                agree("AscendRequantS16", inputs, types, both, constants=constants)


@pytest.mark.parametrize("constant", [False, True])
def test_any_bits_are_a_factor(*, constant: bool) -> None:
    bits = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F802000, 0x00002000, 0x807FE000]
    scale = np.array([*bits, 0x3F800000, 0x7F7FE000, 0x00800000, 0x5F000000], np.uint64)
    x = np.broadcast_to(np.array([[0], [1], [-1], [2**31 - 1]], np.int32), (4, len(scale))).copy()
    with np.errstate(all="ignore"):
        for relu in (False, True):
            attributes: Attributes = {"relu_flag": relu}
            constants = (1,) if constant else ()
            for op, dtype in (("AscendDequant", F32), ("AscendRequant", I8)):
                agree(op, [x, scale], [(dtype, x.shape)], attributes, constants=constants)


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("constant", [False, True])
def test_factors_of_float16_are_taken_as_they_are(*, constant: bool, root: bool) -> None:
    x, scale = sums((2, 3, 4, 5)), np.array([0.013, -7e-5, np.inf], np.float16)
    for relu, dtype in product((False, True), (F16, F32)):
        attributes: Attributes = {"relu_flag": relu, "dtype": dtype.value, "sqrt_mode": root}
        with np.errstate(all="ignore"):
            agree(
                "AscendDequant", [x, scale], [(dtype, x.shape)], attributes,
                constants=[1] if constant else [],
            )  # fmt: skip


@pytest.mark.parametrize(
    ("dims", "has_form"),
    [
        ([None, 3, 4, 5], True),
        ([2, None, 4, 5], True),
        ([2, None, 4, 3], False),
        ([None, None], True),
    ],
)
def test_channels_of_open_dims_are_found_where_they_can_be(
    dims: list[int | None], *, has_form: bool
) -> None:
    shape = [2, 3, *(2 if dim is None else dim for dim in dims[2:])]
    builder, x = ModelBuilder(), sums(tuple(shape))
    fed, scale = builder.input("x", "int32", shape), builder.constant(words(3))
    perm: Attributes = {"perm": [*range(len(dims))]}
    (moved,) = builder.node("TransposeD", [fed], [("int32", dims)], perm)
    (y,) = builder.node("AscendRequant", [moved, scale], [("int8", dims)], {"relu_flag": False})
    builder.output("y", y)
    REFUSED.clear()
    found = run_on_ort(builder.build(), {"x": x})
    if has_form:
        assert found is not None
        (expected,) = agree("AscendRequant", [x, words(3)], [(I8, shape)], {"relu_flag": False})
        np.testing.assert_array_equal(found["y"], expected)
        return
    assert found is None
    ((reason,),) = REFUSED.values()
    REFUSED.clear()
    assert reason.endswith("with open dims it is not known which axis holds the channels")
