"""Limits of tensors and of values computed from constants before a model runs."""

FOLD_LIMIT = 256 * 2**20
"""Bytes that folding one node may read, and bytes that it may make; --max-memory may allow less."""

MOST_BYTES = 2**40
"""Bytes of a tensor; more than any device has, and few enough that sums of sizes stay in 64 bits."""
