"""The simulator's results for a launch's inputs, and the allowance for a correct kernel."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.kernels.agreement import LIMIT, NOISE, last_places
from atc_py.compare.kernels.samples import SampledLaunch, SampledNode
from atc_py.device.sim.kernel import Call, Rounding
from atc_py.device.sim.numerics.rounding import (
    carrier_dtype,
    from_carrier,
    is_rounded,
    round_to_grid,
    to_carrier,
)

Arrays = tuple["NDArray[Any]", ...]


def expected_of(case: SampledLaunch) -> tuple[Arrays, tuple[NDArray[np.float64] | None, ...]]:
    """Results in true dtypes and the allowance for each; None for no allowance.

    Sums that may cancel are no better than float32 leaves them: NOISE of what is summed up. What
    may be off before a link is off after it by as much as the link makes of it: the larger of
    the steps that its result takes at both ends of the range.
    """
    head, *links = case.parts
    results = _results(head, head.inputs)
    noise = _noise(head, head.inputs)
    exact = head.numbers == "exact"
    for link in links:
        (before,), given = results, noise[0]
        results = _results(link, _link_inputs(link, before))
        found = _noise(link, _link_inputs(link, before))[0]
        if not exact:
            off = LIMIT * last_places(before) + (0.0 if given is None else given)
            moved = _result_shift(link, before, off, results[0])
            found = moved if found is None else moved + found
        noise = (found,)
        exact = exact and link.numbers == "exact"
    return results, noise


def _link_inputs(link: SampledNode, before: NDArray[Any]) -> Sequence[NDArray[Any] | None]:
    shapes = [None if facts is None else facts.shape for facts in link.step.node.inputs]
    return [
        before.reshape(shapes[at] or ()) if at in link.chained else array
        for at, array in enumerate(link.inputs)
    ]


def _result_shift(
    link: SampledNode, before: NDArray[Any], off: NDArray[np.float64], result: NDArray[Any]
) -> NDArray[np.float64]:
    """Movement of a link's result when its input moves by `off`."""
    middle = result.astype(np.float64)
    moved = np.zeros(middle.shape)
    with np.errstate(all="ignore"):
        for end in (before.astype(np.float64) - off, before.astype(np.float64) + off):
            (other,) = _results(link, _link_inputs(link, end.astype(before.dtype)))
            distance = np.abs(other.astype(np.float64) - middle)
            moved = np.maximum(moved, np.nan_to_num(distance, posinf=0.0))
    return moved


def _noise(
    part: SampledNode, inputs: Sequence[NDArray[Any] | None]
) -> tuple[NDArray[np.float64] | None, ...]:
    node = part.step.node
    if part.numbers != "sums":
        return (None,) * len(node.outputs)
    magnitudes = [
        np.abs(array) if array is not None and facts is not None and facts.dtype.is_float else array
        for array, facts in zip(inputs, node.inputs, strict=True)
    ]
    return tuple(NOISE * np.abs(each.astype(np.float64)) for each in _results(part, magnitudes))


def _results(part: SampledNode, inputs: Sequence[NDArray[Any] | None]) -> Arrays:
    kernel, node = part.step.kernel, part.step.node
    carriers = tuple(
        None if array is None or facts is None else to_carrier(array, facts.dtype)
        for array, facts in zip(inputs, node.inputs, strict=True)
    )
    outputs = tuple(np.zeros(each.shape, carrier_dtype(each.dtype)) for each in node.outputs)
    with np.errstate(all="ignore"):
        if any(output.size for output in outputs):
            kernel.run(Call(node, carriers, outputs))
            for each, output in zip(node.outputs, outputs, strict=True):
                if kernel.rounding is Rounding.BOUNDARY and is_rounded(each.dtype):
                    round_to_grid(output, each.dtype, output)
        return tuple(
            from_carrier(output, each.dtype)
            for output, each in zip(outputs, node.outputs, strict=True)
        )
