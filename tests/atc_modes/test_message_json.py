"""The rules by which messages become JSON."""

import json
import math
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.onnx_graph.protos.message_json import json_text, message_json
from atc_py.package.ge.protobuf_classes import model_class
from atc_py.package.ge.schema import DATA_TYPES, LIST_TYPES


def attribute(**fields: Any) -> Any:
    """Return the JSON of a model's one attribute."""
    message = model_class()()
    for name, value in fields.items():
        setattr(message.attr["a"], name, value)
    found = message_json(message)
    assert isinstance(found, dict)
    return found["attr"][0]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (1e20, "1e+20"),
        (math.inf, "inf"),
        (1 / 3, "0.333333"),
        (-1 / 3, "-0.333333"),
        (-1e-20, "-1e-20"),
        (1.234e-5, "1.234e-05"),
        (1.2345e-5, 1.2344999959168490e-05),  # ten characters, more than the text has room for
    ],
)
def test_lone_float_is_text_where_it_is_short(value: float, shown: object) -> None:
    assert attribute(f=value) == {"key": "a", "value": {"f": shown}}


def test_member_of_a_oneof_is_there_though_it_is_zero() -> None:
    assert attribute(i=0) == {"key": "a", "value": {"i": 0}}
    assert attribute(b=False) == {"key": "a", "value": {"b": False}}


def test_lone_bytes_are_escaped_as_c_does() -> None:
    found = attribute(s='a"b\\\n\x01é'.encode())
    assert found["value"]["s"] == r"a\"b\\\n\001\303\251"


def test_bytes_of_a_list_are_text_without_what_is_not_utf8() -> None:
    message = model_class()()
    message.attr["a"].list.s.extend(["é".encode(), b"x\xffy"])
    message.attr["a"].list.val_type = LIST_TYPES.index("VT_LIST_STRING")
    assert message_json(message) == {
        "attr": [{"key": "a", "value": {"list": {"s": ["é", "xy"], "val_type": "VT_LIST_STRING"}}}]
    }


def test_floats_of_a_list_are_numbers_and_null_where_json_has_none() -> None:
    message = model_class()()
    message.attr["a"].list.f.extend([0.5, math.nan, 0.1])
    found = message_json(message)
    assert isinstance(found, dict)
    assert found["attr"][0]["value"]["list"]["f"] == [0.5, None, 0.10000000149011612]


def test_empty_message_is_null_in_a_list_and_absent_alone() -> None:
    message = model_class()(name="m")
    message.graph.add().op.add().input_desc.add()
    message.graph[0].op[0].input_desc.add().shape.SetInParent()
    assert message_json(message) == {
        "name": "m",
        "graph": [{"op": [{"input_desc": [None, None]}]}],
    }


def test_fields_of_atc_that_are_dropped_are_dropped_everywhere() -> None:
    message = model_class()(name="m")
    op = message.graph.add(output=["x"]).op.add(workspace=[1])
    op.output_desc.add(size=5, dtype=DATA_TYPES.index("DT_BF16"))
    found = message_json(message, {"output", "workspace", "size"})
    assert found == {"name": "m", "graph": [{"op": [{"output_desc": [{"dtype": "DT_BF16"}]}]}]}


def test_enums_are_numbers_on_request() -> None:
    message = model_class()()
    message.graph.add().op.add().output_desc.add(dtype=DATA_TYPES.index("DT_BF16"))
    found = message_json(message, enum_names=False)
    assert found == {"graph": [{"op": [{"output_desc": [{"dtype": 27}]}]}]}


def test_doubles_are_left_out_alone_and_null_in_a_list() -> None:
    tensor = TensorProto(name="t", double_data=[1.0, 2.0])
    assert message_json(tensor) == {"name": "t", "double_data": [None, None]}


def test_scalar_of_onnx_is_absent_where_it_is_zero() -> None:
    """ATC's schema has no presence for scalars, onnx's own has."""
    node = helper.make_node("Concat", ["a", "b"], ["c"], axis=0)
    assert node.attribute[0].HasField("i")
    assert message_json(node) == {
        "input": ["a", "b"],
        "output": ["c"],
        "op_type": "Concat",
        "attribute": [{"name": "axis", "type": "INT"}],
    }


def test_dim_of_onnx_that_is_zero_is_there() -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [0, "n"])
    found = message_json(value)
    assert isinstance(found, dict)
    assert found["type"]["tensor_type"]["shape"]["dim"] == [{"dim_value": 0}, {"dim_param": "n"}]


def nested(depth: int) -> onnx.GraphProto:
    """Return a graph in which others are nested, three messages each."""
    graph = onnx.GraphProto(name="g")
    inner = graph
    for _ in range(depth):
        inner = inner.node.add(op_type="If").attribute.add(name="b").g
        inner.name = "g"
    return graph


def test_messages_below_level_twenty_are_null() -> None:
    text = json_text(message_json(nested(20)))
    assert text.count('"name": "g"') == 7  # levels 0, 3, ... 18
    assert "null" in text


def test_text_has_sorted_keys_two_spaces_and_no_line_break_at_the_end() -> None:
    text = json_text({"b": [1, {"é": "\x01"}], "a": []})
    assert text == '{\n  "a": [],\n  "b": [\n    1,\n    {\n      "é": "\\u0001"\n    }\n  ]\n}'
    assert json.loads(text) == {"a": [], "b": [1, {"é": "\x01"}]}


def test_text_commands_no_terminal() -> None:
    value = {"name": "\x01\x7f\x9b31m\u202e\u2028é"}
    text = json_text(value)
    assert text.replace("\n", "").isprintable()
    assert "é" in text
    assert json.loads(text) == value
