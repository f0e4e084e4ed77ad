"""Changes between versions of operators: made-up schemas for each kind, and ONNX's own."""

import json
from itertools import pairwise

import pytest

from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.source import AttributeSchema, FormalParameter, OperatorSchema
from atc_py.onnx_graph.source.schema_changes import changes

FLOATS = frozenset({"float16", "float32"})


def tensor(
    name: str,
    elements: frozenset[str] = FLOATS,
    type_name: str = "T",
    *,
    optional: bool = False,
    variadic: bool = False,
) -> FormalParameter:
    return FormalParameter(name, elements, type_name, optional, variadic)


def schema(
    *inputs: FormalParameter,
    outputs: tuple[FormalParameter, ...] = (),
    attributes: tuple[AttributeSchema, ...] = (),
    deprecated: bool = False,
) -> OperatorSchema:
    return OperatorSchema(
        "Demo", 1, inputs, outputs, {row.name: row for row in attributes}, deprecated
    )


def attribute(
    name: str, type_: str = "int", default: int | None = None, *, required: bool = False
) -> AttributeSchema:
    return AttributeSchema(name, type_, required, default)


X, Y = tensor("X"), tensor("Y")
INTS = frozenset({"int64"})

CASES = {
    "nothing": (schema(X), schema(X), []),
    "input added": (
        schema(X),
        schema(X, tensor("Z", INTS, "tensor(int64)", optional=True)),
        ["input Z added (optional; int64)"],
    ),
    "input removed": (schema(X, Y), schema(X), ["input Y removed"]),
    "input renamed": (schema(X), schema(Y), ["input X renamed to Y"]),
    "input of another type is another": (
        schema(X),
        schema(tensor("Z", INTS)),
        ["input X removed", "input Z added (int64)"],
    ),
    "input moved": (
        schema(X, Y),
        schema(X, tensor("Z"), Y),
        ["input Z added (float16 float32)", "input Y moved from position 2 to 3"],
    ),
    "input optional": (
        schema(X),
        schema(tensor("X", optional=True)),
        ["input X became optional"],
    ),
    "input required": (
        schema(tensor("X", optional=True)),
        schema(X),
        ["input X became required, one tensor"],
    ),
    "input variadic": (
        schema(X),
        schema(tensor("X", variadic=True)),
        ["input X became variadic"],
    ),
    "output removed": (schema(X, outputs=(Y,)), schema(X), ["output Y removed"]),
    "dtypes": (
        schema(X, outputs=(Y,)),
        schema(
            tensor("X", frozenset({"float32", "string", "bfloat16"})),
            outputs=(tensor("Y", frozenset({"float32", "string", "bfloat16"})),),
        ),
        ["T (X, Y): bfloat16 string gained, float16 lost"],
    ),
    "dtypes of one input": (
        schema(tensor("k", INTS, "tensor(int64)")),
        schema(tensor("k", INTS | {"int32"}, "tensor(int64)")),
        ["k: int32 gained"],
    ),
    "untied": (
        schema(X, Y, tensor("Z")),
        schema(X, tensor("Y", type_name="T1"), tensor("Z")),
        ["X, Z and Y need not share a dtype"],
    ),
    "tied": (
        schema(X, tensor("Y", type_name="T1")),
        schema(X, Y),
        ["X and Y must share a dtype"],
    ),
    "a variable of another name": (
        schema(X, Y),
        schema(tensor("X", type_name="U"), tensor("Y", type_name="U")),
        [],
    ),
    "attribute added": (
        schema(X),
        schema(X, attributes=(attribute("a", default=2), attribute("b", required=True))),
        ["attribute a added (int, default 2)", "attribute b added (int, required)"],
    ),
    "attribute removed": (schema(attributes=(attribute("a"),)), schema(), ["attribute a removed"]),
    "attribute changed": (
        schema(attributes=(attribute("a", default=1),)),
        schema(attributes=(attribute("a", "string", required=True),)),
        [
            "attribute a is string, was int",
            "attribute a has default none, was 1",
            "attribute a became required",
        ],
    ),
    "attribute becomes input": (
        schema(X, attributes=(attribute("k"),)),
        schema(X, tensor("K", INTS)),
        ["attribute k became input K (int64)"],
    ),
    "input becomes attribute": (
        schema(X, tensor("K", INTS)),
        schema(X, attributes=(attribute("k"),)),
        ["input K became attribute k"],
    ),
    "deprecated": (
        schema(X),
        schema(X, deprecated=True),
        ["the operator is deprecated from here on"],
    ),
    "restored": (schema(X, deprecated=True), schema(X), ["the operator is not deprecated"]),
}


@pytest.mark.parametrize("name", CASES)
def test_change_is_found_and_nothing_else(name: str) -> None:
    before, after, wanted = CASES[name]
    found = changes(before, after)
    assert [change.words.en for change in found] == wanted
    assert all(change.words.zh for change in found)
    json.dumps([change.as_json() for change in found], allow_nan=False)


def texts(op: str, first: int, second: int) -> list[str]:
    before, after = history().at(op, first), history().at(op, second)
    assert before is not None
    assert after is not None
    return [change.words.en for change in changes(before, after)]


def test_relu_through_its_versions() -> None:
    assert texts("Relu", 1, 6) == ["attribute consumed_inputs removed"]
    assert texts("Relu", 6, 13) == ["T (X, Y): bfloat16 gained"]
    assert texts("Relu", 13, 14) == ["T (X, Y): int8 int16 int32 int64 gained"]


def test_div_through_its_versions() -> None:
    assert texts("Div", 1, 6) == [
        "T (A, B, C): int32 int64 uint32 uint64 gained",
        "attribute consumed_inputs removed",
    ]
    assert texts("Div", 6, 7) == ["attribute axis removed", "attribute broadcast removed"]
    assert texts("Div", 7, 13) == ["T (A, B, C): bfloat16 gained"]
    assert texts("Div", 13, 14) == ["T (A, B, C): int8 int16 uint8 uint16 gained"]


@pytest.mark.parametrize("op", ["Sqrt", "Reciprocal"])
def test_unary_operators_gain_bfloat16_with_13(op: str) -> None:
    assert texts(op, 1, 6) == ["attribute consumed_inputs removed"]
    assert texts(op, 6, 13) == ["T (X, Y): bfloat16 gained"]
    assert texts(op, 13, 6) == ["T (X, Y): bfloat16 lost"]


def test_default_and_turned_attributes_of_onnx() -> None:
    assert "attribute axis has default -1, was 1" in texts("Softmax", 11, 13)
    assert "attribute axes became input (optional; int32 int64)" in texts("Slice", 9, 10)
    assert texts("TopK", 1, 10) == ["attribute k became input K (int64)"]
    assert "X, Z and Y need not share a dtype" in texts("Pow", 7, 12)
    assert texts("Upsample", 9, 10) == ["the operator is deprecated from here on"]


def test_every_step_of_every_operator_has_words() -> None:
    for name in history().names:
        versions = history().versions(name)
        for before, after in pairwise(versions):
            for change in changes(before, after):
                assert change.words.en
                assert change.words.zh
                json.dumps(change.as_json(), allow_nan=False)
            assert changes(after, after) == ()
