"""Operators whose numbers are inputs, as ONNX: known ones and those of the run."""

import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import DEVICE_FAILED
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, ModelBuilder, random_array, run_model
from tests.device.ort.single import agree, dtypes_of
from tests.device.ort.twin import differences, run_on_ort

F32, I64 = DType.FLOAT32, DType.INT64
KNOWN = pytest.mark.parametrize("constants", [[], [1]])


def longs(*values: int) -> Array:
    """Return int64 [n]."""
    return np.array(values, np.int64)


@pytest.mark.parametrize("dtype", dtypes_of("Shape"))
def test_dims_and_their_product(dtype: DType) -> None:
    for shape in ((), (2, 0, 4), (2, 3)):
        x = np.asarray(random_array(1, shape, dtype))
        agree("Shape", [x], [(I64, (len(shape),))])
        agree("Size", [x], [(I64, ())])


@KNOWN
@pytest.mark.parametrize("dtype", dtypes_of("Tile"))
def test_repeats(dtype: DType, constants: list[int]) -> None:
    x = random_array(1, (2, 3), dtype)
    agree("Tile", [x, longs(2, 3)], [(dtype, (4, 9))], constants=constants)
    agree("Tile", [x, longs(2, 0)], [(dtype, (4, 0))], constants=constants)


@KNOWN
@pytest.mark.parametrize("axes", [[], [1], [-1, 1]])
def test_squeezed_axes(axes: list[int], constants: list[int]) -> None:
    x = random_array(1, (1, 1, 3, 1), DType.FLOAT16)
    made = (3,) if not axes else tuple(np.squeeze(x, tuple(axes)).shape)
    agree("SqueezeV3", [x, longs(*axes)], [(DType.FLOAT16, made)], constants=constants)


@pytest.mark.parametrize("dtype", dtypes_of("SplitD"))
def test_equal_parts(dtype: DType) -> None:
    x = random_array(1, (2, 6), dtype)
    attributes: Attributes = {"split_dim": -1, "num_split": 3}
    agree("SplitD", [x], [(dtype, (2, 2))] * 3, attributes)


@KNOWN
@pytest.mark.parametrize("dtype", dtypes_of("ReduceSum"))
@pytest.mark.parametrize(("axes", "flags"), [([], 0), ([], 2), ([1], 1), ([-1, 0, 2], 3)])
def test_sums(dtype: DType, axes: list[int], flags: int, constants: list[int]) -> None:
    x = random_array(1, (2, 3, 4), dtype)
    if dtype.is_integer:
        x = x * np.array(np.iinfo(dtype.numpy).max // 3, dtype.numpy)
    keep, noop = bool(flags & 1), bool(flags & 2)
    over = tuple({axis % 3 for axis in axes}) or (() if noop else (0, 1, 2))
    made = np.sum(x.astype(np.float64), over, keepdims=keep).shape
    attributes: Attributes = {"keep_dims": keep, "noop_with_empty_axes": noop}
    agree(
        "ReduceSum", [x, longs(*axes)], [(dtype, made)], attributes, constants=constants,
        exact=dtype.is_integer,
    )  # fmt: skip


@KNOWN
@pytest.mark.parametrize(
    ("dtype", "mode", "joint"),
    [
        *((dtype, "constant", True) for dtype in dtypes_of("PadV3")),
        *(
            (dtype, mode, joint)
            for dtype in (DType.FLOAT16, DType.INT16)
            for mode in ("edge", "reflect")
            for joint in (True, False)
        ),
    ],
)
def test_borders(dtype: DType, mode: str, joint: bool, constants: list[int]) -> None:
    x = random_array(1, (4, 5), dtype)
    for paddings in ([1, 2, 0, 3], [-1, 1, 2, -2], [0, 0, 0, 0]):
        before, after = (paddings[::2], paddings[1::2]) if joint else (paddings[:2], paddings[2:])
        made = (4 + before[0] + after[0], 5 + before[1] + after[1])
        attributes: Attributes = {"mode": mode, "paddings_contiguous": joint}
        inputs = [x, longs(*paddings)]
        agree("PadV3", inputs, [(dtype, made)], attributes, constants=constants)


def test_borders_of_a_scalar() -> None:
    agree("PadV3", [np.array(3, np.float32), longs()], [(F32, ())], {"mode": "constant"})


@pytest.mark.parametrize("constants", [[], [1, 2, 3, 4]])
@pytest.mark.parametrize(
    ("begin", "end", "axis", "stride"),
    [
        (-9, 9, 1, 1), (4, -9, -1, -1), (9, 0, 1, -2), (-9, -9, 1, -1), (-9, 9, 0, -1),
        (-6, -1, 1, -1), (3, 1, 1, 1), (2**62, -(2**62), 1, -3),
    ],
)  # fmt: skip
def test_slices(begin: int, end: int, axis: int, stride: int, constants: list[int]) -> None:
    x = random_array(1, (3, 5), DType.FLOAT16)
    taken = [slice(None), slice(None)]
    taken[axis] = slice(begin, end, stride)
    inputs = [x, longs(begin), longs(end), longs(axis), longs(stride)]
    made = x[tuple(taken)].shape
    agree("StridedSliceV2", inputs, [(DType.FLOAT16, made)], constants=constants)


SHORT_ENDS = (longs(0, 0), longs(2), longs(0, 1), longs(1, 1))
"""Begins, ends, axes and strides of which one is missing."""


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        (
            "OneHot",
            [longs(0, 1), longs(-3), np.array([1], np.float32), np.array([0], np.float32)],
            {},
        ),
        ("PadV3", [np.ones((3, 4), np.float32), longs(-2, -2, 0, 0)], {"mode": "constant"}),
        ("PadV3", [np.ones((3, 4), np.float32), longs(-4, 3, 0, 0)], {"mode": "constant"}),
        ("ReduceSum", [np.ones((3, 4), np.float32), longs(-3)], {"keep_dims": True}),
        ("SqueezeV3", [np.ones((1, 3), np.float32), longs(0, -2)], {}),
        ("StridedSliceV2", [np.ones((3, 4), np.float32), *SHORT_ENDS], {}),
        # what follows takes other dims, too, but the model declares 3
        ("Range", [np.array(each) for each in (0, 5, 1)], {}),
        ("NonZero", [np.ones(4, np.float32)], {"transpose": True}),
        ("Tile", [np.ones(2, np.float32), longs(2)], {}),
    ],
)
def test_numbers_that_do_not_fit_stop_the_run(
    op: str, inputs: list[Array], attributes: Attributes
) -> None:
    builder = ModelBuilder()
    feeds = {f"x{at}": array for at, array in enumerate(inputs)}
    operands = [builder.input(name, str(x.dtype), x.shape) for name, x in feeds.items()]
    dtype = "int64" if op in {"Range", "NonZero"} else "float32"
    rank = 2 if op == "NonZero" else inputs[0].ndim + (op == "OneHot") - (op == "SqueezeV3")
    dims = {"Range": [3], "NonZero": [1, 3], "Tile": [3]}.get(op, [None] * rank)
    (made,) = builder.node(op, operands, [(dtype, dims)], attributes)
    total = builder.node("ReduceSumD", [made], [(dtype, [])], {"axes": [*range(len(dims))]})
    builder.output("y", *total)
    model = builder.build()
    for run in (run_model, run_on_ort):
        with pytest.raises(AtcError) as caught:
            run(model, feeds)
        assert caught.value.diagnostics[0].code is DEVICE_FAILED


@pytest.mark.parametrize("dtype", dtypes_of("StridedSliceV2"))
def test_slices_of_the_first_axes(dtype: DType) -> None:
    x = random_array(1, (3, 5), dtype)
    agree("StridedSliceV2", [x, longs(1), longs(3)], [(dtype, (2, 5))])
    inputs = [x, longs(2, 4), longs(-9, 1), None, longs(-1, -2)]
    agree("StridedSliceV2", inputs, [(dtype, (3, 2))])


def test_dims_that_only_the_run_knows() -> None:
    """Check what follows a tensor whose dims depend on its numbers."""
    builder = ModelBuilder()
    x = builder.input("x", "float32", [3, 4])
    (found,) = builder.node("NonZero", [x], [("int64", [2, None])], {"transpose": True})
    steps = [
        ("StridedSliceD", "int64", [2, None], {"begin": [1, 3], "end": [-1, -1], "strides": [-1, -1]}),
        ("PadV3D", "int64", [None, None], {"paddings": [0, 1, 2, 0], "mode": "edge"}),
        ("TransposeD", "int64", [None, None], {"perm": [1, 0]}),
        ("TileD", "int64", [None, None], {"multiples": [2, 2]}),
        ("CumsumD", "int64", [None, None], {"axis": 0, "reverse": True}),
        ("SplitD", "int64", [None, None], {"split_dim": 0, "num_split": 2}),
    ]  # fmt: skip
    for op, dtype, dims, attributes in steps:
        outputs = [(dtype, dims)] * (2 if op == "SplitD" else 1)
        (found, *_) = builder.node(op, [found], outputs, attributes)  # type: ignore[arg-type]
    builder.output("y", found)
    model = builder.build()
    feeds = {"x": (np.arange(12, dtype=np.float32) % 3).reshape(3, 4)}
    result = run_on_ort(model, feeds)
    assert result is not None
    assert differences(model, result, run_model(model, feeds)) == []
