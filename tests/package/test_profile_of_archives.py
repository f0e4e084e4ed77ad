"""Profiles of archives whose digests are right but whose description is wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import onnx
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.package.reader import open_model
from atc_py.pipeline.profile import profile_model
from tests.cost.small_networks import chain
from tests.package.conftest import Seal

Nodes = list[dict[str, Any]]


@pytest.fixture
def om(tmp_path: Path) -> Path:
    """Return a compiled model."""
    onnx.save(chain(), tmp_path / "net.onnx")
    atc_py.convert(tmp_path / "net.onnx", tmp_path / "net.om")
    return tmp_path / "net.om"


def nodes_of(om: Path) -> Nodes:
    """Return the nodes of a description as plain data."""
    with open_model(om) as model:
        nodes: Nodes = msgspec.json.decode(model.text("model.json"))["nodes"]
    return nodes


def other_operator(nodes: Nodes) -> None:
    """Put in an operator that there is not."""
    nodes[-1]["op"] = "Frobnicate"


def no_operands(nodes: Nodes) -> None:
    """Leave nodes that read nothing."""
    for node in nodes:
        node["inputs"] = []


def test_sound_archive_has_a_profile(seal: Seal) -> None:
    (cost,) = profile_model(seal(), []).costs
    assert cost.kernels
    assert cost.time.expected > 0


@pytest.mark.parametrize("damage", [other_operator, no_operands])
def test_archive_that_contradicts_itself_is_refused(
    seal: Seal, om: Path, damage: Callable[[Nodes], None]
) -> None:
    nodes = nodes_of(om)
    damage(nodes)
    with pytest.raises(AtcError) as caught:
        profile_model(seal({"nodes": nodes, "memory": None}), [])
    assert caught.value.diagnostics[0].code.name == "offline-model-content"


def test_archive_for_a_soc_that_is_not_known_is_refused(seal: Seal) -> None:
    with pytest.raises(AtcError, match="no SoC is called 'Ascend1'"):
        profile_model(seal({"soc": "Ascend1"}), [])


def test_archive_without_a_memory_plan_has_live_bytes(seal: Seal) -> None:
    (with_plan,) = profile_model(seal(), []).costs
    (without,) = profile_model(seal({"memory": None}), []).costs
    assert with_plan.footprint.planned
    assert not without.footprint.planned
    assert without.footprint.arena == max(without.footprint.results) > 0
    assert without.time == with_plan.time
