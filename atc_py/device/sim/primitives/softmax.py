"""Softmax, as the kernels that compute it share it, and which of its steps are rounded to float16.

A kernel with several steps may keep intermediate results in float32 and round once at its end,
or compute steps in float16. A step here is an operation on whole tensors; a sum along axes is one
step, added up in float32 and rounded. The attribute `impl_mode` names what a node does:
high_precision rounds no step, high_performance each, float16_difference the difference from the
maximum that a softmax begins with, float16_exponential that and the exponentials.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Launch, sequence
from atc_py.device.sim.numerics.rounding import round_to_grid
from atc_py.device.sim.numerics.row_sums import summing
from atc_py.tensor.dtypes import DType

Step: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]


_EACH = "high_performance"
_DIFFERENCE = frozenset({_EACH, "float16_difference", "float16_exponential"})
_EXPONENTIAL = frozenset({_EACH, "float16_exponential"})


class SoftmaxSteps(NamedTuple):
    """Roundings of the results of a softmax's steps, in place."""

    difference: Step  # to each element less the largest
    exponential: Step  # to the exponentials of these
    sum: Step  # to their sum, and to all that follows but the result


def softmax_steps(call: Call) -> SoftmaxSteps:
    """Functions that round the results of a softmax's steps in place to float16, or leave them.

    Only float16 data have several implementations; the vector unit computes all others as they are.
    """
    node = call.node
    mode = node.attributes.get("impl_mode") if node.x.dtype is DType.FLOAT16 else None
    modes = (_DIFFERENCE, _EXPONENTIAL, frozenset({_EACH}))
    return SoftmaxSteps(*(_rounded if mode in rounding else kept for rounding in modes))


def _rounded(array: NDArray[Any]) -> NDArray[Any]:
    return round_to_grid(array, DType.FLOAT16, out=array)


def kept(array: NDArray[Any]) -> NDArray[Any]:
    return array


_LONG = 64
"""Least length of a row for which argmax and take are much faster than maximum.reduce."""

_PLAIN = SoftmaxSteps(kept, kept, kept)


def softmaxing(
    x: NDArray[Any],
    out: NDArray[Any],
    axes: tuple[int, ...],
    steps: SoftmaxSteps = _PLAIN,
) -> Launch:
    """A launch that sets `out` to `exp(x - m) / sum of exp(x - m)`, m the largest x.

    `out`, in C order, may be the memory of x. `axes` are counted from the front and worked along
    jointly; `steps` are done in place to what each step gives.
    """
    shape = tuple(1 if axis in axes else dim for axis, dim in enumerate(x.shape))
    row = np.empty(shape, x.dtype)
    largest: Launch = partial(np.maximum.reduce, x, axes, None, row, keepdims=True)
    add_up: Launch = partial(np.add.reduce, out, axes, None, row, keepdims=True)
    if axes == (x.ndim - 1,):
        add_up = summing(out.reshape(-1, x.shape[-1]), row.reshape(-1, 1))
        if row.size == 1:  # numpy takes twice as long where it has to see dims of one element
            x, out, row = x.reshape(-1), out.reshape(-1), row.reshape(())
            largest = partial(np.maximum.reduce, x, 0, None, row)
        elif x.shape[-1] >= _LONG and x.flags.c_contiguous:
            largest = _largest(x.reshape(-1, x.shape[-1]), row.reshape(-1))
    return sequence(
        [
            largest,
            partial(np.subtract, x, row, out),
            *_taken(steps.difference, out),
            partial(np.exp, out, out),
            *_taken(steps.exponential, out),
            add_up,
            *_taken(steps.sum, row),
            partial(np.divide, out, row, out),
        ]
    )


def _largest(rows: NDArray[Any], out: NDArray[Any]) -> Launch:
    """A launch that finds the largest element of each row; maximum.reduce takes thrice as long."""
    flat, starts = rows.reshape(-1), np.arange(len(rows)) * rows.shape[1]
    places = np.empty_like(starts)
    return sequence(
        [
            partial(rows.argmax, 1, places),
            partial(np.add, places, starts, places),
            partial(flat.take, places, None, out, "wrap"),
        ]
    )


def _taken(step: Step, array: NDArray[Any]) -> list[Launch]:
    return [] if step is kept else [partial(step, array)]
