"""Exact products of int8 matrices, computed by BLAS in float32.

A float32 holds every integer up to 2^24 in magnitude. As long as the magnitudes of the terms of a
sum add up to no more, each partial sum in whatever order is such an integer, so nothing is ever
rounded. Longer sums are cut into parts that keep to this; the parts become int32 and are added as
int32. int8 reaches from -128 to 127, so a part has 1024 terms at least where both factors are
int8, and 258 where both are differences of two int8. Measured, cut products take no longer than
whole ones in float32, and half as long as products in float64.

A sum beyond int32 wraps around in two's complement, as additions of int32 do. What the cube does
there is not documented; fewer than 2^17 products of int8 cannot get there without a bias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atc_py.device.sim.kernel import Call, Workspace

__all__ = ["DIFFERENCE", "INT8", "exact_matmul", "exact_terms", "widened", "widened_weights"]

INT8 = 128
"""The largest magnitude of an int8."""

DIFFERENCE = 255
"""The largest magnitude of a difference of two int8."""

_EXACT = 1 << 24
"""The magnitude up to which float32 holds all integers."""

_WIDENED_AT_ONCE = 128 * 1024
"""Elements below which widening is not worth sharing."""


def exact_terms(left: int, right: int) -> int:
    """How many products of factors up to these magnitudes float32 adds up without rounding."""
    return _EXACT // (left * right)


def widened(
    call: Call, name: str, source: NDArray[Any], minus: NDArray[Any] | None = None
) -> NDArray[np.float32]:
    """`source`, or `source` - `minus`, in float32, done on all workers.

    Args:
        call: for workspace, where the result lies under `name`, and workers.
        name: what the workspace calls it.
        source: int8 in C order.
        minus: int8 that broadcasts to the shape of `source`.
    """
    target = call.workspace.take(name, source.shape, np.float32)
    _widen(call, source, target, minus)
    return target


def widened_weights(
    call: Call, source: NDArray[Any], minus: NDArray[Any] | None = None
) -> NDArray[np.float32]:
    """As `widened`, but kept for as long as `source` lives if that is a constant of the model.

    Constants are what can only be read. Their float32 forms take as much memory as the carriers
    of float16 constants do.
    """
    if minus is not None or source.flags.writeable:
        return widened(call, "weights", source, minus)
    key = id(source)
    known = _KEPT.get(key)
    if known is not None and known[0]() is source:
        return known[1]
    floats = np.empty(source.shape, np.float32)
    _widen(call, source, floats, None)
    _KEPT[key] = ref(source, lambda _: _KEPT.pop(key, None)), floats
    return floats


_KEPT: dict[int, tuple[ref[NDArray[Any]], NDArray[np.float32]]] = {}
"""Constants by identity: themselves, and in float32."""


def _widen(
    call: Call, source: NDArray[Any], target: NDArray[np.float32], minus: NDArray[Any] | None
) -> None:
    """Fill `target` with `source` less `minus`."""
    if minus is not None:
        np.subtract(source, minus.astype(np.float32), out=target)
        return
    given, flat = source.reshape(-1), target.reshape(-1)

    def part(start: int, stop: int) -> None:
        np.copyto(flat[start:stop], given[start:stop])

    call.workers.split(flat.size, part, least=_WIDENED_AT_ONCE)


def exact_matmul(
    left: NDArray[Any],
    right: NDArray[Any],
    out: NDArray[np.int32],
    terms: int,
    workspace: Workspace,
) -> None:
    """Fill `out` with `left` @ `right`, exactly and modulo 2^32.

    Args:
        left: [..., m, k] of integers in float32.
        right: [..., k, n], likewise.
        out: [..., m, n].
        terms: how many products float32 adds up exactly, see `exact_terms`.
        workspace: for the products of parts of k.
    """
    product = workspace.take("product", out.shape, np.float32)
    np.matmul(left[..., :terms], right[..., :terms, :], out=product)
    np.copyto(out, product, casting="unsafe")
    if left.shape[-1] <= terms:
        return
    integers = workspace.take("integers", out.shape, np.int32)
    for start in range(terms, left.shape[-1], terms):
        some = slice(start, start + terms)
        np.matmul(left[..., some], right[..., some, :], out=product)
        np.copyto(integers, product, casting="unsafe")
        np.add(out, integers, out=out)
