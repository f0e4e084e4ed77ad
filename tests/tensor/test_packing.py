"""Packing against the rules written out element by element, and there and back."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.packing import pack, unpack
from atc_py.tensor.storage import BLOCKED_FORMATS, ImpossibleStorageError, Storage, stored_shape
from tests.failures import in_one_item
from tests.sampling import examples
from tests.storage_rules import expected

F16 = DType.FLOAT16
NCHW, NHWC, NCDHW, ND = Format.NCHW, Format.NHWC, Format.NCDHW, Format.ND
MAP, FILTER, NZ = Storage(Format.NC1HWC0), Storage(Format.FRACTAL_Z), Storage(Format.FRACTAL_NZ)

CASES = [
    ((2, 3, 4, 5), NCHW, MAP),
    ((2, 35, 2, 3), NCHW, MAP),
    ((1, 2, 3, 33), NHWC, MAP),
    ((1, 0, 3, 3), NCHW, MAP),
    ((20, 3, 3, 2), NCHW, FILTER),
    ((40, 33, 1, 2), NCHW, FILTER),
    ((5, 2, 3, 17), NHWC, FILTER),
    ((33, 20), ND, FILTER),
    ((12, 2, 3, 3), NCHW, Storage(Format.FRACTAL_Z, 2)),
    ((96, 4, 1, 1), NCHW, Storage(Format.FRACTAL_Z, 24)),
    ((35, 3, 2, 1), NCHW, Storage(Format.FRACTAL_Z, 7)),
    ((20, 1, 3, 3), NCHW, Storage(Format.FRACTAL_Z, 20)),
    ((40, 1, 3, 3), NCHW, Storage(Format.FRACTAL_Z, 20)),
    ((21, 2, 2, 5), NHWC, Storage(Format.FRACTAL_Z, 3)),
    ((130, 40, 1, 1), NCHW, Storage(Format.FRACTAL_Z, 2)),
    ((17, 33), ND, NZ),
    ((2, 3, 5, 70), ND, NZ),
    ((2, 3, 5, 7), NCHW, NZ),
    ((2, 3, 5, 7), NHWC, NZ),
    ((2, 35, 2, 3), NCHW, Storage(Format.NC1HWC0, c0=8)),
    ((40, 33, 1, 2), NCHW, Storage(Format.FRACTAL_Z, c0=8)),
    ((40, 1, 3, 3), NCHW, Storage(Format.FRACTAL_Z, 20, 8)),
    ((2, 3, 5, 70), ND, Storage(Format.FRACTAL_NZ, c0=8)),
    ((20, 3, 7, 7), NCHW, Storage(Format.FRACTAL_Z_C04)),
    ((17, 5, 3, 4), NHWC, Storage(Format.FRACTAL_Z_C04)),
    ((0, 3, 2, 2), NCHW, Storage(Format.FRACTAL_Z_C04)),
    ((20, 1, 3, 2), NCHW, Storage(Format.C1HWNCOC0, 20)),
    ((70, 1, 2, 2), NCHW, Storage(Format.C1HWNCOC0, 35)),
    ((2, 35, 3, 2, 3), NCDHW, Storage(Format.NDC1HWC0)),
    ((1, 3, 2, 4, 1), NCDHW, Storage(Format.NDC1HWC0, c0=8)),
    ((20, 35, 2, 1, 3), NCDHW, Storage(Format.FRACTAL_Z_3D)),
    ((35, 3, 2, 2, 1), NCDHW, Storage(Format.FRACTAL_Z_3D, 7)),
    ((130, 40, 2, 1, 1), NCDHW, Storage(Format.FRACTAL_Z_3D, 2)),
]
"""Shapes around the borders of blocks, in each storage."""


def numbered(shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
    """Return elements that are nowhere zero, different as far as the dtype has so many."""
    bits = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    if dtype is DType.BOOL:
        return np.ones(shape, np.bool_)
    if dtype is DType.INT4:
        return (bits % 7 + 1).astype(dtype.numpy)
    if dtype.itemsize == 1:
        return (bits % 127 + 1).astype(dtype.numpy)
    return bits.astype(f"u{dtype.itemsize}").view(dtype.numpy)


def raw(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array).tobytes()


@in_one_item("dtype", [F16, DType.INT8, DType.INT4, DType.BFLOAT16])
@in_one_item(("shape", "origin", "storage"), CASES)
def test_every_element_is_stored_where_the_rule_says(
    shape: tuple[int, ...], origin: Format, storage: Storage, dtype: DType
) -> None:
    array = numbered(shape, dtype)
    stored, place = expected(shape, origin.value, storage, dtype)
    wanted = np.zeros(stored, dtype.numpy)
    for at in np.ndindex(shape):
        wanted[place(at)] = array[at]
    packed = pack(array, origin, storage)
    assert packed.shape == stored == stored_shape(shape, origin, storage, dtype)
    assert (packed.dtype, packed.flags.c_contiguous) == (dtype.numpy, True)
    assert raw(packed) == raw(wanted)


@in_one_item("dtype", DType)
@in_one_item(("shape", "origin", "storage"), CASES)
def test_unpacking_gives_back_what_was_packed(
    shape: tuple[int, ...], origin: Format, storage: Storage, dtype: DType
) -> None:
    array = numbered(shape, dtype)
    packed = pack(array, origin, storage)
    back = unpack(packed.reshape(-1), shape, origin, storage)
    assert (back.shape, back.dtype, back.flags.c_contiguous) == (shape, dtype.numpy, True)
    assert raw(back) == raw(array)
    assert not np.shares_memory(back, packed)


@st.composite
def tensors(draw: st.DrawFn) -> tuple[NDArray[Any], Format, Storage]:
    """Return a tensor of any bits with a storage that it can have."""
    dtype = draw(st.sampled_from([d for d in DType if d not in {DType.BOOL, DType.INT4}]))
    dim = st.integers(0, 4) | st.integers(15, 34)
    small = st.integers(1, 3)
    form = draw(st.sampled_from(BLOCKED_FORMATS))
    origin, groups = NCHW, 1
    shape: tuple[int, ...]
    match form:
        case Format.NC1HWC0:
            shape = (draw(small), draw(dim), draw(small), draw(small))
            origin = draw(st.sampled_from([NCHW, NHWC]))
        case Format.FRACTAL_NZ:
            outer = draw(st.lists(small, max_size=3))
            shape, origin = (*outer, draw(dim), draw(dim)), ND
        case Format.NDC1HWC0:
            shape = (draw(small), draw(dim), draw(small), draw(small), draw(small))
            origin = NCDHW
        case Format.FRACTAL_Z_3D:
            groups, origin = draw(st.integers(1, 20)), NCDHW
            shape = (groups * draw(small), draw(st.integers(1, 20)), draw(small), 1, draw(small))
        case Format.FRACTAL_Z_C04:
            shape = (draw(dim), draw(st.integers(0, 4)), draw(small), draw(small))
        case Format.C1HWNCOC0:
            groups = draw(st.integers(1, 34))
            shape = (groups * draw(small), 1, draw(small), draw(small))
        case _:
            groups = draw(st.integers(1, 20))
            shape = (groups * draw(st.integers(0, 5)), draw(st.integers(0, 20)), 1, draw(small))
    count = int(np.prod(shape)) * dtype.itemsize
    seed = draw(st.integers(0, 2**32))
    data = np.random.default_rng(seed).bytes(count)
    array = np.frombuffer(data, np.uint8).view(dtype.numpy).reshape(shape)
    return array, origin, Storage(form, groups)


@examples(150)
@given(tensors())
def test_any_bits_survive_and_padding_is_zero(case: tuple[NDArray[Any], Format, Storage]) -> None:
    array, origin, storage = case
    packed = pack(array, origin, storage)
    dtype = DType.from_numpy(array.dtype)
    assert packed.shape == stored_shape(array.shape, origin, storage, dtype)
    assert raw(unpack(packed, array.shape, origin, storage)) == raw(array)
    full = np.frombuffer(b"\xff" * array.nbytes, np.uint8).view(array.dtype).reshape(array.shape)
    filled = pack(full, origin, storage).reshape(-1).view(np.uint8)
    assert int((filled == 0xFF).sum()) == array.size * dtype.itemsize
    assert int((filled == 0).sum()) == filled.size - array.size * dtype.itemsize


def test_views_are_packed_as_they_look() -> None:
    base = numbered((4, 5, 6, 40), F16)
    view = base.transpose(0, 3, 1, 2)[::2]
    assert raw(pack(view, NCHW, MAP)) == raw(pack(np.ascontiguousarray(view), NCHW, MAP))


def test_row_by_row_is_a_copy_in_order() -> None:
    array = numbered((3, 4), F16).T
    packed = pack(array, ND, None)
    assert raw(packed) == raw(array)
    back = unpack(packed, (4, 3), ND, None)
    assert raw(back) == raw(array)
    assert not np.shares_memory(back, packed)


def test_impossible_storage_is_refused_both_ways() -> None:
    array = numbered((3, 4), F16)
    with pytest.raises(
        ImpossibleStorageError, match="NC1HWC0 is for NCHW or NHWC, found ND of 3x4"
    ):
        pack(array, ND, MAP)
    with pytest.raises(
        ImpossibleStorageError, match="NC1HWC0 is for NCHW or NHWC, found ND of 3x4"
    ):
        unpack(array, (3, 4), ND, MAP)
