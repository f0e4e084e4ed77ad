"""The specifications that atc-py brings along: facts, ONNX's definitions, the target's rows."""

from typing import Any, get_args

import onnx
import onnx.defs
import onnx.helper
import pytest

from atc_py.options.compile_options import PrecisionMode
from atc_py.spec import AttributeSpec, AttributeType, Level, OperandSpec, OpSpec, library
from atc_py.spec.deviations import DeviationRule
from atc_py.spec.rule import Rule
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from tests.failures import Failures, in_one_item
from tests.spec.every_list import each_spec, list_of, parameters

OPERATORS = (
    "Add",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Clip",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "ConvTranspose",
    "Dropout",
    "Flatten",
    "Gemm",
    "GlobalAveragePool",
    "Identity",
    "LRN",
    "MaxPool",
    "Mul",
    "Pad",
    "Relu",
    "Reshape",
    "Slice",
    "Softmax",
    "Sum",
    "Transpose",
    "Unsqueeze",
)
ONE_TO_ONE = {"Add", "Mul", "Relu"}
CUBE = {"AveragePool", "Conv", "ConvTranspose", "Gemm"}
REQUIRED = {
    ("cann-9.0", "ConvTranspose", "kernel_shape"),
    ("cann-9.0", "TfIdfVectorizer", "pool_int64s"),
}
"""List, operator and attribute that nodes must set though ONNX does not demand it.

The page of ConvTranspose says that the filter's shape is needed, and CANN's parser refuses nodes
without it. TfIdfVectorizer has one of two pools, and tensors here cannot hold what is looked up in
the other one: strings.
"""
OF_ONNX = parameters(
    spec for spec in each_spec() if any(onnx.defs.has(spec.op, opset) for opset in spec.opsets)
)


def _spec(op: str) -> OpSpec:
    spec = library().find(op)
    assert spec is not None, f"{op} has no specification"
    return spec


def _attribute(op: str, name: str) -> AttributeSpec:
    attribute = _spec(op).attribute(name)
    assert attribute is not None
    return attribute


def _rules(op: str, name: str) -> list[Rule]:
    return [rule for rule in _spec(op).constraints if rule.name == name]


def test_operators_have_specifications() -> None:
    assert [op for op in OPERATORS if _spec(op).op != op] == []


# Against ONNX's own definitions -----------------------------------------------------------------


@in_one_item("spec", OF_ONNX)
def test_spec_is_as_onnx_defines_it(spec: OpSpec) -> None:
    with Failures() as failures:
        for opset in spec.opsets:
            if onnx.defs.has(spec.op, opset):
                schema: Any = onnx.defs.get_schema(spec.op, opset)
                with failures.of(f"operands at opset {opset}"):
                    _same_operands(spec, schema, opset)
                with failures.of(f"attributes at opset {opset}"):
                    _same_attributes(spec, schema, opset)
                with failures.of(f"group at opset {opset}"):
                    assert f"/{spec.group}/" in schema.file.replace("\\", "/")


def _same_operands(spec: OpSpec, schema: Any, opset: int) -> None:
    for rows, formal in ((spec.inputs, schema.inputs), (spec.outputs, schema.outputs)):
        present = [row for row in rows if row.exists_at(opset)]
        assert [row.name for row in present] == [parameter.name for parameter in formal]
        for row, parameter in zip(present, formal, strict=True):
            _same_option(row, parameter.option.name)


def _same_option(row: OperandSpec, option: str) -> None:
    assert row.variadic == (option == "Variadic")
    if option == "Optional":
        assert row.optional


def _same_attributes(spec: OpSpec, schema: Any, opset: int) -> None:
    present = {row.name: row for row in spec.attributes if row.exists_at(opset)}
    assert set(present) == set(schema.attributes)
    for name, formal in schema.attributes.items():
        row = present[name]
        assert row.type.value == formal.type.name.lower()
        if spec.op != "Constant":
            listed = (list_of(spec), spec.op, name) in REQUIRED
            assert row.required == (formal.required or listed)
            assert not (formal.required and listed)
        _same_default(row, formal, opset)


def _same_default(row: AttributeSpec, formal: Any, opset: int) -> None:
    """Check defaults; ONNX has those of most lists in the words of its definitions alone."""
    default = row.default_at(opset)
    if not formal.default_value.name:
        assert default is None or row.type is AttributeType.INTS
        return
    value = onnx.helper.get_attribute_value(formal.default_value)
    value = value.decode() if isinstance(value, bytes) else value
    value = tuple(value) if isinstance(value, list) else value
    assert default == (pytest.approx(value) if isinstance(value, float) else value)


# Against the target's rows ----------------------------------------------------------------------


def test_targets_are_rows_whose_attributes_exist() -> None:
    targets = {spec.op: spec.target for spec in each_spec() if spec.target is not None}
    assert set(targets) >= ONE_TO_ONE
    for op, target in targets.items():
        row = find_operator(target.op)
        assert row is not None, f"{op}: the target has no operator {target.op}"
        for name in target.attributes:
            assert row.attribute(name) is not None, f"{op}: {target.op} has no attribute {name}"


# Rules ------------------------------------------------------------------------------------------


def test_every_rule_is_used() -> None:
    used: set[type[Rule]] = {type(rule) for spec in each_spec() for rule in spec.constraints}
    used |= {type(row.unless) for spec in each_spec() for row in spec.deviations}
    assert {rule.__name__ for rule in get_args(DeviationRule)} == {rule.__name__ for rule in used}


def test_float32_rules_are_lifted_by_a_float32_cube() -> None:
    found = set()
    for spec in each_spec():
        for rule in spec.constraints:
            when = rule.when
            if when is None or when.precision_mode is None or spec.op not in CUBE:
                continue
            found.add(spec.op)
            assert rule.name == "dtype_excluded"
            assert when.precision_mode is PrecisionMode.MUST_KEEP_ORIGIN_DTYPE
            assert when.cube_float32 is False
            assert spec.notes is not None
            assert "cube_float32" in spec.notes.en
    assert found == CUBE


def test_conv_attributes_are_bounded_as_listed() -> None:
    assert _attribute("Conv", "strides").each == (1, 63)
    assert _attribute("Conv", "dilations").each == (1, 255)
    assert _attribute("Conv", "pads").each == (0, 255)
    group = _attribute("Conv", "group")
    assert (group.one_of, group.otherwise) == ((1,), Level.REWRITE)
    widths = {
        (r.arguments["tensor"], r.arguments["dim"]): r for r in _rules("Conv", "dim_in_range")
    }
    assert widths["X", "W"].arguments["range"] == (1, 4096)
    assert widths["W", "H"].arguments["range"] == (1, 255)
    assert widths["W", "W"].arguments["range"] == (1, 255)


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_same_padding_of_convolutions_is_rewritten(op: str) -> None:
    auto_pad = _attribute(op, "auto_pad")
    assert auto_pad.one_of == ("NOTSET", "VALID")
    assert auto_pad.otherwise is Level.REWRITE


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
def test_large_windows_of_pools_run_on_the_slow_engine(op: str) -> None:
    ranges = {r.arguments["attribute"]: r for r in _rules(op, "attr_each_in_range")}
    assert ranges["strides"].arguments["range"] == (1, 63)
    assert ranges["kernel_shape"].arguments["range"] == (1, 255)
    (product,) = _rules(op, "product_at_most")
    assert product.arguments == {"attribute": "kernel_shape", "limit": 256}
    assert {product.level, *(r.level for r in ranges.values())} == {Level.AICPU}
    (prime,) = _rules(op, "prime_dim_below")
    assert prime.arguments == {"tensor": "X", "dim": "N", "limit": 65535}
    assert _attribute(op, "kernel_shape").each == (1, 32768)


def test_unsupported_marks_of_the_list_are_kept() -> None:
    marked = set()
    for spec in map(_spec, OPERATORS):
        rows: tuple[OperandSpec | AttributeSpec, ...] = (*spec.inputs, *spec.attributes)
        marked |= {(spec.op, row.name) for row in rows if row.listed and not row.supported}
    assert marked == {
        ("AveragePool", "count_include_pad"),
        ("BatchNormalization", "momentum"),
        ("Constant", "sparse_value"),
        ("Gemm", "C"),
        ("Gemm", "alpha"),
        ("Gemm", "beta"),
        ("MaxPool", "storage_order"),
    }


def test_numerics_follow_onnx_where_the_list_differs() -> None:
    epsilon = _attribute("BatchNormalization", "epsilon")
    assert (epsilon.default, epsilon.listed_default) == (1e-5, 0.0001)
    axis = _attribute("Softmax", "axis")
    assert (axis.default_at(12), axis.default_at(13)) == (1, -1)


def test_gaps_of_opsets_are_kept() -> None:
    assert _spec("Unsqueeze").opsets == (8, 9, 10, 11, 12)
    assert _spec("Conv").opsets == (9, 10, 11, 12, 13)
    assert _spec("ConstantOfShape").opsets == (9, 10, 11, 12, 13)
    assert _spec("Add").opsets == (8, 9, 10, 11, 12, 13)


def test_clip_takes_the_three_listed_dtypes() -> None:
    spec = _spec("Clip")
    assert spec.dtypes_of(spec.inputs[0]) == (DType.FLOAT16, DType.FLOAT32, DType.INT32)
