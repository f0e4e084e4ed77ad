"""Random cases of the rules of normalizations and of onnxruntime's fused operators."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.tensor.dtypes import DType
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
    skip = (1, *dims[1:]) if rng.integers(2) else dims
    parameters = [data(dims[-1], seed=each) for each in range(int(rng.integers(1, 4)))]
    outputs = int(rng.integers(1, 5))
    inputs = (Fed(dims), Fed(skip), *parameters)
    return fused("SkipLayerNormalization", *inputs, outputs=outputs, epsilon=1e-3)


@draws("simple-norm-as-steps")
def simple_norm_as_steps(rng: np.random.Generator) -> RuleCase:
    dims = (2, int(rng.integers(1, 4)), int(rng.integers(2, 9)))
    kind = int(rng.integers(3))
    if kind == 0:
        bias = [data(dims[-1], seed=1)] if rng.integers(2) else []
        inputs: tuple[Any, ...] = (Fed(dims), Fed(dims), data(dims[-1]), *bias)
        return fused("SkipSimplifiedLayerNormalization", *inputs, epsilon=1e-3)
    axis = int(rng.integers(-3, 3))
    attributes = {"axis": axis, "epsilon": 1e-3}
    inputs = (Fed(dims), data(*dims[axis:]))
    if kind == 1:
        return RuleCase("RMSNormalization", inputs, attributes, opset=23)
    outputs = int(rng.integers(1, 3))
    return RuleCase("SimplifiedLayerNormalization", inputs, attributes, outputs=outputs)


@draws("group-norm-as-steps")
def group_norm_as_steps(rng: np.random.Generator) -> RuleCase:
    groups, each = (int(n) for n in rng.integers(1, 4, 2))
    channels = groups * each
    dims = (2, channels, *shape(rng, 1, 3))
    opset = int(rng.choice([18, 21]))
    count = groups if opset < 21 else channels
    inputs = (Fed(dims), data(count), data(count, seed=1))
    attributes = {"num_groups": groups, "epsilon": 1e-3}
    return RuleCase("GroupNormalization", inputs, attributes, opset=opset)


@draws("embed-norm-as-steps")
def embed_norm_as_steps(rng: np.random.Generator) -> RuleCase:
    batch, positions, width = (int(n) for n in rng.integers(1, 6, 3))
    dims, rows = (batch, positions), positions + 2
    ids = Fed(dims, DType.INT32, (0, 8))
    segments = bool(rng.integers(2))
    outputs = int(rng.integers(1, 4))
    mask = Fed(dims, DType.INT32, (0, 1)) if rng.integers(2) else None
    places = Fed((int(rng.choice([1, batch])), positions), DType.INT32, (0, rows - 1))
    inputs = [
        ids, Fed(dims, DType.INT32, (0, 1)) if segments else None,
        data(9, width), data(rows, width, seed=1), data(2, width, seed=2) if segments else None,
        data(width, seed=3), data(width, seed=4), mask, places if rng.integers(2) else None,
    ]  # fmt: skip
    attributes = {"mask_index_type": 0} if outputs == 1 else {}
    return fused("EmbedLayerNormalization", *inputs, outputs=outputs, epsilon=1e-3, **attributes)
