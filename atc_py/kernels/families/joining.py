"""Tensors joined along an axis, and cut apart there."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import Any

from atc_py.kernels.box_tiling import BoxFamily, number
from atc_py.kernels.boxes import Box
from atc_py.kernels.family import KernelFacts, Launch
from atc_py.tensor.dtypes import Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import Storage, c0_of

_MATRIX, _CHANNELS, _DEPTH = 2, 1, 2


def _boxes(launch: Launch) -> Iterable[Box]:
    return _by_parts(launch, launch.inputs, launch.outputs, _axis(launch))


def _boxes_of_blocks(launch: Launch) -> Iterable[Box]:
    if _stays_inside_blocks(launch) and not _has_whole_blocks(launch):
        return _joined_channels(launch)
    return _by_parts(launch, launch.stored_inputs, launch.stored_outputs, _stored_axis(launch))


def _by_parts(
    launch: Launch, inputs: Sequence[Shape], outputs: Sequence[Shape], axis: int
) -> Iterable[Box]:
    """Yield (outer, elements of a run) of each part of the whole, which are one after the other."""
    joins = launch.kernel.op == "ConcatD"
    (whole, *_), parts = (outputs, inputs) if joins else (inputs, outputs)
    of_whole, start = (prod(whole[axis:]), 1), 0
    for part in parts:
        run = prod(part[axis:])
        shape, of_part = (prod(whole[:axis]), run), (run, 1)
        if joins:
            yield Box(shape, of_part, of_whole, target_start=start)
        else:
            yield Box(shape, of_whole, of_part, source_start=start)
        start += run


def _joined_channels(launch: Launch) -> Iterable[Box]:
    """Yield channels of images side by side inside of blocks; the last brings what pads its block.

    No operand runs from one block of the result into the next.
    """
    (whole, *_), c0 = launch.stored_outputs, launch.stored_outputs[0][-1]
    images, pixels = whole[0], prod(whole[2:-1])
    widths = [shape[_CHANNELS] for shape in launch.inputs]
    starts = list(accumulate(widths, initial=0))
    widths[-1] = c0 - starts[-2] % c0
    for start, width in zip(starts, widths, strict=False):
        yield Box(
            (images, pixels, width),
            (pixels * c0, c0, 1),
            (whole[_CHANNELS] * pixels * c0, c0, 1),
            target_start=start // c0 * pixels * c0 + start % c0,
        )


def _has_whole_blocks(launch: Launch) -> bool:
    """True if tensors joined or cut apart along channels are whole blocks, but for Concat's last."""
    shapes = (*launch.inputs, *launch.outputs)
    if launch.kernel.op == "ConcatD":
        shapes = launch.inputs[:-1]
    c0 = c0_of(launch.kernel.outputs[0].dtype)
    return _axis(launch) != _CHANNELS or all(shape[_CHANNELS] % c0 == 0 for shape in shapes)


def _stays_inside_blocks(launch: Launch) -> bool:
    """True if channels of images are joined and no operand runs into a second block."""
    port = launch.kernel.outputs[0]
    if launch.kernel.op != "ConcatD" or port.storage != Storage(Format.NC1HWC0):
        return False
    c0, widths = c0_of(port.dtype), [shape[_CHANNELS] for shape in launch.inputs]
    starts = accumulate(widths, initial=0)
    return all(0 < width <= c0 - at % c0 for width, at in zip(widths, starts, strict=False))


def _axis(launch: Launch) -> int:
    attributes = launch.kernel.attributes
    name = "concat_dim" if launch.kernel.op == "ConcatD" else "split_dim"
    return number(attributes[name]) % len(launch.inputs[0])


def _stored_axis(launch: Launch) -> int:
    """The axis of what is stored; slices of volumes come before their blocks of channels."""
    axis, storage = _axis(launch), launch.kernel.outputs[0].storage
    deep = storage is not None and storage.format is Format.NDC1HWC0
    return {_CHANNELS: _DEPTH, _DEPTH: _CHANNELS}.get(axis, axis) if deep else axis


class _Joins(BoxFamily):
    """Tensors joined or cut apart row by row."""

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        """The template facts: whole tensors keep their order; a part may be single elements."""
        return {"gathers": kernel.op != "ConcatD", "fill": None}


class _JoinsOfBlocks(_Joins):
    """Tensors that are joined or cut apart as they are stored."""

    in_blocks = True

    def covers(self, kernel: KernelFacts) -> bool:
        storages = {port.storage for port in (*kernel.operands, *kernel.outputs)}
        formats = {each.format for each in storages if each is not None}
        blocks = {Format.NC1HWC0, Format.NDC1HWC0, Format.FRACTAL_NZ}
        return len(storages) == 1 and formats <= blocks

    def fits(self, launch: Launch) -> bool:
        """True if the axis does not run through blocks, or parts are whole blocks or stay inside."""
        port, axis = launch.kernel.outputs[0], _axis(launch)
        if port.storage == Storage(Format.FRACTAL_NZ):
            return axis < len(launch.inputs[0]) - _MATRIX
        return _has_whole_blocks(launch) or _stays_inside_blocks(launch)


_OPERATORS = ("ConcatD", "SplitD", "SplitVD")

FAMILIES = (
    _Joins("join", dict.fromkeys(_OPERATORS, _boxes)),
    _JoinsOfBlocks("join", dict.fromkeys(_OPERATORS, _boxes_of_blocks)),
)
