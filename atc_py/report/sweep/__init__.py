"""Tables of sweeps: JSON lines, CSV, Parquet, HTML."""

from __future__ import annotations
