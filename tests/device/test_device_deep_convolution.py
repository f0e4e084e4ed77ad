"""Convolutions of volumes against onnxruntime over random geometries, and in exact integers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.device.sim.kernels import deep_convolution
from atc_py.device.sim.numerics.cube_types import round_to_hf32
from atc_py.package.schema import OmAttribute
from atc_py.target.row import HF32_PRODUCTS
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from tests.device.models import random_array, run_operator
from tests.device.nodes import refusal
from tests.device.onnx_oracle import Onnx, compare
from tests.sampling import examples

F16, F32, I8, I32 = DType.FLOAT16, DType.FLOAT32, DType.INT8, DType.INT32


@dataclass(frozen=True)
class Geometry:
    """Shapes and attributes of a convolution; pads are those of the beginning, then of the end."""

    batch: int
    groups: int
    depth: int
    filters: int
    dims: Shape
    kernel: Shape
    strides: Shape
    dilations: Shape
    pads: Shape
    bias: bool
    seed: int

    @property
    def attributes(self) -> dict[str, OmAttribute]:
        """CANN's spelling; pads are front, back, top, bottom, left, right."""
        pairs = zip(self.pads[:3], self.pads[3:], strict=True)
        return {
            "strides": [1, 1, *self.strides],
            "dilations": [1, 1, *self.dilations],
            "pads": [pad for pair in pairs for pad in pair],
            "groups": self.groups,
        }

    @property
    def onnx_attributes(self) -> dict[str, object]:
        """ONNX's spelling."""
        return {
            "kernel_shape": list(self.kernel),
            "strides": list(self.strides),
            "dilations": list(self.dilations),
            "pads": list(self.pads),
            "group": self.groups,
        }

    @property
    def reaches(self) -> list[int]:
        """Elements from the first to the last of a window."""
        return [d * (k - 1) + 1 for d, k in zip(self.dilations, self.kernel, strict=True)]

    def fitted(self) -> Geometry:
        """Return with room for a window."""
        least = [
            max(dim, reach - self.pads[at] - self.pads[at + 3])
            for at, (dim, reach) in enumerate(zip(self.dims, self.reaches, strict=True))
        ]
        return replace(self, dims=tuple(least))

    def spread(self, extra: Shape) -> list[int] | None:
        """Return the dims of a transposed convolution; None where nothing is left."""
        found = [
            (dim - 1) * self.strides[at]
            + self.reaches[at]
            - self.pads[at]
            - self.pads[at + 3]
            + extra[at]
            for at, dim in enumerate(self.dims)
        ]
        return found if min(found) > 0 else None


def _three(low: int, high: int) -> st.SearchStrategy[Shape]:
    return st.tuples(*[st.integers(low, high)] * 3)


GEOMETRIES = st.builds(
    Geometry,
    batch=st.integers(1, 2),
    groups=st.integers(1, 3),
    depth=st.integers(1, 3),
    filters=st.integers(1, 3),
    dims=_three(1, 6),
    kernel=_three(1, 3),
    strides=_three(1, 3),
    dilations=_three(1, 3),
    pads=st.tuples(*[st.integers(0, 2)] * 6),
    bias=st.booleans(),
    seed=st.integers(0, 999),
)


@given(geometry=GEOMETRIES)
@examples(40)
def test_conv3d_agrees_with_onnxruntime(geometry: Geometry) -> None:
    g = geometry.fitted()
    x = random_array(g.seed, (g.batch, g.groups * g.depth, *g.dims))
    weights = random_array(g.seed + 1, (g.groups * g.filters, g.depth, *g.kernel))
    bias = random_array(g.seed + 2, (g.groups * g.filters,)) if g.bias else None
    compare(Onnx("Conv", g.onnx_attributes), "Conv3D", [x, weights, bias], g.attributes)


@given(geometry=GEOMETRIES, extra=_three(0, 2))
@examples(40)
def test_transposed_convolution_agrees_with_onnxruntime(geometry: Geometry, extra: Shape) -> None:
    g = geometry
    extra = tuple(min(more, step - 1) for more, step in zip(extra, g.strides, strict=True))
    dims = g.spread(extra)
    if dims is None:
        return
    x = random_array(g.seed, (g.batch, g.groups * g.depth, *g.dims))
    weights = random_array(g.seed + 1, (g.groups * g.depth, g.filters, *g.kernel))
    bias = random_array(g.seed + 2, (g.groups * g.filters,)) if g.bias else None
    node = Onnx("ConvTranspose", {**g.onnx_attributes, "output_padding": list(extra)})
    attributes: dict[str, OmAttribute] = {
        **g.attributes,
        "output_padding": [0, 0, *extra],
        "input_size": [g.batch, g.groups * g.filters, *dims],
    }
    compare(node, "Conv3DTransposeD", [x, weights, bias], attributes)


def test_conv3d_in_pieces_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_convolution, "_COLUMNS", 60)
    node = Onnx("Conv", {"pads": [1] * 6, "strides": [1, 2, 1]})
    x, weights = random_array(1, (2, 3, 3, 7, 5)), random_array(2, (4, 3, 2, 3, 3))
    attributes: dict[str, OmAttribute] = {"pads": [1] * 6, "strides": [1, 1, 1, 2, 1]}
    compare(node, "Conv3D", [x, weights], attributes)


def test_int8_is_exact_and_padding_is_the_quantized_zero() -> None:
    generator = np.random.default_rng(3)
    x = generator.integers(-128, 128, (1, 40, 3, 4, 4)).astype(np.int8)
    weights = generator.integers(-128, 128, (3, 40, 2, 3, 3)).astype(np.int8)
    offset = np.array([-3, 0, 9], np.int8)
    bias = np.array([2**31 - 1, 0, -5], np.int32)
    zero = -7
    attributes: dict[str, OmAttribute] = {
        "strides": [1, 1, 1, 1, 1], "pads": [1, 0, 1, 1, 1, 1], "offset_x": zero,
    }  # fmt: skip
    types = [(I32, (1, 3, 3, 4, 4))]
    (found,) = run_operator("Conv3D", [x, weights, bias, offset], types, attributes)
    borders = [(0, 0), (0, 0), (1, 0), (1, 1), (1, 1)]
    padded = np.pad(x.astype(np.int64), borders, constant_values=zero)
    taps = np.lib.stride_tricks.sliding_window_view(padded, (2, 3, 3), axis=(2, 3, 4))
    less = weights.astype(np.int64) - offset[:, None, None, None, None]
    wanted = np.einsum("ncdhwijk,ocijk->nodhw", taps, less) + bias.reshape(1, 3, 1, 1, 1)
    np.testing.assert_array_equal(found, wanted.astype(np.int32))


def test_conv3d_in_float16_accumulates_in_float32() -> None:
    x, weights = (
        np.ones((1, 4097, 1, 1, 1), np.float16),
        np.full((1, 4097, 1, 1, 1), 0.5, np.float16),
    )
    attributes: dict[str, OmAttribute] = {"strides": [1] * 5, "pads": [0] * 6}
    (y,) = run_operator("Conv3D", [x, weights], [(F16, (1, 1, 1, 1, 1))], attributes)
    assert y.item() == 2048.0  # 2048.5 to even; a float16 sum would stop growing at 1024
    (y,) = run_operator("Conv3D", [x, weights], [(F32, (1, 1, 1, 1, 1))], attributes)
    assert y.item() == 2048.5


def test_hf32_rounds_data_and_weights() -> None:
    x, weights = random_array(5, (1, 3, 2, 3, 3)), random_array(6, (2, 3, 2, 2, 2))
    types = [(F32, (1, 2, 1, 2, 2))]
    plain: dict[str, OmAttribute] = {"strides": [1] * 5, "pads": [0] * 6}
    hf32: dict[str, OmAttribute] = {**plain, "impl_mode": HF32_PRODUCTS}
    (found,) = run_operator("Conv3D", [x, weights], types, hf32)
    rounded = [round_to_hf32(each) for each in (x, weights)]
    (wanted,) = run_operator("Conv3D", rounded, types, plain)
    np.testing.assert_array_equal(found, wanted)
    (exact,) = run_operator("Conv3D", [x, weights], types, plain)
    assert not np.array_equal(found, exact)


X, W = random_array(1, (1, 4, 3, 3, 3)), random_array(2, (2, 4, 2, 2, 2))
PLAIN: dict[str, OmAttribute] = {"strides": [1] * 5, "pads": [0] * 6}


@pytest.mark.parametrize(
    ("change", "shapes", "reason"),
    [
        ({"groups": 3}, None, "4 channels, 3 groups and filter"),
        ({"strides": [1, 1, 1, 1]}, None, "5"),
        ({"strides": [2, 1, 1, 1, 1]}, None, "strides must start with 1, 1 (NCDHW)"),
        ({"pads": [0, 0, 0, 0]}, None, "6"),
        ({"data_format": "NDHWC"}, None, "data_format"),
        ({}, ((1, 4, 3, 3), (2, 4, 2, 2)), "x must have 5 axes"),
        ({}, ((1, 4, 1, 3, 3), (2, 4, 2, 2, 2)), "a window of 2 does not fit in 1"),
    ],
)
def test_what_does_not_fit_is_refused(
    change: dict[str, OmAttribute], shapes: tuple[Shape, Shape] | None, reason: str
) -> None:
    x, weights = (X, W) if shapes is None else (random_array(1, each) for each in shapes)
    found = refusal("Conv3D", [x, weights], [(F32, (1, 2, 2, 2, 2))], {**PLAIN, **change})
    assert reason in found


def test_transposed_convolution_refuses_int8_and_other_sizes() -> None:
    x, weights = X.astype(np.int8), random_array(2, (4, 2, 2, 2, 2)).astype(np.int8)
    attributes: dict[str, OmAttribute] = {**PLAIN, "input_size": [1, 2, 4, 4, 4]}
    types = [(I32, (1, 2, 4, 4, 4))]
    assert "floats, found int8" in refusal("Conv3DTransposeD", [x, weights], types, attributes)
    attributes = {**PLAIN, "input_size": [1, 2, 4, 4, 5]}
    given = [X, random_array(2, (4, 2, 2, 2, 2))]
    found = refusal("Conv3DTransposeD", given, [(F32, (1, 2, 4, 4, 5))], attributes)
    assert "input_size must be [1, 2, 4, 4, 4], found [1, 2, 4, 4, 5]" in found
