"""Kernels that copy elements to other places and do nothing else."""

from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Launch, Rounding, kernel, sequence
from atc_py.package.node_view import NodeView, TensorFacts

Copies = Iterable[tuple[NDArray[Any], NDArray[Any]]]


def moving(
    op: str, types: Callable[[NodeView], tuple[TensorFacts, ...]]
) -> Callable[[Callable[[Call], Copies]], Callable[[Call], Copies]]:
    """Register what says which copies the kernel of `op` makes.

    The function gives, for a call, pairs of a view of an output and a view of an input that is
    broadcast to it; all of the outputs is covered. `kernel` explains the rest.
    """

    def register(copies: Callable[[Call], Copies]) -> Callable[[Call], Copies]:
        def bind(call: Call) -> Launch:
            return sequence([partial(np.copyto, out, source) for out, source in copies(call)])

        @wraps(copies)
        def run(call: Call) -> None:
            bind(call)()

        kernel(op, types, rounding=Rounding.ON_GRID, bind=bind)(run)
        return copies

    return register
