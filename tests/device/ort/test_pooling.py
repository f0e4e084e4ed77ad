"""Pools as ONNX: windows, padding, counts, NaN, maps without elements, and what is refused."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from atc_py.device.ort.model import emulate
from atc_py.diag import AtcError
from atc_py.diag.codes import NO_ONNX_FORM
from atc_py.tensor.dtypes import DType
from tests.device.models import (
    Array,
    Attributes,
    MemoryModel,
    ModelBuilder,
    random_array,
    run_model,
)
from tests.device.ort.single import agree
from tests.device.ort.twin import differences, run_on_ort

F16, BF16, F32, F64 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64
FLOATS = [F16, BF16, F32, F64]


def windows(
    size: Sequence[int], stride: Sequence[int], pads: Sequence[int] = (0, 0, 0, 0), **more: object
) -> Attributes:
    """Return a pool's attributes."""
    given: dict[str, object] = {
        "ksize": [1, 1, *size], "strides": [1, 1, *stride], "pads": [*pads], **more,
    }  # fmt: skip
    return given  # type: ignore[return-value]


def pool(op: str, x: Array, given: Attributes) -> Array:
    """Return what both devices agree on: to the bit for MaxPoolV3."""
    dtype = DType.from_numpy(x.dtype)
    types = [(dtype, [*x.shape[:2], None, None])]
    (y,) = agree(op, [x], types, given, exact=op == "MaxPoolV3")
    return y


SHAPES = [
    windows((3, 3), (2, 2), (1, 1, 1, 1)),
    windows((2, 3), (1, 2), (0, 1, 2, 0)),
    windows((2, 2), (2, 2), (2, 3, 4, 1)),
    windows((1, 1), (3, 2)),
    windows((5, 1), (1, 1), (4, 4, 0, 0)),
    windows((3, 3), (2, 2), padding_mode="SAME"),
    windows((2, 3), (3, 2), padding_mode="VALID"),
    windows((9, 9), (1, 1), global_pooling=True),
]


@pytest.mark.parametrize("given", SHAPES)
@pytest.mark.parametrize("op", ["MaxPoolV3", "AvgPoolV2"])
@pytest.mark.parametrize("ceil", [False, True])
def test_windows(op: str, given: Attributes, ceil: bool) -> None:
    for dtype, dims in product(FLOATS, ((7, 6), (5, 8))):
        x = random_array(1, (2, 3, *dims), dtype)
        for exclusive in (True,) if op == "MaxPoolV3" else (True, False):
            counted = {} if op == "MaxPoolV3" else {"exclusive": exclusive}
            pool(op, x, {**given, "ceil_mode": ceil, **counted})


@pytest.mark.parametrize("given", SHAPES)
@pytest.mark.parametrize("ceil", [False, True])
def test_divisor_may_be_given(given: Attributes, ceil: bool) -> None:
    for dtype in FLOATS:
        attributes = {**given, "divisor_override": 7, "ceil_mode": ceil}
        pool("AvgPoolV2", random_array(2, (1, 2, 7, 8), dtype), attributes)


@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 1, 1, 1), (2, 0, 0, 3)])
@pytest.mark.parametrize("dilations", [[1, 1, 2, 1], [1, 1, 3, 2]])
@pytest.mark.parametrize("ceil", [False, True])
def test_dilated_windows(pads: Sequence[int], dilations: list[int], ceil: bool) -> None:
    for dtype in FLOATS:
        given = windows((2, 3), (2, 2), pads, dilations=dilations, ceil_mode=ceil)
        pool("MaxPoolV3", random_array(3, (1, 2, 8, 9), dtype), given)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["MaxPoolV3", "AvgPoolV2"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(op: str, dtype: DType, number: float) -> None:
    """Check each place in a window: runtimes keep NaN in some of them alone."""
    x = random_array(4, (16, 2, 4, 4), dtype)
    for image, place in enumerate(np.ndindex(4, 4)):
        x[image, 1][place] = number
    for given in (
        windows((2, 2), (1, 1)),
        windows((3, 3), (2, 2), (1, 1, 1, 1)),
        windows((1, 1), (1, 1), global_pooling=True),
    ):
        pool(op, x, given)
    everywhere = np.full((1, 1, 4, 4), number).astype(dtype.numpy)
    pool(op, everywhere, windows((2, 2), (2, 2)))


def test_infinities_of_both_signs_are_no_nan() -> None:
    x = np.array([np.inf, -np.inf, 1, 2], np.float16).reshape(1, 1, 1, 4)
    y = pool("MaxPoolV3", x, windows((1, 2), (1, 1)))
    np.testing.assert_array_equal(y.reshape(-1), np.array([np.inf, 1, 2], np.float16))


@pytest.mark.parametrize("op", ["MaxPoolV3", "AvgPoolV2"])
@pytest.mark.parametrize("shape", [(0, 2, 4, 4), (1, 0, 4, 4), (1, 2, 0, 4), (1, 2, 4, 0)])
def test_maps_without_elements(op: str, shape: tuple[int, ...]) -> None:
    for dtype, override in product(FLOATS, (0, 3)):
        given = windows((3, 3), (1, 1), (2, 2, 2, 2))
        more = {"divisor_override": override} if op == "AvgPoolV2" else {}
        pool(op, np.ones(shape, dtype.numpy), {**given, **more})


def late(op: str, given: Attributes, dtype: DType = F16) -> MemoryModel:
    """Return a pool of what a node gives whose dims are not declared."""
    builder = ModelBuilder()
    x = builder.input("x", dtype.value, (1, 2, 7, 9))
    (y,) = builder.node("Abs", [x], [(dtype.value, [None] * 4)])
    (z,) = builder.node(op, [y], [(dtype.value, [None] * 4)], given)
    builder.output("z", z)
    return builder.build()


OPEN: dict[str, tuple[str, Attributes]] = {
    "largest": ("MaxPoolV3", windows((3, 3), (2, 2), (1, 1, 1, 1))),
    "largest, overhanging": ("MaxPoolV3", windows((2, 2), (2, 2), ceil_mode=True)),
    "largest, dilated": (
        "MaxPoolV3",
        windows((2, 2), (1, 1), (1, 1, 1, 1), dilations=[1, 1, 2, 2]),
    ),
    "largest, everywhere": ("MaxPoolV3", windows((1, 1), (1, 1), global_pooling=True)),
    "mean": ("AvgPoolV2", windows((3, 3), (2, 2), (1, 1, 1, 1))),
    "mean, everywhere": ("AvgPoolV2", windows((1, 1), (1, 1), global_pooling=True)),
    "sum": ("AvgPoolV2", windows((3, 3), (2, 2), (1, 1, 1, 1), divisor_override=4)),
}


@pytest.mark.parametrize("name", sorted(OPEN))
def test_dims_that_only_the_run_knows(name: str) -> None:
    for dtype in FLOATS if name != "mean" else FLOATS[:3]:
        model, feeds = late(*OPEN[name], dtype), {"x": random_array(5, (1, 2, 7, 9), dtype)}
        found = run_on_ort(model, feeds)
        assert found is not None
        assert differences(model, found, run_model(model, feeds)) == []


REFUSALS: dict[str, tuple[str, Attributes, str]] = {
    "same": ("MaxPoolV3", windows((3, 3), (2, 2), padding_mode="SAME"), "padding_mode SAME"),
    "overhang": (
        "MaxPoolV3", windows((2, 2), (2, 2), (2, 2, 2, 2), ceil_mode=True), "ceil_mode with open"),
    "counts": ("AvgPoolV2", windows((2, 2), (2, 2), (2, 2, 2, 2)), "such pads with open dims"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSALS))
def test_windows_that_depend_on_open_dims_are_refused(name: str) -> None:
    op, given, text = REFUSALS[name]
    with pytest.raises(AtcError) as caught:
        emulate(late(op, given), flat=True)
    (found,) = caught.value.diagnostics
    assert found.code is NO_ONNX_FORM
    assert text in found.message
