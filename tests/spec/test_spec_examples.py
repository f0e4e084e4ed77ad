"""Every specification's example: a small node that ONNX accepts at every listed opset."""

import math
from pathlib import Path

import onnx
import onnx.checker
import onnx.defs
import onnx.shape_inference
import pytest
from onnx import TensorProto

from atc_py.spec import AttributeType, OperandSpec, OpSpec, library
from atc_py.tensor.dtypes import DType
from tests.failures import Failures, in_one_item
from tests.spec.every_list import each_spec, parameters
from tests.spec.one_node import CUSTOM_DOMAIN, build

SPECS = parameters(each_spec())
OF_ONNX = parameters(
    spec for spec in each_spec() if any(onnx.defs.has(spec.op, opset) for opset in spec.opsets)
)
CUSTOM = parameters(spec for spec in each_spec() if spec.custom)
MOST_ELEMENTS = 256

NOT_NARROW = {"MeanVarianceNormalization": {"X": DType.FLOAT32}}
"""Other dtypes than the first: ONNX's function body of the operator has float32 constants."""


def _spec(op: str) -> OpSpec:
    spec = library().find(op)
    assert spec is not None
    return spec


def _input(spec: OpSpec, name: str) -> OperandSpec:
    return next(row for row in spec.inputs if row.name == name)


def _element(model: onnx.ModelProto, name: str) -> int:
    inputs = {tensor.name: tensor for tensor in model.graph.input}
    return int(inputs[name].type.tensor_type.elem_type)


def _with_ranks(model: onnx.ModelProto, spec: OpSpec) -> onnx.ModelProto:
    """Return the model with open dims for outputs without shape, for onnx's checker.

    ONNX infers none for operators of the user's own, nor for a few old versions of its own.
    """
    for output in model.graph.output:
        type_ = output.type.tensor_type
        if not type_.HasField("shape"):
            row = spec.operand(output.name)
            assert row is not None
            first = model.graph.input[0].type.tensor_type.shape
            for _ in range(len(first.dim) if row.rank is None else row.rank):
                type_.shape.dim.add()
    return model


# The examples -----------------------------------------------------------------------------------


@in_one_item("spec", SPECS)
def test_spec_has_an_example_that_fits_its_rows(spec: OpSpec) -> None:
    with Failures() as failures:
        with failures.of("presence"):
            files = [path for path in (spec.path, spec.like_path) if path]
            texts = [Path(path).read_text(encoding="utf-8") for path in files]
            assert any("\nexample:" in text for text in texts)
        for check in (_names_exist, _ranks_and_sizes_fit, _values_are_of_their_types):
            with failures.of(check.__name__):
                check(spec)


def _names_exist(spec: OpSpec) -> None:
    inputs = {row.name for row in spec.inputs}
    assert set(spec.example.inputs) <= inputs
    assert set(spec.example.values) <= set(spec.example.inputs)
    assert set(spec.example.attributes) <= {row.name for row in spec.attributes}
    required = {row.name for row in spec.inputs if not row.optional}
    assert set(spec.example.inputs) >= required
    literal = {row.name for row in spec.attributes if row.required} - {"then_branch", "else_branch"}
    assert set(spec.example.attributes) >= literal


def _ranks_and_sizes_fit(spec: OpSpec) -> None:
    for name, shape in spec.example.inputs.items():
        row = _input(spec, name)
        assert row.rank in {None, len(shape)}
        assert math.prod(shape) <= MOST_ELEMENTS
        if name in spec.example.values:
            assert len(spec.example.values[name]) == math.prod(shape)


def _values_are_of_their_types(spec: OpSpec) -> None:
    kinds = {
        AttributeType.INT: int,
        AttributeType.FLOAT: float,
        AttributeType.STRING: str,
        AttributeType.BOOL: bool,
    }
    for name, value in spec.example.attributes.items():
        row = spec.attribute(name)
        assert row is not None
        assert isinstance(value, tuple) == row.type.is_list
        for item in value if isinstance(value, tuple) else (value,):
            assert type(item) is kinds[row.type.element]


@in_one_item("spec", OF_ONNX)
def test_example_is_a_node_that_onnx_accepts_at_every_listed_opset(spec: OpSpec) -> None:
    with Failures() as failures:
        for opset in spec.opsets:
            if _is_defined(spec.op, opset):
                with failures.of(f"opset {opset}"):
                    _accepted_by_onnx(spec, opset)


def _is_defined(op: str, opset: int) -> bool:
    """Return True if ONNX has the operator at an opset, and not only the notice that it ended."""
    return onnx.defs.has(op, opset) and not onnx.defs.get_schema(op, opset).deprecated


def _accepted_by_onnx(spec: OpSpec, opset: int) -> None:
    model = build(spec, opset, dtypes=NOT_NARROW.get(spec.op))
    inferred = onnx.shape_inference.infer_shapes(
        model, check_type=True, strict_mode=True, data_prop=True
    )
    onnx.checker.check_model(_with_ranks(inferred, spec), full_check=True)
    elements = [output.type.tensor_type.elem_type for output in model.graph.output]
    assert elements
    assert TensorProto.UNDEFINED not in elements


@in_one_item("spec", CUSTOM)
def test_example_of_a_custom_operator_is_a_model(spec: OpSpec) -> None:
    model = build(spec, 13)
    onnx.checker.check_model(_with_ranks(model, spec))
    (node,) = model.graph.node
    assert (node.op_type, node.domain) == (spec.op, CUSTOM_DOMAIN)
    assert {entry.domain: entry.version for entry in model.opset_import} == {
        "": 13,
        CUSTOM_DOMAIN: 1,
    }
    rows = [row for row in spec.outputs if not row.optional]
    for row, output in zip(rows, model.graph.output, strict=True):
        assert row.rank in {None, len(output.type.tensor_type.shape.dim)}
        assert output.type.tensor_type.elem_type


# The builder ------------------------------------------------------------------------------------


def test_build_uses_inputs_and_attributes_of_the_opset() -> None:
    old, new = build(_spec("Slice"), 9), build(_spec("Slice"), 13)
    assert list(old.graph.node[0].input) == ["data"]
    assert [attribute.name for attribute in old.graph.node[0].attribute] == [
        "starts",
        "ends",
        "axes",
    ]
    assert list(new.graph.node[0].input) == ["data", "starts", "ends", "axes", "steps"]
    assert not new.graph.node[0].attribute
    assert [weight.name for weight in new.graph.initializer] == ["starts", "ends", "axes", "steps"]


def test_build_gives_unsupported_inputs_only_where_onnx_demands_them() -> None:
    gemm = _spec("Gemm")
    assert list(build(gemm, 9).graph.node[0].input) == ["A", "B", "C"]
    assert list(build(gemm, 13).graph.node[0].input) == ["A", "B"]
    assert list(build(gemm, 13, shapes={"C": (4,)}).graph.node[0].input) == ["A", "B", "C"]


def test_build_changes_what_it_is_asked_to_change() -> None:
    model = build(
        _spec("Conv"),
        11,
        shapes={"X": (1, 4, None, "w"), "B": None},
        attributes={"strides": [64, 1], "pads": None},
        dtypes={"X": DType.FLOAT32},
    )
    (node,) = model.graph.node
    assert list(node.input) == ["X", "W"]
    attributes = {attribute.name: attribute for attribute in node.attribute}
    assert list(attributes["strides"].ints) == [64, 1]
    assert "pads" not in attributes
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert [dim.WhichOneof("value") for dim in dims] == [
        "dim_value",
        "dim_value",
        None,
        "dim_param",
    ]
    assert _element(model, "W") == TensorProto.FLOAT


def test_build_values_become_constants_or_inputs() -> None:
    spec = _spec("TopK")
    model = build(spec, 11, values={"K": [5]})
    (weight,) = model.graph.initializer
    assert onnx.numpy_helper.to_array(weight).tolist() == [5]
    model = build(spec, 11, values={"K": None})
    assert [tensor.name for tensor in model.graph.input] == ["X", "K"]


def test_build_dtypes_are_shared_as_onnx_shares_them() -> None:
    model = build(_spec("BatchNormalization"), 9)
    assert _element(model, "X") == _element(model, "scale") == TensorProto.FLOAT
    model = build(_spec("Where"), 9, dtypes={"Y": "int8"})
    assert _element(model, "X") == _element(model, "Y") == TensorProto.INT8
    model = build(_spec("Abs"), 13, dtypes={"X": "complex64"})
    assert _element(model, "X") == TensorProto.COMPLEX64


def test_build_refuses_names_that_do_not_exist() -> None:
    with pytest.raises(KeyError, match="'Q'"):
        build(_spec("Add"), 13, shapes={"Q": (1,)})
    with pytest.raises(KeyError, match="'alpha'"):
        build(_spec("Add"), 13, attributes={"alpha": 1.0})
