"""The pass manager."""

import inspect
import re
from unittest.mock import Mock, patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import sampled_from

from atc_py.diag import AtcError
from atc_py.ir import Phase, print_graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes import manager
from atc_py.passes.base import Pass, PassContext, PassFusions
from atc_py.passes.layout.assign_formats import AssignFormatsPass
from atc_py.passes.manager import run_passes
from atc_py.passes.pipeline import PIPELINE, PassRow
from atc_py.target import find_soc
from tests.passes.test_quantized_layers import TEXT as QUANTIZED
from tests.passes.test_storage_is_cheapest import graphs
from tests.sampling import examples

CONTEXT = PassContext(find_soc("sim"), PrecisionMode.FORCE_FP16, "model.onnx")
TEXT = """
graph @g phase lowered {
  input %x : float32[1,2,4,4] ND
  const %w : float32[2,2,1,1] ND = splat 1.0
  const %s : float32[2] ND = splat 1.0
  %y = Conv2D(%x, %w) {pads=[0,0,0,0], strides=[1,1,1,1]} : float32[1,2,4,4] ND
  %z = BatchNorm(%y, %s, %s, %s, %s) {epsilon=0.0} : float32[1,2,4,4] ND
  %t = TransposeD(%z) {perm=[0,2,3,1]} : float32[1,4,4,2] ND
  output %t
}
"""


def test_pipeline_ends_placed_and_reports_each_pass() -> None:
    graph = parse_graph(TEXT)
    seen: list[str] = []
    runs = run_passes(graph, CONTEXT, verify=True, after=lambda name, _graph: seen.append(name))
    assert graph.phase is Phase.PLACED
    assert [run.name for run in runs] == seen == [row.name for row in PIPELINE]
    assert {run.name: run.changes for run in runs}["fuse-conv-batch-norm"] == 1


@pytest.mark.parametrize("often", [False, True])
def test_graph_is_verified_at_its_end_and_where_phases_end(
    often: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[Phase] = []
    monkeypatch.setattr(manager, "verify_graph", lambda graph, _: verified.append(graph.phase))
    if not often:
        monkeypatch.delenv(manager.PHASES_VARIABLE)
    run_passes(parse_graph(TEXT), CONTEXT)
    assert verified == (list(Phase) if often else [Phase.PLACED])


@pytest.mark.parametrize("is_faulty", [False, True])
def test_pass_that_fails_on_a_faulty_graph_gives_its_faults(
    is_faulty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(manager.PHASES_VARIABLE)
    graph = parse_graph(TEXT)
    if is_faulty:
        del next(node for node in graph.nodes if node.op == "TransposeD").attributes["perm"]
    else:
        monkeypatch.setattr(manager, "_run", Mock(side_effect=ValueError("wrong")))
    with pytest.raises(
        AtcError if is_faulty else ValueError, match="perm" if is_faulty else "wrong"
    ):
        run_passes(graph, CONTEXT)


def test_disabled_pass_does_not_run() -> None:
    graph = parse_graph(TEXT)
    runs = run_passes(graph, CONTEXT, disabled=frozenset({"fuse-conv-batch-norm"}))
    assert "fuse-conv-batch-norm" not in [run.name for run in runs]
    assert "BNInfer" in [node.op for node in graph.nodes]


def test_names_of_atc_are_known(seen: list[str]) -> None:
    names = frozenset({"ConvBatchnormFusionPass", "V200RequantFusionPass"})
    graph = parse_graph(TEXT)
    run_passes(graph, CONTEXT, disabled=names, after=lambda name, _graph: seen.append(name))
    left_out = [row.name for row in PIPELINE if row.name not in seen]
    assert left_out == ["fuse-requant", "fuse-conv-batch-norm"]


@pytest.fixture
def seen() -> list[str]:
    """Return names of passes, in the order in which they ran."""
    return []


def test_every_name_is_of_one_pass() -> None:
    names = [name for row in PIPELINE for name in (row.name, *row.atc_names)]
    assert len(set(names)) == len(names)
    odd = {"TbeAippConvZ"}  # as atc wrote it of a face detector on Ascend310
    assert all(
        name[0].isupper() and name.endswith(("Pass", "Fusion"))
        for name in set(names) - odd
        if "-" not in name
    )


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("no-such-pass", "unknown-pass"),
        ("NoSuchFusionPass", "unknown-pass"),
        ("assign-precision", "pass-is-required"),
        ("V100NotRequantFusionPass", "pass-is-required"),
    ],
)
def test_wrong_name_is_refused(name: str, code: str) -> None:
    with pytest.raises(AtcError) as caught:
        run_passes(parse_graph(TEXT), CONTEXT, disabled=frozenset({name}))
    assert caught.value.diagnostics[0].code.name == code


def test_pass_that_comes_too_early_is_a_bug() -> None:
    graph = parse_graph(TEXT)
    with pytest.raises(AtcError, match=r"needs phase typed, found lowered") as caught:
        manager._run(AssignFormatsPass.row, graph, CONTEXT, set())
    assert caught.value.exit_code == 70


def test_images_are_nchw_and_transposed_ones_are_not() -> None:
    graph = parse_graph(TEXT)
    run_passes(graph, CONTEXT)
    formats = {value.name: value.type.format.value for value in graph.values()}
    assert formats["x"] == "NCHW"
    assert formats["t"] == "ND"


def test_pass_has_the_name_and_a_file_of_its_row() -> None:
    for row in PIPELINE:
        assert re.fullmatch(r"[a-z]+/[a-z0-9-]+", row.place)
        assert row.summary.endswith(".")
        assert row.load().row is row
        assert row.load().__doc__


def test_every_pass_has_a_row() -> None:
    todo, classes = [Pass], set[type[Pass]]()
    for row in PIPELINE:
        row.load()
    while todo:
        fresh = set(todo.pop().__subclasses__()) - classes
        classes |= fresh
        todo += fresh
    ours = {cls for cls in classes if cls.__module__.startswith("atc_py.")}
    assert {cls for cls in ours if not inspect.isabstract(cls) and hasattr(cls, "row")} == {
        row.load() for row in PIPELINE
    }
    assert {cls.__name__ for cls in ours if not hasattr(cls, "row")} == {
        "ConversionPass",
        "MergePass",
        "RewritePass",
    }


def _compiled(text: str, soc: str) -> list[str]:
    """The graph after every pass, and the effects of all."""
    graph, dumps = parse_graph(text), list[str]()
    context = PassContext(find_soc(soc), PrecisionMode.FORCE_FP16, "model.onnx")
    runs = run_passes(graph, context, after=lambda _name, step: dumps.append(print_graph(step)))
    records = context.fusions
    effects = [(run.name, run.changes, records.get(run.name, PassFusions())) for run in runs]
    return [*dumps, *map(repr, effects)]


@given(
    sampled_from([TEXT, QUANTIZED]) | graphs(), sampled_from(["sim", "Ascend310P3", "Ascend310"])
)
@settings(examples(40), suppress_health_check=[HealthCheck.too_slow])
def test_pass_without_its_anchors_would_change_nothing(text: str, soc: str) -> None:
    skipping = _compiled(text, soc)
    with patch.object(
        PassRow, "has_work", lambda row, _operators, soc: not row.cann_only or soc.name != "sim"
    ):
        assert skipping == _compiled(text, soc)
