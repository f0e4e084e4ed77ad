"""Windows larger than their axis: what overhangs by ceil_mode runs, what does not fit is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, shape_inference

from atc_py import api
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_NODE
from atc_py.lowering.windows import AxisWindow, transposed_pads
from atc_py.onnx_graph.reading.read import read_model
from tests.end_to_end import run_with_atc_py, run_with_onnxruntime
from tests.onnx_graph import onnx_files

FLOAT = onnx_files.FLOAT
POOLS = ("AveragePool", "MaxPool")


def pool(op: str, size: int, opset: int = 11, **attributes: Any) -> onnx.ModelProto:
    """Return a pool of a square map of two channels."""
    node = helper.make_node(op, ["x"], ["y"], "pool", **attributes)
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, 2, size, size])}
    return onnx_files.model([node], inputs, ["y"], None, {"": opset})


def convolution(size: int, **attributes: Any) -> onnx.ModelProto:
    """Return a convolution 5 x 5 of a square map."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], "conv", **attributes)
    weights = {"w": np.ones((3, 2, 5, 5), np.float32)}
    return onnx_files.model([node], {"x": (FLOAT, [1, 2, size, size])}, ["y"], weights)


# What runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
@pytest.mark.parametrize("opset", [10, 13])
@pytest.mark.parametrize("op", POOLS)
@pytest.mark.parametrize(
    "window",
    [(7, 1280, 1280, 0), (7, 10, 4, 0), (7, 10, 10, 1), (4, 9, 6, 0), (4, 9, 4, 1), (1, 3, 3, 0)],
)
def test_pool_whose_only_window_overhangs_is_onnxruntimes(
    op: str, opset: int, window: tuple[int, int, int, int], mode: str, tmp_path: Path
) -> None:
    size, kernel, stride, pad = window
    attributes = {
        "kernel_shape": [kernel, kernel],
        "strides": [stride, stride],
        "pads": [pad] * 4,
        "ceil_mode": 1,
    }
    if op == "AveragePool":
        attributes["count_include_pad"] = int(pad > 0)
    model = pool(op, size, opset, **attributes)
    feeds = {"x": np.random.default_rng(1).standard_normal((1, 2, size, size), dtype=np.float32)}
    (expected,) = run_with_onnxruntime(model, feeds).values()
    assert expected.shape == (1, 2, 1, 1)
    (found,) = run_with_atc_py(model, feeds, tmp_path, precision_mode=mode).values()
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3 if "fp16" in mode else 1e-6)


@pytest.mark.parametrize("op", POOLS)
@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("size", "kernel", "stride"), [(5, 1, 3), (8, 2, 5), (7, 3, 2)])
def test_same_padding_has_its_windows_whatever_ceil_mode_is(
    op: str, auto_pad: str, size: int, kernel: int, stride: int, tmp_path: Path
) -> None:
    # The file states what onnx infers, which is a window too many for some of these.
    results: list[npt.NDArray[Any]] = []
    for ceil in (0, 1):
        model = pool(
            op,
            size,
            auto_pad=auto_pad,
            ceil_mode=ceil,
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
        )
        inferred = shape_inference.infer_shapes(model)
        feeds = {"x": np.random.default_rng(1).random((1, 2, size, size), dtype=np.float32)}
        results += run_with_atc_py(inferred, feeds, tmp_path).values()
    assert results[0].shape[-1] == -(-size // stride)
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize(("size", "kernel", "stride"), [(5, 2, 2), (5, 1, 3), (8, 3, 2), (6, 2, 2)])
def test_valid_padding_obeys_ceil_mode_as_in_onnxruntime(
    size: int, kernel: int, stride: int, tmp_path: Path
) -> None:
    model = pool(
        "AveragePool",
        size,
        auto_pad="VALID",
        ceil_mode=1,
        kernel_shape=[kernel, kernel],
        strides=[stride, stride],
    )
    feeds = {"x": np.random.default_rng(1).random((1, 2, size, size), dtype=np.float32)}
    (expected,) = run_with_onnxruntime(model, feeds).values()
    (found,) = run_with_atc_py(model, feeds, tmp_path).values()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)


# What is refused --------------------------------------------------------------------------------

TOO_LARGE = [
    convolution(4),
    convolution(8, dilations=[1, 2]),
    pool("MaxPool", 4, kernel_shape=[5, 5]),
    pool("MaxPool", 4, kernel_shape=[5, 5], strides=[2, 2]),
    pool("MaxPool", 4, kernel_shape=[2, 7], strides=[2, 3], pads=[0, 1, 0, 1]),
    pool("AveragePool", 4, kernel_shape=[5, 5]),
    pool("AveragePool", 4, kernel_shape=[8, 8], strides=[4, 4], ceil_mode=1),
    pool("AveragePool", 4, kernel_shape=[5, 1], auto_pad="VALID"),
]


@pytest.mark.parametrize("model", TOO_LARGE)
def test_window_that_does_not_fit_is_refused_with_its_dims(
    model: onnx.ModelProto, tmp_path: Path
) -> None:
    path = onnx_files.save(model, tmp_path)
    (found,) = onnx_files.fails(
        lambda: api.convert(path, tmp_path / "model.om"), BAD_NODE
    ).diagnostics
    assert "has a window that reaches over" in found.message
    assert found.place is not None
    assert found.place.field == "input X"


def test_dims_with_their_padding_are_reported(tmp_path: Path) -> None:
    path = onnx_files.save(TOO_LARGE[4], tmp_path)
    (found,) = onnx_files.fails(
        lambda: api.convert(path, tmp_path / "model.om"), BAD_NODE
    ).diagnostics
    assert found.message == (
        "MaxPool has a window that reaches over 7 elements, its axis W has 4, 6 with its padding"
    )


def test_window_of_a_convolution_that_overhangs_by_its_stride_is_refused(tmp_path: Path) -> None:
    path = onnx_files.save(convolution(4, strides=[2, 2]), tmp_path)
    (found,) = onnx_files.fails(
        lambda: api.convert(path, tmp_path / "model.om"), BAD_NODE
    ).diagnostics
    assert found.message == "Conv has a window that reaches over 5 elements, its axis H has 4"


def test_output_beyond_the_span_of_all_windows_is_refused_where_the_list_takes_it(
    tmp_path: Path,
) -> None:
    shapes: dict[str, Any] = {"kernel_shape": [3, 3], "output_shape": [6, 7]}
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **shapes)
    weights = {"w": np.ones((2, 3, 3, 3), np.float32)}
    model = onnx_files.model([node], {"x": (FLOAT, [1, 2, 4, 4])}, ["y"], weights)
    path = onnx_files.save(model, tmp_path)
    with pytest.raises(AtcError, match="the output 1x3x6x7 is larger than the span"):
        api.convert(path, tmp_path / "model.om", operator_list="cann-9.0")


def test_inference_counts_no_window_that_starts_in_the_last_padding(tmp_path: Path) -> None:
    # onnx counts one: it rounds toward zero.
    model = pool("AveragePool", 4, kernel_shape=[1290, 5], strides=[1280, 1], ceil_mode=1)
    file = read_model(onnx_files.save(model, tmp_path))
    onnx_files.fails(lambda: api.convert(file.path, tmp_path / "model.om"), BAD_NODE)


@pytest.mark.parametrize(
    ("kernel", "stride", "auto_pad", "pads"),
    [
        (4, 2, "SAME_UPPER", (1, 1)),
        (3, 2, "SAME_UPPER", (0, 1)),
        (3, 2, "SAME_LOWER", (1, 0)),
        (2, 2, "SAME_UPPER", (0, 0)),
        (1, 2, "SAME_UPPER", (0, 0)),  # the windows do not reach 10
    ],
)
def test_same_padding_of_a_transposed_convolution_cuts_what_is_beyond(
    kernel: int, stride: int, auto_pad: str, pads: tuple[int, int]
) -> None:
    assert transposed_pads(5, AxisWindow(kernel, stride, 1), 0, auto_pad, None) == pads
