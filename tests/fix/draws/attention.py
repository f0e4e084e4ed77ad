"""Random cases of the rules of attention and of rotary embeddings."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.normalizations import fused


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


def key_mask(rng: np.random.Generator, batch: int, queries: int, keys: int) -> Any:
    """Return a mask of the keys of any kind that onnxruntime's operators share."""
    kind = int(rng.integers(4))
    if kind == 0:
        return None
    if kind == 1:
        ends = rng.integers(1, keys + 1, batch).astype(np.int32)
        return one_of(rng, ConstInput(ends), Fed((batch,), DType.INT32, (1, keys)))
    dims = (batch, keys) if kind == 2 else (batch, queries, keys)
    marks = rng.integers(0, 2, dims).astype(np.int32)
    return one_of(rng, ConstInput(marks), Fed(dims, DType.INT32, (0, 1)))


@draws("multi-head-attention-as-products")
def multi_head_attention_as_products(rng: np.random.Generator) -> RuleCase:
    """Return a self or cross attention, with or without a past."""
    batch, heads, queries, keys, size, value = (int(n) for n in rng.integers(1, 5, 6))
    past = int(rng.integers(1, 4)) if rng.integers(2) else 0
    apart = bool(rng.integers(2)) and not past
    causal = int(rng.integers(2)) if not apart else 0
    if causal or past:
        keys, value = queries, size
    k: tuple[int, ...] = (batch, keys, heads * size)
    v: tuple[int, ...] = (batch, keys, heads * value)
    if apart:
        k, v = (batch, heads, keys, size), (batch, heads, keys, size)
        value = size
    total = past + keys
    widths = heads * (2 * size + value)
    bias = data(widths, seed=4) if rng.integers(2) else None
    scores = (one_of(rng, 1, batch), one_of(rng, 1, heads), queries, total)
    inputs: list[Any] = [
        Fed((batch, queries, heads * size)), Fed(k), Fed(v), bias,
        key_mask(rng, batch, queries, total),
        Fed(scores) if rng.integers(2) else None,
    ]  # fmt: skip
    if past:
        inputs += [Fed((batch, heads, past, size))] * 2
    attributes: dict[str, Any] = {"num_heads": heads, "unidirectional": causal}
    if rng.integers(2):
        attributes["scale"] = 0.4
    if rng.integers(2):
        attributes["mask_filter_value"] = one_of(rng, -3.0, -3.4028234663852886e38)
    return fused(
        "MultiHeadAttention", *inputs, outputs=3 if rng.integers(2) or past else 1, **attributes
    )


@draws("fused-attention-as-products")
def fused_attention_as_products(rng: np.random.Generator) -> RuleCase:
    """Return an attention with its projections, with or without a past."""
    batch, heads, positions, size, value, width = (int(n) for n in rng.integers(1, 5, 6))
    past = int(rng.integers(1, 4)) if rng.integers(2) else 0
    value = size if past else value
    total = past + positions
    widths = heads * (2 * size + value)
    mask = key_mask(rng, batch, positions, total)
    if not past and rng.integers(4) == 0:
        starts = rng.integers(0, positions, batch)
        pairs = np.concatenate([rng.integers(starts + 1, positions + 1), starts])
        mask = one_of(
            rng,
            ConstInput(pairs.astype(np.int32)),
            Fed((2 * batch,), DType.INT32, (0, positions)),
        )
    scores = (one_of(rng, 1, batch), one_of(rng, 1, heads), positions, total)
    inputs: list[Any] = [
        Fed((batch, positions, width)), data(width, widths), data(widths, seed=1), mask,
        Fed((2, batch, heads, past, size)) if past else None,
        Fed(scores) if not past and rng.integers(2) else None,
    ]  # fmt: skip
    attributes: dict[str, Any] = {"num_heads": heads, "unidirectional": int(rng.integers(2))}
    if value != size or rng.integers(2):
        attributes["qkv_hidden_sizes"] = [heads * each for each in (size, size, value)]
    if rng.integers(2):
        attributes["scale"] = 0.4
    if rng.integers(2):
        attributes["mask_filter_value"] = one_of(rng, -3.0, -3.4028234663852886e38)
    return fused("Attention", *inputs, outputs=2 if past else 1, **attributes)


@draws("group-query-attention-as-products")
def group_query_attention_as_products(rng: np.random.Generator) -> RuleCase:
    """Return a first or a later step, with rotation or without."""
    batch, groups, each, queries = (int(n) for n in rng.integers(1, 4, 4))
    heads, size = groups * each, 16
    past = int(rng.integers(1, 5)) if rng.integers(2) else 0
    if past and queries > 1:
        batch = 1
    total = past + queries
    widths = [heads * size, groups * size, groups * size]
    tensors: list[Any] = [Fed((batch, queries, width)) for width in widths]
    if rng.integers(2):
        tensors = [Fed((batch, queries, sum(widths))), None, None]
    attributes: dict[str, Any] = {
        "num_heads": heads,
        "kv_num_heads": groups,
        "local_window_size": one_of(rng, -1, 1, 2),
        "softcap": one_of(rng, 0.0, 2.0),
        "smooth_softmax": one_of(rng, -1, 0, 1),
    }
    tables: list[Any] = [None, None]
    if rng.integers(2):
        attributes |= {"do_rotary": 1, "rotary_interleaved": int(rng.integers(2))}
        tables = [data(total + 2, size // 2), data(total + 2, size // 2, seed=1)]
    scores = Fed((one_of(rng, 1, batch), one_of(rng, 1, heads), queries, total))
    sink = data(heads, seed=2) if attributes["smooth_softmax"] < 0 and rng.integers(2) else None
    inputs = [
        *tensors, *[Fed((batch, groups, past, size)) if past else None] * 2,
        ConstInput(np.full(batch, total - 1, np.int32)), ConstInput(np.array(total, np.int32)),
        *tables, None, scores if rng.integers(2) else None, sink,
    ]  # fmt: skip
    return fused("GroupQueryAttention", *inputs, outputs=3, **attributes)
