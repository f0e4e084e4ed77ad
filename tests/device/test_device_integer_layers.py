"""Layers of int8 data: every bit as plain int64 arithmetic gives it, limits of exactness included."""

import gc
from dataclasses import replace
from weakref import ref

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from atc_py.device.sim.backend import SimBackend
from atc_py.device.sim.execution.parallel import Workers
from atc_py.device.sim.kernel import Call, find_kernel
from atc_py.device.sim.kernels import convolution, transposed_convolution
from atc_py.device.sim.numerics import cube_types
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.package.schema import OmAttribute
from atc_py.tensor.dtypes import DType
from tests.device.integer_layers import (
    Layer,
    check,
    check_transposed,
    convolved,
    int8_array,
    offsets,
    wrapped,
)
from tests.device.models import Array, ModelBuilder
from tests.device.nodes import refusal
from tests.failures import in_one_item
from tests.sampling import examples

I8, I32 = DType.INT8, DType.INT32

PAIR = st.tuples(st.integers(1, 3), st.integers(1, 3))
LAYERS = st.builds(
    Layer,
    batch=st.integers(1, 2),
    groups=st.integers(1, 3),
    depth=st.integers(1, 4),
    filters=st.integers(1, 4),
    extents=st.tuples(st.integers(1, 9), st.sampled_from([1, 2, 5, 9, 30])),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    strides=PAIR,
    dilations=PAIR,
    pads=st.tuples(*[st.integers(0, 3)] * 4),
    bias=st.booleans(),
    offset_w=st.integers(0, 2),
    offset_x=st.sampled_from([0, 0, -128, 5, 127]),
    constant=st.booleans(),
    seed=st.integers(0, 9999),
)


@given(layer=LAYERS)
@examples(80)
def test_conv2d_of_int8_is_exact(layer: Layer) -> None:
    g = layer.fitted()
    arrays = g.operands((g.groups * g.filters, g.depth, *g.kernel))
    expected = convolved(g, arrays)
    check("Conv2D", arrays, expected, {**g.attributes, "groups": g.groups}, g.constant)


@given(layer=LAYERS)
@examples(60)
def test_depthwise_of_int8_is_exact(layer: Layer) -> None:
    g = replace(layer.fitted(), depth=1)
    arrays = g.operands((g.groups * g.filters, 1, *g.kernel))
    check("DepthwiseConv2D", arrays, convolved(g, arrays), g.attributes, g.constant)


@given(layer=LAYERS, extra=st.tuples(st.integers(0, 2), st.integers(0, 2)))
@examples(80)
def test_transposed_of_int8_is_exact(layer: Layer, extra: tuple[int, int]) -> None:
    extra = (extra[0] % layer.strides[0], extra[1] % layer.strides[1])
    assume(min(layer.transposed_size(extra)) > 0)
    filters = (layer.groups * layer.depth, layer.filters, *layer.kernel)
    check_transposed(layer, layer.operands(filters), extra)


@given(
    shapes=st.sampled_from(
        [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)),
         ((70, 3), (3, 5)), ((1, 2000), (2000, 70)), ((2, 0), (0, 5))]
    ),
    adj=st.tuples(st.booleans(), st.booleans()),
    bias=st.booleans(),
    offset_w=st.integers(0, 2),
    constant=st.booleans(),
    seed=st.integers(0, 999),
)  # fmt: skip
@examples(80)
def test_products_of_int8_are_exact(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    adj: tuple[bool, bool],
    bias: bool,
    offset_w: int,
    constant: bool,
    seed: int,
) -> None:
    generator = np.random.default_rng(seed)
    left, right = (int8_array(generator, shape) for shape in shapes)
    columns = right.shape[-1]
    biases = generator.integers(-(2**31), 2**31, (columns,)).astype(np.int32)
    offset = offsets(generator, offset_w, columns)
    wide = right.astype(np.int64) - (0 if offset is None else offset.astype(np.int64))
    sums = np.einsum("...mk,...kn->...mn", left.astype(np.int64), wide)
    expected = wrapped(sums + biases if bias else sums)
    turned = [
        np.ascontiguousarray(array.swapaxes(-1, -2)) if turn else array
        for array, turn in zip((left, right), adj, strict=True)
    ]
    arrays = [*turned, biases if bias else None, offset]
    check("BatchMatMulV2", arrays, expected, {"adj_x1": adj[0], "adj_x2": adj[1]}, constant)
    if left.ndim == right.ndim == 2:
        turns: dict[str, OmAttribute] = {"transpose_x1": adj[0], "transpose_x2": adj[1]}
        check("MatMulV2", arrays, expected, {**turns, "offset_x": 7}, constant)


LIMITS = [(0, 1), (0, 1023), (0, 1024), (0, 1025), (0, 1026), (0, 2049), (0, 5000), (0, 131071),
          (0, 131072), (0, 131073), (127, 513), (127, 514), (127, 515), (127, 516), (127, 70000)]  # fmt: skip
"""offset_w, and how many products are added up: beside 2^24 and 2^31 over the largest product."""


def largest(offset: int, terms: int) -> tuple[Array, Array, Array | None, int]:
    """Return factors whose products are the largest but for a last one of 1, and their sum."""
    left, right = np.full(terms, -128, np.int8), np.full(terms, -128, np.int8)
    left[-1], right[-1] = 1, offset + 1 if offset < 127 else 126
    offsets = np.array([offset], np.int8) if offset else None
    return left, right, offsets, (terms - 1) * 128 * (128 + offset) + int(right[-1]) - offset


@in_one_item(("offset", "terms"), LIMITS)
def test_long_sums_lose_nothing_and_wrap_around(offset: int, terms: int) -> None:
    left, right, offsets, total = largest(offset, terms)
    expected = wrapped(np.full((1, 1), total, np.int64))
    check("MatMulV2", [left[None], right[:, None], None, offsets], expected, {})
    check("BatchMatMulV2", [left[None], right[:, None], None, offsets], expected, {})
    ones: dict[str, OmAttribute] = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0]}
    x, image = left.reshape(1, -1, 1, 1), expected.reshape(1, 1, 1, 1)
    check("Conv2D", [x, right.reshape(1, -1, 1, 1), None, offsets], image, ones)
    spread: dict[str, OmAttribute] = {**ones, "input_size": [1, 1, 1, 1]}
    check("Conv2DTransposeD", [x, right.reshape(-1, 1, 1, 1), None, offsets], image, spread)


@pytest.mark.parametrize("terms", [257, 258, 259, 260, 261, 515, 33026, 33027, 70000])
def test_differences_of_both_operands_lose_nothing(terms: int) -> None:
    x = np.full((1, terms, 1, 1), -128, np.int8)
    weights = np.full((terms, 1, 1, 1), -128, np.int8)
    x[0, -1], weights[-1] = 126, 126
    layer = Layer((1, 1), (1, 1), depth=terms, offset_x=127)
    arrays: list[Array | None] = [x, weights, None, np.array([127], np.int8)]
    check_transposed(layer, arrays, (0, 0))


@pytest.mark.parametrize("size", [31, 33])
def test_windows_of_more_than_a_thousand_taps_lose_nothing(size: int) -> None:
    x = np.full((1, 2, size, size + 1), -128, np.int8)
    weights = np.full((2, 1, size, size), -128, np.int8)
    x[..., -1, -2:], weights[..., -1, -1] = 1, 1
    layer = Layer((size, size + 1), (size, size), groups=2)
    arrays: list[Array | None] = [x, weights, np.array([2**24 + 1, -3], np.int32), None]
    check("DepthwiseConv2D", arrays, convolved(layer, arrays), layer.attributes)
    check_transposed(layer, arrays, (0, 0))


@pytest.mark.parametrize("bias", [2**24 + 1, 2**31 - 1, -(2**31), -(2**31) + 1])
def test_bias_is_added_exactly_and_wraps_around(bias: int) -> None:
    x, weights = np.array([[1, -1]], np.int8).T, np.array([[1]], np.int8)
    added = np.array([bias], np.int32)
    expected = wrapped(np.array([[1], [-1]], np.int64) + bias)
    check("MatMulV2", [x, weights, added], expected, {})
    ones: dict[str, OmAttribute] = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0]}
    image = x.reshape(1, 1, 1, 2)
    filters, result = weights.reshape(1, 1, 1, 1), expected.reshape(1, 1, 1, 2)
    check("Conv2D", [image, filters, added], result, ones)
    check("DepthwiseConv2D", [image, filters, added], result, ones)
    spread: dict[str, OmAttribute] = {**ones, "input_size": [1, 1, 1, 2]}
    check("Conv2DTransposeD", [image, filters, added], result, spread)


@pytest.mark.parametrize("limit", [1, 40, 300])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("many_pixels", [1, 10**9], ids=["share the map", "share the filters"])
def test_integer_convolution_in_pieces_gives_the_same(
    monkeypatch: pytest.MonkeyPatch, limit: int, groups: int, many_pixels: int
) -> None:
    for name in ("_COLUMNS", "_INT8_COLUMNS", "_SHORT"):
        monkeypatch.setattr(convolution, name, limit)
    monkeypatch.setattr(transposed_convolution, "_SPREAD", limit)
    monkeypatch.setattr(cube_types, "_WIDENED_AT_ONCE", limit)
    monkeypatch.setattr(convolution, "_MANY_PIXELS", many_pixels)
    monkeypatch.setattr(convolution, "PRODUCTS_AT_ONCE", 1)
    each = 6 // groups
    layer = Layer(
        (9, 8), (3, 2), 2, groups, each, each, (1, 1), (1, 2), (1, 1, 0, 1),
        bias=True, offset_x=3, constant=True, seed=limit,
    )  # fmt: skip
    arrays = layer.operands((6, each, 3, 2))
    attributes = {**layer.attributes, "groups": groups}
    check("Conv2D", arrays, convolved(layer, arrays), attributes, constant=True)
    check_transposed(layer, arrays, (0, 0))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(
    ("left", "right"),
    [((300, 1030), (1030, 5)), ((5, 20), (20, 1100)), ((7, 3, 4), (4, 5)), ((2, 5, 3, 4), (5, 4, 6))],
)  # fmt: skip
def test_parts_of_an_integer_product_make_the_whole(
    size: int, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    generator = np.random.default_rng(size)
    a, b = int8_array(generator, left), int8_array(generator, right)
    expected = np.einsum("...mk,...kn->...mn", a.astype(np.int64), b.astype(np.int64))
    types = TensorFacts(I8, left), TensorFacts(I8, right)
    attributes = {"adj_x1": False, "adj_x2": False, "offset_x": 0}
    node = NodeView("BatchMatMulV2", "n", "aicore", types, (), attributes)
    out = np.full(expected.shape, 7, np.int32)
    kernel, workers = find_kernel("BatchMatMulV2"), Workers(size)
    assert kernel is not None
    kernel.run(Call(node, (a, b), (out,), workers=workers))
    workers.close()
    np.testing.assert_array_equal(out, wrapped(expected))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("magnitude", [20, 90, 128])
def test_long_products_are_exact_whatever_their_vectors_lengths(
    magnitude: int, turned: bool
) -> None:
    # -128 all along is past 2^24 from 1025 terms on; one odd number at the end would be rounded
    rows, inner = 2, 5000
    a = np.full((rows, inner), -magnitude, np.int8)
    a[1, ::2] = 1
    a[:, -1] = 1
    b = np.full((inner, 3), -magnitude, np.int8)
    b[::2, 1] = 3
    b[-1] = 1
    b = np.ascontiguousarray(b.T) if turned else b
    expected = a.astype(np.int64) @ (b.T if turned else b).astype(np.int64)
    builder = ModelBuilder()
    x, w = builder.input("x", "int8", a.shape), builder.constant(b)
    flags = {"transpose_x1": False, "transpose_x2": turned}
    builder.output("y", builder.node("MatMulV2", [x, w], [("int32", (rows, 3))], flags)[0])
    device = SimBackend()
    device.open()
    model = device.load(builder.build())
    for data in (a, a[::-1].copy(), a):
        found = device.run(model, {"x": data})["y"]
        np.testing.assert_array_equal(found, expected if data is a else expected[::-1])
    device.close()


def test_sums_are_taken_whole_where_their_vectors_are_short_enough() -> None:
    left = np.full((1, 4096), 64, np.float32)
    right = np.full((4096, 2), 64, np.float32)
    assert cube_types.proven_terms(left, right, 1024) == 1024, "no constant"
    right.flags.writeable = False
    assert cube_types.proven_terms(left, right, 1024) == 1024, "2^24 less rounding of squares"
    left[0, :8] = 0
    assert cube_types.proven_terms(left, right, 1024) == 4096
    left[0, :] = 66
    assert cube_types.proven_terms(left, right, 1024) == 1024
    assert cube_types.proven_terms(left[:, :1024], right[:1024], 1024) == 1024


def test_weights_that_change_are_read_anew_and_constants_kept_while_the_model_lives() -> None:
    generator = np.random.default_rng(1)
    x, fixed = int8_array(generator, (3, 40)), int8_array(generator, (40, 6))
    builder = ModelBuilder()
    data, fed = builder.input("x", "int8", (3, 40)), builder.input("w", "int8", (40, 6))
    (computed,) = builder.node("Minimum", [fed, fed], [("int8", (40, 6))])
    for name, operand in (("a", fed), ("b", computed), ("c", builder.constant(fixed))):
        builder.output(name, builder.node("MatMulV2", [data, operand], [("int32", (3, 6))])[0])
    kept = len(cube_types._FLOATS)
    device = SimBackend()
    device.open()
    model = device.load(builder.build())
    weights = int8_array(generator, (40, 6))
    for _ in range(2):
        outputs = device.run(model, {"x": x, "w": weights})
        for name, matrix in (("a", weights), ("b", weights), ("c", fixed)):
            expected = x.astype(np.int64) @ matrix.astype(np.int64)
            np.testing.assert_array_equal(outputs[name], expected)
        weights += np.int8(1)
    assert len(cube_types._FLOATS) == kept + 1
    device.close()
    del model, device, builder
    gc.collect()
    assert len(cube_types._FLOATS) == kept


def test_constant_that_stands_where_another_was_is_not_taken_for_it() -> None:
    gone, weights = np.ones((1, 1), np.int8), np.full((1, 1), 3, np.int8)
    weights.flags.writeable = False
    known = cube_types._FLOATS._known
    known[id(weights), weights.strides] = ref(gone), gone.astype(np.float32)
    types = TensorFacts(I8, (1, 1)), TensorFacts(I8, (1, 1))
    node = NodeView("MatMulV2", "n", "aicore", types, (), {})
    call = Call(node, (gone, weights), (np.zeros((1, 1), np.int32),))
    assert cube_types.widened_weights(call, weights) == 3


X, W = np.ones((1, 2, 3, 3), np.int8), np.ones((4, 2, 1, 1), np.int8)
ONES: dict[str, OmAttribute] = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0]}


@pytest.mark.parametrize(
    ("arrays", "attributes", "reason"),
    [
        ([X, W.astype(np.float32)], {}, "the second operand must be int8 with int8"),
        ([X, W, np.ones(4, np.float32)], {}, "bias must be int32 with int8, found float32"),
        ([X, W, np.ones(4, np.int8)], {}, "bias must be int32 with int8, found int8"),
        ([X, W, np.ones(3, np.int32)], {}, "bias must have shape 4"),
        ([X, W, None, np.ones(4, np.int32)], {}, "offset_w must be int8 with int8"),
        ([X, W, None, np.ones(2, np.int8)], {}, "offset_w must have shape 1 or 4"),
        ([X, W], {"offset_x": 128}, "offset_x must be in [-128, 127], found 128"),
        ([X, W], {"offset_x": -129}, "offset_x must be in [-128, 127], found -129"),
        ([X.astype(np.uint8), W], {}, "floats and int8, found uint8"),
        ([X.astype(np.int32)] * 2, {}, "floats and int8, found int32"),
    ],
)
def test_operands_that_do_not_go_with_int8_are_refused(
    arrays: list[Array | None], attributes: dict[str, OmAttribute], reason: str
) -> None:
    result = [(I32, (1, 4, 3, 3))]
    assert reason in refusal("Conv2D", arrays, result, {**ONES, **attributes})


@pytest.mark.parametrize("dtype", [I8, DType.FLOAT32])
def test_result_of_int8_is_int32_and_nothing_else(dtype: DType) -> None:
    result = [(dtype, (1, 4, 3, 3))]
    assert "the result is int32 1x4x3x3" in refusal("Conv2D", [X, W], result, ONES)
    matrices = [np.ones((2, 2), np.int8)] * 2
    assert "the result is int32 2x2" in refusal("MatMulV2", matrices, [(dtype, (2, 2))])
