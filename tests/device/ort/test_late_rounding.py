"""Roundings that are left out of flat models: results keep every bit, and others stay."""

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from atc_py.device.ort.model import emulate
from atc_py.device.ort.writing import model_bytes
from tests.device.models import MemoryModel, ModelBuilder

F16 = "float16"
ODD = np.array([np.nan, np.inf, -np.inf, -0.0, 6.1e-5, 5.9e-8, 65504, -65504, 0.1], np.float16)


def bounded(op: str, low: float = 0.0, high: float = 6.0, *, shown: bool = False) -> MemoryModel:
    """Return `y = op(x * w) + x`; with `shown` the product is an output, too."""
    builder = ModelBuilder()
    x = builder.input("x", F16, [1, 3, 8, 8])
    w = builder.constant(np.linspace(-3, 3, 8).astype(np.float16))
    (product,) = builder.node("Mul", [x, w], [(F16, [1, 3, 8, 8])])
    operands, dims = [product], [1, 3, 8, 8]
    attributes: dict[str, Any] = {}
    if op == "ClipByValue":
        operands += [builder.constant(np.array(each, np.float16)) for each in (low, high)]
    if op == "MaxPoolV3":
        attributes = {
            "ksize": [1, 1, 2, 2],
            "strides": [1, 1, 1, 1],
            "padding_mode": "CALCULATED",
            "pads": [0, 1, 0, 1],
            "data_format": "NCHW",
            "global_pooling": False,
            "ceil_mode": False,
        }
    (held,) = builder.node(op, operands, [(F16, dims)], attributes)
    (y,) = builder.node("Add", [held, x], [(F16, dims)])
    builder.output("y", y)
    if shown:
        builder.output("product", product)
    return builder.build()


def run(model: MemoryModel, x: NDArray[Any], *, early: bool) -> tuple[NDArray[Any], Counter[str]]:
    """Return the result in onnxruntime, without its own optimizations, and the operators run."""
    import onnxruntime

    emulated = emulate(model, flat=True)
    if not early:
        emulated.drop_early_roundings()
    text = model_bytes(emulated, "model")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(text, options, providers=["CPUExecutionProvider"])
    (y, *_) = session.run(["y"], {"x": x})
    nodes = onnx.ModelProto.FromString(text).graph.node
    return y, Counter(node.op_type for node in nodes)


def values(seed: int) -> NDArray[Any]:
    """Return numbers of every size, and odd ones among them."""
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2**16, (1, 3, 8, 8), np.uint16).view(np.float16)
    flat = np.where(np.isfinite(bits), bits, 1).astype(np.float16).reshape(-1)
    flat[generator.choice(flat.size, ODD.size, replace=False)] = ODD
    return flat.reshape(1, 3, 8, 8)


@pytest.mark.parametrize("op", ["Relu", "ClipByValue", "MaxPoolV3"])
def test_rounding_before_a_monotone_function_goes_and_every_bit_stays(op: str) -> None:
    model = bounded(op)
    for seed in range(20):
        x = values(seed)
        before, many = run(model, x, early=True)
        after, few = run(model, x, early=False)
        np.testing.assert_array_equal(before.view(np.uint16), after.view(np.uint16))
    dropped = many["Cast"] - few["Cast"]
    assert dropped == (0 if op == "MaxPoolV3" else 2)


def test_rounding_stays_where_the_rounded_value_is_an_output() -> None:
    model = bounded("Relu", shown=True)
    assert run(model, values(1), early=False)[1] == run(model, values(1), early=True)[1]


def test_rounding_stays_before_a_function_that_is_not_monotone() -> None:
    model = bounded("Sigmoid")
    assert run(model, values(1), early=False)[1] == run(model, values(1), early=True)[1]
