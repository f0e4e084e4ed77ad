"""Limits of unrolling."""

from __future__ import annotations

__all__ = ["MOST_STEPS"]

MOST_STEPS = 512
"""Steps of a Scan or Loop that are written out at most."""
