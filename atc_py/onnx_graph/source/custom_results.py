"""Types of the results of operators that are on the list and that ONNX does not define.

Dims may be open, None; then results are inferred as far as possible. Sources: CANN's
operators of these names, as the notes of their specifications read them.

Over 400 lines because each operator has a function of its own, and one table lists them all.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeAlias, cast

import msgspec

from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, broadcast_dims, format_shape
from atc_py.text import Text

Attributes: TypeAlias = "Mapping[str, object]"
Result: TypeAlias = "tuple[DType, Dims]"

_MATRIX, _STACK, _IMAGE, _BOXES = 2, 3, 4, 4
"""Axes of a matrix, of a stack of them, of images and of boxes."""

ROI_SCALES = (0.25, 0.125, 0.0625, 0.03125)
"""Scales of the maps of RoiExtractor where the node does not set them."""

_ROI_COLUMNS = 5
"""Columns of a region: image, x1, y1, x2, y2."""

_LEADING = 2
"""Batch and channels, before the dims of a grid's image."""


class ContradictionError(ValueError):
    """A node contradicts the definition of its operator."""

    def __init__(self, template: str, field: str | None = None, /, **values: object) -> None:
        # The rest of a sentence that begins with the operator.
        self.reason = Text(template).with_values(**values)
        super().__init__(self.reason)
        self.field = field  # the attribute or input at fault


class Given(msgspec.Struct, frozen=True):
    """A tensor that a node gets."""

    dtype: DType
    dims: Dims  # its shape, None for an open one
    # its data where that is a constant list of integers and is asked for
    numbers: tuple[int, ...] | None = None

    @property
    def rank(self) -> int:
        return len(self.dims)

    def __str__(self) -> str:
        return f"{self.dtype.value} {format_shape(self.dims)}"


Inputs: TypeAlias = "Sequence[Given | None]"


def custom_results(op_type: str, inputs: Inputs, attributes: Attributes) -> tuple[Result, ...]:
    """Dtype and dims of each output of a node of one of CUSTOM_RESULTS."""
    return CUSTOM_RESULTS[op_type](inputs, attributes)


def _adaptive_avg_pool(inputs: Inputs, attributes: Attributes) -> tuple[Result, ...]:
    x, dims = _input(inputs, 0), _pooled_dims(inputs, attributes)
    if 0 in x.dims[2:]:
        raise ContradictionError("needs images with pixels, found {found}", "input x", found=x)
    return ((x.dtype, dims),)


def _adaptive_max_pool(inputs: Inputs, attributes: Attributes) -> tuple[Result, ...]:
    dims = _pooled_dims(inputs, attributes)
    return (_input(inputs, 0).dtype, dims), (DType.INT32, dims)


def _pooled_dims(inputs: Inputs, attributes: Attributes) -> Dims:
    x = _input(inputs, 0)
    size = attributes.get("output_size", ())
    numbers = isinstance(size, tuple) and all(isinstance(length, int) for length in size)
    sound = numbers and len(cast("tuple[int, ...]", size)) == 2  # noqa: PLR2004  (height, width)
    if x.rank != _IMAGE or not sound or min(cast("tuple[int, ...]", size)) < 1:
        shown = list(size) if isinstance(size, tuple) else size
        raise ContradictionError(
            "pools images to two positive dims, found {found}", "output_size", found=shown
        )
    return (*x.dims[:2], *cast("tuple[int, int]", size))


def _addcmul(inputs: Inputs, _attributes: Attributes) -> tuple[Result, ...]:
    given = [_input(inputs, position) for position in range(4)]
    return ((given[0].dtype, _broadcast(*(tensor.dims for tensor in given))),)


def _batch_mat_mul(inputs: Inputs, attributes: Attributes) -> tuple[Result, ...]:
    """Products of the matrices of the last two axes, each turned where its flag says so."""
    flags = [_integer(attributes, name, 0) != 0 for name in ("adj_x1", "adj_x2")]
    given = [_input(inputs, position) for position in range(2)]
    if min(tensor.rank for tensor in given) < _MATRIX:
        shapes = [list(tensor.dims) for tensor in given]
        raise ContradictionError("needs matrices, found {found}", found=shapes)
    left, right = (
        (*tensor.dims[:-2], *tensor.dims[:-3:-1]) if turned else tensor.dims
        for tensor, turned in zip(given, flags, strict=True)
    )
    inner = left[-1], right[-2]
    if None not in inner and inner[0] != inner[1]:
        raise ContradictionError(
            "needs equal inner dims, found {found} and {other}", found=inner[0], other=inner[1]
        )
    return ((given[0].dtype, (*_broadcast(left[:-2], right[:-2]), left[-2], right[-1])),)


def _affine_grid(inputs: Inputs, _attributes: Attributes) -> tuple[Result, ...]:
    theta, sizes = _input(inputs, 0), _input(inputs, 1)
    dims = _grid_dims(theta, sizes)
    rank = len(dims)
    wanted = (rank, rank + 1)
    matrix = theta.dims[1:]
    fits = theta.rank == _STACK and all(
        dim in {None, want} for dim, want in zip(matrix, wanted, strict=True)
    )
    if not fits:
        raise ContradictionError(
            "needs theta of N x {rows} x {columns}, found {found}",
            "input theta",
            rows=rank,
            columns=rank + 1,
            found=theta,
        )
    return ((theta.dtype, (theta.dims[0], *dims, rank)),)


def _grid_dims(theta: Given, sizes: Given) -> Dims:
    """The dims of a grid; open ones where they are computed."""
    given = sizes.numbers
    if given is None:
        count = sizes.dims[0] if sizes.rank == 1 else None
        if count is None and theta.rank == _STACK and theta.dims[1] is not None:
            count = theta.dims[1] + _LEADING
        if count not in {4, 5}:
            raise ContradictionError("needs four or five dims, found {found}", _SIZES, found=sizes)
        return (None,) * (count - _LEADING)
    if len(given) not in {4, 5} or min(given) < 0:
        raise ContradictionError(
            "needs four or five dims, found {found}", _SIZES, found=list(given)
        )
    if theta.rank and theta.dims[0] not in {None, given[0]}:
        raise ContradictionError("needs a theta for each of {n} images", _SIZES, n=given[0])
    return given[_LEADING:]


_SIZES = "input output_size"


def _batch_multi_class_nms(inputs: Inputs, attributes: Attributes) -> tuple[Result, ...]:
    """Boxes, scores and classes of as many as may be found, and how many were, by image."""
    boxes, scores = _input(inputs, 0), _input(inputs, 1)
    window = inputs[2] if len(inputs) > 2 else None  # noqa: PLR2004  (the third input)
    if _integer(attributes, "change_coordinate_frame", 0) and window is None:
        raise ContradictionError(
            "needs clip_window with change_coordinate_frame", "input clip_window"
        )
    if scores.rank != _STACK:
        raise ContradictionError(
            "needs scores of rank 3, found {found}", "input scores", found=scores
        )
    turned = _integer(attributes, "transpose_box", 0) != 0
    _check_boxes(boxes.dims, scores.dims, turned=turned)
    most = _integer(attributes, "max_total_size", 0)
    if min(most, _integer(attributes, "max_size_per_class", 0)) < 0:
        raise ContradictionError("needs sizes of at least 0", "attribute max_total_size")
    images, dtype = scores.dims[0], boxes.dtype
    one_a_box = (dtype, (images, most))
    return (dtype, (images, most, 4)), one_a_box, one_a_box, (dtype, (images,))


def _check_boxes(boxes: Dims, scores: Dims, *, turned: bool) -> None:
    images, count, classes = scores
    allowed: list[Dims] = [
        (images, sets, 4, count) if turned else (images, count, sets, 4) for sets in (1, classes)
    ]
    if not any(_may_be_equal(boxes, dims) for dims in allowed):
        raise ContradictionError(
            "needs boxes of {allowed}, found {found}",
            "input boxes",
            allowed=list(allowed[1]),
            found=list(boxes),
        )


def _deformable_conv(inputs: Inputs, attributes: Attributes) -> tuple[Result, ...]:
    """Images of as many channels as filters, of the height and width of the offsets."""
    x, filter_, offsets = (_input(inputs, position) for position in range(3))
    if any(tensor.rank != _IMAGE for tensor in (x, filter_, offsets)):
        raise ContradictionError(
            "needs tensors of four axes, found {found}, {filter}, {offsets}",
            found=x,
            filter=filter_,
            offsets=offsets,
        )
    groups, parts = (_integer(attributes, name, 1) for name in ("groups", "deformable_groups"))
    if min(groups, parts) < 1:
        raise ContradictionError(
            "needs positive groups, found {found} and {parts}", "groups", found=groups, parts=parts
        )
    (channels, *image), (filters, depth, *window) = x.dims[1:], filter_.dims
    if not _may_be_equal((channels,), (None if depth is None else depth * groups,)):
        raise ContradictionError(
            "needs filters of X's channels, found {found}", "input filter", found=filter_
        )
    if channels is not None and channels % parts:
        raise ContradictionError(
            "cannot divide {channels} channels by {parts}", _PARTS, channels=channels, parts=parts
        )
    count = None if None in window else 3 * parts * prod(cast("list[int]", window))
    covered = deformable_window(attributes).outputs(tuple(image), tuple(window))
    if not _may_be_equal(offsets.dims, (x.dims[0], count, *covered)):
        needed = format_shape((x.dims[0], count, *covered))
        raise ContradictionError(
            "needs offsets of {needed}, found {found}",
            "input offsets",
            needed=needed,
            found=offsets,
        )
    size = tuple(b if a is None else a for a, b in zip(offsets.dims[2:], covered, strict=True))
    return ((x.dtype, (x.dims[0], filters, *size)),)


class DeformableWindow(msgspec.Struct, frozen=True):
    """The window of a DeformableConv2D as it moves over an image before offsets move its points."""

    strides: tuple[int, int]  # down and to the right
    dilations: tuple[int, int]  # alike
    pads: tuple[int, int, int, int]  # top, bottom, left, right

    def outputs(self, image: Dims, window: Dims) -> Dims:
        """The times that a window of so many points fits into an image, down and to the right."""
        counts: list[int | None] = []
        for side, (length, points) in enumerate(zip(image, window, strict=True)):
            if length is None or points is None:
                counts.append(None)
                continue
            room = length + sum(self.pads[2 * side : 2 * side + 2])
            covered = (points - 1) * self.dilations[side] + 1
            counts.append(max(0, (room - covered) // self.strides[side] + 1))
        return tuple(counts)


def deformable_window(attributes: Attributes) -> DeformableWindow:
    """The window that the attributes describe; steps of N and C do not count."""
    first = 1 if attributes.get("data_format", "NHWC") == "NHWC" else 2
    lists = {"strides": None, "dilations": (1, 1, 1, 1), "pads": None}
    values = {name: attributes.get(name, default) for name, default in lists.items()}
    for name, value in values.items():
        if not isinstance(value, tuple) or len(value) != 4:  # noqa: PLR2004  (axes, or sides)
            raise ContradictionError(
                "needs four {name}, found {found}", f"attribute {name}", name=name, found=value
            )
    strides, dilations, pads = (cast("tuple[int, ...]", value) for value in values.values())
    if min(strides[first : first + 2] + dilations[first : first + 2]) < 1 or min(pads) < 0:
        raise ContradictionError(
            "needs positive strides and dilations, and no negative pads", "attribute strides"
        )
    if attributes.get("auto_pad", "NOTSET") == "VALID" and any(pads):
        raise ContradictionError(
            "takes no pads with auto_pad VALID, found {found}", "pads", found=list(pads)
        )
    return DeformableWindow(
        cast("tuple[int, int]", strides[first : first + 2]),
        cast("tuple[int, int]", dilations[first : first + 2]),
        cast("tuple[int, int, int, int]", pads),
    )


_PARTS = "attribute deformable_groups"


def _embedding_bag(inputs: Inputs, attributes: Attributes) -> tuple[Result, ...]:
    """A row for each bag: a row of indices, or the indices between two offsets."""
    weight, indices = _input(inputs, 0), _input(inputs, 1)
    offsets, factors = ([*inputs[2:], None, None])[:2]
    if indices.rank != (_MATRIX if offsets is None else 1):
        raise ContradictionError(
            "needs a matrix of indices, or a list of them and offsets", "input indices"
        )
    mode = attributes.get("mode", "mean")
    if factors is not None and mode != "sum":
        raise ContradictionError(
            "takes per_sample_weights in mode sum only, found mode {mode}", "mode", mode=mode
        )
    bags = indices.dims[0]
    if offsets is not None:
        last = _integer(attributes, "include_last_offset", 0) != 0
        count = offsets.dims[0] if offsets.rank == 1 else -1
        bags = None if count is None else count - last
    if (bags is not None and bags < 0) or weight.rank != _MATRIX:
        raise ContradictionError("needs a table and, for include_last_offset, the last offset")
    return ((weight.dtype, (bags, weight.dims[1])),)


def _dyn_seq_outer(inputs: Inputs, _attributes: Attributes) -> tuple[Result, ...]:
    """A row for each pair of rows of a sequence; open where only the run knows the lengths."""
    x1, x2, *lengths = (_input(inputs, position) for position in range(4))
    if x1.rank != _MATRIX or x2.rank != _MATRIX or not _may_be_equal(x1.dims[1:], x2.dims[1:]):
        raise ContradictionError(
            "needs matrices with the same number of columns, found {found} and {other}",
            found=x1,
            other=x2,
        )
    first, second = (tensor.numbers for tensor in lengths)
    rows = None
    if first is not None and second is not None:
        if len(first) != len(second):
            raise ContradictionError(
                "needs the same number of lengths for x2 as for x1", "input seq_len2"
            )
        for name, x, numbers in (("seq_len1", x1, first), ("seq_len2", x2, second)):
            _check_lengths(name, x.dims[0], numbers)
        rows = sum(one * other for one, other in zip(first, second, strict=True))
    columns = x2.dims[1] if x1.dims[1] is None else x1.dims[1]
    return ((x1.dtype, (rows, columns)),)


def _moving_sum(inputs: Inputs, attributes: Attributes) -> tuple[Result, ...]:
    """A row for each beam and a column for each frame of all sequences."""
    alpha, _, offset, data = (_input(inputs, position) for position in range(4))
    if _integer(attributes, "ksize", 0) < 1:
        raise ContradictionError("needs a positive ksize", "ksize")
    if alpha.rank != 1:
        raise ContradictionError("needs a vector, found {found}", "input alpha", found=alpha)
    numbers = offset.numbers
    if numbers is None:
        return ((alpha.dtype, (data.dims[0] if data.rank == _MATRIX else None, None)),)
    if len(numbers) % 2 or min(numbers, default=0) < 0:
        raise ContradictionError(
            "needs beams and frames of each sequence, found {found}",
            "input offset",
            found=list(numbers),
        )
    beams, frames = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
    covered = sum(beam * frame for beam, frame in zip(beams, frames, strict=True))
    if alpha.dims[0] not in {None, covered}:
        raise ContradictionError(
            "has {covered} frames of beams by offset, found {found}",
            "input alpha",
            covered=covered,
            found=alpha,
        )
    return ((alpha.dtype, (sum(beams), sum(frames))),)


def _check_lengths(name: str, rows: int | None, lengths: Sequence[int]) -> None:
    if min(lengths, default=0) < 0 or rows not in {None, sum(lengths)}:
        raise ContradictionError(
            "needs lengths that add up to {rows}, found {found}",
            Text("input {at}", at=name),
            rows=rows,
            found=list(lengths),
        )


def _roi_extractor(inputs: Inputs, attributes: Attributes) -> tuple[Result, ...]:
    """For each region the features of one map, of the height and width asked for."""
    *maps, rois = (_input(inputs, position) for position in range(len(inputs)))
    scales = attributes.get("spatial_scale", ROI_SCALES)
    if not isinstance(scales, tuple) or len(scales) != len(maps):
        raise ContradictionError(
            "needs a spatial_scale for each of {maps} maps", "spatial_scale", maps=len(maps)
        )
    if not maps or rois.rank != _MATRIX or rois.dims[1] not in {None, _ROI_COLUMNS}:
        raise ContradictionError(
            "needs maps, and rois of {columns} columns, found {found}",
            "input rois",
            columns=_ROI_COLUMNS,
            found=rois,
        )
    first = maps[0].dims[:2]
    alike = all(_may_be_equal(tensor.dims[:2], first) for tensor in maps)
    if not alike or min(tensor.rank for tensor in maps) < _IMAGE:
        raise ContradictionError(
            "needs maps with the same number of images and channels", "input features"
        )
    size = tuple(_integer(attributes, f"pooled_{side}", 7) for side in ("height", "width"))
    if min(size) < 1:
        raise ContradictionError(
            "pools to positive dims, found {found}", "pooled_height", found=list(size)
        )
    return ((rois.dtype, (rois.dims[0], first[1], *size)),)


CUSTOM_RESULTS: Mapping[str, Callable[[Inputs, Attributes], tuple[Result, ...]]] = {
    "AdaptiveAvgPool2D": _adaptive_avg_pool,
    "AdaptiveAvgPool2d": _adaptive_avg_pool,
    "AdaptiveMaxPool2D": _adaptive_max_pool,
    "AdaptiveMaxPool2d": _adaptive_max_pool,
    "Addcmul": _addcmul,
    "AffineGrid": _affine_grid,
    "BatchMatMul": _batch_mat_mul,
    "BatchMultiClassNMS": _batch_multi_class_nms,
    "DeformableConv2D": _deformable_conv,
    "DynSeqOuter": _dyn_seq_outer,
    "EmbeddingBag": _embedding_bag,
    "MovingSumWithSigmoid": _moving_sum,
    "RoiExtractor": _roi_extractor,
}
"""By operator: the results of a node, from its inputs and attributes."""


# Parts ------------------------------------------------------------------------------------------


def _input(inputs: Inputs, position: int) -> Given:
    given = inputs[position] if position < len(inputs) else None
    if given is None:
        raise ContradictionError(
            "needs input {position}, found none", Text("input {at}", at=position), position=position
        )
    return given


def _integer(attributes: Attributes, name: str, default: int) -> int:
    value = attributes.get(name, default)
    if not isinstance(value, int):
        actual = type(value).__name__
        raise ContradictionError(
            "takes an integer as {name}, found {found}",
            f"attribute {name}",
            name=name,
            found=actual,
        )
    return value


def _broadcast(*shapes: Dims) -> Dims:
    try:
        return broadcast_dims(*shapes)
    except ValueError as error:
        raise ContradictionError("needs shapes that broadcast: {error}", error=error) from None


def _may_be_equal(left: Dims, right: Dims) -> bool:
    """True if two shapes are the same as far as both are known."""
    return len(left) == len(right) and all(
        None in pair or pair[0] == pair[1] for pair in zip(left, right, strict=True)
    )
