"""Data movement against onnxruntime: no element may change, whatever the dtype."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.device.sim.kernels.movement import _turning
from atc_py.tensor.dtypes import DType
from tests.device.models import Attributes, random_array, run_operator
from tests.device.onnx_oracle import Onnx, compare
from tests.sampling import examples

DTYPES = [DType.FLOAT32, DType.FLOAT16, DType.FLOAT64, DType.INT64, DType.INT8]
SHAPE = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def longs(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return an int64 vector, as ONNX takes axes and shapes."""
    return np.array(values, np.int64).reshape(len(values))


@given(shape=SHAPE, data=st.data())
@examples(60)
def test_transpose_agrees_with_onnxruntime(shape: list[int], data: st.DataObject) -> None:
    perm = data.draw(st.permutations(range(len(shape))))
    compare(
        Onnx("Transpose", {"perm": perm}), "TransposeD", [random_array(1, shape)], {"perm": perm},
        DTYPES,
    )  # fmt: skip


@pytest.mark.parametrize("rows", [4096, 5000])
def test_transposition_of_many_columns_is_made_of_a_few_thousand_copies(rows: int) -> None:
    narrow = np.zeros((1, 1), np.int8)
    turned = np.lib.stride_tricks.as_strided(narrow, (2, 300_000), (1, rows), writeable=False)
    copies = list(_turning(np.broadcast_to(narrow, turned.shape), turned))
    assert 1 < len(copies) <= 4096
    assert sum(source.shape[-1] for _, source in copies) == 300_000


@given(shape=SHAPE, data=st.data())
@examples(60)
def test_concat_agrees_with_onnxruntime(shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    extents = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    shapes = [[*shape] for _ in extents]
    for one, extent in zip(shapes, extents, strict=True):
        one[axis] = extent
    arrays = [random_array(index, one) for index, one in enumerate(shapes)]
    attributes = {"concat_dim": axis, "N": len(arrays)}
    compare(Onnx("Concat", {"axis": axis}), "ConcatD", arrays, attributes, DTYPES)


@given(shape=SHAPE, data=st.data())
@examples(60)
def test_split_agrees_with_onnxruntime(shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    shape[axis] = sum(sizes)
    node = Onnx("Split", {"axis": axis}, 13, [longs(*sizes)], outputs=len(sizes))
    compare(
        node, "SplitVD", [random_array(2, shape)],
        {"size_splits": sizes, "split_dim": axis, "num_split": len(sizes)}, DTYPES,
    )  # fmt: skip


@given(shape=SHAPE, data=st.data())
@examples(60)
def test_strided_slice_agrees_with_onnxruntime(shape: list[int], data: st.DataObject) -> None:
    bound = st.one_of(st.none(), st.integers(-7, 7))
    step = st.sampled_from([-3, -2, -1, 1, 2, 3])
    found = [
        slice(data.draw(bound), data.draw(bound), data.draw(step)).indices(extent)
        for extent in shape
    ]
    begins, ends, steps = (list(column) for column in zip(*found, strict=True))
    # a normalized end of -1 means past the front; ONNX says that with a very negative number
    onnx_ends = [-(2**62) if end < 0 else end for end in ends]
    extras = [longs(*begins), longs(*onnx_ends), longs(*range(len(shape))), longs(*steps)]
    compare(
        Onnx("Slice", extra_inputs=extras), "StridedSliceD", [random_array(3, shape)],
        {"begin": begins, "end": ends, "strides": steps}, DTYPES,
    )  # fmt: skip


def test_strided_slice_masks_open_the_bounds() -> None:
    x = np.arange(20, dtype=np.int32).reshape(4, 5)
    (y,) = run_operator(
        "StridedSliceD", [x], [(DType.INT32, (3, 4))],
        {"begin": [3, 1], "end": [3, 1], "strides": [1, 1], "begin_mask": 1, "end_mask": 2},
    )  # fmt: skip
    np.testing.assert_array_equal(y, x[:3, 1:])


@given(shape=SHAPE, data=st.data(), mode=st.sampled_from(["constant", "edge", "reflect"]))
@examples(60)
def test_pad_agrees_with_onnxruntime(shape: list[int], data: st.DataObject, mode: str) -> None:
    pairs = []
    for extent in shape:
        top = extent - 1 if mode == "reflect" else 3
        low = -(extent // 2) if mode == "constant" else 0
        border = st.integers(low, top)
        pairs.append((data.draw(border), data.draw(border)))
    before, after = zip(*pairs, strict=True)
    value = data.draw(st.sampled_from([0.0, 2.0, -7.0])) if mode == "constant" else 0.0
    attributes: Attributes = {
        "paddings": [n for pair in pairs for n in pair],
        "constant_values": value,
    }
    for dtype in (DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64, DType.UINT8):
        if dtype is DType.UINT8 and value < 0:
            continue
        extras = [longs(*before, *after), np.array(value).astype(dtype.numpy)]
        compare(
            Onnx("Pad", {"mode": mode}, 13, extras), "PadV3D", [random_array(4, shape)],
            {**attributes, "mode": mode}, [dtype],
        )  # fmt: skip


def test_pad_rounds_its_constant_to_the_dtype() -> None:
    x = np.zeros((1,), np.float16)
    attributes: Attributes = {"paddings": [1, 1], "constant_values": 0.1}
    (y,) = run_operator("PadV3D", [x], [(DType.FLOAT16, (3,))], attributes)
    np.testing.assert_array_equal(y, np.array([0.1, 0.0, 0.1], np.float16))


def test_pad_of_a_scalar_is_the_scalar() -> None:
    x = np.array(3.5, np.float32)
    attributes: Attributes = {"paddings": [], "mode": "constant"}
    (y,) = run_operator("PadV3D", [x], [(DType.FLOAT32, ())], attributes)
    assert y.tolist() == 3.5


@pytest.mark.parametrize("wanted", [[6, 4], [2, 3, 4], [24], [-1, 8], [1, 24, 1]])
def test_reshape_agrees_with_onnxruntime(wanted: list[int]) -> None:
    x = random_array(5, (4, 6))
    node = Onnx("Reshape", extra_inputs=[longs(*wanted)])
    compare(node, "Reshape", [x], dtypes=DTYPES, extra_inputs=[longs(*wanted)])


@pytest.mark.parametrize("axis", [-3, -1, 0, 1, 2, 3])
def test_flatten_agrees_with_onnxruntime(axis: int) -> None:
    node = Onnx("Flatten", {"axis": axis})
    compare(node, "Flatten", [random_array(6, (2, 3, 4))], {"axis": axis}, DTYPES)


@pytest.mark.parametrize("axes", [[0], [-1], [1, 3], [0, -1, 2]])
def test_unsqueeze_agrees_with_onnxruntime(axes: list[int]) -> None:
    node = Onnx("Unsqueeze", extra_inputs=[longs(*axes)])
    compare(node, "Unsqueeze", [random_array(7, (2, 3))], {"axes": axes}, DTYPES)
