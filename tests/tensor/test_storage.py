"""Storage: C0, the shapes of stored tensors, and why some tensors cannot be stored so."""

import pytest

from atc_py.ir import TensorType
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Dims, OpenShapeError
from atc_py.tensor.storage import (
    BLOCKED_FORMATS,
    GroupBlocks,
    ImpossibleStorageError,
    Storage,
    c0_of,
    group_blocks,
    is_stored_like_rows,
    stored_shape,
    why_impossible,
)
from tests.failures import in_one_item

F16, F32, I8 = DType.FLOAT16, DType.FLOAT32, DType.INT8
NCHW, NHWC, NCDHW, ND = Format.NCHW, Format.NHWC, Format.NCDHW, Format.ND
MAP, FILTER, NZ = Storage(Format.NC1HWC0), Storage(Format.FRACTAL_Z), Storage(Format.FRACTAL_NZ)
VOLUME = Storage(Format.NDC1HWC0)


def grouped(groups: int) -> Storage:
    return Storage(Format.FRACTAL_Z, groups)


def depthwise(channels: int) -> Storage:
    return Storage(Format.C1HWNCOC0, channels)


def test_innermost_block_is_as_deep_as_the_cube() -> None:
    deep = {DType.INT8: 32, DType.UINT8: 32, DType.INT4: 64}
    assert {dtype: c0_of(dtype) for dtype in DType} == {d: deep.get(d, 16) for d in DType}


@in_one_item(
    ("dims", "origin", "storage", "dtype", "stored"),
    [
        ((8, 3, 224, 224), NCHW, MAP, F16, (8, 1, 224, 224, 16)),
        ((8, 224, 224, 3), NHWC, MAP, F16, (8, 1, 224, 224, 16)),
        ((1, 33, 5, 5), NCHW, MAP, I8, (1, 2, 5, 5, 32)),
        ((1, 33, 5, 5), NCHW, MAP, F32, (1, 3, 5, 5, 16)),
        ((64, 3, 7, 7), NCHW, FILTER, F16, (49, 4, 16, 16)),
        ((65, 33, 1, 1), NCHW, FILTER, I8, (2, 5, 16, 32)),
        ((100, 10), ND, FILTER, F16, (7, 1, 16, 16)),
        ((64, 32, 3, 3), NCHW, grouped(2), F16, (36, 2, 16, 16)),
        ((12, 2, 3, 3), NCHW, grouped(2), F16, (9, 1, 16, 16)),
        ((128, 4, 3, 3), NCHW, grouped(32), F16, (72, 1, 16, 16)),
        ((20, 1, 3, 3), NCHW, grouped(20), F16, (18, 1, 16, 16)),
        ((17, 33), ND, NZ, F16, (3, 2, 16, 16)),
        ((2, 12, 197, 64), ND, NZ, F16, (2, 12, 4, 13, 16, 16)),
        ((2, 12, 197, 64), NCHW, NZ, I8, (2, 12, 2, 13, 16, 32)),
        ((40, 1, 3, 3), NCHW, depthwise(20), F16, (2, 3, 3, 2, 16, 16)),
        ((1, 0, 3, 3), NCHW, MAP, F16, (1, 0, 3, 3, 16)),
        ((0, 1, 3, 3), NCHW, grouped(3), F16, (27, 0, 16, 16)),
        ((6, 0, 3, 3), NCHW, grouped(3), F16, (0, 1, 16, 16)),
        ((1, 3, 4, 4), NCHW, None, F16, (1, 3, 4, 4)),
        ((2, 33, 4, 5, 5), NCDHW, VOLUME, F16, (2, 4, 3, 5, 5, 16)),
        ((2, 33, 4, 5, 5), NCDHW, VOLUME, I8, (2, 4, 2, 5, 5, 32)),
        ((65, 33, 3, 2, 1), NCDHW, Storage(Format.FRACTAL_Z_3D), F16, (18, 5, 16, 16)),
        ((128, 4, 2, 3, 3), NCDHW, Storage(Format.FRACTAL_Z_3D, 32), F16, (144, 1, 16, 16)),
    ],
)
def test_stored_shape_follows_from_type_and_storage(
    dims: Dims, origin: Format, storage: Storage | None, dtype: DType, stored: Dims
) -> None:
    assert stored_shape(dims, origin, storage, dtype) == stored


@pytest.mark.parametrize(
    ("dims", "storage", "stored"),
    [
        ((None, 3, 8, 8), MAP, (None, 1, 8, 8, 16)),
        ((1, None, 8, None), MAP, (1, None, 8, None, 16)),
        ((64, 3, None, 7), FILTER, (None, 4, 16, 16)),
        ((64, 3, None, 0), FILTER, (0, 4, 16, 16)),
        ((None, 3, 7, 7), FILTER, (49, None, 16, 16)),
        ((None, 3, 7, 7), grouped(2), (None, None, 16, 16)),
        ((8, 3, None, 7), grouped(2), (None, 1, 16, 16)),
        ((None, 1, 3, 3), depthwise(20), (2, 3, 3, None, 16, 16)),
        ((None, 20, None, 5), NZ, (None, 20, 1, None, 16, 16)),
    ],
)
def test_open_dims_leave_open_what_depends_on_them(
    dims: Dims, storage: Storage, stored: Dims
) -> None:
    assert stored_shape(dims, NCHW, storage, F16) == stored


@pytest.mark.parametrize(
    ("groups", "channels", "filters", "c0", "blocks"),
    [
        (2, 2, 6, 16, GroupBlocks(2, 1, 1, 1)),
        (32, 4, 4, 16, GroupBlocks(4, 8, 1, 1)),
        (32, 4, 4, 32, GroupBlocks(8, 4, 1, 2)),
        (7, 3, 5, 16, GroupBlocks(7, 1, 2, 3)),
        (64, 3, 5, 16, GroupBlocks(16, 4, 3, 5)),
        (2, 64, 64, 16, GroupBlocks(1, 2, 4, 4)),
        (5, 0, 4, 16, GroupBlocks(1, 5, 0, 1)),
    ],
)
def test_groups_share_diagonals_until_blocks_are_full(
    groups: int, channels: int, filters: int, c0: int, blocks: GroupBlocks
) -> None:
    assert group_blocks(groups, channels, filters, c0) == blocks


@in_one_item(
    ("dims", "origin", "storage", "reason"),
    [
        ((3, 4), ND, MAP, "NC1HWC0 is for NCHW or NHWC, found ND of 3x4"),
        ((1, 3, 4, 4), ND, MAP, "NC1HWC0 is for NCHW or NHWC, found ND of 1x3x4x4"),
        ((3, 4), NCHW, MAP, "NCHW has 4 axes, found 3x4"),
        ((4,), ND, NZ, "FRACTAL_NZ is for row-by-row tensors of at least 2 axes, found ND of 4"),
        ((1, 1, 4, 4, 16), Format.NC1HWC0, NZ, "found NC1HWC0 of 1x1x4x4x16"),
        ((1, 3, 4, 4), NCHW, Storage(ND), "storage must be one of NC1HWC0, FRACTAL_Z"),
        ((1, 3, 4, 4), NCHW, Storage(Format.NC1HWC0, 2), "NC1HWC0 has no groups, found 2"),
        ((8, 3, 4, 4), NCHW, grouped(0), "groups of a storage must be at least 1, found 0"),
        ((8, 5, 3, 3), NCHW, Storage(Format.FRACTAL_Z_C04), "at most 4 channels, found 5"),
        ((8, 3), ND, Storage(Format.FRACTAL_Z_C04), "filters in NCHW or NHWC, found ND of 8x3"),
        ((8, 3, 4, 4), NCHW, Storage(Format.NC1HWC0, c0=4), "C0 of a storage must be 8 or that"),
        (
            (131072, 1, 1, 1),
            NCHW,
            grouped(65536),
            "groups of FRACTAL_Z must be at most 65535, found 65536",
        ),
        ((8, 3, 4, 4), NCHW, grouped(3), "8 output channels do not divide into 3 groups"),
        (
            (8, 3, 4),
            ND,
            FILTER,
            "filters in NCHW or NHWC and for matrices in ND, found ND of 8x3x4",
        ),
        ((8, 3), ND, grouped(2), "FRACTAL_Z of a matrix has no groups, found 2"),
        ((8, 2, 3, 3), NCHW, depthwise(4), "one input channel a group, found NCHW of 8x2x3x3"),
        ((8, 3, 3, 1), NHWC, depthwise(8), "one input channel a group, found NHWC of 8x3x3x1"),
        ((9, 1, 3, 3), NCHW, depthwise(4), "9 output channels do not divide into 4 groups"),
        ((1, 3, 2, 4, 4), ND, VOLUME, "NDC1HWC0 is for NCDHW, found ND of 1x3x2x4x4"),
        ((1, 3, 4, 4), NCDHW, VOLUME, "NCDHW has 5 axes, found 1x3x4x4"),
        ((8, 3, 4, 4), NCHW, Storage(Format.FRACTAL_Z_3D), "FRACTAL_Z_3D is for NCDHW"),
        ((8, 3, 1, 4, 4), NCDHW, Storage(Format.FRACTAL_Z_3D, 3), "8 output channels do not"),
    ],
)
def test_storage_that_cannot_be_had_has_a_reason(
    dims: Dims, origin: Format, storage: Storage, reason: str
) -> None:
    assert reason in str(why_impossible(dims, origin, storage))
    with pytest.raises(ImpossibleStorageError) as caught:
        stored_shape(dims, origin, storage, F16)
    assert reason in str(caught.value)


def test_blocked_formats_are_those_with_a_rule() -> None:
    assert set(BLOCKED_FORMATS) == set(Format) - {ND, NCHW, NHWC, NCDHW}


def test_type_knows_its_stored_bytes() -> None:
    kind = TensorType(F16, (1, 3, 4, 5), NCHW)
    assert (kind.stored_dims, kind.stored_nbytes) == (kind.dims, kind.nbytes)
    stored = kind.with_storage(MAP)
    assert (stored.stored_dims, stored.stored_nbytes) == ((1, 1, 4, 5, 16), 640)
    assert stored.nbytes == kind.nbytes == 120
    assert stored.with_dtype(I8).stored_dims == (1, 1, 4, 5, 32)
    assert stored.with_storage(None) == kind != stored
    opened = TensorType(F16, (1, 3, None, 5), NCHW, MAP)
    with pytest.raises(OpenShapeError):
        _ = opened.stored_nbytes


@pytest.mark.parametrize(
    ("dims", "storage", "like"),
    [
        ((2, 3), None, True),
        ((2, 32, 1, 1), MAP, True),
        ((2, 20, 1, 1), MAP, False),
        ((2, 32, 1, 2), MAP, False),
        ((2, None, 1, 1), MAP, False),
        ((3, 32, 16), NZ, True),
        ((3, 20, 16), NZ, False),
        ((3, 32, 32), NZ, False),
        ((32,), NZ, False),
        ((), MAP, False),
        ((16, 16), FILTER, False),
    ],
)
def test_some_blocks_are_stored_like_rows(dims: Dims, storage: Storage | None, like: bool) -> None:
    assert is_stored_like_rows(dims, storage, F16) is like
