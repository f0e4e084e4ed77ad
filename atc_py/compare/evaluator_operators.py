"""Operators that replace those of onnx's evaluator, whose older definitions it does not follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx.reference.op_run import OpRun

from atc_py.frontend.folding.evaluator_faults import SINCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["own_operators"]


class BatchNormalization(OpRun):  # type: ignore[misc]  (onnx has no types)
    """Normalization by given statistics, as ONNX defines it where no attribute says that it trains."""

    def _run(
        self,
        x: NDArray[Any],
        *parameters: NDArray[Any],
        epsilon: float = 1e-5,
        **_attributes: object,
    ) -> tuple[NDArray[Any]]:
        """Return the results.

        Raises:
            ValueError: the node trains, or has statistics for each element.
        """
        apart = any(each.name == "spatial" and not each.i for each in self.onnx_node.attribute)
        if len(self.output) > 1 or apart:
            raise ValueError("BatchNormalization trains, or has statistics for each element")
        channels = (-1, *(1,) * (x.ndim - 2))
        scale, bias, mean, variance = (each.reshape(channels) for each in parameters)
        found = scale * (x - mean) / np.sqrt(variance + epsilon) + bias
        return (found.astype(x.dtype),)


_OWN = (BatchNormalization,)


def own_operators(opset: int) -> list[type[OpRun]]:
    """Return the operators that replace those of the evaluator at an opset."""
    return [each for each in _OWN if opset < SINCE[each.__name__]]
