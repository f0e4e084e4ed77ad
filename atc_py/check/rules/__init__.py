"""The predicates, by the facts that they read; importing this package registers them all."""

from atc_py.check.rules import (
    attributes,
    axes,
    counts,
    deviation_axes,
    deviation_values,
    deviations,
    dtypes,
    equations,
    operands,
    pooling,
    quantization,
    resizing,
    shapes,
    values,
    windows,
)

__all__ = [
    "attributes",
    "axes",
    "counts",
    "deviation_axes",
    "deviation_values",
    "deviations",
    "dtypes",
    "equations",
    "operands",
    "pooling",
    "quantization",
    "resizing",
    "shapes",
    "values",
    "windows",
]
