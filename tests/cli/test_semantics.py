"""`--semantics cann`: every record of a model says which nodes compute what CANN makes of them."""

import csv
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.diag.codes import OM_CONTENT
from atc_py.report.layers.formats import render_layers
from atc_py.results.cann_nodes import read_semantics
from tests.cli.conftest import Result

Atc = Callable[..., Result]

HIDDEN, READ, STEPS = 12, 6, 5
NAME = "GRU/reset-after-product"
CANN = ("--semantics", "cann")


def recurrent(reset: int = 0, opset: int = 13) -> onnx.ModelProto:
    """Return Relu, GRU, Squeeze and Gemm: with `reset` 0 the GRU is what Keras exports."""
    random = np.random.default_rng(3)
    weights = {
        "W": random.standard_normal((1, 3 * HIDDEN, READ)) * 0.6,
        "R": random.standard_normal((1, 3 * HIDDEN, HIDDEN)) * 0.6,
        "B": random.standard_normal((1, 6 * HIDDEN)),
        "D": random.standard_normal((HIDDEN, 4)),
    }
    consts = [numpy_helper.from_array(a.astype(np.float32), name) for name, a in weights.items()]
    layer: dict[str, Any] = {"hidden_size": HIDDEN, "linear_before_reset": reset}
    nodes = [
        helper.make_node("Relu", ["x"], ["read"], "first"),
        helper.make_node("GRU", ["read", "W", "R", "B"], ["", "last"], "gru", **layer),
        helper.make_node("Squeeze", ["last", "axis"], ["flat"], "squeeze"),
        helper.make_node("Gemm", ["flat", "D"], ["y"], "dense"),
    ]
    graph = helper.make_graph(
        nodes,
        "recurrent",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [STEPS, 2, READ])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [*consts, numpy_helper.from_array(np.array([0]), "axis")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture
def gru(tmp_path: Path) -> Path:
    path = tmp_path / "gru.onnx"
    onnx.save(recurrent(), path)
    return path


def deviating(certainty: str) -> dict[str, Any]:
    """Return the node in a record, less the words of the effect."""
    return {
        "node": 1,
        "name": "gru",
        "operator": "GRU",
        "deviations": [{"name": NAME, "certainty": certainty}],
    }


def without_effects(record: Any) -> Any:
    """Return a record's nodes; each deviation must have an effect."""
    assert all(each.pop("effect") for node in record["nodes"] for each in node["deviations"])
    return record["nodes"]


@pytest.mark.parametrize(
    ("cann", "certainty"), [(5, "proven"), (7, "inferred"), ("9.1", "inferred")]
)
def test_records_name_node_deviation_and_certainty(
    atc: Atc, gru: Path, cann: object, certainty: str
) -> None:
    options = (*CANN, "--cann", cann)
    converted = atc("convert", gru, *options, "-o", "gru.om", "--json").json
    profiled = atc("profile", gru, *options, "--json").json
    run = atc("run", "gru.om", "--random", 0, "--json").json
    info = atc("info", "gru.om", "--json").json
    compared = atc("compare", gru, *options, "--json").json
    assert info["options"]["semantics"] == f"cann {cann}"
    for record in (converted, profiled, run, info["report"], compared):
        assert record["semantics"]["generation"] == str(cann)
        assert without_effects(record["semantics"]) == [deviating(certainty)]


def test_the_offline_model_has_origins_of_the_file(atc: Atc, gru: Path) -> None:
    assert atc("convert", gru, *CANN, "-o", "gru.om").status == 0
    with zipfile.ZipFile("gru.om") as archive:
        nodes = json.loads(archive.read("model.json"))["nodes"]
    origins = {(o["index"], o["name"], o["op_type"]) for node in nodes for o in node["origins"]}
    assert (1, "gru", "GRU") in origins
    assert {index for index, *_ in origins} <= {0, 1, 2, 3}


@pytest.mark.parametrize(
    "line",
    [("convert", "gru.onnx", "-v"), ("profile", "gru.onnx"), ("info",), ("run", "--random", 0)],
)
def test_tables_name_them(atc: Atc, gru: Path, line: tuple[object, ...]) -> None:
    first, *rest = line
    if first in {"info", "run"}:
        atc("convert", gru, *CANN, "-o", "gru.om")
        done = atc(first, "gru.om", *rest)
    else:
        done = atc(first, *rest, *CANN)
    assert done.status == 0
    assert "Computed as on CANN 9.1, not as ONNX defines" in done.out
    (row,) = (line for line in done.out.splitlines() if NAME in line)
    assert row.split() == ["1", NAME, "inferred", "1", '"gru"']


@pytest.mark.parametrize("options", [(), CANN])
def test_nothing_is_said_where_no_node_deviates(
    atc: Atc, tmp_path: Path, options: tuple[str, ...]
) -> None:
    onnx.save(recurrent(reset=int(bool(options))), tmp_path / "plain.onnx")
    assert atc("convert", "plain.onnx", *options, "-o", "plain.om").status == 0
    shown = atc("info", "plain.om").out + atc("run", "plain.om", "--random", 0).out
    assert "CANN 9.1" not in shown
    assert atc("run", "plain.om", "--random", 0, "--json").json["semantics"] is None
    assert atc("compare", "plain.onnx", *options, "--json").json["semantics"] is None
    assert "semantics" not in atc("info", "plain.om", "--json").json["report"]


def test_compare_names_the_deviation_as_the_cause(gru: Path) -> None:
    done = atc_py.compare_model(gru, semantics="cann")
    cause = f"gru deviates on CANN 9.1: {NAME} (inferred)"
    first = done.first_failing
    assert first is not None
    text = render_layers("text", done)
    assert f"its error: introduced here, where {cause}" in text
    assert f"passed on from {first.source}, where {cause}" in text
    assert "1 node computes what CANN 9.1 makes of it: " in text
    assert f"introduced here, where {cause}" in render_layers("html", done)
    rows = [*csv.DictReader(render_layers("csv", done).splitlines())]
    assert {row["Deviation"] for row in rows if row["Deviation"]} == {cause}
    (failing,) = [row for row in rows if row["Deviation"]]
    assert failing["GroundTruth"] == first.source
    layers = json.loads(render_layers("json", done))["layers"]
    (named,) = [layer for layer in layers if layer["birth"] == "born" and layer["deviating"]]
    assert named["deviating"][0]["deviations"][0]["certainty"] == "inferred"


def test_a_small_error_before_it_is_not_called_the_deviation(gru: Path) -> None:
    done = atc_py.compare_model(gru, semantics="cann")
    earlier = [layer for layer in done.layers if layer.source in {"x", "first"}]
    assert earlier
    assert not any(layer.deviating for layer in earlier)


def test_the_mean_of_onnx_is_compared_without_a_word_of_cann(gru: Path) -> None:
    done = atc_py.compare_model(gru)
    assert done.first_failing is None
    assert "CANN" not in render_layers("text", done)


def test_a_record_of_another_form_is_refused() -> None:
    with pytest.raises(atc_py.AtcError) as caught:
        read_semantics({"semantics": {"generation": 9, "nodes": [{"node": "1"}]}}, "m.om")
    assert caught.value.diagnostics[0].code is OM_CONTENT
