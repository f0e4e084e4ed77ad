"""Nodes that pad, cut, join, reshape, resize and make tensors."""

from typing import Any

from tests.fuzz.drafts import Draft
from tests.fuzz.forms.registry import ANY, FLOATS, any_axis, any_shape, form, like, maybe, near


@form("Pad")
def _pad(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft)
    count = 2 * near(draft, len(shape), 1) if rng.random() < 0.1 else 2 * len(shape)
    pads = [rng.choice((0, 0, 0, 1, 1, 2, 3, 7, -1, -2)) for _ in range(count)]
    mode = maybe(draft, 0.6, rng.choice(("constant", "reflect", "reflect", "edge", "wrap")))
    x = draft.fed(shape, rng.choice(ANY))
    if draft.opset < 11:
        draft.node(op, [x], mode=mode, pads=pads)
        return
    inputs = [x, draft.list_of(pads)]
    if rng.random() < 0.3:
        inputs.append(draft.const(rng.choice((0, 1, 2.5)), "float32"))
    draft.node(op, inputs, mode=mode)


@form("Slice")
def _slice(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft, least=0)
    axes = rng.sample(range(len(shape)), rng.randint(1, len(shape)))
    starts = [rng.choice((0, 0, 1, 2, -1, -3, 9, -9)) for _ in axes]
    ends = [rng.choice((1, 2, 3, 5, -1, -2, 99, 2**31 - 1, 2**63 - 1, -(2**31))) for _ in axes]
    axes = [axis - len(shape) if rng.random() < 0.3 else axis for axis in axes]
    x = draft.fed(shape, rng.choice(ANY))
    if draft.opset < 10:
        draft.node(op, [x], starts=starts, ends=ends, axes=maybe(draft, 0.8, axes))
        return
    inputs = [x, draft.list_of(starts), draft.list_of(ends)]
    if rng.random() < 0.8:
        inputs.append(draft.list_of(axes))
        if rng.random() < 0.5:
            inputs.append(draft.list_of([rng.choice((1, 1, 2, -1, -2, 0)) for _ in axes]))
    draft.node(op, inputs)


@form("Split")
def _split(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft)
    axis, count = any_axis(draft, len(shape)), rng.choice((1, 2, 2, 3))
    dim = shape[axis] if -len(shape) <= axis < len(shape) else 1
    sizes = [dim // count] * count
    sizes[-1] += near(draft, dim - sum(sizes))
    x = draft.fed(shape, rng.choice(ANY))
    given = rng.random() < 0.6
    if draft.opset < 13:
        draft.node(op, [x], count, axis=axis, split=sizes if given else None)
    else:
        parts = count if draft.opset >= 18 and not given else None
        draft.node(
            op, [x, draft.list_of(sizes)] if given else [x], count, axis=axis, num_outputs=parts
        )


@form("Concat")
def _concat(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape, dtype = any_shape(draft), rng.choice(ANY)
    axis = any_axis(draft, len(shape))
    parts: list[str] = []
    for _ in range(rng.choice((1, 2, 2, 3))):
        part = [near(draft, dim) if rng.random() < 0.05 else dim for dim in shape]
        part[axis % len(part)] = rng.choice((0, 1, 2, 3))
        parts.append(draft.tensor(part, dtype) if parts else draft.fed(part, dtype))
    draft.node(op, parts, axis=axis)


@form("Reshape", "Expand", "Tile")
def _by_shape(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = any_shape(draft, least=0)
    count = 1
    for dim in shape:
        count *= dim
    x = draft.fed(shape, rng.choice(ANY))
    if op == "Reshape":
        target = rng.choice(([-1], [count], [0, -1], [1, *shape], [*shape[::-1]], [2, -1], shape))
    elif op == "Expand":
        target = [dim if dim != 1 else rng.choice((1, 2, 3)) for dim in shape]
        target = rng.choice((target, [2, *target], target[1:], like(draft, target)))
    else:
        target = [rng.choice((0, 1, 1, 2, 3)) for _ in range(near(draft, len(shape)))]
    draft.node(op, [x, draft.list_of(target)])


@form("Transpose", "Squeeze", "Unsqueeze", "Flatten", "DepthToSpace", "SpaceToDepth")
def _views(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape, dtype = any_shape(draft, least=0), rng.choice(ANY)
    axes = [any_axis(draft, len(shape)) for _ in range(rng.choice((1, 1, 2)))]
    attributes: dict[str, Any] = {}
    inputs: list[str] = []
    if op == "Transpose":
        order = list(range(len(shape)))
        rng.shuffle(order)
        attributes["perm"] = maybe(draft, 0.8, order)
    elif op == "Flatten":
        attributes["axis"] = maybe(draft, 0.7, rng.randint(-len(shape), len(shape)))
    elif op in {"Squeeze", "Unsqueeze"}:
        if op == "Squeeze":
            shape = [
                1 if at in {axis % len(shape) for axis in axes} else e for at, e in enumerate(shape)
            ]
        if draft.opset < 13:
            attributes["axes"] = axes
        else:
            inputs = [draft.list_of(axes)]
    else:
        shape = [rng.choice((1, 2)), rng.choice((4, 8, 9, 3)), rng.choice((2, 4, 3)), 4]
        attributes["blocksize"] = rng.choice((1, 2, 2, 3))
        if op == "DepthToSpace" and draft.opset >= 11:
            attributes["mode"] = maybe(draft, 0.5, rng.choice(("DCR", "CRD")))
    draft.node(op, [draft.fed(shape, dtype), *inputs], **attributes)


@form("Resize")
def _resize(draft: Draft, op: str) -> None:
    rng = draft.rng
    rank = rng.choice((4, 4, 4, 3, 2, 5))
    shape = any_shape(draft, rank)
    free = [at >= rank - 2 for at in range(rank)]
    scales = [rng.choice((0.5, 1.0, 2.0, 1.5, 3.0, 0.3)) if each else 1.0 for each in free]
    sizes = [rng.choice((1, 2, 5, 8)) if each else e for each, e in zip(free, shape, strict=True)]
    mode = rng.choice(("nearest", "nearest", "linear", "cubic"))
    x = draft.fed(shape, rng.choice(FLOATS))
    if draft.opset < 11:
        draft.node(op, [x, draft.const(scales, "float32")], mode=mode)
        return
    coordinates = (
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_half_pixel_for_nn",
        "tf_crop_and_resize",
    )
    chosen = rng.choice(coordinates)
    count = 2 * rank if chosen == "tf_crop_and_resize" else 0
    roi = draft.const([0.0] * (count // 2) + [1.0] * (count - count // 2), "float32")
    inputs = [x, roi if rng.random() < 0.9 or draft.opset < 13 else ""]
    if rng.random() < 0.5:
        inputs.append(draft.const(scales[: near(draft, rank)], "float32"))
    else:
        inputs += [draft.const([], "float32"), draft.list_of(sizes)]
    rounding = rng.choice(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    draft.node(
        op,
        inputs,
        mode=mode,
        coordinate_transformation_mode=maybe(draft, 0.7, chosen) or (chosen if count else None),
        nearest_mode=maybe(draft, 0.4, rounding) if mode == "nearest" else None,
    )


@form("Range", "ConstantOfShape", "RandomUniform", "Multinomial")
def _made(draft: Draft, op: str) -> None:
    rng = draft.rng
    dtype = rng.choice(("float32", "int32", "int64", "float64"))
    if op == "Range":
        inputs = [
            draft.fed([], dtype) if rng.random() < 0.3 else draft.const(v, dtype) for v in (0, 5)
        ]
        draft.node(op, [*inputs, draft.const(rng.choice((1, 2, -1, 0)), dtype)])
    elif op == "ConstantOfShape":
        draft.node(op, [draft.fed([rng.choice((0, 1, 2))], "int64")])
    elif op == "RandomUniform":
        draft.node(op, [], shape=any_shape(draft, None, 0), high=maybe(draft, 0.5, 2.0))
    else:
        x = draft.fed(any_shape(draft, rng.choice((2, 2, 2, 1))), rng.choice(FLOATS))
        draft.node(op, [x], sample_size=maybe(draft, 0.5, rng.choice((0, 1, 3))))
