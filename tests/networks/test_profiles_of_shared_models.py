"""Profiles of the real networks: sound ranges, memory as planned, kernels as launched."""

from pathlib import Path

import pytest

import atc_py
from atc_py.cost.network import network_cost
from atc_py.package.reader import open_model
from atc_py.pipeline.profile import profile_model
from atc_py.report.profile.formats import PROFILE_FORMATS, trace_json
from tests.sampling import some

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"
NAMES = [path.parent.name for path in sorted(MODELS.glob("*/model.onnx"))]


@pytest.mark.skipif(not NAMES, reason="the shared models are not here")
@pytest.mark.parametrize("name", some(NAMES, 4))
def test_profile_of_a_real_network_is_sound(name: str, tmp_path: Path) -> None:
    done = atc_py.convert(MODELS / name / "model.onnx", tmp_path / "m.om", soc="Ascend310P3")
    with open_model(tmp_path / "m.om") as model:
        cost = network_cost(model.description)
        plan = model.description.memory
    assert plan is not None
    assert len(cost.kernels) == done.facts.launches
    assert done.time == cost.time
    assert max(cost.footprint.results, default=0) <= plan.lower_bound <= plan.arena
    assert cost.fits
    for kernel in cost.kernels:
        assert 0 < kernel.cost.low <= kernel.cost.expected <= kernel.cost.high
        assert kernel.cost.limit <= kernel.cost.low
        assert all(before < len(cost.kernels) for before in kernel.after)
    macs = sum(kernel.cost.macs for kernel in cost.kernels)
    assert cost.time.low > macs / 69.5e12 * 2
    found = profile_model(tmp_path / "m.om", [])
    for form in PROFILE_FORMATS:
        assert PROFILE_FORMATS[form](found)
    assert trace_json(found.costs[0])
