"""Single forms of operators where only the run knows extents: layers, idioms, refusals, wrong data.

Those that run are held to onnxruntime; those that do not must say which node and why.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

import atc_py
from atc_py.diag import AtcError
from tests.lowering.opened import KEEP, MODES, NARROW, Opened, cut, loaded
from tests.relaxed_specs import relaxed_specs

Array = NDArray[Any]
Build = Callable[[Opened], str]

IMAGES = ((1, 3, 4, 5), (4, 3, 6, 4), (2, 3, 5, 5))
STACKS = ((2, 3, 4), (4, 1, 2), (0, 3, 2), (2, 3, 0))


def small(*shape: int, seed: int = 0) -> Array:
    """Return multiples of 1/16 between -2 and 2."""
    generator = np.random.default_rng([seed, *shape])
    return np.asarray(generator.integers(-32, 33, shape) / 16).astype(np.float32)


def on_x(op_type: str, rank: int, *constants: Array, **attributes: Any) -> Build:
    """Return one operator on an open x and constants."""

    def build(net: Opened) -> str:
        return net.op(op_type, net.open("x", rank), *map(net.const, constants), **attributes)

    return build


def same_padding(op_type: str, how: str, *constants: Array, **attributes: Any) -> Build:
    """Return a window whose padding does not depend on the dims."""
    return on_x(op_type, 4, *constants, auto_pad=how, **attributes)


def as_many_as_first(net: Opened) -> str:
    """Return a view of x: its first dim, and one axis for the rest."""
    x = net.open("x", 3)
    first = net.op("Gather", net.op("Shape", x), net.const(np.array(0)))
    extent = net.op("Unsqueeze", first, net.longs(0))
    return net.op("Reshape", x, net.op("Concat", extent, net.longs(-1), axis=0))


def as_one_row(net: Opened) -> str:
    """Return a view of x with as many columns as it has elements."""
    x = net.open("x", 3)
    size = net.op("Unsqueeze", net.op("Size", x), net.longs(0))
    return net.op("Reshape", x, net.op("Concat", net.longs(1), size, axis=0))


def filled_like(value: Array) -> Build:
    """Return one value in the shape of x."""

    def build(net: Opened) -> str:
        shape = net.op("Shape", net.open("x", 3))
        return net.op("ConstantOfShape", shape, value=numpy_helper.from_array(value))

    return build


def normalized(net: Opened) -> str:
    """Return conv, BatchNormalization and Relu, of which a pass makes two."""
    vectors = [net.const(np.array(v, np.float32)) for v in ([1, 2], [0, 1], [0.5, 0], [1, 4])]
    y = net.op("Conv", net.open("x", 4), net.const(small(2, 3, 3, 3)), pads=[1] * 4)
    return net.op("Relu", net.op("BatchNormalization", y, *vectors))


def recurrent(op_type: str, directions: int = 1, **attributes: Any) -> Build:
    """The results of a layer over as many steps as x has rows of 6, added."""
    wide = 16 if op_type == "LSTM" else 12

    def build(net: Opened) -> str:
        x = net.op("Reshape", net.open("x", 2), net.longs(-1, 2, 3))
        weights = [net.const(small(directions, wide, width)) for width in (3, 4)]
        return net.op("Add", *net.ops(op_type, x, *weights, count=2, hidden_size=4, **attributes))

    return build


FILTER = small(2, 3, 3, 3)
STEPS = ((1, 6), (5, 6), (3, 6))
FORMS: dict[str, tuple[Build, tuple[tuple[int, ...], ...]]] = {
    "lstm": (recurrent("LSTM"), STEPS),
    "lstm both ways": (recurrent("LSTM", 2, direction="bidirectional"), STEPS),
    "gru": (recurrent("GRU", linear_before_reset=1), STEPS),
    "conv": (on_x("Conv", 4, FILTER, small(2), pads=[1, 0, 1, 2]), IMAGES),
    "conv same upper": (same_padding("Conv", "SAME_UPPER", small(2, 3, 2, 3)), IMAGES),
    "conv same lower": (same_padding("Conv", "SAME_LOWER", small(2, 3, 2, 3)), IMAGES),
    "conv valid": (same_padding("Conv", "VALID", FILTER, strides=[2, 1]), IMAGES),
    "conv transpose": (
        on_x("ConvTranspose", 4, small(3, 2, 3, 3), strides=[2, 1], output_padding=[1, 0]),
        IMAGES,
    ),
    "conv with statistics": (normalized, IMAGES),
    "max pool": (on_x("MaxPool", 4, kernel_shape=[2, 2], strides=[2, 1], ceil_mode=1), IMAGES),
    "average pool": (same_padding("AveragePool", "SAME_UPPER", kernel_shape=[2, 3]), IMAGES),
    "global average": (on_x("GlobalAveragePool", 4), IMAGES),
    "global largest": (on_x("GlobalMaxPool", 4), IMAGES),
    "lrn": (on_x("LRN", 4, size=3), IMAGES),
    "space to depth": (on_x("SpaceToDepth", 4, blocksize=2), ((1, 3, 4, 6), (2, 1, 2, 2))),
    "hardmax of rows": (on_x("Hardmax", 3, axis=-1), STACKS[:2]),
    "mean variance": (on_x("MeanVarianceNormalization", 3, axes=[0, 2]), STACKS[:1]),
    "crop": (on_x("Pad", 3, np.array([0, -1, 0, 0, 1, -1])), ((2, 3, 4), (0, 1, 1))),
    "crop and edge": (on_x("Pad", 2, np.array([-1, 0, 2, -1]), mode="edge"), ((2, 3), (4, 2))),
    "flatten": (on_x("Flatten", 3, axis=2), STACKS),
    "transpose": (on_x("Transpose", 3, perm=[1, 2, 0]), STACKS),
    "expand by ones": (on_x("Expand", 3, np.array([1, 1])), STACKS),
    "expand": (on_x("Expand", 3, np.array([3, 2, 1, 4])), ((1, 3, 4), (2, 1, 1), (1, 0, 4))),
    "element of the middle": (on_x("Gather", 3, np.array(-1), axis=1), STACKS),
    "view": (as_many_as_first, STACKS[:2]),
    "row": (as_one_row, STACKS[:2]),
    "integers": (filled_like(np.array([-7])), STACKS),
    "truths": (filled_like(np.array([True])), STACKS),
    "floats": (filled_like(np.array([0.25], np.float32)), STACKS),
    "shape": (lambda net: net.op("Shape", net.open("x", 3)), STACKS),
    "slopes along rows": (on_x("PRelu", 3, small(4)), ((2, 3, 4), (0, 1, 4))),
}


@pytest.mark.parametrize("mode", [KEEP, NARROW])
@pytest.mark.parametrize("name", FORMS)
def test_form_agrees_with_onnxruntime(name: str, mode: str) -> None:
    build, shapes = FORMS[name]
    net = Opened()
    net.output(build(net))
    with loaded(net.model(), mode) as model:
        for shape in (*shapes, shapes[0]):
            model.agree(cut("x", small(*shape)), rounds=3)


def test_integers_beyond_the_list_are_reshaped_around_their_open_dim() -> None:
    net = Opened()
    net.output(net.op("Unsqueeze", net.indices("x", 1), net.longs(1)))
    with loaded(net.model()) as model:
        model.agree(cut("x", np.array([3, -7, 5], np.int32)))


def test_last_state_of_open_steps_is_the_first_row_the_other_way() -> None:
    net = Opened()
    net.output(recurrent("LSTM", direction="reverse")(net))
    with loaded(net.model(), KEEP) as model:
        model.agree(cut("x", small(5, 6)))


@pytest.mark.parametrize("mode", MODES)
def test_old_hardmax_takes_rows_of_the_flattened_tensor(mode: str) -> None:
    net = Opened(11)
    net.output(net.op("Hardmax", net.open("x", 3), axis=1))
    with loaded(net.model(), mode) as model:
        for shape in ((2, 3, 4), (4, 1, 2), (0, 2, 2)):
            x = np.random.default_rng(0).permutation(int(np.prod(shape))).reshape(shape)
            model.agree(cut("x", x.astype(np.float32)))


@pytest.mark.parametrize("mode", MODES)
def test_slopes_whose_dims_are_open(mode: str) -> None:
    net = Opened()
    net.output(net.op("PRelu", net.open("x", 3), net.open("slope", 2)))
    with loaded(net.model(), mode) as model:
        for slope in ((3, 4), (1, 4), (3, 1), (1, 1)):
            model.agree({**cut("x", small(2, 3, 4)), **cut("slope", small(*slope))}, rounds=2)


@pytest.mark.parametrize("known", ["rois", "images", "none"])
def test_regions_one_side_of_which_is_open(known: str) -> None:
    net = Opened()
    rois = net.fed("r", np.float32, (3, 4)) if known == "rois" else net.open("r", 2)
    images = net.fed("i", np.int64, (3,)) if known == "images" else net.indices("i", 1)
    maps = net.fed("x", np.float32, (2, 3, 8, 8))
    net.output(net.op("RoiAlign", maps, rois, images, output_height=2, output_width=2))
    corners = np.array([[0, 1, 4, 5], [2, 2, 3, 7.5], [1.25, 0, 6, 6.5]], np.float32)
    places = np.array([1, 0, 1])
    with loaded(net.model()) as model:
        for count in (3,) if known != "none" else (3, 0, 2):
            r, i = corners[:count], places[:count]
            feeds = {"r": r} if known == "rois" else cut("r", r)
            feeds |= {"i": i} if known == "images" else cut("i", i.astype(np.int32))
            model.agree({"x": small(2, 3, 8, 8), **feeds}, rounds=2)


@pytest.mark.parametrize(("keepdims", "shape"), [(0, (3,)), (1, (3, 1))])
def test_sum_of_nothing_is_zero(keepdims: int, shape: tuple[int, ...]) -> None:
    net = Opened()
    axes = net.fed("axes", np.int64, (1,))
    net.output(net.op("ReduceSum", net.open("x", 2), axes, keepdims=keepdims))
    with loaded(net.model()) as model:
        feeds = {**cut("x", np.zeros((3, 0), np.float32)), "axes": np.array([-1])}
        (found,) = model.model.run(feeds).values()
    np.testing.assert_array_equal(found, np.zeros(shape, np.float32))


# Refusals -----------------------------------------------------------------------------------------


def computed(op_type: str, *others: tuple[Any, ...], rank: int = 2, **attributes: Any) -> Build:
    """Return one operator on an open x and inputs (dtype, shape) that are fed."""

    def build(net: Opened) -> str:
        fed = [net.fed(f"in{at}", *other) for at, other in enumerate(others)]
        return net.op(op_type, net.open("x", rank), *fed, **attributes)

    return build


def bordered(net: Opened) -> str:
    pads = net.fed("pads", np.int64, (4,))
    return net.op("Pad", net.open("x", 2), pads, net.const(np.float32(2.5)))


REFUSED: dict[str, tuple[Build, str, str]] = {
    "axes that nobody names": (on_x("Squeeze", 3), "unknown-shape", "number of axes"),
    "border": (bordered, "unsupported-form", "the value 0"),
    "sizes": (computed("Split", (np.int64, (1,))), "unsupported-form", "split must be constant"),
    "steps": (
        lambda net: net.op("LSTM", net.op("Reshape", net.open("x", 1), net.longs(-1, 2, 3)), net.const(small(1, 16, 3)), net.const(small(1, 16, 4)), hidden_size=4, clip=3.0), "unsupported-form", "?x2x3",
    ),
    "groups": (
        on_x("Conv", 4, small(3, 1, 3, 3), group=3), "unsupported-form", "channels of ?x?x?x?"
    ),
    "same with strides": (
        same_padding("Conv", "SAME_UPPER", FILTER, strides=[2, 2]), "unsupported-form", "open",
    ),
    "tuples": (
        lambda net: net.op("GatherND", net.open("x", 2), net.indices("i", 2)),
        "unknown-shape",
        "number of axes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_form_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    build, code, part = REFUSED[name]
    net = Opened()
    if name == "sizes":
        sizes = net.fed("sizes", np.int64, (2,))
        net.output(*net.ops("Split", net.open("x", 2), sizes, count=2))
    else:
        net.output(build(net))
    model = net.model()
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(tmp_path / "model.onnx", op_specs=relaxed_specs(model))
    (found,) = caught.value.diagnostics
    assert found.code.name == code
    assert part in found.message
    assert found.help
    assert found.place is not None
    assert found.place.op_type == model.graph.node[-1].op_type


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("count", "extents"), [(1, (5,)), (2, (2, 3, 5)), (3, (3, 5, 6))])
def test_last_part_of_an_open_axis_may_be_smaller(
    count: int, extents: tuple[int, ...], mode: str
) -> None:
    net = Opened(opset=18)
    net.output(*net.ops("Split", net.open("x", 2), count=count, axis=-1, num_outputs=count))
    with loaded(net.model(), mode) as model:
        for extent in extents:
            model.agree(cut("x", small(3, extent)))


# Wrong data ---------------------------------------------------------------------------------------


def sliced(net: Opened) -> str:
    starts, ends, steps = (net.fed(name, np.int64, (1,)) for name in ("in0", "in1", "in2"))
    return net.op("Slice", net.open("x", 2), starts, ends, net.longs(0), steps)


def halves(net: Opened) -> str:
    return net.ops("Split", net.open("x", 2), count=2, axis=1)[0]


LONGS = {count: (np.int64, (count,)) for count in (1, 2, 3, 4)}
WRONG: dict[str, tuple[Build, list[Any], list[Any], str]] = {
    "reshape": (computed("Reshape", LONGS[2]), [[2, 4]], [[2, -1]], "cannot be reshaped"),
    "two rests": (computed("Reshape", LONGS[2]), [[-1, -1]], [[6, 1]], "cannot be reshaped"),
    "rest of nothing": (
        computed("Reshape", LONGS[3], allowzero=1), [[0, 0, -1]], [[1, 6, 1]], "cannot be reshaped"
    ),
    "squeeze": (
        computed("Squeeze", LONGS[1], rank=3), [[1]], [[-1]], "are not of size 1"
    ),
    "slice": (sliced, [[0], [2], [0]], [[0], [2], [1]], "strides must not be 0"),
    "tile": (computed("Tile", LONGS[2]), [[-1, 1]], [[1, 1]], "at least 0"),
    "pad": (computed("Pad", LONGS[4]), [[-3, 0, 0, 0]], [[-2, 0, 0, 0]], "cannot have borders"),
    "mirror": (
        computed("Pad", LONGS[4], mode="reflect"), [[0, 2, 0, -1]], [[0, 1, 0, -1]], "mirrored"
    ),
}  # fmt: skip
"""What is fed wrongly and then rightly behind an x of 2 rows, and a part of what is said."""


@pytest.mark.parametrize("mode", [KEEP, NARROW])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_data_stop_their_run_alone(name: str, mode: str) -> None:
    """Check that the node is named, and the same model still runs on data that fit."""
    build, wrong, right, part = WRONG[name]
    net = Opened(14 if name == "rest of nothing" else 13)
    net.output(build(net))
    x = cut("x", small(2, 3, 1) if name == "squeeze" else small(2, 3))
    with loaded(net.model(), mode) as model:
        with pytest.raises(AtcError, match=part) as caught:
            model.model.run({**x, **numbered(wrong)})
        (found,) = caught.value.diagnostics
        assert (found.code.name, found.help is not None) == ("device-run-failed", True)
        assert found.place is not None
        assert found.place.node_name
        model.agree({**x, **numbered(right)})


def numbered(fed: list[Any]) -> dict[str, Array]:
    return {f"in{at}": np.array(numbers) for at, numbers in enumerate(fed)}


@pytest.mark.parametrize(
    ("build", "wrong", "right"),
    [(halves, (2, 3), (2, 4)), (on_x("Add", 2, small(2, 3)), (2, 2), (1, 3))],
)
def test_dims_that_do_not_fit_stop_their_run_alone(
    build: Build, wrong: tuple[int, ...], right: tuple[int, ...]
) -> None:
    net = Opened()
    net.output(build(net))
    with loaded(net.model()) as model:
        with pytest.raises(AtcError, match="the data do not fit the node"):
            model.model.run(cut("x", small(*wrong)))
        model.agree(cut("x", small(*right)))


def test_float16_ranges_count_as_the_model_does() -> None:
    """Check ten steps of 0.1: ten elements, also where everything else is float16."""
    net = Opened()
    net.output(net.op("Range", *(net.fed(name, np.float32, ()) for name in "abc")))
    with loaded(net.model(), NARROW) as model:
        for numbers in ((0, 1, 0.1), (1, 0, -0.1), (0, -1, 0.5), (0.25, 2, 0.25), (3, 3, 1)):
            feeds = {n: np.array(v, np.float32) for n, v in zip("abc", numbers, strict=True)}
            found: Array = next(iter(model.model.run(feeds).values()))
            np.testing.assert_allclose(found, np.arange(*numbers), rtol=1e-6, atol=1e-6)
