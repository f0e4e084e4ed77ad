"""Elements in another order, repeated, or left out: strided views of one tensor."""

from collections.abc import Iterable

from atc_py.kernels.box_tiling import BoxFamily, number
from atc_py.kernels.boxes import Box, dense, view
from atc_py.kernels.family import Launch
from atc_py.target.stored_nodes import numbers_of


def _transpose(launch: Launch) -> Iterable[Box]:
    steps = dense(launch.inputs[0])
    order = numbers_of(launch.kernel.attributes["perm"])
    return [view(launch.outputs[0], (steps[axis] for axis in order))]


def _confusion(launch: Launch) -> Iterable[Box]:
    """Yield axes in the order of perm; the change of shape before or after moves nothing."""
    attributes = launch.kernel.attributes
    shape = launch.inputs[0] if attributes["transpose_first"] else numbers_of(attributes["shape"])
    steps, order = dense(shape), numbers_of(attributes["perm"])
    return [view((shape[axis] for axis in order), (steps[axis] for axis in order))]


def _expand(launch: Launch) -> Iterable[Box]:
    """Yield axes of one element, and those that the source lacks, stand still."""
    source, target = launch.inputs[0], launch.outputs[0]
    missing = len(target) - len(source)
    steps = (0,) * missing + dense(source)
    lengths = (1,) * missing + source
    kept = (step if length != 1 else 0 for step, length in zip(steps, lengths, strict=True))
    return [view(target, kept)]


def _tile(launch: Launch) -> Iterable[Box]:
    """Yield two axes for each one: the copies, with source stride 0, and its elements."""
    shape = launch.inputs[0]
    multiples = numbers_of(launch.kernel.attributes["multiples"])
    lengths: list[int] = []
    steps: list[int] = []
    for length, step, count in zip(shape, dense(shape), multiples, strict=True):
        lengths += [count, length]
        steps += [0, step]
    return [view(lengths, steps)]


def _slice(launch: Launch) -> Iterable[Box]:
    """Yield numpy's slices; an end below 0 of a slice that runs backwards is its first element."""
    shape, attributes = launch.inputs[0], launch.kernel.attributes
    names = ("begin", "end", "strides")
    begins, ends, strides = (numbers_of(attributes[name]) for name in names)
    from_start, to_end = (number(attributes[name]) for name in ("begin_mask", "end_mask"))
    start, steps = 0, []
    for axis, (length, step) in enumerate(zip(shape, dense(shape), strict=True)):
        stride, end = strides[axis], ends[axis]
        whole = to_end >> axis & 1 or (stride < 0 and end < 0)
        begin = None if from_start >> axis & 1 else begins[axis]
        first, _, by = slice(begin, None if whole else end, stride).indices(length)
        start += first * step
        steps.append(by * step)
    return [view(launch.outputs[0], steps, start)]


def _depth_to_space(launch: Launch) -> Iterable[Box]:
    """Yield channels (block, block, C) or (C, block, block) spread over rows and columns."""
    images, channels, height, width = launch.inputs[0]
    attributes = launch.kernel.attributes
    block = number(attributes["block_size"])
    depth = channels // block**2
    plane, image = height * width, channels * height * width
    by_channel, by_row, by_column = plane, block * depth * plane, depth * plane
    if attributes["mode"] == "CRD":
        by_channel, by_row, by_column = block**2 * plane, block * plane, plane
    lengths = (images, depth, height, block, width, block)
    return [view(lengths, (image, by_channel, width, by_row, 1, by_column))]


def _space_to_depth(launch: Launch) -> Iterable[Box]:
    """Yield blocks of rows and columns moved into channels (block, block, C)."""
    images, channels, height, width = launch.inputs[0]
    block = number(launch.kernel.attributes["block_size"])
    lengths = (images, block, block, channels, height // block, width // block)
    steps = (channels * height * width, width, 1, height * width, block * width, block)
    return [view(lengths, steps)]


FAMILIES = (
    BoxFamily(
        "move",
        {
            "ConfusionTransposeD": _confusion,
            "DepthToSpace": _depth_to_space,
            "ExpandD": _expand,
            "SpaceToDepth": _space_to_depth,
            "StridedSliceD": _slice,
            "TileD": _tile,
            "TransposeD": _transpose,
        },
    ),
)
