"""Regions of interest and suppression of boxes, through the whole compiler, against onnxruntime."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.api import convert
from atc_py.diag import AtcError
from atc_py.ir import DenseConst
from atc_py.ir.printer import print_graph
from atc_py.lowering.lower import lower_model
from atc_py.onnx_graph.source import SourceModel, SourceNode, SourceTensor
from atc_py.tensor.dtypes import DType
from tests.device.models import run_operator
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.onnx_graph.onnx_files import save
from tests.relaxed_specs import relaxed_specs
from tests.sampling import examples

Array = npt.NDArray[Any]

KEEP = "must_keep_origin_dtype"
RELATIVE = {KEEP: 2e-5, "force_fp16": 4e-3}
"""Share of the range: float32; float16 values, of which four weighted ones make a sample. Regions
have corners that float16 holds, so that both modes sample the same positions."""


def agree(
    op: str,
    feeds: dict[str, Array],
    opset: int,
    precision: str,
    attributes: dict[str, Any],
    listed: str | None = None,
) -> None:
    """Check that both give the same, to a share of the largest value; `listed` names a list."""
    model = one_node_model(op, feeds, opset, **attributes)
    (expected,) = run_with_onnxruntime(model, feeds).values()
    specs = {"operator_list": listed} if listed else {"op_specs": relaxed_specs(model)}
    with tempfile.TemporaryDirectory() as folder:
        options = {"precision_mode": precision, **specs}
        (found,) = run_with_atc_py(model, feeds, Path(folder), **options).values()
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    scale = float(np.abs(expected).max(initial=0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=RELATIVE[precision] * scale)


def maps(draw: st.DrawFn) -> Array:
    """Return feature maps."""
    shape = tuple(draw(st.integers(1, most)) for most in (2, 3, 9, 9))
    found: Array = np.random.default_rng(shape).standard_normal(shape, dtype=np.float32)
    return found


def corners(draw: st.DrawFn, count: int) -> Array:
    """Return x1, y1, x2, y2 of regions, within, around and beyond maps, also turned inside out."""
    quarters = st.integers(-16, 60)
    listed = draw(st.lists(st.tuples(*[quarters] * 4), min_size=count, max_size=count))
    found: Array = np.array(listed, np.float32).reshape(count, 4) / np.float32(4)
    return found


@st.composite
def regions(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    """Return maps, corners and the image of each region."""
    x, count = maps(draw), draw(st.integers(1, 4))
    images = draw(st.lists(st.integers(0, len(x) - 1), min_size=count, max_size=count))
    return x, corners(draw, count), np.array(images, np.int64)


@given(
    regions(),
    st.fixed_dictionaries(
        {},
        optional={
            "mode": st.sampled_from(["avg", "max"]),
            "output_height": st.integers(1, 4),
            "output_width": st.integers(1, 4),
            "sampling_ratio": st.integers(0, 3),
            "spatial_scale": st.sampled_from([0.25, 0.5, 1.0, 2.0]),
        },
    ),
    st.sampled_from([10, 11, 13]),
    st.sampled_from([KEEP, "force_fp16"]),
)
def test_roi_align(
    given_: tuple[Array, Array, Array], attributes: dict[str, Any], opset: int, mode: str
) -> None:
    feeds = dict(zip(("x", "rois", "images"), given_, strict=True))
    agree("RoiAlign", feeds, opset, mode, attributes)


@given(
    regions(),
    st.sampled_from([None, "half_pixel", "output_half_pixel"]),
    st.sampled_from([("avg", 0), ("avg", 2), ("max", 0)]),
    st.sampled_from([(14, 0.5), (16, 0.5), (17, 1.0), (18, 0.25)]),
    st.sampled_from([KEEP, "force_fp16"]),
)
def test_roi_align_of_later_opsets(
    given_: tuple[Array, Array, Array],
    coordinates: str | None,
    pooling: tuple[str, int],
    form: tuple[int, float],
    mode: str,
) -> None:
    x, rois, images = given_
    attributes: dict[str, Any] = dict(zip(("mode", "sampling_ratio"), pooling, strict=True))
    attributes |= {"output_height": 2, "output_width": 3, "spatial_scale": form[1]}
    if coordinates is not None and form[0] >= 16:
        attributes["coordinate_transformation_mode"] = coordinates
    if pooling[1] == 0:  # of a region turned inside out onnxruntime then counts samples below 0
        rois = np.concatenate([np.sort(rois[:, at::2], axis=1) for at in (0, 1)], axis=1)
        rois = np.ascontiguousarray(rois[:, [0, 2, 1, 3]])
    feeds = {"x": x, "rois": rois, "images": images}
    agree("RoiAlign", feeds, form[0], mode, attributes, "cann-9.0")


def test_each_list_takes_the_coordinates_of_roi_align_that_it_names(tmp_path: Path) -> None:
    feeds = {"x": np.ones((1, 1, 3, 3), np.float32), "rois": np.ones((1, 4), np.float32)}
    model = save(one_node_model("RoiAlign", {**feeds, "images": np.array([0])}, 16), tmp_path)
    convert(model, tmp_path / "m.om", operator_list="cann-9.0")
    with pytest.raises(AtcError, match="must be output_half_pixel, found half_pixel"):
        convert(model, tmp_path / "m.om", operator_list="base")


@st.composite
def rectangles(draw: st.DrawFn) -> tuple[Array, Array]:
    """Return maps, and regions with the image of each in front."""
    x, count = maps(draw), draw(st.integers(1, 4))
    images = draw(st.lists(st.integers(0, len(x) - 1), min_size=count, max_size=count))
    return x, np.column_stack([np.array(images, np.float32), corners(draw, count)])


@given(
    rectangles(),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.sampled_from([None, 0.25, 0.5, 2.0]),
    st.sampled_from([8, 11, 13]),
    st.sampled_from([KEEP, "force_fp16"]),
)
def test_max_roi_pool(
    given_: tuple[Array, Array],
    pooled: tuple[int, int],
    scale: float | None,
    opset: int,
    mode: str,
) -> None:
    attributes: dict[str, Any] = {} if scale is None else {"spatial_scale": scale}
    feeds = dict(zip(("x", "rois"), given_, strict=True))
    agree("MaxRoiPool", feeds, opset, mode, {"pooled_shape": pooled, **attributes})


@pytest.mark.parametrize("op", ["RoiAlign", "MaxRoiPool"])
def test_a_region_in_an_image_that_is_not_there_stops_the_run(op: str) -> None:
    feeds: dict[str, Array] = {"x": np.ones((2, 1, 3, 3), np.float32)}
    if op == "RoiAlign":
        feeds |= {"rois": np.ones((1, 4), np.float32), "images": np.array([2])}
        model = one_node_model(op, feeds, 13)
    else:
        feeds["rois"] = np.array([[2, 0, 0, 1, 1]], np.float32)
        model = one_node_model(op, feeds, 13, pooled_shape=(1, 1))
    with tempfile.TemporaryDirectory() as folder, pytest.raises(AtcError) as caught:
        run_with_atc_py(model, feeds, Path(folder))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code.name == "device-run-failed"
    assert "must be in images 0 to 1, found [2]" in diagnostic.message


# Suppression ------------------------------------------------------------------------------------
# The rows of the result depend on the data, so no model with this operator has static shapes: the
# kernel is run for itself, with as many rows as onnxruntime finds, and the lowering for itself.


@st.composite
def scored_boxes(draw: st.DrawFn) -> dict[str, Array]:
    """Return boxes on a coarse grid, so that many overlap, and scores of which many are equal."""
    images, classes, count = (draw(st.integers(1, most)) for most in (2, 3, 8))
    numbers = st.lists(st.integers(-4, 8), min_size=4 * images * count, max_size=4 * images * count)
    boxes = np.array(draw(numbers), np.float32).reshape(images, count, 4) / np.float32(4)
    total = images * classes * count
    scores = draw(st.lists(st.integers(0, 9), min_size=total, max_size=total))
    return {
        "boxes": boxes,
        "scores": np.array(scores, np.float32).reshape(images, classes, count) / np.float32(10),
    }


@given(
    scored_boxes(),
    st.sampled_from([None, 0, 1, 3, 2**62]),
    st.sampled_from([None, 0.0, 0.3, 1.0]),
    st.sampled_from([None, -1.0, 0.4, 2.0]),
    st.integers(0, 1),
)
@examples(80)
def test_non_max_suppression(
    feeds: dict[str, Array],
    most: int | None,
    threshold: float | None,
    least: float | None,
    center: int,
) -> None:
    optional: dict[str, Array | None] = {
        "most": None if most is None else np.array([most], np.int64),
        "threshold": None if threshold is None else np.array(threshold, np.float32),
        "least": None if least is None else np.array([least], np.float32),
    }
    constants = {name: array for name, array in optional.items() if array is not None}
    order = [*feeds, *(name if name in constants else "" for name in optional)]
    while not order[-1]:
        order.pop()
    model = one_node_model(
        "NonMaxSuppression", feeds, 11, constants=constants, order=order, center_point_box=center
    )
    (expected,) = run_with_onnxruntime(model, feeds).values()
    inputs = [*feeds.values(), *optional.values()]
    attributes = {"center_point_box": center}
    for spare in (0, 2):
        rows = [(DType.INT32, (len(expected) + spare, 3))]
        if rows[0][1][0] == 0:
            continue
        (found,) = run_operator("NonMaxSuppressionV7", inputs, rows, attributes)
        np.testing.assert_array_equal(found[: len(expected)], expected)
        np.testing.assert_array_equal(found[len(expected) :], -1)


def test_more_boxes_than_the_model_has_room_for_stop_the_run() -> None:
    boxes = np.array([[[0, 0, 1, 1], [2, 2, 3, 3]]], np.float32)
    scores = np.ones((1, 1, 2), np.float32)
    with pytest.raises(AtcError, match="2 boxes were found, but the model declares room for 1"):
        run_operator(
            "NonMaxSuppressionV7",
            [boxes, scores, np.array([5], np.int32)],
            [(DType.INT32, (1, 3))],
        )


def _suppression_model(most: SourceTensor) -> SourceModel:
    boxes = SourceTensor("boxes", "float32", (1, 6, 4))
    scores = SourceTensor("scores", "float32", (1, 2, 6))
    result = SourceTensor("selected", "int64", (5, 3))
    node = SourceNode(0, "nms", "NonMaxSuppression", "", 11, 11, (boxes, scores, most), (result,))
    inputs = (boxes, scores) if most.const is not None else (boxes, scores, most)
    return SourceModel(Path("m.onnx"), "m", {"": 11}, inputs, (result,), (node,), 1, 0)


def test_suppression_is_a_choice_in_int32_that_is_cast() -> None:
    bound = DenseConst(np.array([2**62], np.int64))
    graph = lower_model(_suppression_model(SourceTensor("most", "int64", (1,), bound)))
    first, second = graph.nodes
    assert (first.op, second.op) == ("NonMaxSuppressionV7", "Cast")
    assert first.attributes["max_boxes_size"] == 5
    most = first.inputs[2]
    assert most is not None
    assert most.const is not None
    assert most.const.numpy().tolist() == [2**31 - 1]
    assert "int32[5,3]" in print_graph(graph)


def test_a_bound_that_is_fed_stays_int64() -> None:
    graph = lower_model(_suppression_model(SourceTensor("most", "int64", (1,))))
    assert graph.nodes[0].inputs[2] is graph.inputs[2]
