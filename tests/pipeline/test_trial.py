"""What of a model a check compiles: one node of each kind, and the whole where that matters."""

from pathlib import Path
from typing import Any

import pytest
from onnx import helper

from atc_py.check.findings import Standing
from atc_py.diag import Place
from atc_py.diag.codes import BAD_NODE, NO_KERNEL
from atc_py.ir import Graph, Phase
from atc_py.lowering.lower import lower_model
from atc_py.onnx_graph.source import SourceModel
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.manager import run_passes
from atc_py.passes.precision.decisions import Refusal
from atc_py.pipeline import trial
from atc_py.text import Text, Words
from tests.check.checks import checked, residual_network
from tests.onnx_graph import onnx_files


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the number of nodes that each lowering of a trial gets."""
    counts: list[int] = []
    original = lower_model

    def counted(model: SourceModel, *args: Any) -> Graph:
        counts.append(len(model.nodes))
        return original(model, *args)

    monkeypatch.setattr(trial, "lower_model", counted)
    return counts


def test_one_node_of_each_kind_is_compiled_in_the_default_mode(
    tmp_path: Path, lowered: list[int]
) -> None:
    relu = [helper.make_node("Relu", [name], [f"{name}1"]) for name in ("x", "x1", "x11")]
    nodes = [*relu, helper.make_node("Add", ["x111", "x"], ["y"])]
    model = onnx_files.model(nodes, {"x": (onnx_files.FLOAT, [2, 3])}, ["y"])
    assert checked(model, tmp_path).standing is Standing.SUPPORTED
    assert lowered == [2]


def test_whole_model_is_compiled_where_kernels_depend_on_neighbors(
    tmp_path: Path, lowered: list[int]
) -> None:
    model = residual_network(11)
    for mode in PrecisionMode:
        lowered.clear()
        checked(model, tmp_path, precision_mode=mode.value, soc="Ascend910B3")
        whole = mode is not PrecisionMode.FORCE_FP16
        assert lowered == [len(model.graph.node)] * (1 + whole)
    keep = tmp_path / "keep"
    keep.write_text("conv1\n", encoding="utf-8")
    lowered.clear()
    checked(model, tmp_path, keep_dtype=str(keep))
    assert len(lowered) == 2


def test_node_without_a_kernel_apart_from_the_rest_is_looked_at_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lowered: list[int]
) -> None:
    original = run_passes
    runs: list[Phase] = []

    def refusing(graph: Graph, context: PassContext, *, until: Phase = Phase.PLACED) -> object:
        runs.append(until)
        if len(runs) == 1:
            context.decisions.refused.append(
                Refusal("Relu", Place(), Words("", ""), Words("", ""), "sim", "")
            )
            raise NO_KERNEL.error(Text("apart from the rest"))
        return original(graph, context, until=until)

    monkeypatch.setattr(trial, "run_passes", refusing)
    rehearsed: list[str] = []
    monkeypatch.setattr(trial, "rehearse", lambda *_: rehearsed.append("whole"))
    assert checked(residual_network(11), tmp_path).standing is not Standing.ERROR
    assert runs == [Phase.TYPED, Phase.TYPED]
    assert rehearsed == ["whole"]
    assert len(lowered) == 2


def test_what_stops_the_whole_model_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = lower_model
    calls: list[int] = []

    def stops(model: SourceModel, *args: Any) -> Graph:
        calls.append(1)
        if len(calls) > 1:
            raise BAD_NODE.error(Text("it stops"), place=Place("model.onnx", 2, "relu1", "Relu"))
        return original(model, *args)

    monkeypatch.setattr(trial, "lower_model", stops)
    check = checked(residual_network(11), tmp_path, precision_mode="must_keep_origin_dtype")
    (found,) = [each for each in check.findings if each.standing is Standing.ERROR]
    assert (found.code, found.message.en, found.place.node_name) == (BAD_NODE, "it stops", "relu1")
