"""`convert --out-nodes` and `--input-format`, and the command `atc` beside the others."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import atc_py
from atc_py.package.reader import open_model
from tests.cli.conftest import Result, small_model

Atc = Callable[..., Result]


def outputs(path: Path) -> list[str]:
    """Return the names of an offline model's outputs."""
    with open_model(path) as model:
        return [port.name for port in model.description.outputs]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("c", ["c"]),
        ("conv:0", ["c"]),
        ("y;c", ["y", "c"]),
        ("last:0;conv:0", ["y", "c"]),
        ("x", ["x"]),
    ],
)
def test_results_become_outputs_in_order(
    text: str, names: list[str], atc: Atc, model: Path
) -> None:
    assert atc("convert", model, "--out-nodes", text).status == 0
    assert outputs(Path("small.om")) == names


def test_chosen_output_has_the_values_of_the_whole_model(tmp_path: Path) -> None:
    model = small_model()
    model.graph.output.append(helper.make_empty_tensor_value_info("c"))
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    feeds = {"x": np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)}
    whole = atc_py.convert(path, tmp_path / "whole.om").output
    part = atc_py.convert(path, tmp_path / "part.om", out_nodes="c").output
    expected = atc_py.load(whole).run(feeds)
    found = atc_py.load(part).run(feeds)
    assert list(found) == ["c"]
    np.testing.assert_array_equal(found["c"], expected["c"])


def test_nodes_that_no_output_needs_are_left_out(atc: Atc, tmp_path: Path) -> None:
    onnx.save(small_model(operator="NoSuchOperator"), tmp_path / "odd.onnx")
    assert atc("convert", "odd.onnx").status == 1
    assert atc("convert", "odd.onnx", "--out-nodes", "c").status == 0
    with open_model(Path("odd.om")) as model:
        assert "Relu" not in {node.op for node in model.description.nodes}


def test_nodes_that_are_left_out_may_contradict_shapes(atc: Atc, tmp_path: Path) -> None:
    model = small_model()
    model.graph.initializer.append(numpy_helper.from_array(np.ones((7, 7), np.float32), "seven"))
    model.graph.node[1].CopyFrom(helper.make_node("MatMul", ["c", "seven"], ["y"], name="last"))
    onnx.save(model, tmp_path / "m.onnx")
    assert atc("convert", "m.onnx").status != 0
    assert atc("convert", "m.onnx", "--out-nodes", "c").status == 0


def test_tensor_with_a_colon_in_its_name_can_be_chosen(atc: Atc, tmp_path: Path) -> None:
    model = small_model()
    model.graph.node[0].output[0] = model.graph.node[1].input[0] = "c:0"
    onnx.save(model, tmp_path / "m.onnx")
    assert atc("convert", "m.onnx", "--out-nodes", "c:0").status == 0
    assert outputs(Path("m.om")) == ["c:0"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("conv", ["ATC1022", "'conv' is a node; write conv:0"]),
        ("cc", ["ATC1022", "nearest names are 'c'"]),
        ("con:0", ["ATC1022", "no node of the model is called 'con'", "'conv'"]),
        ("conv:1", ["ATC1001", "conv:0 (c)"]),
        ("conv:0;last:0;conv:00", ["ATC1001", "are one result, 'c'"]),
        ("conv:0;y", ["ATC1001", "mixes"]),
        ("\x1b[2J", ["ATC1022", "\\x1b[2J"]),
    ],
)
def test_other_results_are_refused(text: str, words: list[str], atc: Atc, model: Path) -> None:
    done = atc("convert", model, "--out-nodes", text)
    assert done.status == 2
    assert all(word in done.err for word in words), done.err
    assert "\x1b" not in done.err
    assert not Path("small.om").exists()


def test_label_of_inputs_moves_no_data(atc: Atc, model: Path) -> None:
    assert atc("convert", model, "-o", "a.om").status == 0
    assert atc("convert", model, "-o", "b.om", "--input-format", "ND").status == 0
    assert Path("a.om").read_bytes() == Path("b.om").read_bytes()
    assert atc("convert", model, "--input-format", "nchw").status == 2


def test_shape_replaces_fixed_dims_where_that_is_wanted(model: Path, tmp_path: Path) -> None:
    shape = "x:5,3,16,8"
    with pytest.raises(atc_py.AtcError, match="axis 0 is 1, not 5"):
        atc_py.convert(model, tmp_path / "o.om", input_shape=shape)
    done = atc_py.convert(model, tmp_path / "o.om", input_shape=shape, replace_shapes=True)
    with open_model(done.output) as opened:
        port = opened.description.inputs[0]
        assert opened.description.tensors[port.tensor].shape == [5, 3, 16, 8]


def test_json_of_atc_is_the_name_of_a_file(atc: Atc, model: Path) -> None:
    done = atc("atc", "--mode=1", "--framework=5", "--om", model.name, "--json", "doc.json")
    assert done.status == 0
    assert Path("doc.json").is_file()
    assert done.out.startswith("ATC start working now")
    failed = atc("atc", "--mode", "1", "--json", "doc.json")
    assert failed.status == 255
    assert "E10004" in failed.out


def test_words_of_atc_are_shown_without_control_characters(atc: Atc) -> None:
    done = atc("atc", "--model=\x1b[2J", "--framework=5", "--output=o", "--soc_version=a")
    assert done.status == 255
    assert "E10001" in done.out
    assert "\x1b" not in done.out + done.err
    assert "\x1b" not in atc("atc", "--\x1b[2J").err
    assert len(atc("atc", "a" * 1_000_000).err) < 10_000


def test_help_of_atc_is_atcs_own(atc: Atc) -> None:
    done = atc("atc", "--help")
    assert done.status == 0
    assert "--precision_mode_v2" in done.out
    assert "  atc " in atc("--help").out
