"""Values beyond numbers on which exact forms are compared, by operator."""

from collections.abc import Collection, Mapping, Sequence

_POOLS = frozenset({"GlobalMaxPool", "MaxPool", "MaxRoiPool"})
"""Operators that get no infinities: kernels of onnxruntime begin at the lowest number or below it."""

_ORDERING = frozenset(
    {
        "ArgMax",
        "ArgMin",
        "Clip",
        "Hardmax",
        "Max",
        "Min",
        "ReduceMax",
        "ReduceMin",
        "TopK",
        "Unique",
    }
)
"""Operators whose results depend on the order of the elements, in which ONNX has no place for NaN."""


def odd_values(operators: Collection[str]) -> Mapping[str, Sequence[float]]:
    """The values beyond numbers for which an exact form gives the same results.

    Args:
        operators: those of the node and of the graphs in it.
    """
    if not _POOLS.isdisjoint(operators):
        return {}
    infinities = {"infinities": (float("inf"), float("-inf"))}
    if not _ORDERING.isdisjoint(operators):
        return infinities
    return {**infinities, "NaN": (float("nan"),)}
