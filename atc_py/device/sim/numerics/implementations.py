"""The two implementations of some vector kernels: steps in float32, or each rounded to float16.

A kernel with several steps may keep what lies between them in float32 and round once at its end,
which is CANN's high_precision, or compute every step in float16, its high_performance. A step here
is an operation on whole tensors; a sum along axes is one step, added up in float32 and rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from atc_py.device.sim.numerics.rounding import round_to_grid
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from atc_py.device.sim.kernel import Call

    Step: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]

__all__ = ["kept", "step_of"]


def step_of(call: Call) -> Step:
    """Return what rounds the result of each step in place to float16, or leaves it alone.

    Only float16 data have two implementations; the vector unit computes all others as they are.
    """
    narrow = call.node.attributes.get("impl_mode") == "high_performance"
    return _rounded if narrow and call.node.x.dtype is DType.FLOAT16 else kept


def _rounded(array: NDArray[Any]) -> NDArray[Any]:
    """Return the result of a step in float16."""
    return round_to_grid(array, DType.FLOAT16, out=array)


def kept(array: NDArray[Any]) -> NDArray[Any]:
    """Return the result of a step in float32."""
    return array
