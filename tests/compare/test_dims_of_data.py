"""Dims that a model leaves open are those of the data, where data and input have the same axes."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save

from atc_py.compare.dims_of_data import shapes_with_data
from atc_py.diag import AtcError, Diagnostic


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A sum of an input with an open dim and a scalar."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    low = helper.make_tensor_value_info("low", TensorProto.FLOAT, [])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
    node = helper.make_node("Add", ["x", "low"], ["y"])
    path = tmp_path / "sum.onnx"
    save(helper.make_model(helper.make_graph([node], "g", [x, low], [y])), path)
    return path


def test_scalar_beside_an_open_input_needs_no_data(model: Path) -> None:
    data = {"x": np.zeros((2, 3), np.float32)}
    assert shapes_with_data(model, "", data, 1, {}) == {"x": (2, 3)}


def test_data_with_an_axis_too_many_are_refused(model: Path) -> None:
    data = {"x": np.zeros((4, 1, 3), np.float32)}
    with pytest.raises(AtcError, match=r"data for x have 3 axes, 4x1x3, but the input has 2: \?x3"):
        shapes_with_data(model, "", data, 1, {})


def test_name_that_no_file_can_have_states_no_dims(model: Path) -> None:
    assert not shapes_with_data(model, "", [f"x={'x' * 300}"], 1, {})


def test_random_data_that_are_asked_for_have_proposed_dims(model: Path) -> None:
    notes: list[Diagnostic] = []
    assert shapes_with_data(model, "", (), None, {}, notes) == ""
    assert not notes
    assert shapes_with_data(model, "", (), 2, {}, notes) == {"x": (1, 3)}
    assert [each.code.id for each in notes] == ["ATC1074"]
