"""Comparisons over many samples: figures sample by sample, in constant memory, and what they judge."""

import json
import math
import tracemalloc
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.compare.measure import Measure
from atc_py.compare.spreads import EXACT, QuantileSketch, Spread
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_OPTION, BAD_SAMPLE, NO_SAMPLES, SAMPLE_NOT_FINITE
from atc_py.diag.diagnostic import Code
from atc_py.pipeline.running.samples import evenly
from atc_py.report.layers.formats import render_layers
from atc_py.results.judgment import QUANTILES
from atc_py.tensor.dtypes import DType
from tests.compare.broken_networks import built, node

Array = np.ndarray

WIDTH = 64


def squares(folder: Path, width: int = WIDTH) -> Path:
    """Save a model that sums squares, which overflow float16 for large inputs."""
    nodes = [
        node("Mul", "x x", "squares"),
        node("ReduceSum", "squares axes", "total", keepdims=1),
        node("Sqrt", "total", "norm"),
        node("Div", "x norm", "y"),
    ]
    path = folder / "model.onnx"
    axes = {"axes": np.array([1], np.int64)}
    onnx.save(built(nodes, {"x": np.zeros((1, width), np.float32)}, axes), path)
    return path


def drawn(count: int, width: int = WIDTH) -> Array:
    return np.random.default_rng(5).standard_normal((count, width)).astype(np.float32)


def test_spreads_are_those_of_single_comparisons(tmp_path: Path) -> None:
    model, arrays = squares(tmp_path), drawn(5)
    np.savez(tmp_path / "all.npz", x=arrays)
    done = atc_py.compare_model(model, samples=tmp_path / "all.npz")
    assert done.samples == 5
    alone = [atc_py.compare_model(model, inputs={"x": each[None]}) for each in arrays]
    for at, spread in done.spreads.items():
        judged = [each.layers[at].judged for each in alone]
        distances = [each.distance for each in judged]
        worst = max(range(5), key=distances.__getitem__)
        assert spread.distance.worst == distances[worst]
        assert spread.distance.sample.endswith(f"sample {worst}")
        assert spread.distance.mean == pytest.approx(np.mean(distances))
        assert spread.cosine.worst == pytest.approx(min(each.cosine for each in judged))
        ranked = sorted(distances, reverse=True)
        assert spread.distance.quantiles == (ranked[0], ranked[0], ranked[1], ranked[2])
        assert spread.exact
    assert len(done.spreads) == len(done.layers)


def test_folder_names_the_worst_sample(tmp_path: Path) -> None:
    folder = tmp_path / "samples"
    folder.mkdir()
    for name, array in zip("abc", drawn(3), strict=True):
        np.save(folder / f"{name}.npy", array[None] * (4000 if name == "b" else 1))
    done = atc_py.compare_model(squares(tmp_path), samples=folder)
    spread = done.spreads[done.outputs["y"]]
    assert spread.snr.sample.endswith("b.npy")
    assert spread.snr.worst == 0
    assert spread.snr.quantiles[-1] > 40


def test_random_samples_have_spreads_and_one_sample_has_none(tmp_path: Path) -> None:
    model = squares(tmp_path)
    done = atc_py.compare_model(model, samples=3, seed=7)
    names = {each.distance.sample for each in done.spreads.values()}
    assert names <= {f"random data of seed {seed}" for seed in (7, 8, 9)}
    assert atc_py.compare_model(model).spreads == {}


def test_formats_show_the_spreads(tmp_path: Path) -> None:
    done = atc_py.compare_model(squares(tmp_path), samples=[{"x": each[None]} for each in drawn(3)])
    assert "Over 3 samples" in render_layers("text", done)
    assert "WorstSample" in render_layers("csv", done)
    document = json.loads(render_layers("json", done))
    found = document["outputs"]["y"]["over_samples"]
    assert found["count"] == 3
    assert found["cosine"]["worst_sample"].startswith("sample ")
    assert [*found["snr"]["quantiles"]] == [f"{share:g}" for share in QUANTILES]
    assert all(layer["over_samples"] for layer in document["layers"])


def test_merged_measures_are_those_of_all_pairs() -> None:
    generator = np.random.default_rng(0)
    pairs = [generator.standard_normal((2, 500)) * scale for scale in (1, 100, 70000)]
    pairs[1][0, :3] = (np.nan, np.inf, 0)
    whole, merged = Measure(DType.FLOAT16, 1e-3), Measure(DType.FLOAT16, 1e-3)
    for found, wanted in pairs:
        whole.add(found, wanted)
        part = Measure(DType.FLOAT16, 1e-3)
        part.add(found, wanted)
        merged.merge(part)
    ours, theirs = merged.figures(), whole.figures()
    assert ours.cosine == pytest.approx(theirs.cosine)
    assert ours.snr == pytest.approx(theirs.snr)
    assert (ours.nan, ours.inf, ours.overflow) == (theirs.nan, theirs.inf, theirs.overflow)
    assert (ours.lowest, ours.highest, ours.max_absolute) == (
        theirs.lowest, theirs.highest, theirs.max_absolute,
    )  # fmt: skip


def test_sketch_is_exact_for_few_and_near_for_many() -> None:
    numbers = np.random.default_rng(1).lognormal(0, 3, 10 * EXACT)
    for count in (EXACT, 10 * EXACT):
        sketch = QuantileSketch()
        for number in numbers[:count]:
            sketch.add(float(number))
        assert sketch.exact == (count == EXACT)
        for share in (0.01, 0.5, 0.99):
            wanted = np.sort(numbers[:count])[math.ceil(share * count) - 1]
            near = 0 if sketch.exact else 0.006
            assert sketch.quantile(share) == pytest.approx(wanted, rel=near, abs=0)


def test_sketches_merge_in_any_order() -> None:
    numbers = [0.0, math.inf, math.nan, *np.random.default_rng(2).lognormal(0, 2, 2 * EXACT)]
    found = set()
    for order in permutations(((0, 5), (5, EXACT), (EXACT, None))):
        merged = QuantileSketch()
        for start, end in order:
            part = QuantileSketch()
            for number in numbers[start:end]:
                part.add(number)
            merged.merge(part)
        assert merged.count == len(numbers)
        found.add(tuple(merged.quantile(share) for share in (0.001, 0.3, 0.5, 0.9, 1.0)))
    assert len(found) == 1
    assert math.isnan(QuantileSketch().quantile(0.5))


def test_spread_of_layers_without_error_is_perfect() -> None:
    measure, spread = Measure(DType.FLOAT32), Spread()
    measure.add(np.ones(3, np.float32), np.ones(3, np.float32))
    spread.add(measure.figures(), "a")
    found = spread.figures()
    assert (found.cosine.worst, found.snr.worst, found.snr.mean) == (1.0, math.inf, math.inf)


def peaks_of(
    compare: Callable[[Path], object],
    saved: Callable[[int], Path],
    counts: tuple[int, int] = (20, 200),
) -> list[int]:
    """Return the most bytes that comparisons over few and over many samples held."""
    compare(saved(2))
    peaks = []
    for count in counts:
        samples = saved(count)
        tracemalloc.start()
        compare(samples)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return peaks


def test_memory_does_not_grow_with_samples(tmp_path: Path) -> None:
    model = squares(tmp_path, 8192)

    def saved(count: int) -> Path:
        np.save(tmp_path / "all.npy", drawn(count, 8192))
        return tmp_path / "all.npy"

    few, many = peaks_of(lambda samples: atc_py.compare_model(model, samples=samples), saved)
    assert many < few + 20 * 4 * 8192


def test_all_samples_judge_a_suggestion(tmp_path: Path) -> None:
    model, arrays = squares(tmp_path), drawn(12)
    arrays[7] *= 4000
    np.save(tmp_path / "all.npy", arrays)
    options = {"samples": tmp_path / "all.npy", "suggest": {"snr": 50.0}}
    every = atc_py.compare_model(model, **options).suggestion  # type: ignore[arg-type]
    assert every is not None
    assert (every.needed, every.reached, every.samples) == (True, True, 12)
    assert every.after.samples == 12
    alone = atc_py.compare_model(
        model, inputs={"x": arrays[7][None]}, suggest={"snr": 50.0}
    ).suggestion  # fmt: skip
    assert alone is not None
    assert {each.line for each in every.kept} >= {each.line for each in alone.kept}


def test_some_samples_judge_trials_and_all_the_result(tmp_path: Path) -> None:
    model, arrays = squares(tmp_path), drawn(12)
    arrays[7] *= 4000
    np.save(tmp_path / "all.npy", arrays)
    found = atc_py.compare_model(
        model, samples=tmp_path / "all.npy", suggest={"snr": 50.0}, suggest_samples=3
    ).suggestion
    assert found is not None
    assert 7 not in evenly(12, 3)
    assert (found.samples, found.after.samples, found.reached) == (3, 12, False)


def test_samples_at_even_distances() -> None:
    assert [*evenly(10, 4)] == [0, 3, 6, 9]
    assert [*evenly(3, 8)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("samples", "code"),
    [
        ("absent.npz", NO_SAMPLES),
        ([], NO_SAMPLES),
        ([{"z": np.zeros((1, WIDTH), np.float32)}], BAD_SAMPLE),
        ([{"x": np.zeros((1, 3), np.float32)}], BAD_SAMPLE),
        ([{"x": np.zeros((1, WIDTH), np.int64)}], BAD_SAMPLE),
        ([{"x": np.full((1, WIDTH), np.nan, np.float32)}], SAMPLE_NOT_FINITE),
        (0, BAD_OPTION),
    ],
)
def test_samples_that_fit_no_input_are_refused(samples: object, code: Code, tmp_path: Path) -> None:
    with pytest.raises(AtcError) as caught:
        atc_py.compare_model(squares(tmp_path), samples=samples)  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].code is code
