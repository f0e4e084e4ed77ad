"""Runs that searches share: the original once a sample, and of trials what changed."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.compare import output_recording
from atc_py.compare.comparison_session import ComparisonSession
from atc_py.compare.reference import ReferenceModel
from atc_py.device.sim.execution.kept_results import KeptResults, SparingModel
from atc_py.device.sim.execution.session import SimModel
from atc_py.package.reader import open_model
from atc_py.pipeline.running.stored_array import StoredArray, stored_array
from atc_py.results.layer_comparison import LayerComparison
from tests.compare.broken_networks import BROKEN, built, node
from tests.compare.judged_networks import detector, image

Array = np.ndarray[Any, Any]
Feeds = dict[str, Array]

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
    alone = 1 if samples > 8 else 0  # the sixth, on which nodes are rounded one at a time
    assert calls[f"original {len(NODES)}"] == samples + recorded + alone


@pytest.mark.parametrize(("samples", "kept"), [(1, 0), (4, 0), (9, 5)])
def test_search_runs_the_original_once_a_sample(
    model: Path, calls: Counter[str], samples: int, kept: int
) -> None:
    atc_py.compare_model(model, samples=samples, suggest={"snr": 55.0}, suggest_trials=8)
    assert calls[f"original {len(NODES)}"] == samples + kept


def test_only_samples_that_judge_are_written(
    model: Path, calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def stored(array: Array, path: Path) -> StoredArray:
        written.append(path.name)
        return stored_array(array, path)

    monkeypatch.setattr(output_recording, "stored_array", stored)
    done = atc_py.compare_model(
        model, samples=10, suggest={"snr": 80.0}, suggest_samples=2, suggest_trials=8
    )
    assert done.suggestion is not None
    assert done.suggestion.needed
    assert done.suggestion.after.samples == 10
    assert sorted(written) == ["outputs0-0.bin", "outputs5-0.bin"]
    recorded, on_all = 5, 8
    assert calls[f"original {len(NODES)}"] == 10 + recorded + on_all


def test_files_of_former_originals_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(detector(-9.0), tmp_path / "model.onnx")
    files: list[int] = []
    paired_run = ComparisonSession._paired_run

    def counted(session: ComparisonSession) -> LayerComparison:
        done = paired_run(session)
        files.append(len([*session._folder.rglob("outputs*.bin")]))
        return done

    monkeypatch.setattr(ComparisonSession, "_paired_run", counted)
    done = atc_py.compare_model(
        tmp_path / "model.onnx",
        samples=9,
        suggest={},
        precision_mode="must_keep_origin_dtype",
        suggest_trials=4,
    )
    assert done.own_errors
    assert files == [9] * len(files)
    assert len(files) > 1


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


def _both(
    folder: Path, name: str, model: onnx.ModelProto, kept: KeptResults, feeds: Feeds
) -> Array:
    """Result of a model with kept results, equal to that without them in every bit."""
    onnx.save(model, folder / f"{name}.onnx")
    atc_py.convert(folder / f"{name}.onnx", folder / f"{name}.om")
    with open_model(folder / f"{name}.om") as package:
        result: Array = SparingModel(package, kept).run(feeds)["y"]
        np.testing.assert_array_equal(result, SimModel(package, merged=False).run(feeds)["y"])
    return result


@pytest.mark.parametrize("differing", ["alpha", "perm", "constant", "dtype"])
def test_models_that_differ_share_no_result(tmp_path: Path, differing: str) -> None:
    x = np.linspace(-2, 2, 27, dtype=np.float32).reshape(3, 3, 3)
    feeds: Feeds = {"x": x, "at": np.array([2, 0, 1])}
    kept, results = KeptResults(), []
    for place in range(2):
        other = differing if place else ""
        nodes = [
            node("LeakyRelu", "x", "a", alpha=0.5 if other == "alpha" else 0.25),
            node("Transpose", "a", "b", perm=[2, 1, 0] if other == "perm" else [1, 0, 2]),
            node("Mul", "b factor", "c"),
            node("Gather", "table at", "codes"),
            node("Cast", "codes", "d", to=onnx.TensorProto.FLOAT),
            node("Add", "c d", "y"),
        ]
        constants: Feeds = {
            "factor": np.full(3, 2 if other == "constant" else 3, np.float32),
            "table": np.array([1, 200, 255], np.uint8).view("i1" if other == "dtype" else "u1"),
        }
        model = built(nodes, feeds, constants)
        results.append(_both(tmp_path, f"model{place}", model, kept, feeds))
    assert (results[0] != results[1]).any()


def test_what_is_not_launched_has_its_seconds(tmp_path: Path, calls: Counter[str]) -> None:
    onnx.save(detector(-9.0), tmp_path / "model.onnx")
    atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    feeds, kept, launched = {"x": image()}, KeptResults(), []
    with open_model(tmp_path / "model.om") as package:
        for _ in range(2):
            model = SparingModel(package, kept)
            model.run(feeds)
            launched.append(calls["launched"])
            assert all(each.seconds > 0 for each in model.profile)
    assert launched[0] == launched[1] > 1


def test_twins_of_one_run_are_launched_once(tmp_path: Path, calls: Counter[str]) -> None:
    nodes = [node("Sigmoid", "x", "a"), node("Sigmoid", "z", "b"), node("Mul", "a b", "y")]
    feeds = dict.fromkeys("xz", np.ones((4, 4), np.float32))
    onnx.save(built(nodes, feeds, {}), tmp_path / "model.onnx")
    atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    with open_model(tmp_path / "model.om") as package:
        steps = len(package.description.nodes)
        SparingModel(package, KeptResults()).run(feeds)
    assert calls["launched"] == steps - 2  # one Cast and one Sigmoid


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
    kept, array = KeptResults(most=1000), np.arange(10, dtype=np.float32)
    for key in (b"a", b"b", b"c"):
        kept.begin(4000)
        kept.keep(key, [array])
    assert [kept.find(key) is not None for key in (b"a", b"b", b"c")] == [False, True, True]


TEN, NONE = np.arange(10, dtype=np.float32), np.zeros(0, np.float32)


@pytest.mark.parametrize(
    ("array", "keys", "stays"),
    [(TEN, "abc", "ab"), (TEN, "aaab", "ab"), (NONE, "abc", "ab")],
    ids=["own results stay", "twice in one room", "empty results take room"],
)
def test_one_model_keeps_what_has_room(array: NDArray[Any], keys: str, stays: str) -> None:
    kept = KeptResults(most=1000)
    kept.begin(4000)
    for key in keys:
        kept.keep(key.encode(), [array])
    assert [key for key in sorted({*keys}) if kept.find(key.encode()) is not None] == [*stays]


def test_results_leave_half_of_the_rest_to_the_model() -> None:
    kept, array = KeptResults(most=1000), np.arange(10, dtype=np.float32)
    assert kept.begin(4000) == 1000
    for key in (b"a", b"b"):
        kept.keep(key, [array])
    assert kept.begin(1000) == 500
    assert [kept.find(key) is not None for key in (b"a", b"b")] == [False, True]
    assert kept.begin(-1) == 0
    assert kept.find(b"b") is None


def test_outputs_that_no_file_holds_are_left_out(tmp_path: Path) -> None:
    values = {"y": np.arange(3.0), "words": np.array(["a", "b"], object), "none": None}
    released: list[str] = []
    run: Any = SimpleNamespace(
        expect=lambda _: None, value=values.get, release=released.append, seconds=0.5
    )
    done = output_recording.recorded_outputs(run, list(values), tmp_path / "outputs")
    assert (list(done.outputs), done.seconds, released) == (["y"], 0.5, list(values))
