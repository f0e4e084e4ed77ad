"""Operators that move elements where there are none to move, against onnxruntime."""

from typing import Any

import numpy as np
import pytest

from tests.end_to_end import one_node_model
from tests.lowering.moved import agree_when_moved, same_elements
from tests.lowering.reference import MODES, run_in_mode

NONE, ROWS, MAPS = ((0,), (0, 3), (2, 0, 3))


def longs(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return an int64 vector."""
    return np.array(numbers, np.int64).reshape(len(numbers))


def at(*shape: int) -> np.ndarray[tuple[Any, ...], np.dtype[np.int64]]:
    """Return indices that are all 0."""
    return np.zeros(shape, np.int64)


SLICE = {"starts": longs(2), "ends": longs(0), "axes": longs(1), "steps": longs(-1)}
CASES: list[tuple[str, tuple[int, ...], int, dict[str, Any]]] = [
    ("Transpose", MAPS, 13, {}),
    ("Flatten", MAPS, 13, {}),
    ("Identity", ROWS, 13, {}),
    ("Reshape", MAPS, 13, {"constants": {"shape": longs(5, 0)}}),
    ("Squeeze", (1, 0), 11, {"axes": [0]}),
    ("Unsqueeze", ROWS, 11, {"axes": [0]}),
    ("Tile", ROWS, 13, {"constants": {"repeats": longs(2, 2)}}),
    ("Tile", (2, 3), 13, {"constants": {"repeats": longs(0, 2)}}),
    ("Split", MAPS, 11, {"outputs": 2, "axis": 0}),
    ("Slice", ROWS, 13, {"constants": SLICE}),
    ("Slice", NONE, 13, {"constants": {"starts": longs(5), "ends": longs(9)}}),
    ("Pad", ROWS, 13, {"constants": {"pads": longs(1, 0, 1, 2)}}),
    ("DepthToSpace", (0, 4, 2, 2), 13, {"blocksize": 2}),
    ("SpaceToDepth", (1, 0, 2, 2), 13, {"blocksize": 2}),
    ("Gather", ROWS, 13, {"axis": 1, "constants": {"indices": longs(0, -1)}}),
    ("Gather", ROWS, 13, {"axis": 0, "others": {"indices": longs()}}),
    ("GatherElements", (2, 3), 13, {"axis": 1, "others": {"indices": at(2, 0)}}),
    ("GatherND", (2, 3), 13, {"others": {"indices": at(0, 1)}}),
    ("GatherND", MAPS, 13, {"others": {"indices": at(4, 1)}}),
    ("ReverseSequence", (2, 0), 13, {"others": {"lengths": longs()}}),
    ("ReverseSequence", (0, 2), 13, {"others": {"lengths": longs(0, 0)}}),
    ("Cast", ROWS, 13, {"to": 1}),
    ("Dropout", ROWS, 13, {}),
]


@pytest.mark.parametrize(
    ("op_type", "shape", "opset", "options"),
    [pytest.param(*case, id=f"{number}-{case[0]}") for number, case in enumerate(CASES)],
)
def test_nothing_is_moved(
    op_type: str, shape: tuple[int, ...], opset: int, options: dict[str, Any]
) -> None:
    x = np.ones(shape, np.float32)
    agree_when_moved(op_type, {"x": x}, opset, relaxed=True, **options)


def test_nothing_is_joined_to_something() -> None:
    feeds = {"x": np.ones(ROWS, np.float32), "y": np.ones((2, 3), np.float32)}
    agree_when_moved("Concat", feeds, 13, axis=0)


def test_nothing_is_scattered() -> None:
    moved = {"x": np.ones((2, 3), np.float32), "updates": np.ones(ROWS, np.float32)}
    order = ["x", "indices", "updates"]
    agree_when_moved("ScatterND", moved, 11, others={"indices": at(0, 1)}, order=order)


def test_nothing_is_marked() -> None:
    constants = {"depth": np.array(4), "values": np.array([0, 1], np.float32)}
    feeds = {"x": at(0, 2)}
    model = one_node_model("OneHot", feeds, 11, constants=constants, axis=1)
    for mode in MODES:
        same_elements(run_in_mode(model, feeds, mode), np.zeros((0, 4, 2), np.float32))


def test_nothing_is_resized() -> None:
    feeds = {"x": np.zeros((0, 1, 2, 2), np.float32)}
    constants = {"scales": np.array([1, 1, 2, 2], np.float32)}
    model = one_node_model("Resize", feeds, 10, constants=constants)
    for mode in MODES:
        same_elements(run_in_mode(model, feeds, mode), np.zeros((0, 1, 4, 4), np.float32))
