"""Blocks and resizing as ONNX."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from atc_py.device.ort.model import emulate
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, ModelBuilder, random_array, run_model
from tests.device.ort.apart import model_of
from tests.device.ort.single import agree, dtypes_of
from tests.device.ort.twin import run_on_ort

F16, F32 = DType.FLOAT16, DType.FLOAT32
MODES = [
    "align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel", "tf_crop_and_resize",
    "tf_half_pixel_for_nn",
]  # fmt: skip
NEAREST = ["ceil", "floor", "round_prefer_ceil", "round_prefer_floor"]
ROI = np.array([0, 0, -0.2, 0.1, 1, 1, 1.1, 0.7], np.float32)


@pytest.mark.parametrize("dtype", dtypes_of("DepthToSpace"))
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_channels_become_blocks(dtype: DType, mode: str) -> None:
    x = random_array(1, (2, 12, 3, 1), dtype)
    agree("DepthToSpace", [x], [(dtype, (2, 3, 6, 2))], {"block_size": 2, "mode": mode})


@pytest.mark.parametrize("dtype", dtypes_of("SpaceToDepth"))
def test_blocks_become_channels(dtype: DType) -> None:
    x = random_array(1, (2, 3, 6, 4), dtype)
    agree("SpaceToDepth", [x], [(dtype, (2, 12, 3, 2))], {"block_size": 2})


def resized(
    x: Array,
    attributes: Attributes,
    *,
    scales: Sequence[float] | None = None,
    sizes: Sequence[int] | None = None,
) -> Array:
    """Check that both devices resize `x` to the same and return it."""
    roi = ROI if attributes["coordinate_transformation_mode"] == "tf_crop_and_resize" else None
    given = None if scales is None else np.array(scales, np.float32)
    wanted = None if sizes is None else np.array(sizes, np.int64)
    made = [int(np.float32(n) * s) for n, s in zip(x.shape, given)] if given is not None else sizes  # noqa: B905
    dtype = DType.from_numpy(x.dtype)
    inputs = [x, roi, given, wanted]
    (y,) = agree("Resize", inputs, [(dtype, made or ())], attributes, constants=[1, 2, 3])
    return y


@pytest.mark.parametrize(("coordinates", "nearest"), [*product(MODES, NEAREST)])
def test_nearest_elements(coordinates: str, nearest: str) -> None:
    attributes: Attributes = {
        "coordinate_transformation_mode": coordinates, "nearest_mode": nearest,
        "mode": "nearest", "extrapolation_value": 7.5,
    }  # fmt: skip
    x = random_array(1, (1, 2, 5, 6), F16)
    for scales in ([1, 1, 2, 2], [1, 1, 0.6, 2.7], [1, 1, 1.3, 0.5]):
        resized(x, attributes, scales=scales)
    resized(x, attributes, sizes=[1, 2, 1, 13])


@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("dtype", [F16, F32, DType.FLOAT64])
def test_interpolated_elements(coordinates: str, dtype: DType) -> None:
    attributes: Attributes = {
        "coordinate_transformation_mode": coordinates, "mode": "linear",
        "extrapolation_value": -3.25,
    }  # fmt: skip
    x = random_array(1, (1, 2, 5, 6), dtype)
    x[0, 0, 2, 3], x[0, 1, 0, 0] = np.inf, np.nan
    for scales in ([1, 1, 2, 2], [1, 1, 0.6, 2.7], [1, 2.5, 1.3, 0.5]):
        resized(x, attributes, scales=scales)
    resized(x, attributes, sizes=[1, 2, 1, 13])
    resized(x, attributes, sizes=[1, 2, 0, 3])


@pytest.mark.parametrize("dtype", dtypes_of("Resize"))
def test_every_dtype(dtype: DType) -> None:
    """Check integers, too: fractions are dropped, and what rounds to beyond the largest is it."""
    x = random_array(1, (1, 2, 3, 4), dtype)
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        x[0, 0, 0], x[0, 1, :, 1] = limits.max, limits.min
    for mode, coordinates in product(["nearest", "linear"], ["asymmetric", "tf_crop_and_resize"]):
        attributes: Attributes = {
            "mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": "floor",
        }  # fmt: skip
        resized(x, attributes, scales=[1, 1, 2, 3])
        resized(x, attributes, scales=[1, 1, 1, 1])
        resized(x, attributes, scales=[1, 1, 1.5, 1])


def test_whole_multiples_are_model_of() -> None:
    """Check that what repeats elements is written as Resize, which is faster than gathering."""
    roi, scales = None, np.array([1, 1, 2, 3], np.float32)
    for nearest, coordinates in (("floor", "asymmetric"), ("round_prefer_floor", "half_pixel")):
        model, _ = model_of(
            "Resize", [np.zeros((1, 1, 4, 5), np.float32), roi, scales], [(F32, (1, 1, 8, 15))],
            {"nearest_mode": nearest, "coordinate_transformation_mode": coordinates},
            constants=[2],
        )  # fmt: skip
        operators = [node.op_type for node in emulate(model, flat=True).nodes]
        assert operators == ["Constant", "Resize"]


@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("numbers", [[1, 1, 2, 3], [1, 1, 0.6, 2.7], [1, 2, 5, 13], [1, 2, 1, 4]])
@pytest.mark.parametrize("mode", ["linear", *NEAREST])
def test_dims_that_only_the_run_knows(coordinates: str, numbers: list[float], mode: str) -> None:
    """Check an image of which the run takes a part; what it takes of that may be computed, too."""
    builder = ModelBuilder()
    x = builder.input("x", "float16", [1, 2, 5, 6])
    end = builder.input("end", "int64", [1])
    begin, axis = (builder.constant(np.array([number])) for number in (0, 3))
    open_dims = [1, 2, 5, None]
    (part,) = builder.node("StridedSliceV2", [x, begin, end, axis], [("float16", open_dims)])
    sized = numbers[1] != 1 or numbers[3] == 4
    given = builder.constant(np.array(numbers, np.int64 if sized else np.float32))
    crops = coordinates == "tf_crop_and_resize"
    roi = builder.input("roi", "float32", [8]) if crops else -1
    (y,) = builder.node(
        "Resize", [part, roi, *([-1, given] if sized else [given, -1])], [("float16", [None] * 4)],
        {
            "mode": "linear" if mode == "linear" else "nearest",
            "nearest_mode": "floor" if mode == "linear" else mode,
            "coordinate_transformation_mode": coordinates,
            "extrapolation_value": 2.0,
        },
    )  # fmt: skip
    builder.output("y", y)
    model = builder.build()
    feeds = {"x": random_array(1, (1, 2, 5, 6), F16), "end": np.array([4])}
    feeds |= {"roi": ROI} if crops else {}
    found = run_on_ort(model, feeds)
    assert found is not None
    np.testing.assert_array_equal(found["y"], run_model(model, feeds)["y"])
