"""Indices, work along axes and products where only the run knows dims, against onnxruntime.

Every model is loaded once and run on several shapes, the first one again at the end.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.lowering.opened import (
    EXTENT,
    LONGEST,
    MODE,
    SEED,
    SOLID,
    Opened,
    agree_on_runs,
    cut,
    drawn_numbers,
    drawn_shape,
)

Array = NDArray[Any]
Feeds = Mapping[str, Array]


INTEGERS = st.sampled_from([np.int32, np.int64])


# Indices ------------------------------------------------------------------------------------------


def indices_into(data: st.DataObject, shape: Sequence[int], extents: Any) -> Array:
    """Return int32 indices of a shape, from either end."""
    generator = np.random.default_rng(data.draw(SEED))
    limits = np.broadcast_to(np.asarray(extents), shape)
    return generator.integers(-limits, limits).astype(np.int32)


@given(st.integers(-2, 1), st.integers(1, 2), MODE, st.data())
def test_gather(axis: int, rank: int, mode: str, data: st.DataObject) -> None:
    net = Opened()
    net.output(net.op("Gather", net.open("x", 2), net.indices("i", rank), axis=axis))

    def feeds() -> Feeds:
        x = drawn_numbers(data, drawn_shape(data, 2, SOLID))
        places = indices_into(data, drawn_shape(data, rank, st.integers(0, 3)), x.shape[axis])
        return {**cut("x", x), **cut("i", places)}

    agree_on_runs(data, net, mode, feeds)


@given(MODE, st.data())
def test_gather_elements(mode: str, data: st.DataObject) -> None:
    net = Opened()
    net.output(net.op("GatherElements", net.open("x", 2), net.indices("i", 2), axis=1))

    def feeds() -> Feeds:
        rows, columns = drawn_shape(data, 2, SOLID)
        shape = (data.draw(st.integers(0, rows)), data.draw(EXTENT))
        places = indices_into(data, shape, columns)
        return {**cut("x", drawn_numbers(data, (rows, columns))), **cut("i", places)}

    agree_on_runs(data, net, mode, feeds)


@given(st.integers(1, 3), MODE, st.data())
def test_tuples_of_indices(length: int, mode: str, data: st.DataObject) -> None:
    """Check GatherND and ScatterND; the tuples that are written to differ."""
    net = Opened()
    x = net.open("x", 3)
    tuples = net.op("Reshape", net.indices("i", 2), net.longs(-1, length))
    found = net.op("GatherND", x, tuples)
    net.output(found, net.op("ScatterND", x, tuples, net.op("Neg", found)))

    def feeds() -> Feeds:
        array = drawn_numbers(data, drawn_shape(data, 3, SOLID))
        reached = array.shape[:length]
        count = data.draw(st.integers(0, min(LONGEST, int(np.prod(reached)))))
        generator = np.random.default_rng(data.draw(SEED))
        chosen = generator.permutation(int(np.prod(reached)))[:count]
        places = np.stack(np.unravel_index(chosen, reached), axis=-1).astype(np.int32)
        return {**cut("x", array), **cut("i", places.reshape(count, length))}

    agree_on_runs(data, net, mode, feeds)


@given(MODE, st.data())
def test_non_zero_picks_elements(mode: str, data: st.DataObject) -> None:
    net = Opened()
    x = net.open("x", 2)
    places = net.op("NonZero", net.op("Greater", x, net.const(np.float32(0))))
    net.output(places, net.op("GatherND", x, net.op("Transpose", places)))
    agree_on_runs(
        data, net, mode, lambda: cut("x", drawn_numbers(data, drawn_shape(data, 2, EXTENT)))
    )


@given(st.integers(-3, 2), MODE, st.data())
def test_one_hot(axis: int, mode: str, data: st.DataObject) -> None:
    net = Opened()
    depth, values = net.fed("depth", np.int64, ()), net.const([0.5, 2], np.float32)
    net.output(net.op("OneHot", net.indices("i", 2), depth, values, axis=axis))

    def feeds() -> Feeds:
        count = data.draw(st.integers(1, 5))
        places = indices_into(data, drawn_shape(data, 2, EXTENT), count + 2)
        return {**cut("i", places), "depth": np.array(count)}

    agree_on_runs(data, net, mode, feeds)


# Along axes ---------------------------------------------------------------------------------------


@given(st.booleans(), st.integers(0, 1), MODE, st.data())
def test_top_k(largest: bool, axis: int, mode: str, data: st.DataObject) -> None:
    """Check elements of which no two are equal."""
    net = Opened()
    k = net.fed("k", np.int64, (1,))
    net.output(*net.ops("TopK", net.open("x", 2), k, count=2, axis=axis, largest=int(largest)))

    def feeds() -> Feeds:
        shape = drawn_shape(data, 2, EXTENT)
        generator = np.random.default_rng(data.draw(SEED))
        x = generator.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)
        return {**cut("x", x), "k": np.array([data.draw(st.integers(0, shape[axis]))])}

    agree_on_runs(data, net, mode, feeds)


@given(st.booleans(), st.booleans(), INTEGERS, MODE, st.data())
def test_cum_sum(
    exclusive: bool, reverse: bool, dtype: type, mode: str, data: st.DataObject
) -> None:
    net = Opened()
    x, axis = net.open("x", 2), net.fed("axis", dtype, ())
    net.output(net.op("CumSum", x, axis, exclusive=int(exclusive), reverse=int(reverse)))

    def feeds() -> Feeds:
        x = np.round(drawn_numbers(data, drawn_shape(data, 2, EXTENT)))
        return {**cut("x", x), "axis": np.array(data.draw(st.integers(-2, 1)), dtype)}

    agree_on_runs(data, net, mode, feeds)


@given(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2), MODE, st.data())
def test_sum_over_computed_axes(
    keepdims: int, noop: int, count: int, mode: str, data: st.DataObject
) -> None:
    net = Opened()
    x, axes = net.open("x", 3), net.fed("axes", np.int64, (count,))
    net.output(net.op("ReduceSum", x, axes, keepdims=keepdims, noop_with_empty_axes=noop))

    def feeds() -> Feeds:
        chosen = data.draw(st.permutations(range(3)))[:count]
        signed = [axis - 3 * data.draw(st.booleans()) for axis in chosen]
        x = np.round(drawn_numbers(data, drawn_shape(data, 3, SOLID)))
        return {**cut("x", x), "axes": np.array(signed, np.int64)}

    agree_on_runs(data, net, mode, feeds)


REDUCTIONS = ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceSumSquare", "Softmax")


@given(st.sampled_from(REDUCTIONS), st.integers(-3, 2), MODE, st.data())
def test_along_an_axis(op_type: str, axis: int, mode: str, data: st.DataObject) -> None:
    net = Opened()
    named: dict[str, Any] = {"axis": axis} if op_type == "Softmax" else {"axes": [axis, 0]}
    if axis in {0, -3} and "axes" in named:
        named = {"axes": [axis], "keepdims": 0}
    net.output(net.op(op_type, net.open("x", 3), **named))
    agree_on_runs(
        data,
        net,
        mode,
        lambda: cut("x", drawn_numbers(data, drawn_shape(data, 3, SOLID))),
        rounds=2,
    )


@given(st.sampled_from(["ArgMax", "ArgMin"]), st.integers(-2, 1), st.booleans(), st.data())
def test_position(op_type: str, axis: int, keepdims: bool, data: st.DataObject) -> None:
    """Check positions in float16, in which the list has them."""
    net = Opened()
    net.output(net.op(op_type, net.open("x", 2), axis=axis, keepdims=int(keepdims)))
    draw = lambda: cut("x", drawn_numbers(data, drawn_shape(data, 2, SOLID)))  # noqa: E731
    agree_on_runs(data, net, "force_fp16", draw)


# Products -----------------------------------------------------------------------------------------


@given(st.sampled_from([(2, 2), (3, 3), (3, 2), (2, 3), (1, 3), (3, 1), (1, 2)]), st.data())
def test_mat_mul(ranks: tuple[int, int], data: st.DataObject) -> None:
    net = Opened()
    net.output(net.op("MatMul", net.open("a", ranks[0]), net.open("b", ranks[1])))

    def feeds() -> Feeds:
        stack, rows, inner, columns = drawn_shape(data, 4, SOLID)
        left: tuple[int, ...] = (stack, rows, inner)[-ranks[0] :]
        right: tuple[int, ...] = (stack, inner, columns)[-ranks[1] :] if ranks[1] > 1 else (inner,)
        if ranks == (3, 3) and data.draw(st.booleans()):
            left = (1, *left[1:])
        return {**cut("a", drawn_numbers(data, left)), **cut("b", drawn_numbers(data, right))}

    agree_on_runs(data, net, "force_fp16", feeds, rounds=2)


@given(st.booleans(), st.booleans(), st.integers(1, 2), MODE, st.data())
def test_gemm(trans_a: bool, trans_b: bool, rank: int, mode: str, data: st.DataObject) -> None:
    net = Opened()
    operands = [net.open("a", 2), net.open("b", 2), net.open("c", rank)]
    net.output(net.op("Gemm", *operands, transA=int(trans_a), transB=int(trans_b), alpha=0.5))

    def feeds() -> Feeds:
        rows, inner, columns = drawn_shape(data, 3, SOLID)
        a, b = drawn_numbers(data, (rows, inner)), drawn_numbers(data, (inner, columns))
        c = [data.draw(st.sampled_from([1, extent])) for extent in (rows, columns)][-rank:]
        return {
            **cut("a", a.T.copy() if trans_a else a),
            **cut("b", b.T.copy() if trans_b else b),
            **cut("c", drawn_numbers(data, c)),
        }

    agree_on_runs(data, net, mode, feeds, rounds=3)
