"""What the operators that ONNX does not define become; detection among them is in `extraction`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.kernels.matmul import matmul
from atc_py.device.sim.typing_rules import (
    broadcast,
    broadcast_dims,
    one_dtype,
    require_float,
    require_rank,
)
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Array = NDArray[Any]


_AT_ONCE = 1 << 20
"""Elements of a block of windows."""


# Arithmetic -------------------------------------------------------------------------------------


@kernel("Addcmul", broadcast, in_place=True)
def addcmul(call: Call) -> None:
    """Compute `y = input_data + x1 * x2 * value`, rounded once; integers wrap around."""
    product = np.multiply(call.input(1), call.input(2))
    np.add(call.x, np.multiply(product, call.input(3)), out=call.out)


def _batch_matmul_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """[..., m, k] by [..., k, n], after the transpositions that the attributes ask for."""
    one_dtype(node.present)
    left, right = (
        (*facts.shape[:-2], *facts.shape[:-3:-1]) if node.flag(name) else facts.shape
        for facts, name in ((node.x, "adj_x1"), (node.required(1), "adj_x2"))
    )
    if min(len(left), len(right)) < 2:  # noqa: PLR2004  (matrices)
        text = Text("matrices are needed, found {found} and {other}")
        raise NodeError(text.with_values(found=node.x, other=node.required(1)))
    if left[-1] != right[-2]:
        text = Text("inner dims must be equal, found {found} and {other}")
        raise NodeError(text.with_values(found=left[-1], other=right[-2]))
    stack = broadcast_dims(left[:-2], right[:-2])
    return (TensorFacts(node.x.dtype, (*stack, left[-2], right[-1])),)


@kernel("BatchMatMul", _batch_matmul_types)
def batch_matmul_of_any_dtype(call: Call) -> None:
    """Compute the same as BatchMatMulV2; integers wrap around."""
    matmul(call)()


# Windows ----------------------------------------------------------------------------------------


def _adaptive_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x = node.x
    require_float(x)
    require_rank(x, 4, "x")
    size = node.integers("output_size", 2)
    if min(size) < 1 or 0 in x.shape[2:]:
        raise NodeError(Text("{x} cannot be pooled to {size}", x=x, size=list(size)))
    shape = (*x.shape[:2], *size)
    return (TensorFacts(x.dtype, shape), TensorFacts(DType.INT32, shape))


@kernel("AdaptiveMaxPool2d", _adaptive_types)
def adaptive_max_pool(call: Call) -> None:
    """Find the largest element of each window, and its place among those of its plane.

    Window i of n has the rows floor(i * height / n) to ceil((i + 1) * height / n), columns alike.
    All windows are taken as large as the largest; a smaller one repeats its last row or column,
    which never wins against itself.
    """
    height, width = call.x.shape[2:]
    rows, columns = (
        _window_places(dim, count)
        for dim, count in ((height, call.out.shape[2]), (width, call.out.shape[3]))
    )
    places = rows[:, None, :, None] * width + columns[None, :, None, :]
    places = places.reshape(len(rows), len(columns), -1)
    planes = call.x.reshape(-1, height * width)
    values, arguments = (output.reshape(len(planes), *places.shape[:2]) for output in call.outputs)
    taken = max(1, _AT_ONCE // places.size)
    for start in range(0, len(planes), taken):
        part = slice(start, start + taken)
        windows = planes[part, places]
        best = windows.argmax(axis=-1)[..., None]
        values[part] = np.take_along_axis(windows, best, axis=-1)[..., 0]
        everywhere = np.broadcast_to(places, windows.shape)
        arguments[part] = np.take_along_axis(everywhere, best, axis=-1)[..., 0]


def _window_places(dim: int, count: int) -> NDArray[np.int64]:
    window = np.arange(count)
    starts, stops = window * dim // count, -(-(window + 1) * dim // count)
    longest = int((stops - starts).max())
    places: NDArray[np.int64] = np.minimum(starts[:, None] + np.arange(longest), stops[:, None] - 1)
    return places


# Bags -------------------------------------------------------------------------------------------

_REDUCTIONS: dict[str, np.ufunc] = {"sum": np.add, "mean": np.add, "max": np.maximum}


def _bag_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """A row for each bag: of a matrix of indices, or of a list that offsets cut."""
    weight, indices, offsets = node.x, node.required(1), node.input(2)
    require_float(weight)
    require_rank(weight, 2, "weight")
    node.expect("padding_idx", -1)
    _check_bag_inputs(node)
    if len(node.outputs) > 1:
        raise NodeError(Text("only y can be an output on this device"))
    if offsets is None:
        return (TensorFacts(weight.dtype, (indices.shape[0], weight.shape[1])),)
    bags = offsets.elements - node.flag("include_last_offset")
    if bags < 0:
        raise NodeError(Text("offsets must include the last offset, found none"))
    return (TensorFacts(weight.dtype, (bags, weight.shape[1])),)


def _check_bag_inputs(node: NodeView) -> None:
    indices, offsets, factors = node.required(1), node.input(2), node.input(3)
    require_rank(indices, 2 if offsets is None else 1, "indices")
    if offsets is not None:
        require_rank(offsets, 1, "offsets")
    if node.text("mode") not in _REDUCTIONS:
        known = ", ".join(_REDUCTIONS)
        text = Text("mode must be one of {known}, found {found}")
        raise NodeError(text.with_values(known=known, found=repr(node.text("mode"))))
    if factors is not None and (factors.shape != indices.shape or node.text("mode") != "sum"):
        text = Text(
            "per_sample_weights go with mode sum and have the shape of indices, found {found}"
        )
        raise NodeError(text.with_values(found=factors))


@kernel("EmbeddingBag", _bag_types)
def embedding_bag(call: Call) -> None:
    """Reduce rows of the table over each bag to the sum, the mean or the largest."""
    table, indices, mode = call.x, call.input(1).reshape(-1), call.node.text("mode")
    bounds = _bag_bounds(call, len(indices))
    used = indices[: bounds[-1]]
    if np.any((used < 0) | (used >= len(table))):
        text = Text("indices must be in [0, {last}], found {found}")
        raise ValueError(text.with_values(last=len(table) - 1, found=used.tolist()))
    rows = table[used]
    factors = call.optional(3)
    if factors is not None:
        rows *= factors.reshape(-1)[: len(used), None]
    counts = np.diff(bounds)
    filled = counts > 0
    call.out.fill(0)
    if filled.any():
        reduced = _REDUCTIONS[mode].reduceat(rows, bounds[:-1][filled], axis=0)
        call.out[filled] = reduced / counts[filled, None] if mode == "mean" else reduced


def _bag_bounds(call: Call, total: int) -> NDArray[np.int64]:
    offsets, count = call.optional(2), len(call.out)
    if offsets is None:
        return np.arange(count + 1) * (total // max(count, 1))
    bounds = offsets.astype(np.int64)
    if not call.node.flag("include_last_offset"):
        bounds = np.append(bounds, total)
    if bounds[0] != 0 or bounds[-1] > total or np.any(np.diff(bounds) < 0):
        text = Text("offsets must rise from 0 to at most {total}, found {found}")
        raise ValueError(text.with_values(total=total, found=offsets.tolist()))
    return bounds
