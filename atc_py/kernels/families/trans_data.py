"""Changes of storage format: rows into blocks of channels or fractals, padded with zeros, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, NamedTuple

from atc_py.kernels.box_tiling import BoxFamily
from atc_py.kernels.boxes import Box
from atc_py.kernels.cpp import repeated_word
from atc_py.kernels.family import KernelFacts, Launch
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import FRACTAL_ROWS, Storage, depth_of

_PLAIN = {Format.ND.value, Format.NCHW.value, Format.NCDHW.value}
_MATRIX = 2


class _Lanes(NamedTuple):
    """An axis in blocks of C0."""

    c0: int  # elements of a block
    full: int  # whole blocks
    tail: int  # elements of the partial block after them, 0 if there is none
    missing: int  # elements that this block lacks, 0 where there is none
    blocks: int  # all of them

    @classmethod
    def of(cls, length: int, c0: int) -> _Lanes:
        tail = length % c0
        return cls(c0, length // c0, tail, c0 - tail if tail else 0, -(-length // c0))


def _boxes(launch: Launch) -> Iterable[Box]:
    source, target = launch.kernel.inputs[0], launch.kernel.outputs[0]
    shape = launch.inputs[0]
    c0 = depth_of(source.storage or target.storage, source.dtype)
    if _makes_a_filter(launch.kernel):
        return _map_to_filter(shape, c0)
    there, back = {
        Format.NC1HWC0.value: (_images, _images_back),
        Format.NDC1HWC0.value: (_images, _images_back),
        Format.FRACTAL_NZ.value: (_matrices, _matrices_back),
        Format.FRACTAL_Z.value: (_filter, _filter_back),
        Format.FRACTAL_Z_3D.value: (_filter, _filter_back),
    }[target.layout if source.storage is None else source.layout]
    return (there if source.storage is None else back)(shape, c0)


def _images(shape: Shape, c0: int) -> Iterable[Box]:
    """Yield NCHW to NC1HWC0, or NCDHW to NDC1HWC0 slice by slice.

    These are whole blocks, the rest of the channels, and the zeros after them.
    """
    volumes, channels, depth, pixels = _slices(shape)
    lanes = _Lanes.of(channels, c0)
    image, plane = lanes.blocks * pixels * c0, pixels * c0
    by_volume, by_channel, last = channels * depth * pixels, depth * pixels, lanes.full * plane
    yield Box(
        (volumes, depth, lanes.full, pixels, c0),
        (by_volume, pixels, c0 * by_channel, 1, by_channel),
        (depth * image, image, plane, c0, 1),
    )
    yield Box(
        (volumes, depth, pixels, lanes.tail),
        (by_volume, pixels, 1, by_channel),
        (depth * image, image, c0, 1),
        lanes.full * c0 * by_channel,
        last,
    )
    missing = (volumes * depth, pixels, lanes.missing)
    yield _zeros(missing, (image, c0, 1), last + lanes.tail)


def _slices(shape: Shape) -> tuple[int, int, int, int]:
    """Length of the first two axes, slices, and elements of each; an image is one slice."""
    first, second, *window = shape
    return first, second, prod(window[:-2]), prod(window[-2:])


def _images_back(shape: Shape, c0: int) -> Iterable[Box]:
    """Yield NC1HWC0 to NCHW, or NDC1HWC0 to NCDHW: whole blocks, the channels of the last one."""
    volumes, channels, depth, pixels = _slices(shape)
    lanes = _Lanes.of(channels, c0)
    image, plane = lanes.blocks * pixels * c0, pixels * c0
    by_volume, by_channel = channels * depth * pixels, depth * pixels
    yield Box(
        (volumes, lanes.full, c0, depth, pixels),
        (depth * image, plane, 1, image, c0),
        (by_volume, c0 * by_channel, by_channel, pixels, 1),
    )
    yield Box(
        (volumes, lanes.tail, depth, pixels),
        (depth * image, 1, image, c0),
        (by_volume, by_channel, pixels, 1),
        lanes.full * plane,
        lanes.full * c0 * by_channel,
    )


def _map_to_filter(shape: Shape, c0: int) -> Iterable[Box]:
    """Yield NC1HWC0 to FRACTAL_Z: each pixel of a block of all images, and zeros for more of them."""
    images, planes = shape[0], -(-shape[1] // c0) * prod(shape[2:])
    padded = -(-images // FRACTAL_ROWS) * FRACTAL_ROWS
    yield Box((planes, images, c0), (c0, planes * c0, 1), (padded * c0, c0, 1))
    yield _zeros((planes, (padded - images) * c0), (padded * c0, 1), images * c0)


def _matrices(shape: Shape, c0: int) -> Iterable[Box]:
    """Yield rows to FRACTAL_NZ: whole columns of blocks, the rest, zeros on the right and below."""
    (height, width), stack = shape[-_MATRIX:], prod(shape[:-_MATRIX])
    lanes = _Lanes.of(width, c0)
    plane = -(-height // FRACTAL_ROWS) * FRACTAL_ROWS * c0
    matrix, last = lanes.blocks * plane, lanes.full * plane
    yield Box(
        (stack, lanes.full, height, c0),
        (height * width, c0, width, 1),
        (matrix, plane, c0, 1),
    )
    yield Box(
        (stack, height, lanes.tail),
        (height * width, width, 1),
        (matrix, c0, 1),
        lanes.full * c0,
        last,
    )
    yield _zeros((stack, height, lanes.missing), (matrix, c0, 1), last + lanes.tail)
    yield _zeros((stack, lanes.blocks, plane - height * c0), (matrix, plane, 1), height * c0)


def _matrices_back(shape: Shape, c0: int) -> Iterable[Box]:
    """Yield FRACTAL_NZ to rows: whole columns of blocks, and the rest."""
    (height, width), stack = shape[-_MATRIX:], prod(shape[:-_MATRIX])
    lanes = _Lanes.of(width, c0)
    plane = -(-height // FRACTAL_ROWS) * FRACTAL_ROWS * c0
    matrix = lanes.blocks * plane
    yield Box(
        (stack, height, lanes.full, c0),
        (matrix, c0, plane, 1),
        (height * width, width, c0, 1),
    )
    yield Box(
        (stack, height, lanes.tail),
        (matrix, c0, 1),
        (height * width, width, 1),
        lanes.full * plane,
        lanes.full * c0,
    )


class _Filter(NamedTuple):
    """Sizes of a filter, and elements between neighbors along them row by row."""

    outputs: int  # result channels
    inputs: int  # input channels
    depth: int  # slices of the window
    taps: int  # of a slice
    steps: tuple[int, int, int]  # along outputs, inputs and slices

    @classmethod
    def of(cls, shape: Shape) -> _Filter:
        """[N, C, H, W], [N, C, D, H, W], or K x N, whose rows are what is summed up."""
        if len(shape) == _MATRIX:
            return cls(shape[1], shape[0], 1, 1, (1, shape[1], 1))
        outputs, inputs, depth, taps = _slices(shape)
        return cls(outputs, inputs, depth, taps, (inputs * depth * taps, depth * taps, taps))

    def places(self, c0: int) -> tuple[int, int, int]:
        """Elements from slice to slice, block to block and tap to tap; outputs are padded."""
        tap = -(-self.outputs // FRACTAL_ROWS) * FRACTAL_ROWS * c0
        return -(-self.inputs // c0) * self.taps * tap, self.taps * tap, tap


def _filter(shape: Shape, c0: int) -> Iterable[Box]:
    """Yield rows to FRACTAL_Z, or to FRACTAL_Z_3D slice by slice of the window.

    These are whole channel blocks, the rest, and zero padding.
    """
    outputs, inputs, depth, taps, (by_output, by_input, by_slice) = sizes = _Filter.of(shape)
    slice_, block, tap = sizes.places(c0)
    lanes = _Lanes.of(inputs, c0)
    last = lanes.full * block
    yield Box(
        (depth, lanes.full, taps, outputs, c0),
        (by_slice, c0 * by_input, 1, by_output, by_input),
        (slice_, block, tap, c0, 1),
    )
    yield Box(
        (depth, taps, outputs, lanes.tail),
        (by_slice, 1, by_output, by_input),
        (slice_, tap, c0, 1),
        lanes.full * c0 * by_input,
        last,
    )
    yield _zeros((depth, taps, outputs, lanes.missing), (slice_, tap, c0, 1), last + lanes.tail)
    planes = depth * lanes.blocks * taps
    yield _zeros((planes, tap - outputs * c0), (tap, 1), outputs * c0)


def _filter_back(shape: Shape, c0: int) -> Iterable[Box]:
    """Yield FRACTAL_Z or FRACTAL_Z_3D to rows: whole blocks of channels, and the rest."""
    outputs, inputs, depth, taps, (by_output, by_input, by_slice) = sizes = _Filter.of(shape)
    slice_, block, tap = sizes.places(c0)
    lanes = _Lanes.of(inputs, c0)
    output, window = (outputs, c0, by_output), [(depth, slice_, by_slice), (taps, tap, 1)]
    yield _ordered_box([output, (lanes.full, block, c0 * by_input), (c0, 1, by_input), *window])
    rest = [output, (lanes.tail, 1, by_input), *window]
    yield _ordered_box(rest, lanes.full * block, lanes.full * c0 * by_input)


def _ordered_box(axes: list[tuple[int, int, int]], source: int = 0, target: int = 0) -> Box:
    lengths, froms, tos = zip(*sorted(axes, key=lambda axis: -axis[2]), strict=True)
    return Box(lengths, froms, tos, source, target)


def _zeros(lengths: Shape, target: tuple[int, ...], start: int) -> Box:
    return Box(lengths, (0,) * len(lengths), target, 0, start, filled=True)


def _storage(kernel: KernelFacts) -> Storage | None:
    """The storage that one side has, None where both or neither have one."""
    sides = [port.storage for port in (kernel.inputs[0], kernel.outputs[0])]
    found = [each for each in sides if each is not None]
    return found[0] if len(found) == 1 else None


def _makes_a_filter(kernel: KernelFacts) -> bool:
    sides = kernel.inputs[0].storage, kernel.outputs[0].storage
    return sides == (Storage(Format.NC1HWC0), Storage(Format.FRACTAL_Z))


class _TransData(BoxFamily):
    """Changes between rows and blocks; one side is stored in blocks whatever is asked for."""

    in_blocks = True

    def covers(self, kernel: KernelFacts) -> bool:
        """True between rows and one blocked format, and from an image to a filter.

        Filters of groups are constants, which are packed before.
        """
        if _makes_a_filter(kernel):
            return True
        storage = _storage(kernel)
        if storage is None or kernel.outputs[0].dtype is DType.INT4:
            return False
        plain = kernel.inputs[0].format in _PLAIN
        return plain and storage.groups == 1 and storage.format is not Format.C1HWNCOC0

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        """True if elements are gathered, and the zeros where blocks are made.

        Lanes of fractals stand side by side in rows, channels do not.
        """
        storage = _storage(kernel)
        packs = kernel.inputs[0].storage is None or _makes_a_filter(kernel)
        return {
            "gathers": storage is not None and storage.format is not Format.FRACTAL_NZ,
            "fill": repeated_word(0, DType.INT32) if packs else None,
        }


FAMILIES = (_TransData("trans_data", {"TransData": _boxes}),)
