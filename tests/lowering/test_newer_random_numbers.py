"""RandomNormal, RandomNormalLike and RandomUniformLike: types, distribution, seeds, open shapes."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

import atc_py
from atc_py.diag.codes import DTYPE_NOT_LISTED
from tests.end_to_end import IR_VERSION
from tests.lowering.newer_list import LIST, Case, model_of, opsets_of, run_on_list
from tests.lowering.reference import MODES

Array = NDArray[Any]

SHAPE = (3, 5, 7)
FLOATS = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16}
INPUTS = (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint16)


def case(
    op_type: str, like: Any = np.float32, shape: tuple[int, ...] = SHAPE, **given: Any
) -> Case:
    """Return a node that draws numbers of a shape, of its input or of its own."""
    if op_type.endswith("Like"):
        return Case(op_type, [np.zeros(shape, like)], np.asarray, given)
    return Case(op_type, [], np.asarray, {"shape": shape, **given})


def draws(op_type: str, **given: Any) -> Array:
    """Return many numbers from one node."""
    (found,) = run_on_list([case(op_type, shape=(100_000,), seed=5.0, **given)], 18)
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op_type", ["RandomNormal", "RandomNormalLike", "RandomUniformLike"])
def test_draws_have_the_dtype_and_the_shape(op_type: str, mode: str) -> None:
    elements = {**FLOATS, TensorProto.DOUBLE: np.float64}
    opsets = opsets_of(op_type)
    for opset in [each.values[0] for each in opsets if not each.marks]:
        wanted: list[Any] = list(elements.values())
        cases = [case(op_type, dtype=element, seed=1.0) for element in elements]
        if op_type.endswith("Like"):
            cases += [case(op_type, like, dtype=TensorProto.FLOAT) for like in INPUTS]
            cases += [case(op_type, like) for like in INPUTS[:3]]
            wanted += [np.float32] * len(INPUTS) + list(INPUTS[:3])
        else:
            cases.append(case(op_type))
            wanted.append(np.float32)
        found = run_on_list(cases, opset, mode)
        assert [(y.dtype, y.shape) for y in found] == [(np.dtype(each), SHAPE) for each in wanted]
        assert all(len(np.unique(y)) > 80 for y in found)


@pytest.mark.parametrize("op_type", ["RandomNormal", "RandomNormalLike"])
def test_normal_numbers_have_their_mean_and_deviation(op_type: str) -> None:
    y = draws(op_type, mean=0.5, scale=2.0)
    assert abs(y.mean() - 0.5) < 5 * 2 / np.sqrt(y.size)  # five deviations
    assert abs(y.std() / 2 - 1) < 5 / np.sqrt(2 * y.size)
    shares = [(np.abs(y - 0.5) < 2 * bound).mean() for bound in (1, 2, 3)]
    np.testing.assert_allclose(shares, [0.68269, 0.9545, 0.9973], atol=0.008)


def test_uniform_numbers_are_even_between_their_bounds() -> None:
    y = draws("RandomUniformLike", low=-2.0, high=6.0)
    assert y.min() >= -2
    assert y.max() < 6
    counts = np.histogram(y, 10, (-2, 6))[0]
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(10_000 * 0.9)  # five deviations


def test_seed_gives_the_same_numbers_and_none_gives_others() -> None:
    for op_type in ("RandomNormal", "RandomNormalLike", "RandomUniformLike"):
        once = [case(op_type, seed=0.0), case(op_type, seed=0.0), case(op_type), case(op_type)]
        first, second, third, fourth = run_on_list(once, 13)
        again, *_ = run_on_list(once, 13)
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(third, fourth)


def test_an_integer_input_without_a_dtype_is_refused(tmp_path: Path) -> None:
    for op_type in ("RandomNormalLike", "RandomUniformLike"):
        onnx.save(model_of([case(op_type, np.int32)], 13), tmp_path / "model.onnx")
        (checked,) = atc_py.check_models(tmp_path / "model.onnx", operator_list=LIST).models
        assert [found.code for found in checked.findings] == [DTYPE_NOT_LISTED]


@pytest.mark.parametrize("op_type", ["RandomNormalLike", "RandomUniformLike"])
def test_shape_may_be_one_that_the_run_finds(op_type: str, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node(op_type, ["places"], ["y"], dtype=TensorProto.FLOAT, seed=2.0),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))]
    graph = helper.make_graph(nodes, "late", inputs, [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    onnx.save(onnx.shape_inference.infer_shapes(model), tmp_path / "model.onnx")
    om = tmp_path / "model.om"
    atc_py.convert(tmp_path / "model.onnx", om, operator_list=LIST, verify=True)
    with atc_py.load(om) as loaded:
        for count in (0, 1, 4):
            x = np.arange(6).reshape(2, 3) < count
            assert loaded.run({"x": x.astype(np.float32)})["y"].shape == (2, count)
