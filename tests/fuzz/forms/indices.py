"""Nodes that pick, place or mark elements by index."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.fuzz.drafts import Draft
from tests.fuzz.forms.registry import ANY, FLOATS, any_axis, any_shape, form, like, maybe, near


def _indices(draft: Draft, shape: Sequence[int], limit: int) -> str:
    """Return indices into axes of `limit`, now and then one out of range; or computed ones."""
    rng = draft.rng
    dtype = rng.choice(("int64", "int64", "int32"))
    if rng.random() < 0.2:
        return draft.fed(shape, dtype)
    count = 1
    for dim in shape:
        count *= dim
    values = [rng.randrange(-limit, limit) if limit else 0 for _ in range(count)]
    if values and rng.random() < 0.15:
        values[rng.randrange(count)] = rng.choice((limit, -limit - 1, 100))
    return draft.const(np.array(values).reshape(shape), dtype)


@form("Gather", "GatherElements", "GatherND", "ScatterND")
def _pick(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft)
    axis, dtype = any_axis(draft, len(shape)), rng.choice(ANY)
    data = draft.fed(shape, dtype)
    limit = shape[axis] if -len(shape) <= axis < len(shape) else 1
    if op == "Gather":
        draft.node(
            op, [data, _indices(draft, any_shape(draft, rng.randint(0, 2)), limit)], axis=axis
        )
    elif op == "GatherElements":
        draft.node(op, [data, _indices(draft, like(draft, shape), limit)], axis=axis)
    else:
        depth = near(draft, rng.randint(1, len(shape)))
        outer = any_shape(draft, rng.randint(0, 2))
        places = _indices(draft, [*outer, depth], min(shape[:depth] or [1]))
        if op == "GatherND":
            draft.node(op, [data, places], batch_dims=maybe(draft, 0.15, 1))
        else:
            updates = draft.tensor([*outer, *[near(draft, e) for e in shape[depth:]]], dtype)
            draft.node(op, [data, places, updates])


@form("OneHot", "TopK", "CumSum", "ReverseSequence")
def _along(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft, rng.choice((1, 2, 2, 3)))
    axis = any_axis(draft, len(shape))
    limit = shape[axis] if -len(shape) <= axis < len(shape) else 1
    dtype = rng.choice(ANY)
    if op == "OneHot":
        values = draft.tensor([near(draft, 2)], rng.choice(FLOATS))
        depth = draft.list_of([near(draft, 3)])
        draft.node(op, [_indices(draft, shape, 3), depth, values], axis=maybe(draft, 0.5, axis))
    elif op == "TopK":
        count = draft.list_of([near(draft, rng.randint(0, limit))])
        x = draft.fed(shape, dtype)
        chosen: dict[str, Any] = {"axis": maybe(draft, 0.6, axis)}
        if draft.opset >= 11:
            chosen["largest"] = maybe(draft, 0.3, 0)
        draft.node(op, [x, count] if draft.opset >= 10 else [x], 2, **chosen)
    elif op == "CumSum":
        flags = {name: maybe(draft, 0.3, 1) for name in ("exclusive", "reverse")}
        whole = rng.choice(("int32", "int64"))
        where = draft.list_of([axis], whole) if rng.random() < 0.1 else draft.const(axis, whole)
        draft.node(op, [draft.fed(shape, dtype), where], **flags)
    else:
        lengths = draft.tensor([near(draft, shape[1] if len(shape) > 1 else 1)], "int64")
        turned = {"batch_axis": 0, "time_axis": 1}
        axes: dict[str, Any] = rng.choice(({}, turned, {"batch_axis": axis}))
        draft.node(op, [draft.fed(shape, dtype), lengths], **axes)


@form("NonMaxSuppression")
def _suppression(draft: Draft, op: str) -> None:
    rng = draft.rng
    images, boxes = rng.choice((1, 2)), rng.choice((0, 1, 6))
    inputs = [
        draft.fed([images, boxes, near(draft, 4)]),
        draft.fed([near(draft, images), rng.choice((1, 3)), near(draft, boxes)]),
    ]
    for value, dtype in ((3, "int64"), (0.5, "float32"), (0.1, "float32")):
        if rng.random() < 0.6:
            inputs.append(draft.const([value], dtype))
        else:
            break
    draft.node(op, inputs, center_point_box=maybe(draft, 0.3, 1))
