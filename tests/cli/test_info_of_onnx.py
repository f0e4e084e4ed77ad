"""`atc-py info model.onnx`: ports, opsets, operators, parameters, size, external data."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.check_schema import INFO_SCHEMA, schema_text
from tests.cli.conftest import Result, small_model

Atc = Callable[..., Result]


def branching_model() -> onnx.ModelProto:
    """Return an If whose branches hold a node each, one of a custom domain, and a weight."""
    info = helper.make_tensor_value_info
    weight = numpy_helper.from_array(np.ones(7, np.float32), "w")
    then = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["a"])], "then", [], [info("a", 1, [7])], [weight]
    )
    other = helper.make_graph(
        [helper.make_node("Own", ["x"], ["b"], domain="my.ops")], "else", [], [info("b", 1, [7])]
    )
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
        "branches",
        [info("c", TensorProto.BOOL, []), info("x", 1, ["n"])],
        [info("y", 1, None)],
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("my.ops", 2)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="maker")


def test_tables_show_what_the_file_holds(atc: Atc) -> None:
    onnx.save(small_model(free=True), "small.onnx")
    done = atc("info", "small.onnx")
    assert (done.status, done.err) == (0, "")
    for text in (
        "opsets      ai.onnx 13",
        "parameters  108, 432 B",
        "x     float32  batch x 3 x 8 x 8",
        "y     float32  any rank",
        "Conv          1",
    ):
        assert text in done.out
    assert "External data" not in done.out


def test_json_follows_its_schema_and_counts_subgraphs(atc: Atc) -> None:
    onnx.save(branching_model(), "branches.onnx")
    found = atc("info", "branches.onnx", "--json").json
    jsonschema.validate(found, json.loads(INFO_SCHEMA.read_text(encoding="utf-8")))
    assert INFO_SCHEMA.read_text(encoding="utf-8") == schema_text(INFO_SCHEMA)
    assert found["opsets"] == {"": 13, "my.ops": 2}
    assert found["producer"] == "maker"
    assert found["parameters"] == 7
    assert [(each["domain"], each["op"], each["nodes"]) for each in found["operators"]] == [
        ("", "Add", 1), ("", "If", 1), ("my.ops", "Own", 1),
    ]  # fmt: skip
    assert found["inputs"][1] == {"name": "x", "dtype": "float32", "shape": ["n"]}
    assert found["outputs"] == [{"name": "y", "dtype": "float32", "shape": None}]


@pytest.mark.parametrize("external", [False, True])
def test_large_weights_are_external_data_only_in_files_of_their_own(
    atc: Atc, external: bool
) -> None:
    model = small_model()
    weights = np.ones((4, 3, 3, 3), np.float32)
    big = np.ones(100_000, np.float32)
    model.graph.initializer.append(numpy_helper.from_array(big, "unused"))
    onnx.save(
        model, "m.onnx", save_as_external_data=external, location="m.data", size_threshold=1000
    )
    found = atc("info", "m.onnx", "--json").json
    data = (
        []
        if not external
        else [{"file": "m.data", "tensors": 1, "bytes": Path("m.data").stat().st_size}]
    )
    assert found["external_data"] == data
    assert found["parameters"] == big.size + weights.size
    assert found["file_bytes"] == Path("m.onnx").stat().st_size
    assert ("External data" in atc("info", "m.onnx").out) == external


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (None, 3, "ATC2001"),
        (b"", 3, "ATC2"),
        (b"no model", 3, "ATC2"),
        (b"\x08\x07:\xff", 3, "ATC2"),
    ],
)
def test_file_without_a_model_is_refused(
    atc: Atc, content: bytes | None, status: int, code: str
) -> None:
    if content is not None:
        Path("m.onnx").write_bytes(content)
    done = atc("info", "m.onnx")
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith(f"error[{code}")


def test_missing_weights_are_named(atc: Atc) -> None:
    onnx.save(
        small_model(), "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0
    )
    Path("m.data").unlink()
    done = atc("info", "m.onnx")
    assert done.status == 3
    assert "m.data" in done.err


@pytest.mark.parametrize("option", [("--precision",), ("--layout",), ("--gear", "0")])
def test_options_of_offline_models_are_refused(atc: Atc, option: tuple[str, ...]) -> None:
    onnx.save(small_model(), "m.onnx")
    done = atc("info", "m.onnx", *option)
    assert (done.status, "m.onnx is an ONNX model" in done.err) == (2, True)


def test_model_of_another_name_is_recognized(atc: Atc) -> None:
    onnx.save(small_model(), "model.bin")
    assert "Conv" in atc("info", "model.bin").out


def test_names_cannot_command_the_terminal(atc: Atc) -> None:
    model = small_model()
    model.graph.name = "a\x1b[2Jb"
    onnx.save(model, "m.onnx")
    assert "\x1b" not in atc("info", "m.onnx").out
