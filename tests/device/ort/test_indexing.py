"""Elements picked, placed and marked by index, as ONNX."""

import numpy as np
import pytest

from atc_py.device.ort.model import emulate
from atc_py.diag import AtcError
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, random_array, run_model
from tests.device.ort.apart import model_of
from tests.device.ort.single import agree, dtypes_of
from tests.device.ort.twin import run_on_ort

F32, I32, I64 = DType.FLOAT32, DType.INT32, DType.INT64


@pytest.mark.parametrize("dtype", dtypes_of("GatherV2D"))
def test_slices_are_picked(dtype: DType) -> None:
    x = random_array(1, (3, 4, 2), dtype)
    indices = np.array([[3, -1], [0, 2]])
    attributes: Attributes = {"axis": 1, "negative_index_support": True}
    agree("GatherV2D", [x, indices], [(dtype, (3, 2, 2, 2))], attributes)


@pytest.mark.parametrize("dtype", dtypes_of("GatherElements"))
def test_elements_are_picked(dtype: DType) -> None:
    x = random_array(1, (3, 4), dtype)
    agree(
        "GatherElements", [x, np.array([[3, -4], [0, 2]], np.int32)], [(dtype, (2, 2))], {"dim": 1}
    )


@pytest.mark.parametrize("dtype", dtypes_of("GatherNd"))
@pytest.mark.parametrize("batch", [0, 1])
def test_tuples_pick_slices(dtype: DType, batch: int) -> None:
    x = random_array(1, (2, 3, 4), dtype)
    indices = np.array([[[1], [-1]], [[0], [1]]], np.int32)
    made = (2, 2, 3, 4) if batch == 0 else (2, 2, 4)
    attributes: Attributes = {"batch_dims": batch, "negative_index_support": True}
    agree("GatherNd", [x, indices], [(dtype, made)], attributes)


@pytest.mark.parametrize("dtype", dtypes_of("ScatterElements"))
def test_last_update_of_an_element_stays(dtype: DType) -> None:
    x, updates = random_array(1, (3, 4), dtype), random_array(2, (3, 3), dtype)
    indices = np.array([[1, 1, -3], [3, 0, 3], [2, -2, 2]])
    agree("ScatterElements", [x, indices, updates], [(dtype, (3, 4))], {"axis": 1})


@pytest.mark.parametrize("dtype", dtypes_of("TensorScatterUpdate"))
@pytest.mark.parametrize("constants", [[], [1]])
def test_last_update_of_a_tuple_stays(dtype: DType, constants: list[int]) -> None:
    x, updates = random_array(1, (3, 4, 2), dtype), random_array(2, (5, 2), dtype)
    indices = np.array([[1, 1], [2, -1], [1, -3], [2, 3], [0, 0]], np.int32)
    agree(
        "TensorScatterUpdate", [x, indices, updates], [(dtype, (3, 4, 2))], constants=constants
    )  # fmt: skip


def test_last_of_very_many_updates_of_few_places_stays() -> None:
    """Check a size that runtimes divide among threads."""
    generator = np.random.default_rng(3)
    x, updates = np.zeros((7, 8), np.float32), random_array(2, (40_000, 8))
    indices = generator.integers(-7, 7, (40_000, 1))
    agree("TensorScatterUpdate", [x, indices, updates], [(F32, (7, 8))])


@pytest.mark.parametrize(
    ("indices", "updates"),
    [((2, 0), (2, 3, 2)), ((0, 1), (0, 2)), ((1,), (2,)), ((0, 0), (0, 3, 2))],
)
def test_empty_tuples_and_no_tuples(indices: tuple[int, ...], updates: tuple[int, ...]) -> None:
    x = random_array(1, (3, 2))
    places = np.full(indices, -1, np.int64)
    agree("TensorScatterUpdate", [x, places, random_array(2, updates)], [(F32, (3, 2))])


def test_tuples_of_open_length_have_no_form() -> None:
    model, _ = model_of(
        "TensorScatterUpdate",
        [np.zeros((3, 2), np.float32), np.zeros((1, 1), np.int64), np.zeros((1, 2), np.float32)],
        [(F32, (3, 2))],
    )
    model.description.tensors[1].shape[:] = [None, None]
    with pytest.raises(AtcError, match="TensorScatterUpdate has no ONNX form: the length of its"):
        emulate(model, flat=True)


@pytest.mark.parametrize("dtype", dtypes_of("ReverseSequence"))
@pytest.mark.parametrize(("batch", "time"), [(0, 1), (1, 0), (2, -2), (0, 2)])
def test_sequences_are_reversed(dtype: DType, batch: int, time: int) -> None:
    x = random_array(1, (3, 4, 5), dtype)
    lengths = np.arange(x.shape[batch], dtype=np.int32) % (x.shape[time] + 1)
    attributes: Attributes = {"batch_dim": batch, "seq_dim": time}
    agree("ReverseSequence", [x, lengths], [(dtype, (3, 4, 5))], attributes)


@pytest.mark.parametrize("dtype", dtypes_of("NonZero"))
@pytest.mark.parametrize("op", ["NonZero", "Where"])
@pytest.mark.parametrize("shape", [(), (3, 4)])
def test_other_than_zero(op: str, dtype: DType, shape: tuple[int, ...]) -> None:
    x = np.asarray(random_array(1, shape, dtype))
    if x.size > 1:
        x.reshape(-1)[::3] = 0
    made = [len(shape), None] if op == "NonZero" else [None, len(shape)]
    agree(op, [x], [(I64, made)], {"transpose": True} if op == "NonZero" else {})


def test_nan_and_tiny_numbers_are_not_zero() -> None:
    for dtype in (DType.FLOAT16, F32, DType.FLOAT64):
        x = np.array([np.nan, -0.0, np.finfo(dtype.numpy).smallest_subnormal, 0.0, np.inf])
        agree("NonZero", [x.astype(dtype.numpy)], [(I64, [1, None])], {"transpose": True})


@pytest.mark.parametrize(
    ("dtype", "mark"),
    [*((I32, mark) for mark in dtypes_of("OneHotD", 1)), (I64, F32), (DType.UINT64, F32)],
)
@pytest.mark.parametrize("op", ["OneHotD", "OneHot"])
def test_marks(op: str, dtype: DType, mark: DType) -> None:
    x = np.array([[0, 4, 5], [-1, -5, -6], [2**31 - 1, -(2**31), 2]])
    x = (np.abs(x) if dtype is DType.UINT64 else x).astype(dtype.numpy)
    marks = [np.array(number).astype(mark.numpy) for number in (1, 0)]
    depth = [np.array([5])] if op == "OneHot" else []
    attributes: Attributes = {"axis": 1, **({} if depth else {"depth": 5})}
    agree(op, [x, *depth, *marks], [(mark, (3, 5, 3))], attributes)


def test_uint64_beyond_int64_marks_nothing() -> None:
    x = np.array([2**64 - 1, 2**63, 1], np.uint64)
    marks = [np.array(number, np.float32) for number in (1, 0)]
    (y,) = agree("OneHotD", [x, *marks], [(F32, (3, 4))], {"depth": 4})
    assert y.sum() == 1


def test_mark_of_a_scalar() -> None:
    marks = [np.array(number, np.int8) for number in (1, 0)]
    agree("OneHotD", [np.array(-2), *marks], [(DType.INT8, (4,))], {"depth": 4})


ONE = np.ones((3, 4), np.float32)


def bags(*offsets: int) -> list[Array]:
    """Return three indices and the offsets of their bags."""
    return [np.arange(3, dtype=np.int32), np.array(offsets, np.int32)]


def test_indices_after_the_last_bag_are_not_read() -> None:
    indices, offsets = np.array([0, 1, 9], np.int32), np.array([0, 2], np.int32)
    factors = np.array([2, 3, 4], np.float32)
    attributes: Attributes = {"include_last_offset": True, "mode": "sum"}
    agree("EmbeddingBag", [ONE, indices, offsets, factors], [(F32, (1, 4))], attributes)


@pytest.mark.parametrize(
    ("op", "inputs", "made", "attributes"),
    [
        ("GatherV2D", [ONE, np.array([4])], (3, 1), {"axis": 1, "negative_index_support": True}),
        ("GatherElements", [ONE, np.array([[-4]])], (1, 1), {}),
        ("GatherNd", [ONE, np.array([[0, 4]])], (1,), {"negative_index_support": True}),
        ("ScatterElements", [ONE, np.array([[3]]), ONE[:1, :1]], (3, 4), {}),
        ("TensorScatterUpdate", [ONE, np.array([[3], [3]]), ONE[:2]], (3, 4), {}),
        ("ReverseSequence", [ONE, np.array([0, 5, 0])], (3, 4), {"seq_dim": 1}),
        ("ReverseSequence", [ONE, np.array([0, -1, 0])], (3, 4), {"seq_dim": 1}),
        ("EmbeddingBag", [ONE, np.array([[-1]], np.int32)], (1, 4), {}),
        ("EmbeddingBag", [ONE, np.array([[3]], np.int32)], (1, 4), {}),
        ("EmbeddingBag", [ONE, *bags(0, 2, 1)], (3, 4), {}),
        ("EmbeddingBag", [ONE, *bags(1, 2)], (2, 4), {}),
        ("EmbeddingBag", [ONE, *bags(0, -1)], (2, 4), {"include_last_offset": True}),
        ("GatherV2D", [ONE, np.array([-1])], (3, 1), {"axis": 1}),
        ("GatherNd", [ONE, np.array([[0, -1]], np.int32)], (1,), {}),
    ],
)
def test_index_outside_stops_the_run(
    op: str, inputs: list[Array], made: tuple[int, ...], attributes: Attributes
) -> None:
    model, feeds = model_of(op, inputs, [(F32, made)], attributes)
    with pytest.raises(AtcError):
        run_model(model, feeds)
    with pytest.raises(AtcError, match="onnxruntime stopped"):
        run_on_ort(model, feeds)
