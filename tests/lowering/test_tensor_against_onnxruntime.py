"""Operators that move or rename data, at every listed opset and dtype, against onnxruntime."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model, run_with_atc_py
from tests.lowering.listed_forms import SHAPES, listed_forms
from tests.lowering.moved import agree_when_moved, elements, same_elements
from tests.lowering.reference import MODES, run_in_mode

SOLID = st.lists(st.integers(1, 4), min_size=1, max_size=5)


def longs(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return an int64 vector."""
    return np.array(numbers, np.int64).reshape(len(numbers))


def form_of(op_type: str) -> st.SearchStrategy[tuple[int, DType]]:
    """Return (opset, dtype) that are listed."""
    return st.sampled_from(listed_forms(op_type))


def axis_in(rank: int, opset: int) -> st.SearchStrategy[int]:
    """Return an axis, which may count from the end as of opset 11."""
    return st.integers(-rank if opset >= 11 else 0, rank - 1)


@given(form_of("Transpose"), SOLID, st.data())
def test_transpose(form: tuple[int, DType], shape: Sequence[int], data: st.DataObject) -> None:
    opset, dtype = form
    perm = data.draw(st.none() | st.permutations(range(len(shape))))
    attributes: dict[str, Any] = {} if perm is None else {"perm": perm}
    agree_when_moved("Transpose", {"x": data.draw(elements(dtype, shape))}, opset, **attributes)


@given(form_of("Concat"), SOLID, st.data())
def test_concat(form: tuple[int, DType], shape: list[int], data: st.DataObject) -> None:
    opset, dtype = form
    axis = data.draw(axis_in(len(shape), opset))
    inputs = {}
    for position in range(data.draw(st.integers(1, 4))):
        shape[axis] = data.draw(st.integers(1, 3))
        inputs[f"x{position}"] = data.draw(elements(dtype, shape))
    agree_when_moved("Concat", inputs, opset, axis=axis)


@given(form_of("Flatten"), SOLID, st.data())
def test_flatten(form: tuple[int, DType], shape: list[int], data: st.DataObject) -> None:
    opset, dtype = form
    axis = data.draw(st.integers(-len(shape) if opset >= 11 else 0, len(shape)))
    agree_when_moved("Flatten", {"x": data.draw(elements(dtype, shape))}, opset, axis=axis)


@pytest.mark.parametrize("op_type", ["Identity", "Dropout"])
@given(SHAPES, st.data())
def test_what_hands_its_input_on(op_type: str, shape: Sequence[int], data: st.DataObject) -> None:
    opset, dtype = data.draw(form_of(op_type))
    agree_when_moved(op_type, {"x": data.draw(elements(dtype, shape))}, opset)


@given(form_of("Reshape"), SHAPES, st.data())
def test_reshape(form: tuple[int, DType], shape: Sequence[int], data: st.DataObject) -> None:
    opset, dtype = form
    wanted: list[int] = data.draw(st.permutations(shape))
    leaves_one_open = data.draw(st.booleans())
    if wanted and leaves_one_open:
        wanted[data.draw(st.integers(0, len(wanted) - 1))] = -1
    constants = {"shape": longs(*wanted)}
    x = data.draw(elements(dtype, shape))
    agree_when_moved("Reshape", {"x": x}, opset, constants=constants)


@given(form_of("Unsqueeze"), SHAPES, st.data())
def test_unsqueeze(form: tuple[int, DType], shape: Sequence[int], data: st.DataObject) -> None:
    opset, dtype = form
    rank = len(shape) + data.draw(st.integers(1, 3))
    chosen = data.draw(st.permutations(range(rank)))[: rank - len(shape)]
    from_end = opset >= 11 and data.draw(st.booleans())
    axes = [axis - rank if from_end else axis for axis in chosen]
    x = data.draw(elements(dtype, shape))
    agree_when_moved("Unsqueeze", {"x": x}, opset, axes=axes if opset >= 11 else sorted(axes))


@given(form_of("Squeeze"), SHAPES, st.data())
def test_squeeze(form: tuple[int, DType], shape: Sequence[int], data: st.DataObject) -> None:
    opset, dtype = form
    ones = [axis for axis, extent in enumerate(shape) if extent == 1]
    axes = [axis for axis in ones if data.draw(st.booleans())]
    if opset >= 11:
        axes = [axis - len(shape) if data.draw(st.booleans()) else axis for axis in axes]
    x = data.draw(elements(dtype, shape))
    if not axes:
        agree_when_moved("Squeeze", {"x": x}, opset)
    elif opset < 13:
        agree_when_moved("Squeeze", {"x": x}, opset, axes=axes)
    else:
        agree_when_moved("Squeeze", {"x": x}, opset, constants={"axes": longs(*axes)})


@given(form_of("Tile"), SHAPES, st.data())
def test_tile(form: tuple[int, DType], shape: Sequence[int], data: st.DataObject) -> None:
    opset, dtype = form
    counts = [data.draw(st.integers(1, 3)) for _ in shape]
    x = data.draw(elements(dtype, shape))
    agree_when_moved("Tile", {"x": x}, opset, constants={"repeats": longs(*counts)})


@given(form_of("Split"), SOLID, st.data())
def test_split(form: tuple[int, DType], shape: list[int], data: st.DataObject) -> None:
    opset, dtype = form
    axis = data.draw(axis_in(len(shape), opset))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    if data.draw(st.booleans()):
        shape[axis] = sizes[0] * len(sizes)
        given_: dict[str, Any] = {}
    else:
        shape[axis] = sum(sizes)
        given_ = {"constants": {"split": longs(*sizes)}} if opset >= 13 else {"split": sizes}
    x = data.draw(elements(dtype, shape))
    agree_when_moved("Split", {"x": x}, opset, outputs=len(sizes), axis=axis, **given_)


@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 1))
def test_split_whose_last_part_is_smaller(count: int, extent: int, axis: int) -> None:
    """Check opset 18 and later; onnxruntime has no parts without elements."""
    part = -(-extent // count)
    assume(part * (count - 1) < extent)
    shape = (extent, 2) if axis == 0 else (2, extent)
    x = np.arange(2 * extent, dtype=np.float32).reshape(shape)
    agree_when_moved("Split", {"x": x}, 18, outputs=count, axis=axis, num_outputs=count)


NEAR = st.integers(-6, 6)
UP = NEAR | st.sampled_from([-(2**63), 2**63 - 1, 2**31 - 1])
DOWN = NEAR | st.just(-(2**63))
"""Bounds of slices; onnxruntime takes 2**63 - 1 for the front where the step is negative."""


@given(form_of("Slice"), SOLID, st.data())
def test_slice(form: tuple[int, DType], shape: list[int], data: st.DataObject) -> None:
    opset, dtype = form
    axes = sorted(data.draw(st.sets(axis_in(len(shape), 8), min_size=1)))
    steps = [data.draw(st.sampled_from([-3, -2, -1, 1, 2])) if opset >= 10 else 1 for _ in axes]
    far = UP if opset >= 10 else NEAR
    bounds = [[data.draw(far if step > 0 else DOWN) for _ in range(2)] for step in steps]
    if opset < 10:  # onnx infers no shape there of an empty slice, nor from far before the front
        parts = zip(bounds, (shape[axis] for axis in axes), strict=True)
        assume(all(len(range(*slice(*ends).indices(extent))) for ends, extent in parts))
    starts, ends = (list(column) for column in zip(*bounds, strict=True))
    given_: dict[str, Any] = {"starts": starts, "ends": ends}
    named = len(axes) < len(shape) or data.draw(st.booleans())
    if named or set(steps) != {1}:
        from_end = opset >= 10 and data.draw(st.booleans())
        given_["axes"] = [axis - len(shape) * from_end for axis in axes]
    x = data.draw(elements(dtype, shape))
    if opset < 10:
        agree_when_moved("Slice", {"x": x}, opset, **given_)
        return
    if set(steps) != {1}:
        given_["steps"] = steps
    constants = {name: longs(*numbers) for name, numbers in given_.items()}
    agree_when_moved("Slice", {"x": x}, opset, constants=constants)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@given(SOLID, st.data())
def test_pad(mode: str, shape: Sequence[int], data: st.DataObject) -> None:
    opset, dtype = data.draw(form_of("Pad"))
    borders = []
    for extent in (*shape, *shape):
        high = extent - 1 if mode == "reflect" else 3
        low = -((extent - 1) // 2) if mode == "constant" else 0
        borders.append(data.draw(st.integers(low, high)))
    x = data.draw(elements(dtype, shape))
    if opset < 11:
        agree_when_moved("Pad", {"x": x}, opset, pads=borders, mode=mode)
    else:
        agree_when_moved("Pad", {"x": x}, opset, constants={"pads": longs(*borders)}, mode=mode)


@pytest.mark.parametrize("op_type", ["DepthToSpace", "SpaceToDepth"])
@given(st.integers(1, 3), st.tuples(*[st.integers(1, 3)] * 4), st.data())
def test_blocks(op_type: str, block: int, counts: tuple[int, ...], data: st.DataObject) -> None:
    opset, dtype = data.draw(form_of(op_type))
    images, channels, height, width = counts
    attributes: dict[str, Any] = {"blocksize": block}
    if op_type == "DepthToSpace":
        shape = (images, channels * block**2, height, width)
        if opset >= 11:
            attributes["mode"] = data.draw(st.sampled_from(["DCR", "CRD"]))
    else:
        shape = (images, channels, height * block, width * block)
    agree_when_moved(op_type, {"x": data.draw(elements(dtype, shape))}, opset, **attributes)


@pytest.mark.parametrize("dtype", [DType.BFLOAT16, DType.FLOAT32, DType.INT64, DType.BOOL])
def test_space_to_depth_moves_blocks_on_every_soc(dtype: DType, tmp_path: Path) -> None:
    x = np.arange(2 * 3 * 4 * 6).reshape(2, 3, 4, 6).astype(dtype.numpy)
    model = one_node_model("SpaceToDepth", {"x": x}, 13, blocksize=2)
    expected = x.reshape(2, 3, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 12, 2, 3)
    for soc in ("sim", "Ascend910B1"):
        (found,) = run_with_atc_py(
            model, {"x": x}, tmp_path, precision_mode=MODES[0], soc=soc
        ).values()
        same_elements(found, expected)


CASTS = listed_forms("Cast")


@given(st.sampled_from(CASTS), st.sampled_from(CASTS), st.data())
def test_cast(form: tuple[int, DType], other: tuple[int, DType], data: st.DataObject) -> None:
    (opset, source), (_, target) = form, other
    if DType.BFLOAT16 in {source, target}:
        opset = 13
    x = data.draw(elements(source, (3, 4)))
    with np.errstate(all="ignore"):
        expected = x.astype(target.numpy)
        if source.is_float and not target.is_float:  # beyond the range ONNX leaves the result open
            same = np.isfinite(x) & (expected.astype(np.float64) == np.trunc(x.astype(np.float64)))
            x = np.where(same, x, np.ones_like(x))
            expected = x.astype(target.numpy)
    to = onnx.helper.np_dtype_to_tensor_dtype(target.numpy)
    model = one_node_model("Cast", {"x": x}, opset, to=to)
    for mode in MODES:
        same_elements(run_in_mode(model, {"x": x}, mode), expected)
