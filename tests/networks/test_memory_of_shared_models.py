"""The arena of real networks beside its lower bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import atc_py
from atc_py.results.memory_facts import memory_facts
from tests.networks.test_shared_models import CASES, MODELS
from tests.sampling import sampled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MOST = 1.05
"""What the arena may be, times its lower bound."""


FORCED = [case for case in CASES if case[1] == "force_fp16"]


@pytest.mark.parametrize(("name", "mode"), sampled(FORCED, (c for c in CASES if c not in FORCED)))
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
    assert 0 < facts.lower_bound <= facts.arena <= MOST * facts.lower_bound
    assert sum(tensor.nbytes for tensor in facts.tensors) == facts.lower_bound
    with atc_py.load(om) as model:
        assert memory_facts(model.description) == facts
