"""Elementwise work and data movement where only the run knows dims, against onnxruntime.

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


# Elementwise --------------------------------------------------------------------------------------

UNARY = ("Relu", "Abs", "Neg", "Exp", "Sigmoid", "Softplus", "Selu", "Ceil", "ThresholdedRelu")
BINARY = ("Add", "Sub", "Mul", "Max", "Min", "Sum", "Greater", "Equal", "LessOrEqual")


@given(st.sampled_from(UNARY), st.integers(0, 4), MODE, st.data())
def test_unary(op_type: str, rank: int, mode: str, data: st.DataObject) -> None:
    net = Opened()
    net.output(net.op(op_type, net.open("x", rank) if rank else net.fed("x", np.float32, ())))

    def feeds() -> Feeds:
        x = np.asarray(drawn_numbers(data, drawn_shape(data, rank, EXTENT)) / np.float32(16))
        return cut("x", x) if rank else {"x": x}

    agree_on_runs(data, net, mode, feeds, rounds=2)


@st.composite
def operands(draw: st.DrawFn, ranks: Sequence[int]) -> list[tuple[int, ...]]:
    """Return shapes of these ranks that broadcast together."""
    whole = [draw(EXTENT) for _ in range(max(ranks))]
    shapes = []
    for rank in ranks:
        part = whole[len(whole) - rank :]
        shapes.append(tuple(1 if draw(st.booleans()) else extent for extent in part))
    return shapes


@given(
    st.sampled_from(BINARY), st.lists(st.integers(1, 3), min_size=2, max_size=2), MODE, st.data()
)
def test_binary_broadcasts(op_type: str, ranks: list[int], mode: str, data: st.DataObject) -> None:
    net = Opened()
    net.output(net.op(op_type, *(net.open(name, rank) for name, rank in zip("ab", ranks))))  # noqa: B905  (two of each)

    def feeds() -> Feeds:
        a, b = data.draw(operands(ranks))
        return {**cut("a", drawn_numbers(data, a)), **cut("b", drawn_numbers(data, b))}

    agree_on_runs(data, net, mode, feeds)


@given(st.sampled_from(["Add", "Sub", "Mul", "Div", "PRelu"]), MODE, st.data())
def test_binary_broadcasts_with_known_dims(op_type: str, mode: str, data: st.DataObject) -> None:
    """Check a fed or constant known operand; an open dim beside its 3 can be 3 or 1 alone."""
    known = np.array([[0.5], [2], [-4]], np.float32)
    net, fed = Opened(), data.draw(st.booleans())
    b = net.fed("b", np.float32, known.shape) if fed else net.const(known)
    net.output(net.op(op_type, net.open("x", 3), b))

    def feeds() -> Feeds:
        rows = 3 if op_type == "PRelu" else data.draw(st.sampled_from([1, 3]))
        x = drawn_numbers(data, (data.draw(EXTENT), rows, data.draw(EXTENT)))
        return {**cut("x", x), **({"b": known} if fed else {})}

    agree_on_runs(data, net, mode, feeds)


@given(st.sampled_from([np.float32, np.uint8, np.int32]), MODE, st.data())
def test_where(dtype: type, mode: str, data: st.DataObject) -> None:
    net = Opened()
    x, y = net.open("x", 3, dtype), net.open("y", 1, dtype)
    net.output(net.op("Where", net.open("c", 2, np.bool_), x, y))

    def feeds() -> Feeds:
        c, x, y = data.draw(operands([2, 3, 1]))
        condition = drawn_numbers(data, c, np.bool_)
        return {
            **cut("c", condition),
            **cut("x", drawn_numbers(data, x, dtype)),
            **cut("y", drawn_numbers(data, y, dtype)),
        }

    agree_on_runs(data, net, mode, feeds)


# Data movement ------------------------------------------------------------------------------------

BOUND = st.integers(-LONGEST - 2, LONGEST + 2) | st.sampled_from([-(2**31), 2**31 - 2])
STEP = st.integers(-3, 3).filter(bool)


@given(INTEGERS, st.lists(st.booleans(), min_size=4, max_size=4), MODE, st.data())
def test_slice(dtype: type, given: list[bool], mode: str, data: st.DataObject) -> None:
    """Check fed, constant or absent bounds, axes and steps; x has open or known dims."""
    net, count = Opened(), data.draw(st.integers(1, 3))
    knows, has_axes, has_steps, fixed = given
    axes = data.draw(st.permutations(range(3)))[:count] if has_axes else list(range(count))
    axes = [axis - 3 * data.draw(st.booleans()) for axis in axes] if has_axes else axes
    steps = [data.draw(STEP) for _ in range(count)] if has_steps else []
    x = net.fed("x", np.float32, (4, 3, 5)) if knows else net.open("x", 3)
    bounds = [net.fed(name, dtype, (count,)) for name in ("starts", "ends")]
    further = [net.const(axes, dtype) if has_axes else ""]
    if has_steps:
        further.append(net.const(steps, dtype) if fixed else net.fed("steps", dtype, (count,)))
    net.output(net.op("Slice", x, *bounds, *further))

    def feeds() -> Feeds:
        shape = (4, 3, 5) if knows else drawn_shape(data, 3, EXTENT)
        array = drawn_numbers(data, shape)
        found: dict[str, Array] = {"x": array} if knows else dict(cut("x", array))
        for name in ("starts", "ends"):
            found[name] = np.array([data.draw(BOUND) for _ in range(count)], dtype)
        if has_steps and not fixed:
            found["steps"] = np.array([data.draw(STEP) for _ in range(count)], dtype)
        return found

    agree_on_runs(data, net, mode, feeds)


@given(st.sampled_from(["constant", "edge", "reflect"]), st.booleans(), MODE, st.data())
def test_pad(border: str, fed: bool, mode: str, data: st.DataObject) -> None:
    """Check pads that add and take away; the mirror has enough left to show."""
    least = st.integers(4, LONGEST)
    pad = st.integers(-1, 2)
    fixed = [data.draw(pad) for _ in range(4)]
    net = Opened()
    pads = net.fed("pads", np.int64, (4,)) if fed else net.longs(*fixed)
    net.output(net.op("Pad", net.open("x", 2), pads, mode=border))

    def feeds() -> Feeds:
        x = cut("x", drawn_numbers(data, drawn_shape(data, 2, least)))
        return {**x, "pads": np.array([data.draw(pad) for _ in range(4)])} if fed else x

    agree_on_runs(data, net, mode, feeds)


@given(MODE, st.data())
def test_tile(mode: str, data: st.DataObject) -> None:
    net = Opened()
    net.output(net.op("Tile", net.open("x", 2), net.fed("repeats", np.int64, (2,))))

    def feeds() -> Feeds:
        x = drawn_numbers(data, drawn_shape(data, 2, EXTENT))
        return {**cut("x", x), "repeats": np.array([data.draw(st.integers(0, 3)) for _ in "xy"])}

    agree_on_runs(data, net, mode, feeds)


@given(st.integers(0, 2), MODE, st.data())
def test_concat_and_equal_parts(axis: int, mode: str, data: st.DataObject) -> None:
    """Check two open operands and a known one, whose dims along the other axes are 2."""
    net = Opened()
    joined = net.op(
        "Concat", net.open("a", 3), net.fed("b", np.float32, (2, 2, 2)), net.open("c", 3), axis=axis
    )
    net.output(joined, *net.ops("Split", joined, count=2, axis=axis - 3))

    def feeds() -> Feeds:
        extent = data.draw(st.integers(0, LONGEST))
        other = data.draw(st.integers(0, 2)) * 2 + extent % 2
        shapes = [[2 if at != axis else each for at in range(3)] for each in (extent, other)]
        a, c = (drawn_numbers(data, shape) for shape in shapes)
        return {**cut("a", a), "b": drawn_numbers(data, (2, 2, 2)), **cut("c", c)}

    agree_on_runs(data, net, mode, feeds)


@given(st.integers(1, 4), st.booleans(), MODE, st.data())
def test_reshape_to_a_computed_shape(
    count: int, knows: bool, mode: str, data: st.DataObject
) -> None:
    """Check a shape with 0 where it keeps a dim, and -1 for what is left."""
    net, full = Opened(), (2, 6, 4)
    x = net.fed("x", np.float32, full) if knows else net.open("x", 3)
    net.output(net.op("Reshape", x, net.fed("shape", np.int64, (count,))))

    def feeds() -> Feeds:
        shape = full if knows else drawn_shape(data, 3, SOLID)
        wanted, rest = [], int(np.prod(shape))
        for _ in range(count - 1):
            wanted.append(
                data.draw(st.sampled_from([n for n in range(1, rest + 1) if not rest % n]))
            )
            rest //= wanted[-1]
        wanted.insert(data.draw(st.integers(0, count - 1)), rest)
        kept = [at for at, (a, b) in enumerate(zip(wanted, shape, strict=False)) if a == b]
        hidden = data.draw(st.integers(0, count - 1))
        wanted = [0 if at in kept and at != hidden else n for at, n in enumerate(wanted)]
        wanted[hidden] = -1 if data.draw(st.booleans()) else wanted[hidden]
        array = drawn_numbers(data, shape)
        return {**({"x": array} if knows else cut("x", array)), "shape": np.array(wanted)}

    agree_on_runs(data, net, mode, feeds)


@given(MODE, st.data())
def test_squeeze_and_unsqueeze(mode: str, data: st.DataObject) -> None:
    net, after = Opened(), data.draw(st.sampled_from([(0,), (-1,), (1, 3), (2, 0)]))
    squeezed = net.op("Squeeze", net.open("x", 3), net.fed("axes", np.int64, (1,)))
    net.output(squeezed, net.op("Unsqueeze", squeezed, net.longs(*after)))

    def feeds() -> Feeds:
        axis = data.draw(st.integers(-3, 2))
        shape = list(drawn_shape(data, 3, EXTENT))
        shape[axis] = 1
        return {**cut("x", drawn_numbers(data, shape)), "axes": np.array([axis])}

    agree_on_runs(data, net, mode, feeds)
