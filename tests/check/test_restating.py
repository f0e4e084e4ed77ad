"""Opsets: nodes at listed opsets, nodes that can be restated at one, and those that cannot."""

from typing import Any

import msgspec
import numpy as np
import pytest

from atc_py.check.restating import OpsetPlacement, OpsetRefusal, place_node
from atc_py.ir import DenseConst
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.source import SourceNode, SourceTensor
from atc_py.spec import library


def tensor(name: str, element: str = "float32", values: list[Any] | None = None) -> SourceTensor:
    if values is None:
        return SourceTensor(name, element, (2, 3, 4, 5))
    known = DenseConst(np.array(values))
    return SourceTensor(name, element, known.shape, known)


X = tensor("x")


def placed(
    op_type: str,
    opset: int,
    *inputs: SourceTensor | None,
    outputs: int = 1,
    **attributes: Any,
) -> OpsetPlacement | OpsetRefusal:
    spec = library().find(op_type)
    assert spec is not None
    schema = history().at(op_type, opset)
    view = SourceNode(
        index=0,
        name="n",
        op_type=op_type,
        domain="",
        opset=opset,
        since_version=schema.since_version if schema else 1,
        inputs=inputs,
        outputs=tuple(tensor(f"y{i}") for i in range(outputs)),
        attributes=attributes,
    )
    return place_node(view, spec, history())


def restated(found: OpsetPlacement | OpsetRefusal) -> SourceNode:
    assert isinstance(found, OpsetPlacement), found
    assert found.restated
    assert found.view.opset == found.opset
    return found.view


def reason(found: OpsetPlacement | OpsetRefusal) -> str:
    assert isinstance(found, OpsetRefusal), found
    assert found.reason.zh
    return found.reason.en


@pytest.mark.parametrize(
    ("op_type", "opset", "listed"),
    [
        ("Relu", 11, 11),
        ("Conv", 11, 11),
        ("Conv", 21, 13),
        ("GlobalAveragePool", 17, 13),
        ("Conv", 8, 9),
        ("GreaterOrEqual", 13, 12),
    ],
)
def test_node_of_a_listed_version_stays_as_it_is(op_type: str, opset: int, listed: int) -> None:
    found = placed(op_type, opset, X)
    assert isinstance(found, OpsetPlacement)
    assert (found.opset, found.restated) == (listed, False)
    assert found.view.opset == opset


@pytest.mark.parametrize(
    ("op_type", "opset", "since"),
    [("Relu", 14, 13), ("Add", 17, 13), ("Flatten", 21, 13), ("Sigmoid", 13, 13), ("Div", 14, 13)],
)
def test_newer_version_with_the_same_form_is_restated(op_type: str, opset: int, since: int) -> None:
    found = placed(op_type, opset, X, X) if op_type in {"Add", "Div"} else placed(op_type, opset, X)
    assert isinstance(found, OpsetPlacement)
    assert (found.opset, found.view.since_version) == (13, since)
    assert found.restated is (opset > 13)


def test_batch_normalization_of_a_newer_opset_is_restated() -> None:
    statistics = [tensor(name) for name in ("s", "b", "m", "v")]
    view = restated(placed("BatchNormalization", 17, X, *statistics, epsilon=1e-5, training_mode=0))
    assert [each.name for each in view.inputs if each] == ["x", "s", "b", "m", "v"]
    assert view.attributes["epsilon"] == 1e-5


def test_input_that_became_one_goes_back_to_the_attribute() -> None:
    axes = tensor("axes", "int64", [-1, 2])
    view = restated(placed("Unsqueeze", 13, X, axes))
    assert view.opset == 12
    assert [each and each.name for each in view.inputs] == ["x"]
    assert view.attributes == {"axes": (-1, 2)}
    view = restated(placed("ReduceMean", 18, X, axes, keepdims=0))
    assert (view.opset, dict(view.attributes)) == (13, {"keepdims": 0, "axes": (-1, 2)})


def test_reduction_over_all_axes_is_restated_without_axes() -> None:
    assert "axes" not in restated(placed("ReduceMax", 18, X)).attributes


def test_input_that_is_not_constant_cannot_become_an_attribute() -> None:
    text = reason(placed("Unsqueeze", 13, X, tensor("axes", "int64")))
    assert "axes is an attribute in version 11 of Unsqueeze" in text
    assert "not constant here" in text


@pytest.mark.parametrize(("value", "goes"), [(0, True), (1, False)])
def test_flag_that_only_the_newer_version_has_must_be_at_its_default(
    value: int, *, goes: bool
) -> None:
    spec = library().find("Reshape")
    assert spec is not None
    bare = msgspec.structs.replace(spec, attributes=())
    shape = tensor("s", "int64", [6, 20])
    view = SourceNode(
        0, "n", "Reshape", "", 14, 14, (X, shape), (tensor("y"),), {"allowzero": value}
    )
    found = place_node(view, bare, history())
    if goes:
        assert restated(found).attributes == {}
    else:
        assert "no attribute allowzero as version 14 has" in reason(found)


def test_flag_that_the_specification_judges_is_kept_for_it() -> None:
    view = restated(placed("Reshape", 14, X, tensor("s", "int64", [6, 20]), allowzero=1))
    assert view.attributes == {"allowzero": 1}


def test_input_that_only_the_newer_version_has_is_a_reason() -> None:
    pads, value = tensor("p", "int64", [0] * 8), tensor("v", "float32", [0.0])
    restated(placed("Pad", 18, X, pads, value))
    text = reason(placed("Pad", 18, X, pads, value, tensor("axes", "int64", [0])))
    assert "no input axes as version 18 has" in text


def test_changed_default_is_a_reason() -> None:
    spec = library().find("Softmax")
    assert spec is not None
    only_11 = msgspec.structs.replace(spec, opsets=(11,))
    view = SourceNode(0, "n", "Softmax", "", 13, 13, (X,), (tensor("y"),), {})
    found = place_node(view, only_11, history())
    assert "the default of attribute axis changed" in reason(found)


def test_element_type_that_the_listed_version_lacks_is_a_reason() -> None:
    eight = tensor("x", "uint16")
    text = reason(placed("Add", 14, eight, eight))
    assert "no uint16 for input A as version 14 has" in text


def test_output_that_the_listed_version_lacks_is_a_reason() -> None:
    gone = placed("Shape", 15, X, outputs=2)
    assert "output" in reason(gone)


def test_missing_operand_must_be_optional_in_the_listed_version() -> None:
    scales = tensor("scales", "float32", [1.0, 1.0, 2.0, 2.0])
    view = restated(placed("Resize", 13, X, None, scales, mode="nearest"))
    assert view.opset == 12
    assert [each and each.name for each in view.inputs] == ["x", None, "scales"]
    assert "requires input ratio" not in str(view)


def test_operator_that_onnx_does_not_have_at_the_opset_is_a_reason() -> None:
    assert "ONNX does not define GreaterOrEqual at opset 9" in reason(
        placed("GreaterOrEqual", 9, X, X)
    )


def test_opset_that_nobody_knows_is_a_reason() -> None:
    assert "the newest opset that is known here is" in reason(placed("Relu", 99, X))


def test_operator_in_a_gap_is_restated_or_not() -> None:
    indices, updates = tensor("i", "int64"), tensor("u")
    assert restated(placed("ScatterND", 16, X, indices, updates)).opset == 11
    assert restated(placed("ScatterND", 13, X, indices, updates)).opset == 11


def test_listed_opset_and_custom_operators_are_never_restated() -> None:
    spec = library().find("AscendQuant")
    assert spec is not None
    view = SourceNode(0, "n", "AscendQuant", "any", 7, 1, (X,), (tensor("y"),), {})
    assert place_node(view, spec, history()) == OpsetPlacement(7, view, view, spec)
