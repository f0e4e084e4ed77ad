"""Trilu and EyeLike, which only the list of CANN 9.0 has, against NumPy."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import UNSUPPORTED_FORM
from tests.end_to_end import IR_VERSION, one_node_model
from tests.lowering.newer_list import LIST, Case, hold_to_formulas, opsets_of
from tests.lowering.precise import compiled

Array = NDArray[Any]

INTEGERS = (np.uint8, np.int8, np.int16, np.int32, np.int64)
TRILU = (np.float16, np.float32, np.float64, *INTEGERS, np.bool_)
STACKS = ((3, 3), (2, 5), (4, 1), (2, 3, 4, 2), (0, 3), (3, 0), (2, 0, 2))
EYES = {
    1: np.float32,
    2: np.uint8,
    3: np.int8,
    5: np.int16,
    6: np.int32,
    7: np.int64,
    10: np.float16,
}


@pytest.mark.parametrize("opset", opsets_of("Trilu"))
def test_triangles_are_kept(opset: int) -> None:
    generator = np.random.default_rng(3)
    cases = []
    for dtype in TRILU:
        for shape in STACKS if dtype in {np.float32, np.int8} else STACKS[1:4:2]:
            x = generator.integers(-9 if np.dtype(dtype).kind in "if" else 0, 9, shape)
            for given, formula in (({}, np.triu), ({"upper": 1}, np.triu), ({"upper": 0}, np.tril)):
                cases.append(Case("Trilu", [x.astype(dtype)], formula, given))
    k = np.array(0, np.int64)
    x = generator.standard_normal((3, 4)).astype(np.float32)
    x[1, 1:] = np.nan, np.inf, -0.0
    cases += [
        Case("Trilu", [x, each], lambda x, _: np.tril(x), {"upper": 0}, frozenset({1}))
        for each in (k, k.reshape(1))
    ]
    hold_to_formulas(cases, opset)


@pytest.mark.parametrize("opset", opsets_of("EyeLike"))
def test_ones_are_on_the_diagonal(opset: int) -> None:
    shapes = ((3, 3), (2, 5), (5, 2), (1, 1), (0, 3))
    cases = []
    for number, dtype in EYES.items():
        for shape in shapes if dtype is np.float32 else shapes[2:3]:
            eye = np.eye(*shape, dtype=dtype)
            x, given = np.zeros(shape, dtype), {"dtype": number, "k": 0}
            cases.append(Case("EyeLike", [x], lambda _, eye=eye: eye))
            cases.append(Case("EyeLike", [x != 0], lambda _, eye=eye: eye, given))
    hold_to_formulas(cases, opset)


def test_other_diagonals_are_taken_beyond_the_list() -> None:
    for k, shape in ((-4, (5, 2)), (-1, (3, 3)), (2, (3, 3)), (2, (2, 5)), (7, (3, 3))):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1
        eye = one_node_model("EyeLike", {"x": x}, 13, k=k)
        np.testing.assert_array_equal(compiled(eye, {"x": x})["y0"], np.eye(*shape, k=k))
        constants = {"k": np.array(k, np.int64)}
        triangle = one_node_model("Trilu", {"x": x}, 14, constants=constants, upper=0)
        np.testing.assert_array_equal(compiled(triangle, {"x": x})["y0"], np.tril(x, k))


def test_eye_of_a_shape_that_only_the_run_knows_is_refused(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("EyeLike", ["places"], ["y"], "eye"),
    ]
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (2, 3))]
    graph = helper.make_graph(nodes, "late", inputs, [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    onnx.save(onnx.shape_inference.infer_shapes(model), tmp_path / "model.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om", operator_list=LIST)
    (found,) = caught.value.diagnostics
    assert found.code is UNSUPPORTED_FORM
    assert found.place is not None
    assert found.place.node_name == "eye"
    (checked,) = atc_py.check_models(tmp_path / "model.onnx", operator_list=LIST).models
    own = [each.code for each in checked.findings if not each.certainty]
    assert own == [UNSUPPORTED_FORM]
