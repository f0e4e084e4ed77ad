"""Runs that searches share: the original once a sample, and of trials what changed."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.compare.reference import ReferenceModel
from atc_py.device.sim.execution.kept_results import KeptResults, SparingModel
from atc_py.package.reader import open_model
from atc_py.results.layer_comparison import LayerComparison
from tests.compare.broken_networks import BROKEN, built, node

NODES = ("scaled", "grown", "product", "gate", "y")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Save a chain of five nodes, of which float16 cannot hold the results of two."""
    nodes = [
        node("Mul", "x half", "scaled"),
        node("Exp", "scaled", "grown"),
        node("Mul", "grown x", "product"),
        node("Sigmoid", "product", "gate"),
        node("Mul", "gate x", "y"),
    ]
    feeds = {"x": np.zeros((4, 64), np.float32)}
    path = tmp_path / "model.onnx"
    onnx.save(built(nodes, feeds, {"half": np.float32(4)[None]}), path)
    return path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count runs of the whole chain by the original, and nodes that the simulator launches."""
    counts: Counter[str] = Counter()

    def counting(cls: type, name: str, key: Callable[[Any, tuple[Any, ...]], str]) -> None:
        method = getattr(cls, name)

        def counted(self: Any, *args: Any) -> Any:
            counts[key(self, args)] += 1
            return method(self, *args)

        monkeypatch.setattr(cls, name, counted)

    counting(ReferenceModel, "run_piece", lambda model, at: f"original {_size(model, at)}")
    counting(SparingModel, "_observed", lambda _model, _args: "launched")
    counting(SparingModel, "run", lambda _model, _args: "trials")
    return counts


def _size(model: ReferenceModel, args: tuple[Any, ...]) -> int:
    return len(model.pieces[args[0]].nodes)


@pytest.mark.parametrize(("samples", "judge"), [(2, None), (3, 2), (10, None), (10, 3)])
def test_plan_runs_the_original_once_a_sample(
    model: Path, calls: Counter[str], samples: int, judge: int | None
) -> None:
    atc_py.plan_model(model, target={"snr": 55.0}, samples=samples, judge=judge, trials=8)
    recorded = 5 if samples > 8 else 0  # every second of ten: all their values
    assert calls[f"original {len(NODES)}"] == samples + recorded


@pytest.mark.parametrize(("samples", "kept"), [(1, 0), (4, 0), (9, 5)])
def test_search_runs_the_original_once_a_sample(
    model: Path, calls: Counter[str], samples: int, kept: int
) -> None:
    atc_py.compare_model(model, samples=samples, suggest={"snr": 55.0}, suggest_trials=8)
    assert calls[f"original {len(NODES)}"] == samples + kept


def found(folder: Path) -> LayerComparison:
    broken = BROKEN["growing_state"]()
    onnx.save(broken.model, folder / "model.onnx")
    return atc_py.compare_model(folder / "model.onnx", inputs=broken.feeds, suggest={})


def test_trials_run_what_changed_and_find_the_same(
    tmp_path: Path, calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = found(tmp_path)
    spared = calls["launched"]
    calls.clear()
    monkeypatch.setattr(KeptResults, "find", lambda _kept, _key: None)
    apart = found(tmp_path)
    assert spared < 0.6 * calls["launched"]
    assert shared.suggestion is not None
    assert apart.suggestion is not None
    assert shared.suggestion.kept == apart.suggestion.kept
    assert shared.suggestion.trials == apart.suggestion.trials
    figures = [
        [(layer.value, layer.dtype, layer.figures) for layer in done.layers]
        for done in (shared, apart, shared.suggestion.after, apart.suggestion.after)
    ]
    assert repr(figures[0]) == repr(figures[1])
    assert repr(figures[2]) == repr(figures[3])


def test_results_that_draw_numbers_are_not_kept(tmp_path: Path) -> None:
    nodes = [node("RandomNormalLike", "x", "noise", dtype=1), node("Add", "x noise", "y")]
    feeds = {"x": np.zeros((2, 3), np.float32)}
    onnx.save(built(nodes, feeds, {}), tmp_path / "model.onnx")
    kept = KeptResults()
    atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    with open_model(tmp_path / "model.om") as package:
        first, second = (SparingModel(package, kept).run(feeds)["y"] for _ in range(2))
    assert (first != second).any()


def test_kept_results_stay_within_their_bytes() -> None:
    kept, array = KeptResults(most=100), np.arange(10, dtype=np.float32)
    for key in (b"a", b"b", b"c"):
        kept.begin()
        kept.keep(key, [array])
    assert [kept.find(key) is not None for key in (b"a", b"b", b"c")] == [False, True, True]


def test_one_model_does_not_push_out_its_own_results() -> None:
    kept, array = KeptResults(most=100), np.arange(10, dtype=np.float32)
    kept.begin()
    for key in (b"a", b"b", b"c"):
        kept.keep(key, [array])
    assert [kept.find(key) is not None for key in (b"a", b"b", b"c")] == [True, True, False]
