"""Data movement as ONNX: the same elements in every dtype, whatever a runtime's operators take."""

import numpy as np
import pytest

from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, random_array
from tests.device.ort.single import agree

NAMED = [
    DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64, DType.INT8, DType.INT16,
    DType.INT32, DType.INT64, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64, DType.BOOL,
]  # fmt: skip

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], Attributes]] = {
    "ConfusionTransposeD": (
        (2, 6), (3, 4), {"perm": [1, 0], "shape": [3, 4], "transpose_first": True},
    ),
    "Flatten": ((2, 3, 2), (2, 6), {"axis": -2}),
    "PadV3D": ((3, 4), (4, 5), {"paddings": [1, 0, -1, 2], "constant_values": 1.0}),
    "Squeeze": ((1, 5, 1), (5,), {}),
    "StridedSliceD": (
        (4, 5), (4, 2), {"begin": [3, 1], "end": [-1, 5], "strides": [-1, 2]},
    ),
    "TileD": ((2, 3), (4, 9), {"multiples": [2, 3]}),
    "TransposeD": ((2, 3, 4), (4, 2, 3), {"perm": [2, 0, 1]}),
    "Unsqueeze": ((2, 3), (1, 2, 3, 1), {"axes": [0, -1]}),
}  # fmt: skip


def extremes(shape: tuple[int, ...], dtype: DType) -> Array:
    """Return numbers of a dtype, its largest and smallest, and what is no number, among them."""
    array = random_array(3, shape, dtype).astype(dtype.numpy)
    flat = array.reshape(-1)
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        flat[:2] = info.min, info.max
    elif dtype is not DType.BOOL:
        flat[:4] = np.array([np.inf, -np.inf, np.nan, -0.0]).astype(dtype.numpy)
    return array


@pytest.mark.parametrize("op", CASES)
@pytest.mark.parametrize("dtype", NAMED)
def test_moves_are_exact_in_every_dtype(op: str, dtype: DType) -> None:
    row = find_operator(op)
    assert row is not None
    shape, made, attributes = CASES[op]
    agree(op, [extremes(shape, dtype)], [(dtype, made)], attributes)


@pytest.mark.parametrize("dtype", NAMED)
def test_tensors_are_joined_and_cut_in_every_dtype(dtype: DType) -> None:
    one, other = extremes((2, 3), dtype), extremes((2, 4), dtype)
    (both,) = agree("ConcatD", [one, other], [(dtype, (2, 7))], {"concat_dim": -1, "N": 2})
    sizes = [3, 0, 4]
    agree(
        "SplitVD", [both], [(dtype, (2, size)) for size in sizes],
        {"size_splits": sizes, "split_dim": 1, "num_split": 3},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "wanted", "allowzero"),
    [((2, 3), (3, -1), 0), ((2, 3), (0, 3), 0), ((0, 3), (3, 0), 1), ((2, 0), (0, 5, 0), 0)],
)
def test_reshape_reads_zeros_as_the_device_does(
    shape: tuple[int, ...], wanted: tuple[int, ...], allowzero: int
) -> None:
    x: Array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    made = tuple(
        shape[at] if not dim and not allowzero and at < len(shape) else dim
        for at, dim in enumerate(wanted)
    )
    made = tuple(x.size // 3 if dim == -1 else dim for dim in made)
    inputs = [x, np.array(wanted, np.int64)]
    agree("Reshape", inputs, [(DType.FLOAT32, made)], {"allowzero": allowzero}, constants=[1])


@pytest.mark.parametrize("mode", ["edge", "reflect"])
@pytest.mark.parametrize("paddings", [[2, 1, 0, 3], [-1, 2, 1, -2], [0, 0, 0, 0]])
@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.INT16, DType.INT8, DType.FLOAT64])
def test_borders_repeat_and_mirror(mode: str, paddings: list[int], dtype: DType) -> None:
    x = random_array(5, (4, 5), dtype)
    made = (4 + sum(paddings[:2]), 5 + sum(paddings[2:]))
    agree("PadV3D", [x], [(dtype, made)], {"paddings": paddings, "mode": mode})


@pytest.mark.parametrize(
    ("begin", "end", "stride", "masks"),
    [(-9, -1, -1, (0, 0)), (9, -1, -2, (0, 0)), (2, 0, -1, (1, 1)), (3, 1, 1, (1, 0)), (4, 2, 1, (0, 0))],
)  # fmt: skip
def test_slices_out_of_bounds_and_masked(
    begin: int, end: int, stride: int, masks: tuple[int, int]
) -> None:
    x = np.arange(10, dtype=np.int32).reshape(5, 2)
    to_end = masks[1] or (stride < 0 and end < 0)
    taken = slice(None if masks[0] else begin, None if to_end else end, stride)
    attributes: Attributes = {
        "begin": [begin, 0], "end": [end, 2], "strides": [stride, 1],
        "begin_mask": masks[0], "end_mask": masks[1],
    }  # fmt: skip
    agree("StridedSliceD", [x], [(DType.INT32, x[taken].shape)], attributes)
