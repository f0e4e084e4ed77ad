"""Softmax, as the kernels that compute it share it."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Launch
from atc_py.device.sim.numerics.implementations import SoftmaxSteps, kept
from atc_py.device.sim.numerics.row_sums import summing

_PLAIN = SoftmaxSteps(kept, kept, kept)


def softmaxing(
    x: NDArray[Any],
    out: NDArray[Any],
    axes: tuple[int, ...],
    steps: SoftmaxSteps = _PLAIN,
) -> Launch:
    """A launch that sets `out` to `exp(x - m) / sum of exp(x - m)`, m the largest x.

    Args:
        x: any shape.
        out: of the shape and dtype of x, in C order; may be its memory.
        axes: from the front; worked along jointly.
        steps: what is done in place to what each step gives.
    """
    shape = tuple(1 if axis in axes else dim for axis, dim in enumerate(x.shape))
    row = np.empty(shape, x.dtype)
    add_up: Launch = partial(np.add.reduce, out, axes, None, row, keepdims=True)
    if axes == (x.ndim - 1,):
        add_up = summing(out.reshape(-1, x.shape[-1]), row.reshape(-1, 1))

    def launch() -> None:
        np.maximum.reduce(x, axes, None, row, keepdims=True)
        np.subtract(x, row, out)
        steps.exponential(np.exp(steps.difference(out), out))
        add_up()
        np.divide(out, steps.sum(row), out)

    return launch
