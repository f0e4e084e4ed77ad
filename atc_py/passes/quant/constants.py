"""What quantization passes read of constants: scale words, and data that can be read at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.ir import DenseConst, OpaqueConst
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from atc_py.ir import Graph, Value

__all__ = ["constant_like", "constant_words"]


def constant_words(value: Value | None) -> npt.NDArray[np.uint64] | None:
    """Return the 64-bit words of `value`, or None where it is not such a constant."""
    if value is None or value.const is None or isinstance(value.const, OpaqueConst):
        return None
    if value.type.dtype is not DType.UINT64:
        return None
    import numpy as np

    return np.asarray(value.const.numpy(), np.uint64)


def constant_like(graph: Graph, old: Value | None, suffix: str, array: npt.NDArray[Any]) -> Value:
    """Return a constant of `array` that is named after `old`."""
    name = suffix if old is None else f"{old.name}.{suffix}"
    return graph.constant(name, DenseConst(array))
