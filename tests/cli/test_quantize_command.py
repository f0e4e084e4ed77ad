"""`atc-py quantize` and what it says of bad input."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.cli.quantize import quantize
from atc_py.diag.codes import BAD_OPTION
from tests.cli.conftest import Result, small_model

Atc = Callable[..., Result]

node = helper.make_node


def quantized_model(*, computed_scale: bool = False) -> onnx.ModelProto:
    """Return a quantized Conv, and a Gemm whose weights are floats."""
    generator = np.random.default_rng(0)
    weights: dict[str, npt.NDArray[Any]] = {
        "s": np.array(0.05, np.float32),
        "z": np.array(3, np.int8),
        "w": generator.integers(-99, 99, (4, 3, 3, 3)).astype(np.int8),
        "ws": generator.uniform(0.01, 0.02, 4).astype(np.float32),
        "wz": np.zeros(4, np.int8),
        "g": generator.standard_normal((4, 5)).astype(np.float32),
    }
    step = "s2" if computed_scale else "s"
    nodes = [
        node("ReduceMax", ["x"], ["s2"], name="step", keepdims=0),
        node("QuantizeLinear", ["x", step, "z"], ["q"], name="in"),
        node("DequantizeLinear", ["q", step, "z"], ["d"], name="out"),
        node("DequantizeLinear", ["w", "ws", "wz"], ["v"], name="filter", axis=0),
        node("Conv", ["d", "v"], ["c"], name="conv"),
        node("GlobalAveragePool", ["c"], ["p"], name="pool"),
        node("Flatten", ["p"], ["f"], name="flat"),
        node("Gemm", ["f", "g"], ["y"], name="gemm"),
    ]
    graph = helper.make_graph(
        nodes,
        "quantized",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 5])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture
def quantized(tmp_path: Path) -> Path:
    """Return a quantized model."""
    path = tmp_path / "net.onnx"
    onnx.save(quantized_model(), path)
    return path


def test_quantize_says_what_it_wrote_and_what_stays_float(atc: Atc, quantized: Path) -> None:
    done = atc("quantize", quantized)
    assert (done.status, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["layers", "on", "int8", "1", "of", "2"] in lines
    taken_back = "run on float16  1 with at most 16 input channels, on Ascend310, Ascend310P"
    assert taken_back in done.out
    assert any(line[:4] == ["7", "gemm", "Gemm", "in"] for line in lines)
    assert "its data is not quantized" in done.out
    output = quantized.with_name("net.ascend.onnx")
    assert str(output) in done.out
    operators = [each.op_type for each in onnx.load(output).graph.node]
    assert operators[:3] == ["AscendQuant", "Conv", "AscendDequant"]
    assert atc("convert", output, "--input-shape", "x:1,3,8,8").status == 0


def test_quantize_json_has_everything(atc: Atc, quantized: Path) -> None:
    done = atc("quantize", quantized, "-o", "named.onnx", "--json").json
    assert done["output"] == "named.onnx"
    assert (done["model"], done["data"]) == (str(quantized), None)
    assert (done["format"], done["opset"]) == ("ascend", 13)
    assert done["layers"] == {"integer": 1, "all": 2, "rolled_back": 1}
    conv, gemm = done["nodes"]
    assert conv == {
        "node": 4, "name": "conv", "operator": "Conv", "outcome": "integer", "channels": 3,
            "reason": None,
    }  # fmt: skip
    assert (gemm["name"], gemm["outcome"]) == ("gemm", "float")
    assert set(gemm["reason"]) == {"en", "zh"}
    assert done["bytes_before"] == quantized.stat().st_size
    assert done["bytes_after"] == Path("named.onnx").stat().st_size


def test_quantize_goes_back_and_names_the_file_after_the_first(atc: Atc, quantized: Path) -> None:
    atc("quantize", quantized)
    done = atc("quantize", quantized.with_name("net.ascend.onnx"), "--format", "qdq", "--json")
    assert done.json["output"] == str(quantized.with_name("net.qdq.onnx"))
    assert done.json["layers"] == {"integer": 1, "all": 1, "rolled_back": 0}


def test_weights_go_beside_the_model_when_asked(atc: Atc, quantized: Path) -> None:
    model = onnx.load(quantized)
    large = numpy_helper.from_array(np.ones((4, 500), np.float32), "g")
    next(each for each in model.graph.initializer if each.name == "g").CopyFrom(large)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 500
    onnx.save(model, quantized)
    done = atc("quantize", quantized, "-o", "o.onnx", "--external-data")
    assert "o.onnx.data" in done.out
    assert Path("o.onnx.data").stat().st_size == 8000
    assert atc("check", "o.onnx").status == 0


def test_python_gives_the_same_record(quantized: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    done = atc_py.quantize_model(quantized, tmp_path / "o.onnx", on_stage=stages.append)
    assert (done.integer_layers, done.layers) == (1, 2)
    assert stages == ["read", "rewrite", "check"]
    with pytest.raises(atc_py.AtcError) as caught:
        atc_py.quantize_model(quantized, format="int4")
    assert caught.value.diagnostics[0].code is BAD_OPTION


def test_a_scale_that_is_computed_is_reported(atc: Atc, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(quantized_model(computed_scale=True), path)
    done = atc("quantize", path)
    assert done.status == 0
    assert "0 of 2" in done.out
    assert "its scale or zero point is computed at run time" in done.out
    found = {each.op_type for each in onnx.load(tmp_path / "net.ascend.onnx").graph.node}
    assert {"QuantizeLinear", "DequantizeLinear"} <= found


@pytest.mark.parametrize("form", ["ascend", "qdq"])
def test_a_model_that_is_not_quantized_is_refused(atc: Atc, model: Path, form: str) -> None:
    done = atc("quantize", model, "--format", form)
    assert done.status == 1
    assert "ATC3011" in done.err
    assert "not quantized" in done.err
    assert [each.name for each in model.parent.iterdir()] == [model.name]


@pytest.mark.parametrize(("first", "second"), [("ascend", "qdq"), ("qdq", "ascend")])
def test_a_model_in_the_wanted_form_is_refused(
    atc: Atc, quantized: Path, first: str, second: str
) -> None:
    atc("quantize", quantized, "-o", "deploy.onnx")
    given = Path("deploy.onnx") if first == "ascend" else quantized
    done = atc("quantize", given, "--format", first, "-o", "again.onnx")
    assert done.status == 1
    assert f"--format {second}" in done.err
    assert not Path("again.onnx").exists()


def test_a_file_that_is_not_there_is_reported(atc: Atc) -> None:
    done = atc("quantize", "absent.onnx")
    assert done.status == 3
    assert "ATC2001" in done.err


def test_a_file_that_is_not_a_model_is_reported(atc: Atc, tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no model")
    assert atc("quantize", "text.onnx").status == 3


def test_an_output_that_is_a_folder_is_refused(atc: Atc, quantized: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = atc("quantize", quantized, "-o", "folder")
    assert done.status == 3
    assert "ATC2007" in done.err
    assert "net.ascend.onnx" in done.err


@pytest.mark.parametrize("output", ["", "folder/", "."])
def test_an_output_that_names_no_file_is_refused(atc: Atc, quantized: Path, output: str) -> None:
    done = atc("quantize", quantized, "-o", output)
    assert done.status == 2
    assert "does not name a file" in done.err


def test_an_output_in_a_folder_that_is_not_there_is_refused(atc: Atc, quantized: Path) -> None:
    done = atc("quantize", quantized, "-o", "absent/o.onnx")
    assert done.status == 3
    assert "create the folder first" in done.err


def test_the_model_itself_is_not_overwritten(atc: Atc, quantized: Path) -> None:
    before = quantized.read_bytes()
    done = atc("quantize", quantized, "-o", quantized)
    assert done.status == 2
    assert "is a file that is read" in done.err
    renamed = quantized.with_name("net.ascend.onnx")
    quantized.rename(renamed)
    assert atc("quantize", renamed).status == 2
    assert renamed.read_bytes() == before


def test_refusals_of_a_rewrite_name_the_node(atc: Atc, tmp_path: Path) -> None:
    model = small_model()
    del model.graph.node[:]
    model.graph.node.append(node("AscendQuant", ["x"], ["y"], "odd", scale=1.0, offset=0.5))
    onnx.save(model, tmp_path / "odd.onnx")
    done = atc("quantize", "odd.onnx", "--format", "qdq", "--json")
    assert done.status == 1
    (finding,) = done.json["diagnostics"]
    assert finding["code"] == "ATC3012"
    assert finding["place"]["node_name"] == "odd"


def test_formats_of_the_command_are_those_of_the_rewrite() -> None:
    from atc_py.options.command_options import FORMS

    (option,) = (each for each in quantize.params if each.name == "format")
    assert tuple(option.type.choices) == (*FORMS, "both")  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "errors"), [("base", 0), ("cann-9.0", 0)])
def test_result_names_the_list_that_was_asked(
    atc: Atc, tmp_path: Path, name: str, errors: int
) -> None:
    onnx.save(quantized_model(), tmp_path / "q.onnx")
    done = atc("quantize", "q.onnx", "--list", name, "--json").json
    listed = done["operator_list"]
    assert (listed["name"], listed["errors"]) == (name, errors)
    assert listed["verdict"] != "error"
    assert f"operator list   {name}: " in atc("quantize", "q.onnx", "--list", name).out


def test_errors_of_the_list_fail_nothing(atc: Atc, tmp_path: Path) -> None:
    model = quantized_model()
    model.graph.node.append(node("HardSwish", ["y"], ["last"], name="swish"))
    model.graph.output[0].name = "last"
    model.opset_import[0].version = 14
    onnx.save(model, tmp_path / "q.onnx")
    done = atc("quantize", "q.onnx", "--list", "base")
    assert done.status == 0
    assert "operator list   base: 1 error; `atc-py check` names them" in done.out
    assert atc_py.quantize_model("q.onnx", operator_list="cann-9.0").listed.errors == 0
    unknown = atc("quantize", "q.onnx", "--list", "other")
    assert unknown.status == BAD_OPTION.exit.value


def test_the_strict_list_counts_what_boards_contradict(atc: Atc, tmp_path: Path) -> None:
    weights = numpy_helper.from_array(np.full((32, 32, 1, 1), 0.5, np.float32), "w")
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 32, 1, 5000]) for name in "xy"
    )
    conv = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[1, 1])
    graph = helper.make_graph([conv], "g", [x], [y], [weights])
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "wide.onnx")
    for options, errors in (((), 0), (("--strict-list",), 1)):
        both = atc("quantize", "wide.onnx", "--random", "1", "--format", "both", *options, "--json")
        other = atc("quantize", "wide.qdq.onnx", *options, "--json")
        found = [*both.json["written"], other.json]
        assert [each["operator_list"]["errors"] for each in found] == [errors] * 3
