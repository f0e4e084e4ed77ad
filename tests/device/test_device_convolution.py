"""Convolutions against onnxruntime over random geometries."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from atc_py.device.sim.kernel import falls_together
from atc_py.device.sim.kernels import convolution, transposed_convolution
from atc_py.device.sim.primitives import channelwise
from atc_py.package.schema import OmAttribute
from atc_py.tensor.dtypes import DType
from tests.device.models import random_array, run_operator
from tests.device.onnx_oracle import Onnx, compare
from tests.device.tolerances import assert_close
from tests.sampling import examples


@dataclass(frozen=True)
class Geometry:
    """Shapes and attributes of a convolution."""

    batch: int
    groups: int
    depth: int
    filters: int
    extents: tuple[int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int, int, int]
    bias: bool
    seed: int

    @property
    def attributes(self) -> dict[str, OmAttribute]:
        """CANN's spelling; pads are top, bottom, left, right."""
        return {
            "strides": [1, 1, *self.strides],
            "dilations": [1, 1, *self.dilations],
            "pads": list(self.pads),
        }

    @property
    def onnx_attributes(self) -> dict[str, object]:
        """ONNX's spelling; pads are top, left, bottom, right."""
        top, bottom, left, right = self.pads
        return {
            "kernel_shape": list(self.kernel),
            "strides": list(self.strides),
            "dilations": list(self.dilations),
            "pads": [top, left, bottom, right],
            "group": self.groups,
        }

    def fitted(self) -> Geometry:
        """Return with room for a window."""
        reaches = [d * (k - 1) + 1 for d, k in zip(self.dilations, self.kernel, strict=True)]
        height = max(self.extents[0], reaches[0] - sum(self.pads[:2]))
        width = max(self.extents[1], reaches[1] - sum(self.pads[2:]))
        return replace(self, extents=(height, width))


PAIR = st.tuples(st.integers(1, 3), st.integers(1, 3))
GEOMETRIES = st.builds(
    Geometry,
    batch=st.integers(1, 2),
    groups=st.integers(1, 3),
    depth=st.integers(1, 4),
    filters=st.integers(1, 4),
    extents=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    strides=PAIR,
    dilations=PAIR,
    pads=st.tuples(*[st.integers(0, 3)] * 4),
    bias=st.booleans(),
    seed=st.integers(0, 999),
)


@given(geometry=GEOMETRIES)
@examples(60)
def test_conv2d_agrees_with_onnxruntime(geometry: Geometry) -> None:
    g = geometry.fitted()
    x = random_array(g.seed, (g.batch, g.groups * g.depth, *g.extents))
    weights = random_array(g.seed + 1, (g.groups * g.filters, g.depth, *g.kernel))
    bias = random_array(g.seed + 2, (g.groups * g.filters,)) if g.bias else None
    compare(
        Onnx("Conv", g.onnx_attributes),
        "Conv2D",
        [x, weights, bias],
        {**g.attributes, "groups": g.groups},
    )


@given(geometry=GEOMETRIES)
@examples(60)
def test_depthwise_agrees_with_onnxruntime(geometry: Geometry) -> None:
    g = geometry.fitted()
    x = random_array(g.seed, (g.batch, g.groups, *g.extents))
    weights = random_array(g.seed + 1, (g.groups * g.filters, 1, *g.kernel))
    bias = random_array(g.seed + 2, (g.groups * g.filters,)) if g.bias else None
    compare(Onnx("Conv", g.onnx_attributes), "DepthwiseConv2D", [x, weights, bias], g.attributes)


@given(
    extents=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    kernel=st.tuples(st.sampled_from([1, 2, 3, 5, 7]), st.sampled_from([1, 2, 3, 5, 7])),
    strides=st.sampled_from([(1, 1), (2, 2), (1, 3), (4, 2), (2, 1), (3, 1)]),
    dilation=st.integers(1, 2),
    multiplier=st.integers(1, 2),
)
@examples(60)
def test_depthwise_of_windows_larger_than_the_map_agrees_with_onnxruntime(
    extents: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilation: int,
    multiplier: int,
) -> None:
    top, left = (dilation * (size - 1) // 2 for size in kernel)
    g = Geometry(
        1, 3, 1, multiplier, extents, kernel, strides, (dilation, dilation),
        (top, top, left, left), bias=True, seed=5,
    ).fitted()  # fmt: skip
    x, weights = random_array(1, (1, 3, *g.extents)), random_array(2, (3 * multiplier, 1, *kernel))
    bias = random_array(3, (3 * multiplier,))
    compare(Onnx("Conv", g.onnx_attributes), "DepthwiseConv2D", [x, weights, bias], g.attributes)


def test_depthwise_of_a_map_that_has_no_rows_in_a_phase_agrees_with_onnxruntime() -> None:
    x, weights = random_array(1, (1, 3, 1, 4)), random_array(2, (3, 1, 3, 3))
    attributes: dict[str, OmAttribute] = {"strides": [1, 1, 2, 1], "pads": [1, 1, 1, 1]}
    node = Onnx("Conv", {"group": 3, "pads": [1, 1, 1, 1], "strides": [2, 1]})
    compare(node, "DepthwiseConv2D", [x, weights], attributes)


@pytest.mark.parametrize("at_once", [1, 200, 10**6])
@pytest.mark.parametrize("worth_sharing", [1, 10**6])
def test_depthwise_in_pieces_gives_the_same(
    monkeypatch: pytest.MonkeyPatch, at_once: int, worth_sharing: int
) -> None:
    monkeypatch.setattr(channelwise, "_AT_ONCE", at_once)
    monkeypatch.setattr(channelwise, "_WORTH_SHARING", worth_sharing)
    x, weights = random_array(1, (2, 7, 9, 8)), random_array(2, (7, 1, 3, 3))
    attributes: dict[str, OmAttribute] = {"strides": [1, 1, 2, 1], "pads": [1, 1, 1, 1]}
    node = Onnx("Conv", {"group": 7, "pads": [1, 1, 1, 1], "strides": [2, 1]})
    compare(node, "DepthwiseConv2D", [x, weights, random_array(3, (7,))], attributes)


def test_depthwise_of_a_map_that_is_too_large_for_copies_gives_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channelwise, "_LARGEST", 71)
    x, weights = random_array(1, (1, 3, 9, 8)), random_array(2, (3, 1, 3, 3))
    attributes: dict[str, OmAttribute] = {"strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1]}
    node = Onnx("Conv", {"group": 3, "pads": [1, 1, 1, 1]})
    compare(node, "DepthwiseConv2D", [x, weights, random_array(3, (3,))], attributes)


@pytest.mark.parametrize("op", ["Conv2D", "Conv2DTransposeD"])
def test_maps_that_fall_on_the_same_places_of_a_cache_agree_with_onnxruntime(op: str) -> None:
    assert falls_together(32 * 32, np.float32)
    x, weights, bias = (
        random_array(n, shape) for n, shape in enumerate([(1, 4, 32, 32), (4, 4, 1, 1), (4,)])
    )
    attributes: dict[str, OmAttribute] = {
        "strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0], "groups": 1,
    }  # fmt: skip
    if op == "Conv2DTransposeD":
        attributes["input_size"] = [1, 4, 32, 32]
    compare(
        Onnx("Conv" if op == "Conv2D" else "ConvTranspose", {}), op, [x, weights, bias], attributes
    )


@given(geometry=GEOMETRIES, extra=st.tuples(st.integers(0, 2), st.integers(0, 2)))
@examples(60)
def test_transposed_agrees_with_onnxruntime(geometry: Geometry, extra: tuple[int, int]) -> None:
    g = geometry
    extra = (extra[0] % g.strides[0], extra[1] % g.strides[1])
    padded = (g.pads[0] + g.pads[1], g.pads[2] + g.pads[3])
    size = [
        (g.extents[i] - 1) * g.strides[i] + g.dilations[i] * (g.kernel[i] - 1) + 1
        - padded[i] + extra[i]
        for i in range(2)
    ]  # fmt: skip
    assume(min(size) > 0)
    x = random_array(g.seed, (g.batch, g.groups * g.depth, *g.extents))
    weights = random_array(g.seed + 1, (g.groups * g.depth, g.filters, *g.kernel))
    bias = random_array(g.seed + 2, (g.groups * g.filters,)) if g.bias else None
    compare(
        Onnx("ConvTranspose", {**g.onnx_attributes, "output_padding": list(extra)}),
        "Conv2DTransposeD",
        [x, weights, bias],
        {
            **g.attributes,
            "groups": g.groups,
            "input_size": [g.batch, g.groups * g.filters, *size],
            "output_padding": [0, 0, *extra],
        },
    )


@pytest.mark.parametrize("limit", [1, 40, 300])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("many_pixels", [1, 10**9], ids=["share the map", "share the filters"])
def test_convolution_in_pieces_gives_the_same(
    monkeypatch: pytest.MonkeyPatch, limit: int, groups: int, many_pixels: int
) -> None:
    monkeypatch.setattr(convolution, "_COLUMNS", limit)
    monkeypatch.setattr(transposed_convolution, "_SPREAD", limit)
    monkeypatch.setattr(convolution, "_MANY_PIXELS", many_pixels)
    monkeypatch.setattr(convolution, "PRODUCTS_AT_ONCE", 1)
    x, weights = random_array(1, (2, 6, 9, 8)), random_array(2, (6, 6 // groups, 3, 2))
    node = Onnx("Conv", {"group": groups, "pads": [1, 0, 1, 1]})
    attributes: dict[str, OmAttribute] = {
        "strides": [1, 1, 1, 1], "pads": [1, 1, 0, 1], "groups": groups,
    }  # fmt: skip
    compare(node, "Conv2D", [x, weights], attributes)
    transposed = Onnx("ConvTranspose", {"group": groups, "strides": [2, 2]})
    size: list[int | float] = [2, 6, 19, 16]
    attributes = {
        "strides": [1, 1, 2, 2], "pads": [0, 0, 0, 0], "groups": groups, "input_size": size,
    }  # fmt: skip
    filters = random_array(3, (6, 6 // groups, 3, 2))
    compare(transposed, "Conv2DTransposeD", [x, filters], attributes)


def test_conv2d_in_float64_is_exact_to_float64() -> None:
    x, weights = random_array(1, (1, 3, 6, 6), DType.FLOAT64), random_array(2, (4, 3, 1, 1))
    wide = weights.astype(np.float64)
    attributes: dict[str, OmAttribute] = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0]}
    (y,) = run_operator("Conv2D", [x, wide], [(DType.FLOAT64, (1, 4, 6, 6))], attributes)
    assert_close(y, np.einsum("nchw,oc->nohw", x, wide[:, :, 0, 0]), DType.FLOAT64)


def test_conv2d_in_float16_accumulates_in_float32() -> None:
    x = np.ones((1, 4097, 1, 1), np.float16)
    attributes: dict[str, OmAttribute] = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0]}
    filters = np.full((1, 4097, 1, 1), 0.5, np.float16)
    (y,) = run_operator("Conv2D", [x, filters], [(DType.FLOAT16, (1, 1, 1, 1))], attributes)
    assert y.item() == 2048.0  # 2048.5 to even; a float16 sum would stop growing at 1024
