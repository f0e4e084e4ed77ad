"""What kernels of a SoC family compute in dtypes that others lack, against onnxruntime.

Which family has which kernel is from the operator information of CANN 8.1. float32 kernels must
give onnxruntime's results, float16 and bfloat16 ones those of operands on their grid.
"""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import atc_py

Array = npt.NDArray[Any]

RNG = np.random.default_rng(11)
IMAGE = RNG.standard_normal((1, 4, 9, 9)).astype(np.float32)
MATRIX = RNG.standard_normal((6, 8)).astype(np.float32)
POSITIONS = RNG.integers(-6, 6, (3, 8))
FILTER = RNG.standard_normal((4, 3, 3, 3)).astype(np.float32)
STEPS = np.array([0.5, 6.0, 0.75], np.float32)
BOXES = np.array(
    [[[0, 0, 1, 1], [0, 0.125, 1, 1.125], [0, -0.125, 1, 0.875], [0, 10, 1, 11], [0, 100, 1, 101]]],
    np.float32,
)
SCORES = np.array([[[0.875, 0.75, 0.625, 0.9375, 0.5]]], np.float32)

MODELS: dict[str, tuple[str, dict[str, Array], dict[str, Any], dict[str, Array]]] = {
    "MaxPoolV3": (
        "MaxPool", {"x": IMAGE}, {"kernel_shape": [3, 3], "strides": [2, 2]}, {}),
    "Conv2DTransposeD": ("ConvTranspose", {"x": IMAGE}, {}, {"w": FILTER}),
    "GatherElements": ("GatherElements", {"x": MATRIX, "i": POSITIONS}, {"axis": 0}, {}),
    "Exp": ("Exp", {"x": MATRIX}, {}, {}),
    "FloorMod": (
        "Mod", {"x": np.array([7, -7, 5]), "z": np.array([3, 3, -3])}, {"fmod": 0}, {}),
    "Abs": ("Abs", {"x": np.array([3, -(2**40)])}, {}, {}),
    "Equal": ("Equal", {"x": np.array([3, 2**40]), "z": np.array([3, 2**40 + 1])}, {}, {}),
    "Relu": ("Relu", {"x": MATRIX}, {}, {}),
    "ArgMaxD": ("ArgMax", {"x": MATRIX}, {"axis": 1, "keepdims": 0}, {}),
    "ReverseSequence": (
        "ReverseSequence", {"x": MATRIX, "n": np.array([1, 2, 3, 4, 5, 6, 3, 2])},
        {"time_axis": 0, "batch_axis": 1}, {}),
    "NonMaxSuppressionV7": (
        "NonMaxSuppression", {"b": BOXES, "s": SCORES}, {},
        {"m": np.array([3]), "o": np.array([0.5], np.float32), "t": np.array([0.0], np.float32)}),
    "Cumsum": ("CumSum", {"x": MATRIX, "a": np.array(1)}, {}, {}),
    "Range": ("Range", dict(zip("abc", (np.array(each) for each in STEPS))), {}, {}),  # noqa: B905
}  # fmt: skip
"""By target operator: ONNX operator, inputs, attributes, constants."""

CASES = [
    ("MaxPoolV3", "Ascend910B3", "must_keep_origin_dtype", "float32", "aicore"),
    ("MaxPoolV3", "Ascend310P3", "must_keep_origin_dtype", "float32", "aicpu"),
    ("Conv2DTransposeD", "Ascend310B1", "allow_fp32_to_bf16", "float32", "aicore"),
    ("GatherElements", "Ascend310P3", "must_keep_origin_dtype", "float32", "aicore"),
    ("GatherElements", "Ascend910B3", "force_fp16", "float16", "aicore"),
    ("GatherElements", "Ascend310", "must_keep_origin_dtype", "float32", "aicpu"),
    ("Exp", "Ascend310", "must_keep_origin_dtype", "float32", "aicpu"),
    ("Exp", "Ascend310", "force_fp16", "float16", "aicore"),
    ("Exp", "Ascend310P3", "must_keep_origin_dtype", "float32", "aicore"),
    ("Abs", "Ascend910B3", "force_fp16", "int64", "aicore"),
    ("Abs", "Ascend310P3", "force_fp16", "int64", "aicpu"),
    ("Equal", "Ascend310P3", "force_fp16", "int64", "aicore"),
    ("Equal", "Ascend310", "force_fp16", "int64", "aicpu"),
    ("FloorMod", "Ascend910A", "force_fp16", "int64", "aicore"),
    ("Relu", "Ascend310B1", "force_fp16", "float16", "aicore"),
    ("ArgMaxD", "Ascend910B3", "force_fp16", "float16", "aicore"),
    ("ReverseSequence", "Ascend310P3", "force_fp16", "float16", "aicore"),
    ("ReverseSequence", "Ascend910B3", "allow_fp32_to_fp16", "float32", "aicpu"),
    ("NonMaxSuppressionV7", "Ascend310", "force_fp16", "float16", "aicore"),
    ("NonMaxSuppressionV7", "Ascend310P3", "must_keep_origin_dtype", "float32", "aicore"),
    ("Cumsum", "Ascend310P3", "must_keep_origin_dtype", "float32", "aicore"),
    ("Cumsum", "Ascend910B3", "force_fp16", "float16", "aicore"),
    ("Range", "Ascend310P3", "must_keep_origin_dtype", "float32", "aicore"),
    ("Range", "Ascend310", "must_keep_origin_dtype", "float32", "aicpu"),
]
"""Target operator, SoC, mode; dtype of its first operand and its engine."""

GRIDS = {"float16": (np.float16, 2.0**-10), "bfloat16": (ml_dtypes.bfloat16, 2.0**-7)}
"""The dtype of a grid, and how far results may be off: one unit in the last place."""

HF32 = float(2.0**-11 * 2 * np.abs(IMAGE).max() * np.abs(FILTER).max() * FILTER[:, 0].size)
"""How far sums may be off where the cube rounds float32 operands to HF32, of 11 binary digits."""


def model_of(op: str) -> onnx.ModelProto:
    """Return a model of one node."""
    kind, fed, attributes, constants = MODELS[op]
    node = helper.make_node(kind, [*fed, *constants], ["y"], name="node", **attributes)
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in fed.items()
    ]
    held = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    element = {"NonMaxSuppression": 7, "ArgMax": 7, "Equal": 9}.get(
        kind, inputs[0].type.tensor_type.elem_type
    )
    output = helper.make_tensor_value_info("y", element, None)
    graph = helper.make_graph([node], "one", [*inputs], [output], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize(("op", "soc", "mode", "dtype", "engine"), CASES)
def test_kernel_gives_the_results_of_onnxruntime(
    op: str, soc: str, mode: str, dtype: str, engine: str, tmp_path: Path
) -> None:
    model, fed = model_of(op), MODELS[op][1]
    onnx.save(model, tmp_path / "one.onnx")
    atc_py.convert(tmp_path / "one.onnx", tmp_path / "one.om", soc=soc, precision_mode=mode)
    with atc_py.load(tmp_path / "one.om") as compiled:
        (node,) = [node for node in compiled.description.nodes if node.op == op]
        tensors = compiled.description.tensors
        first = tensors[node.inputs[0]].dtype
        assert (first, node.engine) == (dtype, engine)
        found: Any = compiled.run(fed)["y"]
    grid, unit = GRIDS.get(dtype, (np.float32, 0.0))
    on_grid = {
        name: array.astype(grid).astype(np.float32) if array.dtype == np.float32 else array
        for name, array in fed.items()
    }
    session = onnxruntime.InferenceSession(model.SerializeToString())
    results: list[Any] = session.run(None, on_grid)
    (expected,) = results
    rows = expected.shape[0] if op == "NonMaxSuppressionV7" else len(found)
    near = HF32 if op == "Conv2DTransposeD" else unit / 16 + 1e-6
    np.testing.assert_allclose(found[:rows], expected, rtol=max(unit, 1e-6), atol=near)
