"""The arena of real networks beside its lower bound."""

from collections.abc import Callable
from pathlib import Path

import pytest

import atc_py
from atc_py.package.stored_types import stored_nbytes
from atc_py.results.memory_facts import memory_facts
from tests.networks.test_shared_models import CASES, MODELS
from tests.sampling import sampled, some

MOST = 1.05
"""What the arena may be, times its lower bound."""


FORCED = [case for case in CASES if case[1] == "force_fp16"]


@pytest.mark.parametrize(
    ("name", "mode"), sampled(some(FORCED, 2), (c for c in CASES if c not in FORCED))
)
def test_arena_is_close_to_its_lower_bound(
    name: str, mode: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the shared models are not here")
    om = tmp_path / "model.om"
    done = atc_py.convert(folder / "model.onnx", om, precision_mode=mode, verify=True)
    facts = done.memory
    assert facts is not None
    record_property("arena", facts.arena)
    record_property("lower_bound", facts.lower_bound)
    print(f"{name} {mode}: {facts.arena} bytes, {facts.ratio:.4f} x {facts.lower_bound}")  # noqa: T201
    assert facts.padding == 0
    assert 0 < facts.lower_bound <= facts.arena <= MOST * facts.lower_bound
    assert sum(tensor.nbytes for tensor in facts.tensors) == facts.lower_bound
    with atc_py.load(om) as model:
        assert memory_facts(model.description) == facts


@pytest.mark.parametrize("name", sampled(["resnet_mini_opset9"], ["swin_mini_opset13"]))
@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
def test_values_take_what_the_graph_engine_gives_them(name: str, soc: str, tmp_path: Path) -> None:
    """Check ((n + 2 * 32 - 1) // 32) * 32, then a multiple of 512, on SoCs of CANN."""
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the shared models are not here")
    om = tmp_path / "model.om"
    facts = atc_py.convert(folder / "model.onnx", om, soc=soc, verify=True).memory
    assert facts is not None
    assert (facts.alignment, facts.padding) == (512, 32)
    assert 0 < facts.lower_bound <= facts.arena <= MOST * facts.lower_bound
    with atc_py.load(om) as model:
        tensors = {tensor.name: tensor for tensor in model.description.tensors}
    for placed in facts.tensors:
        nbytes = stored_nbytes(tensors[placed.name])
        padded = (nbytes + 2 * 32 - 1) // 32 * 32
        assert placed.nbytes == (padded + 511) // 512 * 512
    assert sum(placed.nbytes for placed in facts.tensors) == facts.lower_bound
