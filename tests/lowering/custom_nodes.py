"""Models of one node that ONNX does not define, with stated result types, and their results."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from atc_py.spec import library
from tests.end_to_end import run_with_atc_py
from tests.spec.every_list import LISTS

Array = npt.NDArray[Any]


KEEP, FORCE = "must_keep_origin_dtype", "force_fp16"
RELATIVE = {KEEP: 2e-5, FORCE: 4e-3}
"""Share of the range: float32; float16 inputs, each product and sum of which errs by 5e-4."""


def normal(*shape: int, seed: int = 0) -> Array:
    """Return standard normal numbers."""
    found: Array = np.random.default_rng([seed, *shape]).standard_normal(shape, dtype=np.float32)
    return found


def run(
    op: str,
    inputs: Mapping[str, Array | None],
    results: Sequence[Array],
    attributes: Mapping[str, Any],
    *,
    mode: str = KEEP,
    constants: Sequence[str] = (),
) -> list[Array]:
    """Return results of a model of one node, which states types like those of `results`.

    The operator list is the first that has the operator.
    """
    listed = next(name for name in LISTS if library(name).find(op))
    names = [name if array is not None else "" for name, array in inputs.items()]
    there = {name: array for name, array in inputs.items() if array is not None}
    outputs = [f"y{position}" for position in range(len(results))]
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, name="node", **attributes)],
        "one",
        [_info(name, array) for name, array in there.items() if name not in constants],
        [_info(name, array) for name, array in zip(outputs, results, strict=True)],
        [onnx.numpy_helper.from_array(there[name], name) for name in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    feeds = {name: array for name, array in there.items() if name not in constants}
    with tempfile.TemporaryDirectory() as folder:
        options = {"precision_mode": mode, "operator_list": listed}
        found = run_with_atc_py(model, feeds, Path(folder), **options)
    return [found[name] for name in outputs]


def _info(name: str, array: Array) -> onnx.ValueInfoProto:
    """Return the declaration of a value like `array`."""
    element = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, element, array.shape)


def near(found: Array, expected: Array, relative: float) -> None:
    """Check for equal types, and values to a share of the range; integers to the bit."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    scale = float(np.abs(expected).max(initial=0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=relative * scale)
