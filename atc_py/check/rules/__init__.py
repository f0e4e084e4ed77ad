"""The predicates, by the facts that they read; importing this package registers them all."""

from atc_py.check.rules import (
    attributes,
    axes,
    counts,
    deviations,
    dtypes,
    operands,
    pooling,
    resizing,
    shapes,
    windows,
)

__all__ = [
    "attributes",
    "axes",
    "counts",
    "deviations",
    "dtypes",
    "operands",
    "pooling",
    "resizing",
    "shapes",
    "windows",
]
