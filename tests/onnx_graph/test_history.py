"""ONNX's history as plain values, against facts of the operators' own pages."""

import subprocess
import sys

import onnx
import pytest

from atc_py.onnx_graph.reading.history import OnnxHistory, history
from atc_py.onnx_graph.source import OperatorSchema


def version(op: str, opset: int) -> OperatorSchema:
    found = history().at(op, opset)
    assert found is not None
    return found


def test_importing_it_loads_no_onnx() -> None:
    code = (
        "import sys\nfrom atc_py.onnx_graph.reading.history import history\nhistory()\n"
        "print('onnx' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_history_is_made_once() -> None:
    assert history() is history()
    assert history().versions("Relu") is history().versions("Relu")


@pytest.mark.parametrize(
    ("op", "numbers"),
    [
        ("Relu", [1, 6, 13, 14]),
        ("Div", [1, 6, 7, 13, 14]),
        ("Sqrt", [1, 6, 13]),
        ("Reciprocal", [1, 6, 13]),
        ("Upsample", [1, 7, 9, 10]),
    ],
)
def test_versions_come_oldest_first(op: str, numbers: list[int]) -> None:
    assert [row.since_version for row in history().versions(op)][: len(numbers)] == numbers


@pytest.mark.parametrize(
    ("opset", "since"), [(1, 1), (5, 1), (6, 6), (12, 6), (13, 13), (14, 14), (10**30, 14)]
)
def test_definition_in_force_is_the_last_one_before(opset: int, since: int) -> None:
    assert version("Relu", opset).since_version == since


@pytest.mark.parametrize("opset", [0, -1, 19])
def test_no_definition_is_in_force_before_the_first(opset: int) -> None:
    assert history().at("Gelu", opset) is None


@pytest.mark.parametrize("op", ["", "relu", "Cnov", "\udc80", "a\0b", "x" * 5000])
def test_what_onnx_does_not_have_has_no_versions(op: str) -> None:
    assert history().versions(op) == ()
    assert history().at(op, 13) is None


def test_element_types_have_our_names() -> None:
    (x,) = version("Relu", 6).inputs
    assert (x.name, x.type_name) == ("X", "T")
    assert x.elements == {"float16", "float32", "float64"}
    (x,) = version("Relu", 14).inputs
    assert x.elements == {
        *("bfloat16", "float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    }
    assert {"string", "complex64", "bool"} <= version("Identity", 1).inputs[0].elements
    assert "float8e4m3fn" in version("Cast", 19).inputs[0].elements


def test_types_of_other_things_than_tensors_keep_onnx_text() -> None:
    assert "seq(tensor(float))" in version("Identity", 14).inputs[0].elements
    assert "optional(tensor(float))" in version("Identity", 16).inputs[0].elements


def test_occurrence_of_operands() -> None:
    conv = version("Conv", 11)
    assert [(row.name, row.optional) for row in conv.inputs] == [
        ("X", False),
        ("W", False),
        ("B", True),
    ]
    (inputs,) = version("Concat", 13).inputs
    assert (inputs.variadic, inputs.optional) == (True, False)


def test_attributes_have_type_duty_and_default() -> None:
    rows = version("AveragePool", 11).attributes
    assert list(rows) == sorted(rows)
    assert (rows["auto_pad"].type, rows["auto_pad"].default) == ("string", "NOTSET")
    assert (rows["kernel_shape"].type, rows["kernel_shape"].required) == ("ints", True)
    assert rows["pads"].default is None
    assert rows["ceil_mode"].default == 0
    assert version("LRN", 13).attributes["alpha"].default == pytest.approx(1e-4)
    assert version("Constant", 13).attributes["value"].default is None
    assert version("If", 13).attributes["then_branch"].type == "graph"


def test_deprecation_is_the_last_version() -> None:
    rows = history().versions("Upsample")
    assert [row.deprecated for row in rows] == [False, False, False, True]
    assert version("Upsample", 99).deprecated


def test_body_names_each_operator_of_a_function_once() -> None:
    assert version("Mish", 18).body == ("Softplus", "Tanh", "Mul")
    assert version("Conv", 11).body == ()
    assert version("GreaterOrEqual", 12).body.count("Greater") == 1


def test_body_that_depends_on_the_node_is_that_of_a_plain_one() -> None:
    assert "Erf" in version("Gelu", 20).body
    assert {"ReduceMean", "Sqrt"} <= set(version("LayerNormalization", 17).body)


def test_every_version_of_every_operator_can_be_read() -> None:
    fresh = OnnxHistory()
    assert fresh.newest_opset == onnx.defs.onnx_opset_version()
    own: dict[str, list[int]] = {}
    for each in onnx.defs.get_all_schemas_with_history():
        if not each.domain:
            own.setdefault(each.name, []).append(each.since_version)
    assert fresh.names == tuple(sorted(own))
    for name, numbers in own.items():
        rows = fresh.versions(name)
        assert [row.since_version for row in rows] == sorted(numbers)
        assert {row.op for row in rows} == {name}
