"""Axes of 2^30 elements, windows of 2^62 taps: rules count what they would work out of them first."""

import ast
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.fix import tables
from atc_py.fix.unfit import UnfitError
from tests.sampling import alternating

LONG = 2**30
MOST = 64 * 2**20
"""Bytes that the work may take."""


def resize(x: list[int], scales: list[float], **attributes: Any) -> onnx.ModelProto:
    """Return a model of a Resize by scales, with the middle of X as its region."""
    arrays = {
        "roi": np.array([0.2] * len(x) + [1.4] * len(x), np.float32),
        "scales": np.array(scales, np.float32),
    }
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "roi", "scales"], ["y"], **attributes)],
        "long",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [onnx.ValueInfoProto(name="y")],
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def pool(x: list[int], op_type: str = "AveragePool", **attributes: Any) -> onnx.ModelProto:
    """Return a model of a pool."""
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x"], ["y"], **attributes)],
        "long",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [onnx.ValueInfoProto(name="y")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=8)


def parsed(opset: int, text: str) -> onnx.ModelProto:
    """Return a model of one node in ONNX's text form."""
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> g {text}')


def one_hot(depth: int) -> onnx.ModelProto:
    """Return a model of a OneHot."""
    constants = f"int64 depth = {{{depth}}}, float[2] values = {{0.0, 1.0}}"
    node = "y = OneHot (x, depth, values)"
    return parsed(13, f"(int64[3] x) => (float[] y) <{constants}> {{ {node} }}")


CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
MODELS = {
    "nearest": resize([1, 1, 4, 2**29], [1, 1, 1, 2]),
    "linear": resize([1, 1, 4, 2**29], [1, 1, 1, 2], mode="linear"),
    "linear to little": resize([1, 1, 4, LONG], [1, 1, 1, 2**-28], mode="linear"),
    "channels": resize([1, LONG, 4, 4], [1, 2, 1, 1]),
    "cropped": resize([1, 1, 4, 2**29], [1, 1, 2, 2], **CROP),
    "cropped on two axes": resize([1, 1, 2**18, 2**18], [1, 1, 2, 2], **CROP),
    "resized on two axes": resize([1, 1, 2**15, 2**15], [1, 1, 2, 2], nearest_mode="ceil"),
    "means": pool([1, 1, 1, LONG], kernel_shape=[1, 3], dilations=[1, 2]),
    "maxima": pool([1, 1, 1, LONG], "MaxPool", kernel_shape=[1, 3], dilations=[1, 2]),
    "window of 2^62": pool([1, 1, 8, 8], "MaxPool", kernel_shape=[2, 2**62]),
    "depth of 2^28": one_hot(2**28),
    "depth of 2^34": one_hot(2**34),
    "wrapped": parsed(
        19,
        f"(float[2, 5] x) => (float[] y) <int64[4] pads = {{0, 0, 0, {LONG}}}>"
        ' { y = Pad <mode = "wrap"> (x, pads) }',
    ),
    "grid": parsed(
        20,
        f"(float[1, 2, 3] x) => (float[] y) <int64[4] size = {{1, 1, 4, {LONG}}}>"
        " { y = AffineGrid (x, size) }",
    ),
    "last maximum": parsed(
        13,
        f"(float[{LONG}] x) => (int64[] y) {{ y = ArgMax <axis = 0, select_last_index = 1> (x) }}",
    ),
    "frames": parsed(
        17,
        f"(float[1, {LONG}, 1] x) => (float[] y) <int64 step = {{2}}, int64 length = {{{LONG // 2}}}>"
        " { y = STFT (x, step, , length) }",
    ),
}


@pytest.mark.parametrize(("name", "cann"), alternating([*MODELS], [None, 9]))
def test_long_axis_takes_no_memory(name: str, cann: int | None, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(MODELS[name], path)
    tracemalloc.start()
    try:
        atc_py.check_models(path)
        atc_py.fix_model(
            path, tmp_path / "fixed.onnx", seeds=0, simulate=False, for_cann=cann is not None
        )
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MOST


@pytest.mark.parametrize(
    "make",
    [
        lambda: tables.arange(2**62),
        lambda: tables.arange(2**12)[:, None] * tables.arange(2**14),
        lambda: tables.outer(np.ones(2**13), np.ones(2**13)),
        lambda: tables.zeros((2**31, 2**31, 2**2)),
        lambda: tables.pad(np.ones(2), [(0, 2**40)]),
    ],
)
def test_table_is_counted_before_it_is_made(make: Callable[[], object]) -> None:
    with atc_py.limited_memory("1G"), pytest.raises(UnfitError, match="at most 8388608 elements"):
        make()


def test_rules_make_no_array_that_is_not_counted() -> None:
    folder = Path(tables.__file__).parent
    making = {
        "arange",
        "eye",
        "full",
        "indices",
        "meshgrid",
        "ones",
        "outer",
        "pad",
        "repeat",
        "zeros",
    }
    pages = [folder / "cann.py", *folder.glob("parts/*.py"), *folder.glob("rules/*.py")]
    assert len(pages) > 30
    uncounted = [
        f"{path.name}:{name.lineno}"
        for path in pages
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for name in (name for line in function.body for name in ast.walk(line))
        if isinstance(name, ast.Attribute) and name.attr in making
        if isinstance(name.value, ast.Name) and name.value.id == "np"
    ]
    assert uncounted == []
