"""Random cases of the rules of attention and of rotary embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws


def one_of(rng: np.random.Generator, *values: Any) -> Any:
    """Return one of `values`."""
    return values[int(rng.integers(len(values)))]


@draws("attention-as-products")
def attention_as_products(rng: np.random.Generator) -> RuleCase:
    """Return an attention with all its options but those that exclude each other."""
    batch, groups, each, queries, keys, size, value = (int(n) for n in rng.integers(1, 5, 7))
    heads, opset = groups * each, one_of(rng, 23, 24)
    past = int(rng.integers(1, 4)) if rng.integers(2) else 0
    keys = 1 if past and queries == 1 else keys
    total = past + keys
    attributes: dict[str, Any] = {
        "is_causal": int(rng.integers(2)),
        "softcap": one_of(rng, 0.0, 2.0),
        "qk_matmul_output_mode": one_of(rng, 0, 1, 3),
    }
    if rng.integers(2):
        attributes["scale"] = 0.3
    q: tuple[int, ...] = (batch, heads, queries, size)
    k: tuple[int, ...] = (batch, groups, keys, size)
    v: tuple[int, ...] = (batch, groups, keys, value)
    if rng.integers(2):
        q, k, v = ((each[0], each[2], each[1] * each[3]) for each in (q, k, v))
        attributes |= {"q_num_heads": heads, "kv_num_heads": groups}
    inputs: list[Any] = [Fed(q), Fed(k), Fed(v), attention_mask(rng, batch, heads, queries, total)]
    if past:
        inputs += [Fed((batch, groups, past, size)), Fed((batch, groups, past, value))]
    elif opset > 23 and rng.integers(2):
        lengths = rng.integers(1, keys + 1, batch)
        inputs += [None, None, ConstInput(lengths)]
    outputs = 4 if past else 1
    return RuleCase("Attention", tuple(inputs), attributes, opset=opset, outputs=outputs)


def attention_mask(
    rng: np.random.Generator, batch: int, heads: int, queries: int, keys: int
) -> Fed | ConstInput | None:
    """Return a mask of any kind."""
    dims = one_of(
        rng,
        (queries, keys),
        (1, queries, keys),
        (batch, 1, queries, keys),
        (batch, heads, queries, keys),
    )
    kind = int(rng.integers(5))
    if kind == 0:
        return None
    if kind == 1:
        return Fed(dims, DType.BOOL)
    if kind == 2:
        return Fed(dims)
    if kind == 3:
        return ConstInput(rng.integers(0, 2, dims).astype(np.bool_))
    return data(*dims, seed=int(rng.integers(99)))


@draws("rotary-as-products")
def rotary_as_products(rng: np.random.Generator) -> RuleCase:
    """Return an embedding of ONNX or of onnxruntime, whole or partial."""
    batch, heads, positions, half, more = (int(n) for n in rng.integers(1, 5, 5))
    partial = bool(rng.integers(2))
    size = 2 * (half + (more if partial else 0))
    apart, own = bool(rng.integers(2)), bool(rng.integers(2))
    dims = (batch, heads, positions, size) if apart else (batch, positions, heads * size)
    attributes: dict[str, Any] = {"interleaved": int(rng.integers(2))}
    if partial:
        attributes |= {"rotary_embedding_dim": 2 * half, "num_heads": heads}
    elif not apart:
        attributes["num_heads"] = heads
    rows = positions + 3
    tables: list[Any] = [data(rows, half), data(rows, half, seed=1)]
    ids: Any = Fed((batch, positions), DType.INT64, (0, rows - 1))
    if rng.integers(2):
        ids = ConstInput(rng.integers(0, rows, (batch, positions)))
    if own:
        if rng.integers(3) == 0:
            tables, ids = [Fed((batch, positions, half))] * 2, None
        inputs = (Fed(dims), *tables, *([] if ids is None else [ids]))
        return RuleCase("RotaryEmbedding", inputs, attributes, opset=23)
    if rng.integers(2):
        ids = one_of(rng, Fed((1,), DType.INT64, (0, 3)), ConstInput(np.array([2])))
    inputs = (Fed(dims), ids, *tables)
    return RuleCase("RotaryEmbedding", inputs, attributes, opset=1, domain="com.microsoft")
