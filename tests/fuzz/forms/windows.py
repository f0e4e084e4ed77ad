"""Convolutions, pools, normalizations and regions."""

from typing import Any

from tests.fuzz.drafts import Draft
from tests.fuzz.forms.registry import FLOATS, any_axis, any_shape, form, maybe, near


def _window(draft: Draft) -> dict[str, Any]:
    """Return strides, pads and auto_pad."""
    rng = draft.rng
    attributes: dict[str, Any] = {
        "strides": maybe(draft, 0.6, [rng.choice((1, 1, 2, 3, 5, 64)) for _ in range(2)]),
        "pads": maybe(draft, 0.5, [rng.choice((0, 0, 0, 1, 1, 2, 5)) for _ in range(4)]),
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
    dtype = rng.choice(FLOATS)
    x = draft.fed([rng.choice((1, 2)), near(draft, each * group, 1), *any_shape(draft, 2)], dtype)
    filters = (out * group, each) if op == "Conv" else (each * group, out)
    inputs = [x, draft.tensor([*filters, *kernel], dtype)]
    if rng.random() < 0.4:
        inputs.append(draft.tensor([near(draft, out * group, 1)], dtype))
    attributes = _window(draft)
    attributes["group"] = group if group > 1 else None
    attributes["dilations"] = maybe(draft, 0.2, [rng.choice((1, 1, 2)) for _ in range(2)])
    attributes["kernel_shape"] = maybe(draft, 0.4, kernel)
    if op == "ConvTranspose":
        attributes["output_padding"] = maybe(draft, 0.2, [rng.choice((0, 1, 2)) for _ in "hw"])
        attributes["output_shape"] = maybe(draft, 0.15, [rng.randint(1, 12) for _ in "hw"])
    draft.node(op, inputs, **attributes)


@form("AveragePool", "MaxPool")
def _pool(draft: Draft, op: str) -> None:
    rng = draft.rng
    attributes = _window(draft)
    attributes["kernel_shape"] = [rng.choice((1, 2, 2, 3, 3, 4, 5, 8, 16, 256)) for _ in "hw"]
    if draft.opset >= 10:
        attributes["ceil_mode"] = maybe(draft, 0.4, 1)
        if op == "MaxPool":
            attributes["dilations"] = maybe(draft, 0.1, [1, rng.choice((1, 2))])
    if op == "AveragePool":
        attributes["count_include_pad"] = maybe(draft, 0.3, 1)
    rank = rng.choice((4, 4, 4, 4, 4, 3, 5))
    draft.node(op, [draft.fed(any_shape(draft, rank), rng.choice(FLOATS))], **attributes)


@form("GlobalAveragePool", "GlobalMaxPool", "MeanVarianceNormalization", "LpNormalization", "LRN")
def _over_maps(draft: Draft, op: str) -> None:
    rng = draft.rng
    attributes: dict[str, Any] = {}
    if op == "LRN":
        attributes = {"size": rng.choice((1, 2, 3, 5, 7))}
    if op == "LpNormalization":
        attributes = {"axis": maybe(draft, 0.6, any_axis(draft, 4)), "p": rng.choice((1, 2))}
    rank = rng.choice((4, 4, 4, 3))
    draft.node(op, [draft.fed(any_shape(draft, rank, 0), rng.choice(FLOATS))], **attributes)


@form("BatchNormalization")
def _batch_normalization(draft: Draft, op: str) -> None:
    dtype = draft.rng.choice(FLOATS)
    shape = any_shape(draft, draft.rng.choice((2, 3, 4, 4, 4, 5)))
    parts = [draft.tensor([near(draft, shape[1], 1)], dtype) for _ in range(4)]
    draft.node(op, [draft.fed(shape, dtype), *parts], epsilon=maybe(draft, 0.3, 1e-3))


@form("MaxRoiPool", "RoiAlign")
def _regions(draft: Draft, op: str) -> None:
    rng = draft.rng
    dtype = rng.choice(FLOATS)
    count, columns = rng.choice((0, 1, 3)), 5 if op == "MaxRoiPool" else 4
    inputs = [
        draft.fed(any_shape(draft, 4), dtype),
        draft.tensor([count, near(draft, columns)], dtype),
    ]
    attributes: dict[str, Any] = {}
    if op == "RoiAlign":
        inputs.append(draft.tensor([near(draft, count)], "int64"))
        attributes["mode"] = maybe(draft, 0.3, rng.choice(("avg", "max")))
        attributes["output_height"] = maybe(draft, 0.5, rng.choice((0, 1, 2)))
        attributes["sampling_ratio"] = maybe(draft, 0.5, rng.choice((0, 1, 2)))
        if draft.opset >= 16:
            mode = rng.choice(("half_pixel", "output_half_pixel"))
            attributes["coordinate_transformation_mode"] = maybe(draft, 0.6, mode)
    else:
        attributes["pooled_shape"] = [rng.choice((1, 2, 3)) for _ in "hw"]
    draft.node(op, inputs, **attributes)
