"""Random cases of the rules of weights of few bits."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.attention import one_of
from tests.fix.draws.normalizations import fused


def octets(rng: np.random.Generator, *dims: int) -> ConstInput:
    """Return random bytes."""
    return ConstInput(rng.integers(0, 256, dims).astype(np.uint8))


def n_bits(rng: np.random.Generator, accuracy_level: int) -> RuleCase:
    """Return a product with weights of 2, 4 or 8 bits."""
    bits, size, count = one_of(rng, 2, 4, 8), one_of(rng, 16, 32), int(rng.integers(1, 9))
    rows = int(rng.integers(size // 2, 3 * size))
    blocks = -(-rows // size)
    scales = ConstInput(rng.uniform(0.01, 0.1, (count, blocks)).astype(np.float32))
    zeros: Any = one_of(rng, None, octets(rng, count, -(-blocks * bits // 8)))
    groups = None
    if bits == 4 and rng.integers(2):
        own = rng.permutation(np.repeat(np.arange(blocks), size))[:rows].astype(np.int32)
        groups = one_of(rng, None, ConstInput(own))
        zeros = ConstInput(rng.uniform(0, 15, (count, blocks)).astype(np.float32))
    bias = ConstInput(rng.normal(size=count).astype(np.float32)) if rng.integers(2) else None
    inputs = [
        Fed((2, int(rng.integers(1, 4)), rows)),
        octets(rng, count, blocks, size * bits // 8), scales, zeros, groups, bias,
    ]  # fmt: skip
    sizes = {"K": rows, "N": count, "bits": bits, "block_size": size}
    return fused("MatMulNBits", *inputs, accuracy_level=accuracy_level, **sizes)


@draws("mat-mul-n-bits-as-product")
def mat_mul_n_bits_as_product(rng: np.random.Generator) -> RuleCase:
    return n_bits(rng, int(rng.integers(2)))


@draws("mat-mul-n-bits-unrounded")
def mat_mul_n_bits_unrounded(rng: np.random.Generator) -> RuleCase:
    return n_bits(rng, 4)


@draws("mat-mul-bnb4-as-product")
def mat_mul_bnb4_as_product(rng: np.random.Generator) -> RuleCase:
    rows, count = int(rng.integers(1, 20)) * 2, int(rng.integers(1, 9))
    blocks = -(-rows * count // 16)
    scales = ConstInput(rng.uniform(0.1, 2, blocks).astype(np.float32))
    inputs = Fed((2, rows)), octets(rng, rows * count // 2), scales
    attributes = {"K": rows, "N": count, "block_size": 16, "quant_type": int(rng.integers(2))}
    return fused("MatMulBnb4", *inputs, **attributes)


@draws("gather-block-quantized-as-gather")
def gather_block_quantized_as_gather(rng: np.random.Generator) -> RuleCase:
    bits, rows, blocks = one_of(rng, 2, 4, 8), int(rng.integers(1, 9)), int(rng.integers(1, 4))
    scales = ConstInput(rng.uniform(0.01, 0.1, (rows, blocks)).astype(np.float32))
    zeros = [octets(rng, rows, -(-blocks * bits // 8))] if rng.integers(2) else []
    dtype = one_of(rng, DType.INT32, DType.INT64)
    indices = Fed((2, int(rng.integers(1, 4))), dtype, (0, rows - 1))
    table = octets(rng, rows, blocks * 16 * bits // 8)
    attributes = {"bits": bits, "block_size": 16, "quantize_axis": 1, "gather_axis": 0}
    return fused("GatherBlockQuantized", table, indices, scales, *zeros, **attributes)
