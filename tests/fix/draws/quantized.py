"""Random cases of the rules of quantized operators."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.elementwise import shape
from tests.fix.draws.normalizations import fused

CODES = (DType.UINT8, DType.INT8)


def number(rng: np.random.Generator, dtype: DType, *dims: int) -> ConstInput:
    """Return random codes."""
    limits = np.iinfo(dtype.numpy)
    return ConstInput(rng.integers(limits.min, limits.max, dims, endpoint=True).astype(dtype.numpy))


def scale(rng: np.random.Generator, *dims: int) -> ConstInput:
    """Return random steps."""
    return ConstInput(np.asarray(rng.uniform(0.01, 0.1, dims), np.float32))


def either(rng: np.random.Generator, constant: ConstInput) -> ConstInput | Fed:
    """Return a constant, or an input of the model in its place."""
    dtype = DType.from_numpy(constant.value.dtype)
    return constant if rng.integers(2) else Fed(constant.value.shape, dtype)


@draws("dynamic-quantize-as-steps")
def dynamic_quantize_as_steps(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng, 0, 4) if rng.integers(4) else ()
    return RuleCase("DynamicQuantizeLinear", (Fed(dims),), opset=11, outputs=3)


@draws("integer-sum-as-product")
def integer_sum_as_product(rng: np.random.Generator) -> RuleCase:
    a, b = (CODES[int(each)] for each in rng.integers(0, 2, 2))
    zero = Fed((), a)
    if rng.integers(2):
        rows, inner, columns = (int(each) for each in rng.integers(1, 6, 3))
        weights = either(rng, number(rng, b, inner, columns))
        around = number(rng, b, *([columns] if rng.integers(2) else []))
        batch = [int(each) for each in rng.integers(1, 4, int(rng.integers(0, 3)))]
        left = Fed((*batch, rows, inner), a)
        return RuleCase("MatMulInteger", (left, weights, zero, around), opset=10)
    channels, filters = (int(each) for each in rng.integers(1, 4, 2))
    dims = tuple(int(each) for each in rng.integers(4, 8, 2))
    taps = [int(each) for each in rng.integers(1, 4, 2)]
    attributes = {
        "pads": [int(each) for each in rng.integers(0, 2, 4)],
        "strides": [int(each) for each in rng.integers(1, 3, 2)],
    }
    weights = number(rng, DType.UINT8, filters, channels, *taps)
    inputs = (Fed((1, channels, *dims), DType.UINT8), weights, Fed((), DType.UINT8))
    zeros = [number(rng, DType.UINT8)] if rng.integers(2) else []
    return RuleCase("ConvInteger", (*inputs, *zeros), attributes, opset=10)


@draws("quantized-product-as-steps")
def quantized_product_as_steps(rng: np.random.Generator) -> RuleCase:
    rows, inner, columns = (int(each) for each in rng.integers(1, 9, 3))
    a, b = (CODES[int(each)] for each in rng.integers(0, 2, 2))
    each_column = [columns] if rng.integers(2) else []
    weights = number(rng, b, inner, columns)
    step, zero = scale(rng, *each_column), number(rng, b, *each_column)
    bias = [data(columns)] if rng.integers(2) else []
    if rng.integers(2):
        inputs: Sequence[Any] = (Fed((2, rows, inner)), weights, step, zero, *bias)
        return fused("DynamicQuantizeMatMul", *inputs)
    codes = Fed((rows, inner), DType.UINT8 if b is DType.UINT8 else a)
    a = codes.dtype
    inputs = (codes, weights, scale(rng), step, either(rng, number(rng, a)), zero, *bias)
    return fused("MatMulIntegerToFloat", *inputs)


@draws("dynamic-lstm-unroll")
def dynamic_lstm_unroll(rng: np.random.Generator) -> RuleCase:
    return dynamic_lstm(rng, 1)


@draws("dynamic-lstm-as-lstm")
def dynamic_lstm_as_lstm(rng: np.random.Generator) -> RuleCase:
    return dynamic_lstm(rng, int(rng.integers(1, 6)))


def dynamic_lstm(rng: np.random.Generator, batch: int) -> RuleCase:
    """A layer whose codes have one step, or one for each gate."""
    steps, size, units = (int(each) for each in rng.integers(1, 6, 3))
    ways = int(rng.integers(1, 3))
    b = CODES[int(rng.integers(0, 2))]
    each_gate = [4 * units] if rng.integers(2) else []
    numbers = []
    for _ in range(2):
        zero = (
            ConstInput(np.zeros((ways, *each_gate), b.numpy)) if each_gate else number(rng, b, ways)
        )
        numbers += [scale(rng, ways, *each_gate), zero]
    bias = data(ways, 8 * units) if rng.integers(2) else None
    weights = (number(rng, b, ways, each, 4 * units) for each in (size, units))
    inputs = (Fed((steps, batch, size)), *weights, bias, None, None, None, None, *numbers)
    way = ("forward", "bidirectional")[ways - 1]
    attributes = {"hidden_size": units, "direction": way}
    return RuleCase(
        "DynamicQuantizeLSTM", inputs, attributes, opset=1, outputs=3, domain="com.microsoft"
    )


def parameters(
    rng: np.random.Generator, dims: tuple[int, ...], dtype: DType, attributes: dict[str, int]
) -> tuple[ConstInput | Fed, ConstInput]:
    """Return a step and a zero point: one, one an element of an axis, or one a block."""
    axis = int(rng.integers(len(dims)))
    kind = int(rng.integers(3))
    if kind == 0:
        return Fed(()), number(rng, dtype)
    attributes["axis"] = axis
    if kind == 1:
        return Fed((dims[axis],)), number(rng, dtype, dims[axis])
    attributes["block_size"] = block = int(rng.integers(1, 4))
    blocks = tuple(-(-dim // block) if at == axis else dim for at, dim in enumerate(dims))
    return scale(rng, *blocks), number(rng, dtype, *blocks)


@draws("quantize-as-steps")
def quantize_as_steps(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(1, 7, int(rng.integers(2, 4))))
    attributes: dict[str, int] = {}
    inputs = parameters(rng, dims, CODES[int(rng.integers(2))], attributes)
    return RuleCase("QuantizeLinear", (Fed(dims), *inputs), attributes, opset=21)


@draws("dequantize-as-steps")
def dequantize_as_steps(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(1, 7, int(rng.integers(2, 4))))
    dtype = CODES[int(rng.integers(2))]
    attributes: dict[str, int] = {}
    inputs = parameters(rng, dims, dtype, attributes)
    return RuleCase("DequantizeLinear", (Fed(dims, dtype), *inputs), attributes, opset=21)


@draws("q-linear-where-as-steps")
def q_linear_where_as_steps(rng: np.random.Generator) -> RuleCase:
    dims, dtype = shape(rng), CODES[int(rng.integers(2))]
    numbers = [each for _ in range(3) for each in (scale(rng), number(rng, dtype))]
    codes = Fed(dims, dtype), Fed(dims[-1:], dtype)
    inputs = Fed(dims, DType.BOOL), codes[0], *numbers[:2], codes[1], *numbers[2:]
    return fused("QLinearWhere", *inputs)


@draws("q-attention-as-products")
def q_attention_as_products(rng: np.random.Generator) -> RuleCase:
    heads, size, batch, positions, inner = (int(each) for each in rng.integers(1, 5, 5))
    width = 3 * heads * size
    each_column = [width] if rng.integers(2) else []
    numbers = (scale(rng), scale(rng, *each_column))
    mask = Fed((batch, positions), DType.INT32, (1, 1)) if rng.integers(2) else None
    zeros = (number(rng, DType.UINT8), ConstInput(np.zeros(each_column, np.int8)))
    codes = Fed((batch, positions, inner), DType.UINT8)
    weights = number(rng, DType.INT8, inner, width)
    inputs = (codes, weights, data(width), *numbers, mask, *zeros)
    return fused("QAttention", *inputs, num_heads=heads, unidirectional=int(rng.integers(2)))
