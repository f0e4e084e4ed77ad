"""Graphs that ops run: calls become part of the main graph, a Case is gears, others are named."""

from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.options.gears import GearKind
from atc_py.package.ge.model import open_huawei
from atc_py.pipeline.huawei import open_offline
from atc_py.pipeline.huawei_facts import huawei_facts
from tests.pipeline.huawei.example_models import called, geared
from tests.pipeline.huawei.small_models import SmallModel, Tensor, halves


def test_called_graph_becomes_part_of_the_main_one(tmp_path: Path) -> None:
    path = called(tmp_path / "m.om")
    x = halves(22, 2, 4)
    with atc_py.load(path) as model:
        found = model.run({"x": x})["y"]
        assert not model.findings
    wide = np.tanh((np.maximum(x, 0) + halves(20, 4)).astype(np.float32))
    np.testing.assert_allclose(found.astype(np.float32), wide, atol=1e-3)
    with open_offline(path) as opened:
        assert [node.op for node in opened.description.nodes] == ["Relu", "Add", "Tanh"]
        record = opened.report["huawei"]
        assert isinstance(record, dict)
        assert record["memory_plan"] == "of the file"


@pytest.mark.parametrize("kind", ["If", "While", "Case"])
def test_graph_that_a_run_chooses_is_named(tmp_path: Path, kind: str) -> None:
    made = SmallModel()
    made.input("x", Tensor((2, 4)))
    with made.inner("then"):
        made.parameter("p", Tensor((2, 4)), 1)
        made.launch("a", "Relu", ["p"], Tensor((2, 4)), operands=["x"])
        made.results("then_Output", ["a"])
    made.launch("known", "Abs", ["x"], Tensor((2, 4)), operands=["x"])
    made.call("chosen", kind, ["x", "x"], Tensor((2, 4)), ["then", "then"])
    made.launch("after", "Abs", ["chosen"], Tensor((2, 4)), operands=["x"])
    made.output("known", "y")
    made.output("after", "z")
    path = made.write(tmp_path / "m.om")
    with open_offline(path) as model:
        cause, lost = model.findings
        assert [port.name for port in model.description.outputs] == ["y"]
    assert (
        f"'chosen' ({kind}): the graph that {kind} runs, and how often, is decided at run time"
        in cause.message
    )
    assert lost.message.endswith(": z")


def test_graph_that_calls_itself_is_named(tmp_path: Path) -> None:
    made = SmallModel()
    made.input("x", Tensor((2, 4)))
    with made.inner("part"):
        made.parameter("p", Tensor((2, 4)), 0)
        made.call("again", "PartitionedCall", ["p"], Tensor((2, 4)), ["part"])
        made.results("part_Output", ["again"])
    made.call("call", "PartitionedCall", ["x"], Tensor((2, 4)), ["part"])
    made.output("call", "y")
    with pytest.raises(AtcError, match="calls itself"):
        open_offline(made.write(tmp_path / "m.om"))


def test_gears_are_those_of_the_file(tmp_path: Path) -> None:
    path = geared(tmp_path / "m.om")
    x = halves(23, 4, 8)
    with atc_py.load(path) as model:
        assert model.gears is not None
        assert (model.gears.kind, model.gears.gears) == (GearKind.BATCH, ((1,), (4,)))
        assert {port.name: port.shape for port in model.inputs} == {"x": (None, 8)}
        whole = model.run({"x": x})["y"]
        (one,) = model.run({"x": x[:1]})["y"]
        named = model.run({"x": x[:1]}, gear=0)["y"]
    wide = np.maximum(x.astype(np.float32) @ halves(21, 8, 3).astype(np.float32), 0)
    np.testing.assert_array_equal(whole, wide.astype(np.float16))
    np.testing.assert_array_equal(one, whole[0])
    np.testing.assert_array_equal(named[0], whole[0])
    with atc_py.load(path, timeout=0) as model:  # in a process of its own
        np.testing.assert_array_equal(model.run({"x": x[:1]})["y"], named)
    with open_offline(path) as opened:
        assert {each.name for node in opened.description.nodes for each in node.origins} == {
            "mul",
            "relu",
        }


def test_gears_are_shown(tmp_path: Path) -> None:
    with open_huawei(geared(tmp_path / "m.om")) as file:
        (facts,) = huawei_facts(file).models
    assert facts.gears == {"dynamic batch size": ((1,), (4,))}


def test_gear_is_chosen_for_every_command(tmp_path: Path) -> None:
    from atc_py.options.named_gear import NamedGear

    path, output = geared(tmp_path / "m.om"), tmp_path / "one.onnx"
    gear = NamedGear("batch", None, (1,))
    done = atc_py.export_model(path, output, gear=gear)
    assert done.output == output
    (cost,) = atc_py.profile_model(path, gear=gear).costs
    assert len(cost.kernels) == 2


def test_gears_that_do_not_agree_with_their_graphs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AtcError, match="the numbers of gear 1 do not match its dims"):
        open_offline(geared(tmp_path / "m.om", stated=(1, 2)))
    with pytest.raises(AtcError, match="it has 1 gears") as raised:
        open_offline(geared(tmp_path / "n.om", (4,)))
    assert raised.value.diagnostics[0].code.id == "ATC5007"
