"""Whole models: launches, bytes that stay on the chip, memory over time, ranges."""

from pathlib import Path

import msgspec
import onnx
import pytest

import atc_py
from atc_py.cost.factors import EXPECTED
from atc_py.cost.network import Footprint, network_cost
from atc_py.cost.operation import Source
from atc_py.cost.reading import launches_of
from atc_py.package.reader import open_model
from atc_py.package.schema import OmModel
from tests.cost.small_networks import chain, open_extents, views


def compiled(tmp_path: Path, model: onnx.ModelProto, **options: object) -> OmModel:
    """Return the description of a compiled model."""
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    atc_py.convert(tmp_path / "m.onnx", tmp_path / "m.om", **options)  # type: ignore[arg-type]
    with open_model(tmp_path / "m.om") as found:
        return found.description


def test_kernels_of_one_scope_are_one_launch_and_keep_results_on_the_chip(tmp_path: Path) -> None:
    merged = compiled(tmp_path, chain(), disable_pass=["assign-storage"])
    apart = compiled(tmp_path, chain(), disable_pass=["assign-storage", "merge-conv-elemwise"])
    one, two = (network_cost(each) for each in (merged, apart))
    assert [kernel.op for kernel in one.kernels] == ["Cast", "Conv2D+Relu", "Cast"]
    assert [kernel.op for kernel in two.kernels] == ["Cast", "Conv2D", "Relu", "Cast"]
    assert one.nodes == two.nodes == 4
    result = 8 * 32 * 32 * 2
    assert one.kernels[1].cost.written == result
    assert sum(each.cost.written for each in two.kernels[1:3]) == 2 * result
    assert one.time.expected < two.time.expected
    assert one.kernels[2].after == (1,)


def test_weights_inputs_and_results_are_distinguished(tmp_path: Path) -> None:
    model = compiled(tmp_path, chain(), disable_pass=["assign-storage"])
    cast, conv, back = (placed.launch for placed in launches_of(model))
    assert [each.source for each in cast.reads] == [Source.FED]
    assert [each.source for each in conv.reads] == [Source.RESULT, Source.WEIGHTS]
    assert [each.nbytes for each in conv.reads] == [3 * 32 * 32 * 2, 8 * 3 * 3 * 3 * 2]
    assert [each.source for each in back.writes] == [Source.FED]


def test_kernels_move_what_is_stored(tmp_path: Path) -> None:
    model = compiled(tmp_path, chain())
    _, pack, conv, unpack, _ = (placed.launch for placed in launches_of(model))
    rows, blocks = 3 * 32 * 32 * 2, 16 * 32 * 32 * 2
    assert [each.nbytes for each in (*pack.reads, *pack.writes)] == [rows, blocks]
    assert [each.nbytes for each in conv.reads] == [blocks, 9 * 16 * 16 * 2]
    assert [each.nbytes for each in (*unpack.reads, *unpack.writes)] == [blocks, 8 * 32 * 32 * 2]
    names = {kernel.op: kernel.formats for kernel in network_cost(model).kernels}
    assert names["Conv2D+Relu"] == "NC1HWC0;FRACTAL_Z -> NC1HWC0"
    assert names["TransData"] == "NC1HWC0 -> ND"


def test_views_launch_nothing_and_hand_on_what_they_show(tmp_path: Path) -> None:
    cost = network_cost(compiled(tmp_path, views()))
    assert all("Reshape" not in kernel.op for kernel in cost.kernels)
    for position, kernel in enumerate(cost.kernels[1:], start=1):
        assert kernel.after == (position - 1,)


def test_scope_of_a_view_alone_is_no_launch(tmp_path: Path) -> None:
    model = compiled(tmp_path, views())
    nodes = [
        msgspec.structs.replace(node, scope=7) if node.op == "Reshape" else node
        for node in model.nodes
    ]
    scoped = network_cost(msgspec.structs.replace(model, nodes=nodes))
    assert [kernel.op for kernel in scoped.kernels] == [
        kernel.op for kernel in network_cost(model).kernels
    ]


def test_memory_over_time_is_what_the_plan_says(tmp_path: Path) -> None:
    for model in (chain(), views()):
        description = compiled(tmp_path, model)
        cost = network_cost(description)
        assert description.memory is not None
        assert max(cost.footprint.results) == description.memory.lower_bound
        assert cost.footprint.arena == description.memory.arena
        assert cost.footprint.planned
        assert len(cost.footprint.results) == len(cost.kernels)


def test_range_of_a_network_is_the_sum_of_its_kernels(tmp_path: Path) -> None:
    cost = network_cost(compiled(tmp_path, chain()))
    span = cost.time
    assert 0 < span.low < span.expected < span.high
    kernels = sum(kernel.cost.expected for kernel in cost.kernels)
    assert span.expected == pytest.approx(kernels + EXPECTED.factors.run)
    assert 0 < cost.bound < span.low
    ends = [kernel.start + kernel.cost.expected for kernel in cost.kernels]
    assert [kernel.start for kernel in cost.kernels[1:]] == pytest.approx(ends[:-1])
    assert all(0 <= share <= 1 for share in cost.busy.values())
    assert cost.busy["cube"] > 0


def test_dims_of_the_run_are_said_to_make_the_estimate_short(tmp_path: Path) -> None:
    closed = network_cost(compiled(tmp_path, chain()))
    cost = network_cost(compiled(tmp_path, open_extents()))
    assert cost.has_open
    assert any("known only at run time" in line for line in cost.assumptions())
    assert not any("known only at run time" in line for line in closed.assumptions())


def test_footprint_adds_up_what_must_be_there_at_once() -> None:
    footprint = Footprint(
        weights=1, ports=20, results=(300, 9), arena=300, workspace=4000, planned=True
    )
    assert footprint.total == 4321
