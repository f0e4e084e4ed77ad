"""Running sums, largest elements, diagonals, triangles, counts of words and bags, as ONNX."""

import numpy as np
import pytest

from atc_py.device.ort.model import emulate
from atc_py.diag import AtcError
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, random_array
from tests.device.ort.apart import model_of
from tests.device.ort.single import agree, dtypes_of

F16, F32, F64, I32 = DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.INT32
DIRECTIONS = [(False, False), (True, False), (False, True), (True, True)]


def unordered(shape: tuple[int, ...], dtype: DType) -> Array:
    """Return few numbers, many of them equal, infinite or no numbers."""
    choices = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, -np.nan])
    places = np.random.default_rng(5).integers(0, len(choices), shape)
    return choices[places].astype(dtype.numpy)


@pytest.mark.parametrize("dtype", dtypes_of("CumsumD"))
@pytest.mark.parametrize(("exclusive", "reverse"), DIRECTIONS)
def test_running_sums(dtype: DType, exclusive: bool, reverse: bool) -> None:
    x = random_array(1, (3, 40), dtype)
    attributes: Attributes = {"axis": -1, "exclusive": exclusive, "reverse": reverse}
    agree("CumsumD", [x * x * x], [(dtype, (3, 40))], attributes)


@pytest.mark.parametrize("dtype", dtypes_of("Cumsum"))
@pytest.mark.parametrize("axis", [np.array(-2), np.array([1], np.int32)])
def test_running_sums_along_an_axis_of_the_run(dtype: DType, axis: Array) -> None:
    agree("Cumsum", [random_array(1, (3, 4, 2), dtype), axis], [(dtype, (3, 4, 2))])


@pytest.mark.parametrize("dtype", dtypes_of("TopK"))
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [0, 1, 5, 40])
def test_first_elements_with_ties_and_nan(dtype: DType, largest: bool, k: int) -> None:
    x = unordered((3, 40, 2), dtype)
    attributes: Attributes = {"dim": 1, "largest": largest, "sorted": False}
    made = (3, k, 2)
    if k and dtype is not F64:
        rows, ramp = x.reshape(6, 40), np.zeros(8192, np.float16)
        types = [(dtype, (6, k)), (I32, (6, k))]
        agree("TopKD", [rows, ramp], types, {"k": k, "largest": largest})
    agree("TopK", [x, np.array([k])], [(dtype, made), (I32, made)], attributes)
    agree("TopK", [random_array(1, (3, 40, 2), dtype), np.array(k)],
          [(dtype, made), (I32, made)], attributes, constants=[1])  # fmt: skip


@pytest.mark.parametrize("dtype", dtypes_of("Trilu"))
def test_triangles(dtype: DType) -> None:
    x = random_array(1, (2, 3, 5), dtype)
    x = unordered((2, 3, 5), dtype) if dtype in {F16, F32, F64} else x
    for upper, k in ((0, None), (1, 1), (0, -1), (1, 2**40), (0, -(2**40)), (0, 2**40)):
        inputs = [x, None if k is None else np.array(k)]
        agree("Trilu", inputs, [(dtype, (2, 3, 5))], {"upper": upper})


@pytest.mark.parametrize("dtype", dtypes_of("MatrixDiagV2"))
@pytest.mark.parametrize("constants", [[], [1, 2, 3]])
def test_diagonals(dtype: DType, constants: list[int]) -> None:
    for k, rows, columns in ((0, 3, 3), (1, 3, 5), (-2, 5, 3), (4, 2, 3), (0, 0, 2)):
        length = max(0, min(rows + min(k, 0), columns - max(k, 0)))
        numbers = [np.array([number], np.int32) for number in (k, rows, columns)]
        inputs = [random_array(1, (2, length), dtype), *numbers, np.array(7).astype(dtype.numpy)]
        agree("MatrixDiagV2", inputs, [(dtype, (2, rows, columns))], constants=constants)


@pytest.mark.parametrize("dtype", [DType.INT32, DType.INT64])
@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("weights", [[], [0.5, np.inf, -2.0, 3.0, 0.0]])
def test_words_are_counted(dtype: DType, mode: str, weights: list[float]) -> None:
    x = np.random.default_rng(1).integers(1, 5, (3, 12)).astype(dtype.numpy)
    attributes: Attributes = {
        "mode": mode, "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 3,
        "ngram_counts": [0, 3], "ngram_indexes": [4, 2, 0, 1, 3],
        "pool_int64s": [1, 2, 9, 3, 4, 4, 1], "weights": weights,
    }  # fmt: skip
    agree("TfIdfVectorizer", [x], [(F32, (3, 5))], attributes)
    agree("TfIdfVectorizer", [x[0]], [(F32, (5,))], attributes)


@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(dtype: DType, mode: str) -> None:
    table, exact = random_array(1, (6, 4), dtype), mode == "max"
    table[2, 1], table[4, :2] = np.nan, np.inf
    indices = np.array([0, 5, 2, 4, 4, 1, 3], np.int32)
    attributes: Attributes = {"mode": mode}
    offsets = np.array([0, 3, 3, 5, 6], np.int32)
    agree("EmbeddingBag", [table, indices, offsets], [(dtype, (5, 4))], attributes, exact=exact)
    last: Attributes = {**attributes, "include_last_offset": True}
    agree("EmbeddingBag", [table, indices, offsets], [(dtype, (4, 4))], last, exact=exact)
    agree(
        "EmbeddingBag",
        [table, indices[:6].reshape(2, 3)],
        [(dtype, (2, 4))],
        attributes,
        exact=exact,
    )
    agree(
        "EmbeddingBag",
        [table, indices[:0].reshape(2, 0)],
        [(dtype, (2, 4))],
        attributes,
        exact=exact,
    )
    if mode == "sum":
        factors = random_array(2, (7,), dtype)
        agree(
            "EmbeddingBag",
            [table, indices, offsets, factors],
            [(dtype, (5, 4))],
            attributes,
            exact=exact,
        )


@pytest.mark.parametrize("dtype", dtypes_of("AdaptiveMaxPool2d"))
@pytest.mark.parametrize("size", [(2, 3), (5, 7), (7, 2)])
def test_windows_that_divide_an_image(dtype: DType, size: tuple[int, int]) -> None:
    for x in (random_array(1, (2, 3, 5, 7), dtype), unordered((2, 3, 5, 7), dtype)):
        made = (2, 3, *size)
        attributes: Attributes = {"output_size": list(size)}
        agree("AdaptiveMaxPool2d", [x], [(dtype, made), (I32, made)], attributes)


def test_windows_of_an_open_image_have_no_form() -> None:
    made = (1, 1, 2, 2)
    model, _ = model_of(
        "AdaptiveMaxPool2d", [np.zeros((1, 1, 4, 4), np.float32)], [(F32, made), (I32, made)],
        {"output_size": [2, 2]},
    )  # fmt: skip
    model.description.tensors[0].shape[:] = [1, 1, None, 4]
    with pytest.raises(AtcError, match="no ONNX form: height and width are open"):
        emulate(model, flat=True)
