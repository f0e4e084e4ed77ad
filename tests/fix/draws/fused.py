"""Random cases of the rules of onnxruntime's fused products and convolutions."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.attention import one_of
from tests.fix.draws.normalizations import fused

GEMM_FUNCTIONS = {
    "Celu": 1, "Elu": 1, "HardSigmoid": 2, "LeakyRelu": 1, "ParametricSoftplus": 2, "Relu": 0,
    "ScaledTanh": 2, "Sigmoid": 0, "Softplus": 0, "Softsign": 0, "Tanh": 0, "ThresholdedRelu": 1,
}  # fmt: skip
CONV_FUNCTIONS: dict[str, list[float]] = {
    "Clip": [-0.5, 0.7], "HardSigmoid": [0.3, 0.4], "HardSwish": [], "LeakyRelu": [0.2],
    "Relu": [], "Sigmoid": [], "Tanh": [],
}  # fmt: skip


@draws("fused-mat-mul-as-steps")
def fused_mat_mul_as_steps(rng: np.random.Generator) -> RuleCase:
    rows, inner, columns = (int(each) for each in rng.integers(1, 6, 3))
    batch = tuple(int(each) for each in rng.integers(1, 4, int(rng.integers(3))))
    attributes: dict[str, Any] = {"alpha": 0.5}
    operands = []
    for letter, matrix in (("A", (rows, inner)), ("B", (inner, columns))):
        crossed = int(rng.integers(2))
        attributes[f"trans{letter}"] = crossed
        sides = matrix[::-1] if crossed else matrix
        dims = (*batch, *sides)
        if batch and rng.integers(2):
            attributes[f"transBatch{letter}"] = 1
            dims = (sides[0], *batch, sides[1])
        operands.append(Fed(dims))
    return fused("FusedMatMul", *operands, **attributes)


@draws("fused-gemm-as-steps")
def fused_gemm_as_steps(rng: np.random.Generator) -> RuleCase:
    rows, inner, columns = (int(each) for each in rng.integers(1, 6, 3))
    flags = [int(each) for each in rng.integers(0, 2, 2)]
    left = (inner, rows) if flags[0] else (rows, inner)
    right = (columns, inner) if flags[1] else (inner, columns)
    name = one_of(rng, *GEMM_FUNCTIONS)
    names = ("activation_alpha", "activation_beta")[: GEMM_FUNCTIONS[name]]
    values: dict[str, Any] = {each: float(rng.uniform(0.2, 1)) for each in names}
    bias = [data(columns)] if rng.integers(2) else []
    attributes: dict[str, Any] = {"alpha": 0.7, "beta": 0.3, "transA": flags[0], "transB": flags[1]}
    return fused(
        "FusedGemm", Fed(left), data(*right), *bias, activation=name, **attributes, **values
    )


@draws("fused-conv-as-steps")
def fused_conv_as_steps(rng: np.random.Generator) -> RuleCase:
    group, each, filters, side = (int(n) for n in rng.integers(1, 4, 4))
    pixels = [side + int(rng.integers(1, 4)) for _ in range(2)]
    name = one_of(rng, *CONV_FUNCTIONS)
    values = CONV_FUNCTIONS[name]
    result = (1, filters * group, *(each - side + 3 for each in pixels))
    bias = data(filters * group, seed=1) if rng.integers(2) else None
    inputs = [
        Fed((1, each * group, *pixels)), data(filters * group, each, side, side), bias,
        Fed(result) if rng.integers(2) else None,
    ]  # fmt: skip
    given: dict[str, Any] = {"activation_params": values} if values else {}
    return fused("FusedConv", *inputs, activation=name, group=group, pads=[1] * 4, **given)


@draws("counterpart-of-onnx")
def counterpart_of_onnx(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(1, 5, int(rng.integers(1, 4))))
    name = one_of(rng, "ExpandDims", "GatherND", "Pad", "ConvTransposeWithDynamicPads")
    if name == "ExpandDims":
        axis = int(rng.integers(-len(dims) - 1, len(dims) + 1))
        return fused(name, Fed(dims), ConstInput(np.array(axis, np.int32)))
    if name == "GatherND":
        return fused(name, Fed(dims), Fed((3, 1), DType.INT64, (0, dims[0] - 1)))
    if name == "Pad":
        pads = ConstInput(rng.integers(0, 3, 2 * len(dims)))
        value = [ConstInput(np.zeros(1, np.float32))] if rng.integers(2) else []
        return fused(name, Fed(dims), pads, *value)
    strides = [int(each) for each in rng.integers(1, 3, 2)]
    pads = ConstInput(rng.integers(0, 2, 4))
    bias = [data(3, seed=1)] if rng.integers(2) else []
    return fused(name, Fed((1, 2, 4, 5)), data(2, 3, 3, 3), pads, *bias, strides=strides)
