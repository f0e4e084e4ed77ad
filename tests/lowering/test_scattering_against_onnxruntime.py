"""Elements of a tensor replaced by index, against onnxruntime, on the list that has the operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from atc_py.diag import AtcError
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.failures import Failures
from tests.lowering.moved import MODES, same_elements

if TYPE_CHECKING:
    from pathlib import Path

    import onnx
    from numpy.typing import NDArray

    Array = NDArray[Any]

LIST = "cann-9.0"
DTYPES = ("float16", "float32", "int32")

PLACES: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((5,), (3,), 0),
    ((4, 3), (6, 2), 0),
    ((4, 3), (3, 7), -1),
    ((2, 3, 4), (2, 5, 3), 1),
    ((2, 1, 3, 2, 2), (1, 1, 3, 4, 2), -2),
    ((2, 2, 1, 2, 1, 2, 1, 2), (3, 2, 1, 2, 1, 1, 1, 2), 0),
]
"""Data, indices and axis: all ranks, parts of the other axes, more indices than elements."""


def feeds_of(
    data: tuple[int, ...], indices: tuple[int, ...], axis: int, dtype: str, index: str
) -> dict[str, Array]:
    """Return operands on float16's grid with distinct indices, from both ends of the axis."""
    generator = np.random.default_rng(len(data))
    x = generator.integers(-99, 99, data).astype(dtype)
    if x.dtype.kind == "f":
        x.reshape(-1)[:3] = np.nan, np.inf, -0.0
    length = data[axis]
    places = generator.integers(-length, length, indices).astype(index)
    updates = np.arange(1, places.size + 1).reshape(indices).astype(dtype)
    return {"data": x, "indices": places, "updates": updates}


def run(model: onnx.ModelProto, feeds: dict[str, Array], folder: Path, mode: str) -> Array:
    """Return the only result, by the list's rules."""
    options: dict[str, Any] = {"precision_mode": mode, "operator_list": LIST}
    (found,) = run_with_atc_py(model, feeds, folder, **options).values()
    return found


def test_scattered_elements_agree_with_onnxruntime(tmp_path: Path) -> None:
    opsets = (11, 13, 16, 18)
    with Failures() as failures:
        for at, (data, indices, axis) in enumerate(PLACES):
            for dtype in DTYPES:
                opset, index = opsets[at % 4], ("int32", "int64")[at % 2]
                feeds = feeds_of(data, indices, axis, dtype, index)
                model = one_node_model("ScatterElements", feeds, opset, axis=axis)
                with failures.of(f"{data} {indices} {axis} {dtype} {opset}"):
                    wide = {name: feeds[name].astype("float32") for name in ("data", "updates")}
                    oracle = feeds | wide  # which has a kernel at every opset
                    carried = one_node_model("ScatterElements", oracle, opset, axis=axis)
                    (expected,) = run_with_onnxruntime(carried, oracle).values()
                    found = run(model, feeds, tmp_path, MODES[at % len(MODES)])
                    same_elements(found, expected.astype(dtype))


def test_scatter_is_the_older_name_of_scatter_elements(tmp_path: Path) -> None:
    feeds = feeds_of((4, 3), (6, 2), -2, "float32", "int64")
    model = one_node_model("Scatter", feeds, 10, axis=-2)
    (expected,) = run_with_onnxruntime(model, feeds).values()
    same_elements(run(model, feeds, tmp_path, MODES[0]), expected)
    ended = one_node_model("Scatter", feeds, 11, axis=-2)  # which onnxruntime refuses
    same_elements(run(ended, feeds, tmp_path, MODES[0]), expected)


def test_constant_indices_count_from_the_front(tmp_path: Path) -> None:
    feeds = feeds_of((4, 3), (2, 3), 0, "float32", "int64")
    indices = {"indices": np.array([[-1, 0, -4], [-1, 2, 3]])}
    moved = {name: feeds[name] for name in ("data", "updates")}
    order = ["data", "indices", "updates"]
    model = one_node_model("ScatterElements", moved, 13, constants=indices, order=order)
    expected = feeds["data"].copy()
    for places, updates in zip(indices["indices"], feeds["updates"], strict=True):
        expected[places, np.arange(3)] = updates
    same_elements(run(model, moved, tmp_path, MODES[1]), expected)


@pytest.mark.parametrize(
    ("indices", "options", "message"),
    [
        ([[4, 0]], {}, "has the index 4 into an axis of 4"),
        ([3, 0], {}, "indices must have 2 axes like data"),
        ([[0] * 4], {}, "reaches beyond data"),
        ([[0, 0]], {"axis": 2}, r"axis must be in \[-2, 1\], found 2"),
        ([[0, 0]], {"reduction": "add"}, "reduction of ScatterElements must be none, found add"),
    ],
)
def test_a_node_that_makes_no_sense_is_refused(
    tmp_path: Path, indices: list[Any], options: dict[str, Any], message: str
) -> None:
    places = np.array(indices)
    feeds = {"data": np.zeros((4, 3), np.float32), "updates": np.zeros(places.shape, np.float32)}
    order = ["data", "indices", "updates"]
    constants = {"indices": places}
    model = one_node_model(
        "ScatterElements", feeds, 16, constants=constants, order=order, **options
    )
    with pytest.raises(AtcError, match=message):
        run(model, feeds, tmp_path, MODES[0])
