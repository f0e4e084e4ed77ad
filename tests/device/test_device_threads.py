"""Results are equal in every bit on one thread and on several, just above what is shared."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from atc_py.device.sim.execution.parallel import PRODUCTS_AT_ONCE, ROWS_TOGETHER, Workers, rows_of
from atc_py.system.process import limited_threads, usable_threads
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, random_array, run_operator
from tests.sampling import examples

F32 = DType.FLOAT32

_LARGEST = 4 * 1024 * 1024
"""Elements of a matrix."""


def _on_all(op: str, inputs: list[Array], shape: tuple[int, ...], attributes: Attributes) -> None:
    """Hold the bits of the result on two and three threads to those on one."""
    results = []
    for threads in (1, 2, 3):
        with limited_threads(threads):
            (y,) = run_operator(op, inputs, [(F32, shape)], attributes, range(1, len(inputs)))
        results.append(y.tobytes())
    assert results[1:] == results[:1] * 2


@given(
    rows=st.integers(8, 8 * ROWS_TOGETHER) | st.integers(190, 210),
    inner=st.integers(1, 700),
    columns=st.integers(1, 1100) | st.sampled_from([320, 768, 1024]),
    turned=st.booleans(),
    parts=st.integers(2, 3),
)
@examples(60)
def test_products_are_equal(rows: int, inner: int, columns: int, turned: bool, parts: int) -> None:
    """Check products that are just large enough to be shared, and larger ones."""
    least = parts * PRODUCTS_AT_ONCE
    inner = max(inner, -(-least // (rows * columns)))
    assume(inner * columns <= _LARGEST)
    _product(rows, inner, columns, turned=turned)


@given(
    inner=st.integers(3900, 6000),
    columns=st.integers(700, 1100),
    turned=st.booleans(),
)
@example(inner=4229, columns=992, turned=False)  # cut at 496, not at 492, a multiple of 12
@examples(20)
def test_rows_by_matrices_are_equal(inner: int, columns: int, turned: bool) -> None:
    for width in (columns, columns - columns % 16):
        _product(1, inner, width, turned=turned)


def _product(rows: int, inner: int, columns: int, *, turned: bool) -> None:
    right = (columns, inner) if turned else (inner, columns)
    inputs = [random_array(1, (rows, inner)), random_array(2, right), random_array(3, (columns,))]
    attributes: Attributes = {"transpose_x1": False, "transpose_x2": turned, "offset_x": 0}
    _on_all("MatMulV2", inputs, (rows, columns), attributes)


@pytest.mark.parametrize(
    ("channels", "filters", "size", "window"),
    [
        (64, 32, 64, 3),  # rows of the map
        (3, 32, 113, 7),
        (16, 96, 112, 1),  # filters, of a map that is its own columns
        (24, 25, 112, 1),
        (256, 130, 14, 3),  # filters, of a small map
        (40, 35, 30, 3),  # one block of rows
    ],
)
def test_convolutions_are_equal(channels: int, filters: int, size: int, window: int) -> None:
    inputs = [
        random_array(n, shape)
        for n, shape in enumerate(
            [(1, channels, size, size), (filters, channels, window, window), (filters,)]
        )
    ]
    pad = window // 2
    attributes: Attributes = {
        "strides": [1, 1, 1, 1], "pads": [pad] * 4, "dilations": [1, 1, 1, 1], "groups": 1,
        "offset_x": 0, "data_format": "NCHW",
    }  # fmt: skip
    _on_all("Conv2D", inputs, (1, filters, size, size), attributes)


@pytest.mark.parametrize(("filters", "size"), [(30, 64), (25, 256)])
def test_transposed_convolutions_are_equal(filters: int, size: int) -> None:
    """Check filters that are spread at once, and some at a time."""
    inputs = [random_array(1, (1, 40, size, size)), random_array(2, (40, filters, 2, 2))]
    attributes: Attributes = {
        "strides": [1, 1, 2, 2], "pads": [0] * 4, "groups": 1,
        "input_size": [1, filters, 2 * size, 2 * size],
    }  # fmt: skip
    _on_all("Conv2DTransposeD", inputs, (1, filters, 2 * size, 2 * size), attributes)


def test_copies_and_maxima_are_equal() -> None:
    x = random_array(1, (1, 17, 160, 161))
    _on_all("TransposeD", [x], (1, 160, 161, 17), {"perm": [0, 2, 3, 1]})
    pool: Attributes = {"ksize": [1, 1, 3, 3], "strides": [1, 1, 2, 2], "pads": [1] * 4}
    _on_all("MaxPoolV3", [x], (1, 17, 80, 81), pool)


@given(rows=st.integers(1, 100), cut=st.integers(1, 8))
@examples(60)
def test_rows_of_pieces_cover_all_and_leave_no_short_end(rows: int, cut: int) -> None:
    pieces = max(1, rows // ROWS_TOGETHER)
    found = [rows_of(rows, first, min(first + cut, pieces)) for first in range(0, pieces, cut)]
    seen = [row for part in found for row in range(rows)[part]]
    assert seen == [*range(rows)]
    assert all(part.stop - part.start >= min(rows, ROWS_TOGETHER) for part in found)


@pytest.mark.parametrize(
    ("name", "value", "size"),
    [("OMP_NUM_THREADS", "1", 1), ("OPENBLAS_NUM_THREADS", "2", 2), ("OMP_NUM_THREADS", "0", 3)],
)
def test_users_limit_is_kept(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, size: int
) -> None:
    for each in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, value)
    with limited_threads(3):
        assert usable_threads() == size
        workers = Workers()
    assert workers.size == size
    workers.close()
