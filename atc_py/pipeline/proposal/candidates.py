"""Values to try for open dims, the likeliest first."""

from collections.abc import Iterator, Mapping, Sequence

from atc_py.source import OpenDim, SourceModel, SourceNode, SourceTensor

_BATCHES = (1, 2, 4, 8, 16, 3, 32)

_CHANNELS = (3, 1, 4, 2, 16, 32, 64)

_IMAGES = (
    64, 32, 128, 224, 256, 320, 96, 160, 192, 384, 416, 512, 640, 448, 112, 48, 28, 299, 300, 16, 8,
    4, 2, 1,
)  # fmt: skip
"""Heights and widths: multiples of strides first, then what known networks take."""

_LENGTHS = (16, 64, 32, 128, 8, 256, 512, 4, 1, 2, 100, 1000, 16000)
"""Lengths of sequences."""

_IMAGE_RANK = 4
"""Images have so many axes: batch, channels, and two or more along which windows slide."""

_CHANNEL_AXIS = {"Conv": 1, "Gemm": 1, "GRU": 2, "LSTM": 2, "MatMul": -1, "RNN": 2}
"""The axis of the first input that must be as long as an axis of the second one."""


def values_for(dim: OpenDim, known: Mapping[OpenDim, int]) -> tuple[int, ...]:
    """List the values to try for one dim.

    Args:
        dim: the dim.
        known: values that the weights determine.
    """
    first = (known[dim],) if dim in known else ()
    if dim.is_batch:
        rest: Sequence[int] = _BATCHES
    elif dim.rank >= _IMAGE_RANK:
        rest = _CHANNELS if any(axis == 1 for _, axis in dim.places) else _IMAGES
    else:
        rest = _LENGTHS
    return tuple(dict.fromkeys((*first, *rest)))


def first_values(
    dims: Sequence[OpenDim], known: Mapping[OpenDim, int]
) -> Iterator[dict[OpenDim, int]]:
    """Yield choices for all dims: one batch, and the other dims along their lists together."""
    lists = {dim: values_for(dim, known) for dim in dims}
    steady = {dim for dim in dims if dim.is_batch or dim in known or _is_channel(dim)}
    most = max((len(lists[dim]) for dim in dims if dim not in steady), default=1)
    for step in range(most):
        yield {
            dim: lists[dim][0 if dim in steady else min(step, len(lists[dim]) - 1)] for dim in dims
        }


def _is_channel(dim: OpenDim) -> bool:
    """Tell whether a dim is the number of channels of an image."""
    return dim.rank >= _IMAGE_RANK and any(axis == 1 for _, axis in dim.places)


def hints(view: SourceModel, dims: Sequence[OpenDim]) -> dict[OpenDim, int]:
    """Read dims off weights: a Conv has as many input channels as its filter."""
    by_place = {place: dim for dim in dims for place in dim.places}
    found: dict[OpenDim, int] = {}
    for place, value in filter(None, map(_dim_from_weights, view.all_nodes)):
        if place in by_place:
            found.setdefault(by_place[place], value)
    return found


def _dim_from_weights(node: SourceNode) -> tuple[tuple[str, int], int] | None:
    """Return an axis of the node's input, and the dim that its weights imply for it."""
    axis = None if node.domain else _CHANNEL_AXIS.get(node.op_type)
    if axis is None or len(node.inputs) < 2:  # noqa: PLR2004
        return None
    x, weights = node.inputs[:2]
    if x is None or weights is None or x.dims is None:
        return None
    dim = _shared_dim(node, weights)
    return None if dim is None else ((x.name, axis % max(len(x.dims), 1)), dim)


def _shared_dim(node: SourceNode, weights: SourceTensor) -> int | None:
    """Return the dim of the weights that the first input must share, or None."""
    dims = weights.dims or ()
    if node.op_type == "Conv" and len(dims) > 1 and dims[1] is not None:
        group = node.attributes.get("group", 1)
        return dims[1] * group if isinstance(group, int) else None
    if node.op_type == "MatMul" and len(dims) > 1:
        return dims[-2]
    if node.op_type == "Gemm" and len(dims) > 1 and not node.attributes.get("transA"):
        return dims[1] if node.attributes.get("transB") else dims[0]
    return dims[-1] if node.op_type in {"GRU", "LSTM", "RNN"} and dims else None
