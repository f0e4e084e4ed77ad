"""Models of one node whose geometry nearly fits: windows, pads, indices, axes, sizes at random.

`FORMS` holds them by operator. Each puts a node into a draft that often is sound, and otherwise
misses by little.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    import onnx

from tests.fuzz.drafts import Draft

__all__ = ["FORMS", "random_form"]

FORMS: dict[str, Callable[[Draft], None]] = {}

_OPSETS = (8, 9, 10, 11, 11, 12, 13, 13, 13, 14, 16, 18)
_FLOATS = ("float32", "float32", "float32", "float16", "float64")
_ANY = (*_FLOATS, "int32", "int64", "int8", "uint8", "bool")


def random_form(rng: random.Random) -> onnx.ModelProto:
    """A model of one of FORMS."""
    draft = Draft(rng, rng.choice(_OPSETS))
    FORMS[rng.choice(sorted(FORMS))](draft)
    return draft.model()


def _named(function: Callable[..., None], name: str, draft: Draft) -> None:
    """Draft a node of the operator `name`."""
    function(draft, name)


def form(*operators: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register the function that drafts nodes of some operators, which it takes by name."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        for operator in operators:
            assert operator not in FORMS, operator
            FORMS[operator] = partial(_named, function, operator)
        return function

    return register


def _shape(draft: Draft, rank: int | None = None, least: int = 1) -> list[int]:
    """A small shape."""
    rank = draft.rng.choice((1, 2, 3, 3, 4, 4, 5)) if rank is None else rank
    return [draft.rng.choice((least, 1, 2, 3, 4, 5, 7)) for _ in range(rank)]


def _near(draft: Draft, number: int, least: int = 0) -> int:
    """A number, now and then one that is off by little."""
    off = draft.rng.choice((0, 0, 0, 0, 0, 0, 0, 0, -1, 1))
    return max(least, number + off)


def _axis(draft: Draft, rank: int) -> int:
    """An axis, now and then one out of range."""
    if draft.rng.random() < 0.05:
        return draft.rng.choice((rank, -rank - 1))
    return draft.rng.randrange(-rank, rank) if rank else 0


def _maybe(draft: Draft, share: float, value: Any) -> Any:
    """A value or, as often as not, None."""
    return value if draft.rng.random() < share else None


def _like(draft: Draft, shape: Sequence[int]) -> list[int]:
    """A shape that broadcasts against another, mostly."""
    rng = draft.rng
    kept = [extent if rng.random() < 0.7 else 1 for extent in shape]
    kept = kept[rng.choice((0, 0, 0, min(1, len(kept)))) :]
    return [_near(draft, extent) if rng.random() < 0.1 else extent for extent in kept]


# Windows ----------------------------------------------------------------------------------------


def _window(draft: Draft) -> dict[str, Any]:
    """Strides, pads and auto_pad."""
    rng = draft.rng
    attributes: dict[str, Any] = {
        "strides": _maybe(draft, 0.6, [rng.choice((1, 1, 2, 3, 5, 64)) for _ in range(2)]),
        "pads": _maybe(draft, 0.5, [rng.choice((0, 0, 0, 1, 1, 2, 5)) for _ in range(4)]),
    }
    if rng.random() < 0.25:
        attributes["auto_pad"] = rng.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
        attributes["pads"] = None
    return attributes


@form("Conv", "ConvTranspose")
def _convolution(draft: Draft, op: str) -> None:
    rng = draft.rng
    group = rng.choice((1, 1, 1, 2, 3))
    each, out = rng.choice((1, 2, 3, 16)), rng.choice((1, 2, 4))
    kernel = [rng.choice((1, 2, 3, 3, 5, 7)) for _ in range(2)]
    dtype = rng.choice(_FLOATS)
    x = draft.fed([rng.choice((1, 2)), _near(draft, each * group, 1), *_shape(draft, 2)], dtype)
    filters = (out * group, each) if op == "Conv" else (each * group, out)
    inputs = [x, draft.tensor([*filters, *kernel], dtype)]
    if rng.random() < 0.4:
        inputs.append(draft.tensor([_near(draft, out * group, 1)], dtype))
    attributes = _window(draft)
    attributes["group"] = group if group > 1 else None
    attributes["dilations"] = _maybe(draft, 0.2, [rng.choice((1, 1, 2)) for _ in range(2)])
    attributes["kernel_shape"] = _maybe(draft, 0.4, kernel)
    if op == "ConvTranspose":
        attributes["output_padding"] = _maybe(draft, 0.2, [rng.choice((0, 1, 2)) for _ in "hw"])
        attributes["output_shape"] = _maybe(draft, 0.15, [rng.randint(1, 12) for _ in "hw"])
    draft.node(op, inputs, **attributes)


@form("AveragePool", "MaxPool")
def _pool(draft: Draft, op: str) -> None:
    rng = draft.rng
    attributes = _window(draft)
    attributes["kernel_shape"] = [rng.choice((1, 2, 2, 3, 3, 4, 5, 8, 16, 256)) for _ in "hw"]
    if draft.opset >= 10:
        attributes["ceil_mode"] = _maybe(draft, 0.4, 1)
        if op == "MaxPool":
            attributes["dilations"] = _maybe(draft, 0.1, [1, rng.choice((1, 2))])
    if op == "AveragePool":
        attributes["count_include_pad"] = _maybe(draft, 0.3, 1)
    rank = rng.choice((4, 4, 4, 4, 4, 3, 5))
    draft.node(op, [draft.fed(_shape(draft, rank), rng.choice(_FLOATS))], **attributes)


@form("GlobalAveragePool", "GlobalMaxPool", "MeanVarianceNormalization", "LpNormalization", "LRN")
def _over_maps(draft: Draft, op: str) -> None:
    rng = draft.rng
    attributes: dict[str, Any] = {}
    if op == "LRN":
        attributes = {"size": rng.choice((1, 2, 3, 5, 7))}
    if op == "LpNormalization":
        attributes = {"axis": _maybe(draft, 0.6, _axis(draft, 4)), "p": rng.choice((1, 2))}
    rank = rng.choice((4, 4, 4, 3))
    draft.node(op, [draft.fed(_shape(draft, rank, 0), rng.choice(_FLOATS))], **attributes)


@form("BatchNormalization")
def _batch_normalization(draft: Draft, op: str) -> None:
    dtype = draft.rng.choice(_FLOATS)
    shape = _shape(draft, draft.rng.choice((2, 3, 4, 4, 4, 5)))
    parts = [draft.tensor([_near(draft, shape[1], 1)], dtype) for _ in range(4)]
    draft.node(op, [draft.fed(shape, dtype), *parts], epsilon=_maybe(draft, 0.3, 1e-3))


@form("MaxRoiPool", "RoiAlign")
def _regions(draft: Draft, op: str) -> None:
    rng = draft.rng
    dtype = rng.choice(_FLOATS)
    count, columns = rng.choice((0, 1, 3)), 5 if op == "MaxRoiPool" else 4
    inputs = [
        draft.fed(_shape(draft, 4), dtype),
        draft.tensor([count, _near(draft, columns)], dtype),
    ]
    attributes: dict[str, Any] = {}
    if op == "RoiAlign":
        inputs.append(draft.tensor([_near(draft, count)], "int64"))
        attributes["mode"] = _maybe(draft, 0.3, rng.choice(("avg", "max")))
        attributes["output_height"] = _maybe(draft, 0.5, rng.choice((0, 1, 2)))
        attributes["sampling_ratio"] = _maybe(draft, 0.5, rng.choice((0, 1, 2)))
    else:
        attributes["pooled_shape"] = [rng.choice((1, 2, 3)) for _ in "hw"]
    draft.node(op, inputs, **attributes)


# Indices ----------------------------------------------------------------------------------------


def _indices(draft: Draft, shape: Sequence[int], limit: int) -> str:
    """Indices into axes of `limit`, now and then one out of range; or computed ones."""
    rng = draft.rng
    dtype = rng.choice(("int64", "int64", "int32"))
    if rng.random() < 0.2:
        return draft.fed(shape, dtype)
    count = 1
    for extent in shape:
        count *= extent
    values = [rng.randrange(-limit, limit) if limit else 0 for _ in range(count)]
    if values and rng.random() < 0.15:
        values[rng.randrange(count)] = rng.choice((limit, -limit - 1, 100))
    import numpy as np

    return draft.const(np.array(values).reshape(shape), dtype)


@form("Gather", "GatherElements", "GatherND", "ScatterND")
def _pick(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = _shape(draft)
    axis, dtype = _axis(draft, len(shape)), rng.choice(_ANY)
    data = draft.fed(shape, dtype)
    limit = shape[axis] if -len(shape) <= axis < len(shape) else 1
    if op == "Gather":
        draft.node(op, [data, _indices(draft, _shape(draft, rng.randint(0, 2)), limit)], axis=axis)
    elif op == "GatherElements":
        draft.node(op, [data, _indices(draft, _like(draft, shape), limit)], axis=axis)
    else:
        depth = _near(draft, rng.randint(1, len(shape)))
        outer = _shape(draft, rng.randint(0, 2))
        places = _indices(draft, [*outer, depth], min(shape[:depth] or [1]))
        if op == "GatherND":
            draft.node(op, [data, places], batch_dims=_maybe(draft, 0.15, 1))
        else:
            updates = draft.tensor([*outer, *[_near(draft, e) for e in shape[depth:]]], dtype)
            draft.node(op, [data, places, updates])


@form("OneHot", "TopK", "CumSum", "ReverseSequence")
def _along(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = _shape(draft, rng.choice((1, 2, 2, 3)))
    axis = _axis(draft, len(shape))
    limit = shape[axis] if -len(shape) <= axis < len(shape) else 1
    dtype = rng.choice(_ANY)
    if op == "OneHot":
        values = draft.tensor([_near(draft, 2)], rng.choice(_FLOATS))
        depth = draft.list_of([_near(draft, 3)])
        draft.node(op, [_indices(draft, shape, 3), depth, values], axis=_maybe(draft, 0.5, axis))
    elif op == "TopK":
        count = draft.list_of([_near(draft, rng.randint(0, limit))])
        x = draft.fed(shape, dtype)
        chosen: dict[str, Any] = {"axis": _maybe(draft, 0.6, axis)}
        if draft.opset >= 11:
            chosen["largest"] = _maybe(draft, 0.3, 0)
        draft.node(op, [x, count] if draft.opset >= 10 else [x], 2, **chosen)
    elif op == "CumSum":
        flags: dict[str, Any] = {name: _maybe(draft, 0.3, 1) for name in ("exclusive", "reverse")}
        whole = rng.choice(("int32", "int64"))
        where = draft.list_of([axis], whole) if rng.random() < 0.1 else draft.const(axis, whole)
        draft.node(op, [draft.fed(shape, dtype), where], **flags)
    else:
        lengths = draft.tensor([_near(draft, shape[1] if len(shape) > 1 else 1)], "int64")
        axes: dict[str, Any] = rng.choice(
            ({}, {"batch_axis": 0, "time_axis": 1}, {"batch_axis": axis})
        )
        draft.node(op, [draft.fed(shape, dtype), lengths], **axes)


@form("NonMaxSuppression")
def _suppression(draft: Draft, op: str) -> None:
    rng = draft.rng
    images, boxes = rng.choice((1, 2)), rng.choice((0, 1, 6))
    inputs = [
        draft.fed([images, boxes, _near(draft, 4)]),
        draft.fed([_near(draft, images), rng.choice((1, 3)), _near(draft, boxes)]),
    ]
    for value, dtype in ((3, "int64"), (0.5, "float32"), (0.1, "float32")):
        if rng.random() < 0.6:
            inputs.append(draft.const([value], dtype))
        else:
            break
    draft.node(op, inputs, center_point_box=_maybe(draft, 0.3, 1))


# Movement ---------------------------------------------------------------------------------------


@form("Pad")
def _pad(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = _shape(draft)
    count = 2 * _near(draft, len(shape), 1) if rng.random() < 0.1 else 2 * len(shape)
    pads = [rng.choice((0, 0, 0, 1, 1, 2, 3, 7, -1, -2)) for _ in range(count)]
    mode = _maybe(draft, 0.6, rng.choice(("constant", "reflect", "reflect", "edge", "wrap")))
    x = draft.fed(shape, rng.choice(_ANY))
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
    shape = _shape(draft, least=0)
    axes = rng.sample(range(len(shape)), rng.randint(1, len(shape)))
    starts = [rng.choice((0, 0, 1, 2, -1, -3, 9, -9)) for _ in axes]
    ends = [rng.choice((1, 2, 3, 5, -1, -2, 99, 2**31 - 1, 2**63 - 1, -(2**31))) for _ in axes]
    axes = [axis - len(shape) if rng.random() < 0.3 else axis for axis in axes]
    x = draft.fed(shape, rng.choice(_ANY))
    if draft.opset < 10:
        draft.node(op, [x], starts=starts, ends=ends, axes=_maybe(draft, 0.8, axes))
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
    shape = _shape(draft)
    axis, count = _axis(draft, len(shape)), rng.choice((1, 2, 2, 3))
    extent = shape[axis] if -len(shape) <= axis < len(shape) else 1
    sizes = [extent // count] * count
    sizes[-1] += _near(draft, extent - sum(sizes))
    x = draft.fed(shape, rng.choice(_ANY))
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
    shape, dtype = _shape(draft), rng.choice(_ANY)
    axis = _axis(draft, len(shape))
    parts: list[Any] = []
    for _ in range(rng.choice((1, 2, 2, 3))):
        part = [_near(draft, extent) if rng.random() < 0.05 else extent for extent in shape]
        part[axis % len(part)] = rng.choice((0, 1, 2, 3))
        parts.append(draft.tensor(part, dtype) if parts else draft.fed(part, dtype))
    draft.node(op, parts, axis=axis)


@form("Reshape", "Expand", "Tile")
def _by_shape(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = _shape(draft, least=0)
    count = 1
    for extent in shape:
        count *= extent
    x = draft.fed(shape, rng.choice(_ANY))
    if op == "Reshape":
        target = rng.choice(([-1], [count], [0, -1], [1, *shape], [*shape[::-1]], [2, -1], shape))
    elif op == "Expand":
        target = [extent if extent != 1 else rng.choice((1, 2, 3)) for extent in shape]
        target = rng.choice((target, [2, *target], target[1:], _like(draft, target)))
    else:
        target = [rng.choice((0, 1, 1, 2, 3)) for _ in range(_near(draft, len(shape)))]
    draft.node(op, [x, draft.list_of(target)])


@form("Transpose", "Squeeze", "Unsqueeze", "Flatten", "DepthToSpace", "SpaceToDepth")
def _views(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape, dtype = _shape(draft, least=0), rng.choice(_ANY)
    axes = [_axis(draft, len(shape)) for _ in range(rng.choice((1, 1, 2)))]
    attributes: dict[str, Any] = {}
    inputs: list[str] = []
    if op == "Transpose":
        order = list(range(len(shape)))
        rng.shuffle(order)
        attributes["perm"] = _maybe(draft, 0.8, order)
    elif op == "Flatten":
        attributes["axis"] = _maybe(draft, 0.7, rng.randint(-len(shape), len(shape)))
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
            attributes["mode"] = _maybe(draft, 0.5, rng.choice(("DCR", "CRD")))
    draft.node(op, [draft.fed(shape, dtype), *inputs], **attributes)


@form("Resize")
def _resize(draft: Draft, op: str) -> None:
    rng = draft.rng
    rank = rng.choice((4, 4, 4, 3, 2))
    shape = _shape(draft, rank)
    free = [at >= rank - 2 for at in range(rank)]
    scales = [rng.choice((0.5, 1.0, 2.0, 1.5, 3.0, 0.3)) if each else 1.0 for each in free]
    sizes = [rng.choice((1, 2, 5, 8)) if each else e for each, e in zip(free, shape, strict=True)]
    mode = rng.choice(("nearest", "nearest", "linear", "cubic"))
    x = draft.fed(shape, rng.choice(_FLOATS))
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
        inputs.append(draft.const(scales[: _near(draft, rank)], "float32"))
    else:
        inputs += [draft.const([], "float32"), draft.list_of(sizes)]
    rounding = rng.choice(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    draft.node(
        op,
        inputs,
        mode=mode,
        coordinate_transformation_mode=_maybe(draft, 0.7, chosen) or (chosen if count else None),
        nearest_mode=_maybe(draft, 0.4, rounding) if mode == "nearest" else None,
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
        draft.node(op, [], shape=_shape(draft, None, 0), high=_maybe(draft, 0.5, 2.0))
    else:
        x = draft.fed(_shape(draft, rng.choice((2, 2, 2, 1))), rng.choice(_FLOATS))
        draft.node(op, [x], sample_size=_maybe(draft, 0.5, rng.choice((0, 1, 3))))


# Arithmetic -------------------------------------------------------------------------------------


@form("Add", "Sub", "Mul", "Div", "Pow", "Mod", "PRelu", "Equal", "Less", "Greater", "And", "Or")
@form("Max", "Min", "Sum", "Mean", "GreaterOrEqual", "LessOrEqual")
def _broadcast(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = _shape(draft, least=0)
    dtype = "bool" if op in {"And", "Or"} else rng.choice(_ANY)
    others = [_like(draft, shape)]
    if op in {"Max", "Min", "Sum", "Mean"}:
        others = [_like(draft, shape) for _ in range(rng.choice((0, 1, 1, 2)))]
    names = [draft.fed(shape, dtype), *[draft.tensor(each, dtype) for each in others]]
    if op != "PRelu" and rng.random() < 0.3:
        names.reverse()
    draft.node(op, names, fmod=_maybe(draft, 0.4, 1) if op == "Mod" else None)


@form("Where")
def _where(draft: Draft, op: str) -> None:
    shape, dtype = _shape(draft, least=0), draft.rng.choice(_ANY)
    chosen = draft.fed(_like(draft, shape), "bool")
    draft.node(op, [chosen, draft.fed(shape, dtype), draft.tensor(_like(draft, shape), dtype)])


@form("MatMul", "Gemm", "BatchMatMul")
def _product(draft: Draft, op: str) -> None:
    rng = draft.rng
    m, k, n = (rng.choice((0, 1, 2, 3, 8)) for _ in range(3))
    dtype = rng.choice((*_FLOATS, "int32", "int8"))
    if op == "Gemm":
        turned = [rng.random() < 0.3 for _ in "ab"]
        a = [k, m] if turned[0] else [m, k]
        b = [n, _near(draft, k)] if turned[1] else [_near(draft, k), n]
        inputs = [draft.fed(a, dtype), draft.tensor(b, dtype)]
        if rng.random() < 0.5:
            inputs.append(draft.tensor(_like(draft, [m, n]), dtype))
        factors = {
            name: _maybe(draft, 0.3, rng.choice((0.5, 2.0, 0.0))) for name in ("alpha", "beta")
        }
        draft.node(op, inputs, transA=_maybe(draft, turned[0], 1), transB=int(turned[1]), **factors)
        return
    stacks = _shape(draft, rng.choice((0, 0, 1, 2)))
    left, right = [*stacks, m, k], [*_like(draft, stacks), _near(draft, k), n]
    if op == "MatMul" and rng.random() < 0.2:
        left, right = rng.choice((([k], right), (left, [k]), ([k], [k])))
    inputs = [draft.fed(left, dtype), draft.tensor(right, dtype)]
    draft.node(op, inputs, domain="" if op == "MatMul" else "custom")


@form("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2")
@form("ReduceSumSquare", "ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax")
def _reduce(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape = _shape(draft, least=0)
    x = draft.fed(shape, rng.choice(_ANY))
    axes = [_axis(draft, len(shape)) for _ in range(rng.choice((0, 1, 1, 2)))]
    keep = _maybe(draft, 0.5, rng.choice((0, 1)))
    if not op.startswith("Reduce"):
        keep = keep if op.startswith("Arg") else None
        draft.node(op, [x], axis=axes[0] if axes else None, keepdims=keep)
    elif draft.opset >= (13 if op == "ReduceSum" else 18):
        draft.node(op, [x, draft.list_of(axes)] if axes else [x], keepdims=keep)
    else:
        draft.node(op, [x], axes=axes or None, keepdims=keep)


@form("Clip", "Cast", "NonZero", "Shape", "Size", "Det", "Dropout", "Identity")
def _single(draft: Draft, op: str) -> None:
    rng = draft.rng
    dtype, shape = rng.choice(_ANY), _shape(draft, least=0)
    x = draft.fed(shape, dtype)
    if op == "Clip" and draft.opset >= 11:
        bounds = [draft.const(v, dtype) if rng.random() < 0.7 else "" for v in (0, 6)]
        draft.node(op, [x, *bounds])
    elif op == "Cast":
        draft.node(op, [x], to=rng.choice((1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13, 16)))
    else:
        draft.node(op, [x])


@form("LSTM", "GRU")
def _recurrent(draft: Draft, op: str) -> None:
    rng = draft.rng
    steps, batch, size, hidden = (rng.choice((1, 2, 3)) for _ in range(4))
    way = rng.choice(("forward", "forward", "reverse", "bidirectional"))
    ways, gates, dtype = 1 + (way == "bidirectional"), 4 if op == "LSTM" else 3, rng.choice(_FLOATS)
    inputs = [
        draft.fed([steps, batch, size], dtype),
        draft.tensor([ways, _near(draft, gates * hidden), size], dtype),
        draft.tensor([ways, gates * hidden, _near(draft, hidden)], dtype),
        draft.tensor([ways, 2 * gates * hidden], dtype) if rng.random() < 0.5 else "",
        draft.tensor([batch], "int32") if rng.random() < 0.2 else "",
        draft.tensor([ways, batch, hidden], dtype) if rng.random() < 0.3 else "",
    ]
    attributes: dict[str, Any] = {"hidden_size": _maybe(draft, 0.9, hidden), "direction": way}
    if op == "GRU":
        attributes["linear_before_reset"] = _maybe(draft, 0.4, 1)
    draft.node(op, inputs, rng.choice((1, 2)), **attributes)
