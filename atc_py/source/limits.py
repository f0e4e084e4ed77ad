"""Limits of what is computed from constants before a model runs."""

from __future__ import annotations

__all__ = ["FOLD_LIMIT"]

FOLD_LIMIT = 256 * 2**20
"""Bytes that folding one node may read, and bytes that it may make; --max-memory may allow less."""
