"""Nodes of operators that newer lists have, and what opsets 14 to 18 add to others."""

import numpy as np

from tests.fuzz.drafts import Draft
from tests.fuzz.forms.registry import (
    ANY,
    FLOATS,
    any_axis,
    any_shape,
    maybe,
    near,
    newer_form,
)

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@newer_form("LayerNormalization", "InstanceNormalization", "GlobalLpPool", "BatchNormalization")
def _norms(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape, dtype = any_shape(draft, rng.choice((2, 3, 4, 4, 5))), rng.choice(FLOATS)
    x = draft.fed(shape, dtype)
    if op == "GlobalLpPool":
        draft.node(op, [x], p=maybe(draft, 0.7, rng.choice((1, 2, 3, 0))))
    elif op == "LayerNormalization":
        axis = any_axis(draft, len(shape))
        inner = shape[axis:] if -len(shape) <= axis < len(shape) else shape[-1:]
        inner = [near(draft, dim, 1) for dim in inner] if rng.random() < 0.1 else inner
        inputs = [x, draft.tensor(inner, dtype)]
        inputs += [draft.tensor(inner, dtype)] if rng.random() < 0.7 else []
        draft.node(op, inputs, rng.choice((1, 1, 1, 3)), axis=axis)
    elif op == "InstanceNormalization":
        lists = [draft.tensor([near(draft, shape[1], 1)], dtype) for _ in range(2)]
        draft.node(op, [x, *lists], epsilon=maybe(draft, 0.5, 1e-3))
    else:
        other = rng.choice(FLOATS) if rng.random() < 0.2 else dtype
        lists = [draft.weights([shape[1]], dtype), draft.weights([shape[1]], dtype)]
        lists += [draft.weights([shape[1]], other), draft.weights([shape[1]], other)]
        draft.node(op, [x, *lists], training_mode=maybe(draft, 0.4, rng.choice((0, 0, 1))))


@newer_form("ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum")
def _reduced(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft, least=0)
    x = draft.fed(shape, rng.choice((*FLOATS, *_INTEGERS)))
    axes = [any_axis(draft, len(shape)) for _ in range(rng.choice((0, 0, 1, 2)))]
    attributes = {"keepdims": maybe(draft, 0.5, rng.choice((0, 1)))}
    first = 13 if op == "ReduceSum" else 18
    if draft.opset < first:
        draft.node(op, [x], axes=axes or None, **attributes)
        return
    attributes["noop_with_empty_axes"] = maybe(draft, 0.4, rng.choice((0, 1)))
    inputs = [x, draft.list_of(axes)] if axes or rng.random() < 0.5 else [x]
    draft.node(op, inputs, **attributes)


@newer_form("Shape", "Reshape", "Pad", "Split")
def _shapes(draft: Draft, op: str) -> None:
    rng, shape = draft.rng, any_shape(draft, least=0)
    x = draft.fed(shape, rng.choice(ANY))
    if op == "Shape":
        ends = {name: maybe(draft, 0.6, rng.randint(-6, 6)) for name in ("start", "end")}
        draft.node(op, [x], **(ends if draft.opset >= 15 else {}))
    elif op == "Reshape":
        target = rng.choice((shape, [0, -1], shape[::-1], [*shape, 1], [0, *shape]))
        allows = maybe(draft, 0.7, rng.choice((0, 1))) if draft.opset >= 14 else None
        draft.node(op, [x, draft.list_of(target)], allowzero=allows)
    elif op == "Pad":
        axes = rng.sample(range(len(shape)), rng.randint(1, len(shape)))
        pads = [rng.choice((0, 1, 2)) for _ in range(2 * len(axes))]
        whole = [0, 1] * len(shape)
        named = draft.opset >= 18 and rng.random() < 0.3
        inputs = [x, draft.list_of(pads), "", draft.list_of(axes)]
        draft.node(op, inputs if named else [x, draft.list_of(whole)])
    else:
        count, axis = rng.choice((1, 2, 3, 4)), any_axis(draft, len(shape))
        counted = count if draft.opset >= 18 else None
        draft.node(op, [x], count, axis=axis, num_outputs=counted)


@newer_form("Scatter", "ScatterElements", "Compress", "MaxUnpool")
def _placed(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft, rng.choice((4, 4, 4, 3)) if op == "MaxUnpool" else None)
    dtype = rng.choice((*FLOATS, "int32", "int64"))
    x, axis = draft.fed(shape, dtype), any_axis(draft, len(shape))
    if op == "Compress":
        length = shape[axis] if -len(shape) <= axis < len(shape) else 1
        chosen = draft.tensor([near(draft, length, 1)], "bool")
        draft.node(op, [x, chosen], axis=maybe(draft, 0.7, axis))
        return
    if op == "MaxUnpool":
        window = {"kernel_shape": [2, 2], "strides": maybe(draft, 0.8, [2, 2])}
        draft.node(op, [x, draft.fed(shape, "int64")], **window)
        return
    part = [max(1, near(draft, dim)) for dim in shape] if rng.random() < 0.2 else shape
    count = int(np.prod(part))
    indices = np.array([rng.choice((0, 0, -1)) for _ in range(count)]).reshape(part)
    places = draft.const(indices) if rng.random() < 0.7 else draft.fed(part, "int64")
    reduction = maybe(draft, 0.2, "add") if draft.opset >= 16 and op != "Scatter" else None
    inputs = [x, places, draft.fed(part, dtype)]
    draft.node(op, inputs, axis=maybe(draft, 0.8, axis), reduction=reduction)


@newer_form("Einsum", "GridSample", "SoftmaxCrossEntropyLoss", "LpPool")
def _others(draft: Draft, op: str) -> None:
    rng, dtype = draft.rng, draft.rng.choice(FLOATS)
    if op == "Einsum":
        a, b, c, d = (rng.choice((1, 2, 3, 4)) for _ in "abcd")
        equation, left, right = rng.choice((
            ("abc,cd->abd", [a, b, c], [c, d]), ("abc,dc->abd", [a, b, c], [d, c]),
            ("abcd,aecd->acbe", [a, b, c, d], [a, b, c, d]), ("ij,jk->ik", [a, b], [b, c]),
            ("abc,abd->dc", [a, b, c], [a, b, d]),
        ))  # fmt: skip
        draft.node(op, [draft.fed(left, dtype), draft.tensor(right, dtype)], equation=equation)
    elif op == "GridSample":
        x, grid = draft.fed([2, 3, 4, 5], dtype), draft.fed([2, near(draft, 3, 1), 2, 2], dtype)
        mode = maybe(draft, 0.6, rng.choice(("bilinear", "nearest", "bicubic")))
        padding = maybe(draft, 0.6, rng.choice(("zeros", "border", "reflection")))
        draft.node(op, [x, grid], mode=mode, padding_mode=padding)
    elif op == "LpPool":
        x = draft.fed(any_shape(draft, rng.choice((3, 4, 4, 5))), dtype)
        window = rng.choice(([1, 1], [2, 2], [3, 1], [2]))
        pads = maybe(draft, 0.4, [0, 1] * len(window))
        draft.node(op, [x], kernel_shape=window, p=maybe(draft, 0.5, 2), pads=pads)
    else:
        scores = any_shape(draft, rng.choice((2, 3)))
        labels = draft.fed([near(draft, scores[0], 1), *scores[2:]], rng.choice(("int32", "int64")))
        inputs = [draft.fed(scores, dtype), labels]
        inputs += [draft.tensor([near(draft, scores[1], 1)], dtype)] if rng.random() < 0.3 else []
        reduction = maybe(draft, 0.7, rng.choice(("none", "sum", "mean")))
        ignored = maybe(draft, 0.3, rng.choice((-1, 0)))
        draft.node(op, inputs, rng.choice((1, 2)), reduction=reduction, ignore_index=ignored)
