"""Random cases of the rules of normalizations and of onnxruntime's fused operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from tests.fix.draws import draws
from tests.fix.draws.elementwise import shape

FUSED = "com.microsoft"


def fused(op_type: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> RuleCase:
    """Return a case of an operator of onnxruntime."""
    return RuleCase(op_type, inputs, attributes, opset=1, outputs=outputs, domain=FUSED)


@draws("layer-norm-as-steps")
def layer_norm_as_steps(rng: np.random.Generator) -> RuleCase:
    dims = (*shape(rng, 1, 3), int(rng.integers(2, 9)))
    axis = int(rng.integers(len(dims)))
    inner = dims[axis:]
    bias = [data(*inner, seed=1)] if rng.integers(2) else []
    attributes = {"axis": axis - len(dims) * int(rng.integers(2)), "epsilon": 1e-3}
    outputs = int(rng.choice([1, 3]))
    inputs: tuple[Any, ...] = (Fed(dims), data(*inner), *bias)
    return RuleCase("LayerNormalization", inputs, attributes, opset=17, outputs=outputs)


@draws("instance-norm-as-steps")
def instance_norm_as_steps(rng: np.random.Generator) -> RuleCase:
    channels = int(rng.integers(1, 4))
    dims = (int(rng.integers(1, 3)), channels, *(each + 1 for each in shape(rng, 1, 3)))
    inputs: tuple[Any, ...] = (Fed(dims), data(channels), data(channels, seed=1))
    return RuleCase("InstanceNormalization", inputs, {"epsilon": 1e-3})


@draws("batch-norm-as-scale")
def batch_norm_as_scale(rng: np.random.Generator) -> RuleCase:
    channels = int(rng.integers(1, 4))
    pixels = shape(rng, 1, 3)
    pixels = (3, *pixels) if len(pixels) == 2 else pixels
    dims = (2, channels, *pixels)
    var = ConstInput(rng.uniform(0.1, 2, channels).astype(np.float32))
    inputs: tuple[Any, ...] = (Fed(dims), *(data(channels, seed=each) for each in range(3)), var)
    return RuleCase("BatchNormalization", inputs, {"epsilon": 1e-3}, opset=9)


@draws("gelu-as-erf")
def gelu_as_erf(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    return (
        fused("Gelu", Fed(dims))
        if rng.integers(2)
        else fused("BiasGelu", Fed(dims), data(dims[-1]))
    )


@draws("fast-gelu-as-tanh")
def fast_gelu_as_tanh(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    return fused("FastGelu", Fed(dims), *([data(dims[-1])] if rng.integers(2) else []))


@draws("quick-gelu-as-sigmoid")
def quick_gelu_as_sigmoid(rng: np.random.Generator) -> RuleCase:
    return fused("QuickGelu", Fed(shape(rng)), alpha=float(rng.uniform(0.5, 2)))


@draws("skip-norm-as-steps")
def skip_norm_as_steps(rng: np.random.Generator) -> RuleCase:
    dims = (2, int(rng.integers(1, 4)), int(rng.integers(2, 9)))
    parameters = [data(dims[-1], seed=each) for each in range(int(rng.integers(1, 4)))]
    return fused("SkipLayerNormalization", Fed(dims), Fed(dims), *parameters, epsilon=1e-3)


@draws("simple-norm-as-steps")
def simple_norm_as_steps(rng: np.random.Generator) -> RuleCase:
    dims = (2, int(rng.integers(1, 4)), int(rng.integers(2, 9)))
    bias = [data(dims[-1], seed=1)] if rng.integers(2) else []
    inputs: tuple[Any, ...] = (Fed(dims), Fed(dims), data(dims[-1]), *bias)
    return fused("SkipSimplifiedLayerNormalization", *inputs, epsilon=1e-3)


@draws("fused-mat-mul-as-steps")
def fused_mat_mul_as_steps(rng: np.random.Generator) -> RuleCase:
    rows, inner, columns = (int(each) for each in rng.integers(1, 6, 3))
    flags = [int(each) for each in rng.integers(0, 2, 2)]
    left = (inner, rows) if flags[0] else (rows, inner)
    right = (columns, inner) if flags[1] else (inner, columns)
    inputs = Fed((2, *left)), Fed((2, *right))
    return fused("FusedMatMul", *inputs, transA=flags[0], transB=flags[1], alpha=0.5)
