"""Layers of int8 data in plain int64 arithmetic: tap by tap, with explicit positions.

Nothing here is shared with the kernels that it is the reference for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from atc_py.package.schema import OmAttribute
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, run_operator


@dataclass(frozen=True)
class Layer:
    """A convolution: shapes, attributes, and which operands it has.

    `offset_w` is 0 for none, 1 for one of all channels, 2 for one of each. Pads are top, bottom,
    left, right.
    """

    extents: tuple[int, int]
    kernel: tuple[int, int]
    batch: int = 1
    groups: int = 1
    depth: int = 1
    filters: int = 1
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    bias: bool = False
    offset_w: int = 0
    offset_x: int = 0
    constant: bool = False
    seed: int = 0

    @property
    def attributes(self) -> dict[str, OmAttribute]:
        return {
            "strides": [1, 1, *self.strides],
            "dilations": [1, 1, *self.dilations],
            "pads": list(self.pads),
            "offset_x": self.offset_x,
        }

    @property
    def reaches(self) -> tuple[int, int]:
        (down, across), (height, width) = self.dilations, self.kernel
        return down * (height - 1) + 1, across * (width - 1) + 1

    def fitted(self) -> Layer:
        """Return with room for a window."""
        rows, columns = self.reaches
        height = max(self.extents[0], rows - sum(self.pads[:2]))
        width = max(self.extents[1], columns - sum(self.pads[2:]))
        return replace(self, extents=(height, width))

    def transposed_size(self, extra: tuple[int, int]) -> tuple[int, int]:
        """Return height and width of a transposed convolution with `extra` of output padding."""
        height, width = (
            (self.extents[axis] - 1) * self.strides[axis]
            + self.reaches[axis]
            - sum(self.pads[2 * axis : 2 * axis + 2])
            + extra[axis]
            for axis in range(2)
        )
        return height, width

    def operands(self, filter_shape: tuple[int, ...]) -> list[Array | None]:
        """Return data, filter, and where the layer has them bias and offset_w."""
        generator = np.random.default_rng(self.seed)
        outputs = self.groups * self.filters
        bias = generator.integers(-(2**31), 2**31, outputs).astype(np.int32)
        return [
            int8_array(generator, (self.batch, self.groups * self.depth, *self.extents)),
            int8_array(generator, filter_shape),
            bias if self.bias else None,
            offsets(generator, self.offset_w, outputs),
        ]


def int8_array(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return numbers of int8, the smallest and the largest a third of them each."""
    limits = generator.choice([-128, 127], shape)
    return np.where(
        generator.random(shape) < 0.6, limits, generator.integers(-128, 128, shape)
    ).astype(np.int8)


def offsets(generator: np.random.Generator, kind: int, channels: int) -> Array | None:
    """Return offset_w: none, one, or one for each channel."""
    return int8_array(generator, (1 if kind == 1 else channels,)) if kind else None


def wrapped(sums: Array) -> Array:
    """Return int64 as int32, modulo 2^32."""
    return ((sums + 2**31) % 2**32 - 2**31).astype(np.int32)


def finished(sums: Array, bias: Array | None) -> Array:
    """Return sums [n, channels, h, w] with their bias as int32."""
    return wrapped(sums if bias is None else sums + bias.astype(np.int64)[:, None, None])


def looked_up(x: Array, rows: Array, columns: Array, strides: tuple[int, int], zero: int) -> Array:
    """Return elements [n, c] of `x` at positions counted in `strides`; others are `zero`."""
    down, across = strides
    on_row = (rows >= 0) & (rows % down == 0) & (rows // down < x.shape[2])
    on_column = (columns >= 0) & (columns % across == 0) & (columns // across < x.shape[3])
    inside = on_row[:, None] & on_column[None, :]
    found = x[:, :, np.where(on_row, rows // down, 0)][
        ..., np.where(on_column, columns // across, 0)
    ]
    return np.where(inside, found.astype(np.int64), zero)


def convolved(layer: Layer, arrays: list[Array | None]) -> Array:
    """Return a convolution, tap by tap in int64."""
    x, weights, bias, offset = arrays
    assert x is not None
    assert weights is not None
    wide = weights.astype(np.int64)
    if offset is not None:
        wide = wide - offset.astype(np.int64)[:, None, None, None]
    groups = layer.groups
    outputs = [
        (layer.extents[i] + sum(layer.pads[2 * i : 2 * i + 2]) - layer.reaches[i])
        // layer.strides[i]
        + 1
        for i in range(2)
    ]
    depth, filters = weights.shape[1], len(weights) // groups
    sums = np.zeros((len(x), len(weights), *outputs), np.int64)
    for group, row, column in product(
        range(groups), range(layer.kernel[0]), range(layer.kernel[1])
    ):
        seen = looked_up(
            x[:, group * depth : (group + 1) * depth],
            np.arange(outputs[0]) * layer.strides[0] + row * layer.dilations[0] - layer.pads[0],
            np.arange(outputs[1]) * layer.strides[1] + column * layer.dilations[1] - layer.pads[2],
            (1, 1),
            layer.offset_x,
        )
        some = slice(group * filters, (group + 1) * filters)
        sums[:, some] += np.einsum("nchw,oc->nohw", seen, wide[some, :, row, column])
    return finished(sums, bias)


def transposed(layer: Layer, arrays: list[Array | None], size: tuple[int, int]) -> Array:
    """Return a transposed convolution: for each result and tap, the element that spread there."""
    x, weights, bias, offset = arrays
    assert x is not None
    assert weights is not None
    groups = layer.groups
    channels, filters = len(weights) // groups, weights.shape[1]
    offsets = np.broadcast_to(0 if offset is None else offset.astype(np.int64), (groups * filters,))
    sums = np.zeros((len(x), groups * filters, *size), np.int64)
    for group, row, column in product(
        range(groups), range(layer.kernel[0]), range(layer.kernel[1])
    ):
        members = slice(group * channels, (group + 1) * channels)
        some = slice(group * filters, (group + 1) * filters)
        seen = looked_up(
            x[:, members],
            np.arange(size[0]) + layer.pads[0] - row * layer.dilations[0],
            np.arange(size[1]) + layer.pads[2] - column * layer.dilations[1],
            layer.strides,
            layer.offset_x,
        )
        taps = weights[members, :, row, column].astype(np.int64) - offsets[some]
        sums[:, some] += np.einsum("nchw,co->nohw", seen, taps)
    return finished(sums, bias)


def check(
    op: str,
    arrays: list[Array | None],
    expected: Array,
    attributes: dict[str, OmAttribute],
    constant: bool = False,
) -> None:
    """Hold the device to `expected`, bit for bit; weights are a constant or fed."""
    (y,) = run_operator(
        op, arrays, [(DType.INT32, expected.shape)], attributes, constants=[1] if constant else []
    )
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, expected)


def check_transposed(layer: Layer, arrays: list[Array | None], extra: tuple[int, int]) -> None:
    """Hold a transposed convolution to the reference."""
    size = layer.transposed_size(extra)
    expected = transposed(layer, arrays, size)
    attributes: dict[str, OmAttribute] = {
        **layer.attributes,
        "groups": layer.groups,
        "input_size": list(expected.shape),
        "output_padding": [0, 0, *extra],
    }
    check("Conv2DTransposeD", arrays, expected, attributes, layer.constant)
