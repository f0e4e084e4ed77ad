"""Layers that go back to floats until the outputs reach a target."""

import itertools
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.fall_back import cost_order, fall_back
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.targets import read_target
from atc_py.quantizing.trial_model import TrialModel
from atc_py.results.output_error import ErrorFigures, ErrorSums
from tests.quantizing.float_networks import conv_network, run_ort, samples_of


class _Priced:
    """A stand-in for a model, whose layers add up noises; those of a pair cost more together."""

    def __init__(self, noise: dict[str, float], pair: frozenset[str] = frozenset()) -> None:
        self.layers = tuple(noise)
        self._noise, self._pair = noise, pair
        self.trials = 0

    def errors(self, on: Collection[str], _count: int | None = None) -> dict[str, ErrorSums]:
        self.trials += 1
        found = ErrorSums()
        noise = sum(self._noise[name] for name in on)
        noise += 100 * (bool(self._pair) and self._pair <= set(on))
        found.add_sums(1000.0, noise, 1000.0 + noise)
        return {"y": found}

    def figures(self, on: Collection[str]) -> dict[str, ErrorFigures]:
        return {name: each.figures() for name, each in self.errors(on).items()}


def searched(model: Any, least: float) -> Any:
    order, _ = cost_order(model, lambda _: None)
    return fall_back(model, {"snr": least}, order, lambda _: None)


def test_costly_layers_go_back_first_and_fewest() -> None:
    model = _Priced({"a": 1.0, "b": 64.0, "c": 0.25, "d": 16.0, "e": 4.0})
    found = searched(model, 10 * math.log10(1000 / 6))
    assert found.order == ("b", "d", "e", "a", "c")
    assert (found.reached, found.floats, found.minimal) == (True, ("b", "d"), True)
    assert [each.int8 for each in found.points] == sorted(
        (each.int8 for each in found.points), reverse=True
    )
    assert found.points[0].floats == ()


def test_layer_in_the_middle_of_the_order_is_put_on_int8_again() -> None:
    """The pair is what costs: without its second layer, the first two need not go back."""
    noise = {"a": 8.0, "b": 7.0, "c": 6.0, "d": 0.1}
    model = _Priced(noise, frozenset({"c", "d"}))
    least = 10 * math.log10(1000 / 16)
    found = searched(model, least)
    sets = [
        floats
        for size in range(5)
        for floats in itertools.combinations(noise, size)
        if model.figures([name for name in noise if name not in floats])["y"].snr >= least
    ]
    assert found.reached
    assert len(found.floats) == len(sets[0]) == 1


def test_nothing_goes_back_where_the_target_is_reached() -> None:
    found = searched(_Priced({"a": 1.0, "b": 2.0}), 20)
    assert (found.reached, found.floats) == (True, ())


def test_set_that_bisection_passes_over_is_found() -> None:
    """A figure that falls again as more layers go back: one pair alone cancels out."""

    class _Uneven(_Priced):
        def errors(self, on: Collection[str], count: int | None = None) -> dict[str, ErrorSums]:
            kept = set(on)
            if len(kept) == 7 and "a" not in kept:
                kept = set()
            return super().errors(kept, count)

    found = searched(_Uneven({name: 8.0 - at for at, name in enumerate("abcdefgh")}), 40)
    assert (found.reached, found.floats) == (True, ("a",))


def test_target_out_of_reach_is_said() -> None:
    found = searched(_Priced({"a": 1.0, "b": 2.0}), 90)
    assert not found.reached


@pytest.mark.parametrize(
    "text", ["cosine", "snr=x", "cosine=1.5", "top1=-1", "psnr=3", "snr=nan", "snr=inf"]
)
def test_target_without_sense_is_refused(text: str) -> None:
    with pytest.raises(AtcError) as caught:
        read_target([text])
    assert caught.value.diagnostics[0].code.name == "bad-option-value"


def test_figure_twice_is_refused() -> None:
    with pytest.raises(AtcError, match="twice"):
        read_target(["snr=3", "snr=4"])


def test_switches_are_the_model_with_those_layers(tmp_path: Path) -> None:
    """Each set of switches gives what the file with those layers on int8 gives."""
    model = conv_network(tmp_path / "float.onnx")
    samples = samples_of(3, 1, 3, 16, 16)
    with calibrate(model, ArraySamples(samples), CalibrationOptions()) as found:
        names = [each.name for each in found.layers]
        trials = TrialModel(found, samples, "ort")
        for on in ([], names[:1], names[1:3], names):
            path = tmp_path / "some.onnx"
            found.written(path, on, form="qdq")
            sums = ErrorSums()
            for each in samples:
                sums.add(run_ort(path, each)[0], run_ort(model, each)[0])
            shown = next(iter(trials.figures(on).values()))
            assert shown.snr == pytest.approx(sums.figures().snr, abs=0.2) or shown.snr > 100
        trials.close()


def test_target_is_reached_by_the_file_that_is_written(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "float.onnx")
    samples = samples_of(6, 1, 3, 16, 16)
    plain = atc_py.quantize(model, tmp_path / "all.onnx", data=samples, format="qdq")
    assert plain.proof is not None
    least = next(iter(plain.proof.outputs.values())).snr + 2
    done = atc_py.quantize(
        model, tmp_path / "some.onnx", data=samples, format="qdq", target={"snr": least}
    )
    assert done.proof is not None
    assert done.proof.fall_back is not None
    floats = done.proof.fall_back.floats
    assert floats
    assert {each.name for each in done.layers if each.reason is not None} == set(floats)
    sums = ErrorSums()
    for each in samples:
        sums.add(run_ort(tmp_path / "some.onnx", each)[0], run_ort(model, each)[0])
    assert sums.figures().snr >= least - 0.2
    kinds = [node.op_type for node in onnx.load(tmp_path / "some.onnx").graph.node]
    assert kinds.count("QuantizeLinear") >= len(done.layers) - len(floats) - 1


def test_target_out_of_reach_writes_nothing(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "float.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.quantize(
            model, tmp_path / "none.onnx", data=samples_of(2, 1, 3, 16, 16), target={"snr": 300.0}
        )
    assert caught.value.diagnostics[0].code.id == "ATC7006"
    assert not (tmp_path / "none.onnx").exists()


def test_errors_of_sums_are_those_of_arrays() -> None:
    random = np.random.default_rng(0)
    wanted = random.normal(size=(4, 10))
    found = wanted + 0.1 * random.normal(size=(4, 10))
    sums = ErrorSums()
    sums.add(found, wanted)
    figures = sums.figures()
    ratio = 10 * math.log10(np.sum(wanted**2) / np.sum((found - wanted) ** 2))
    cosine = np.sum(found * wanted) / np.linalg.norm(found) / np.linalg.norm(wanted)
    assert figures.snr == pytest.approx(ratio)
    assert figures.cosine == pytest.approx(cosine)
    assert figures.top1 == np.mean(found.argmax(-1) == wanted.argmax(-1))


def test_values_that_are_lost_make_the_error_infinite() -> None:
    sums = ErrorSums()
    sums.add(np.array([1.0, math.nan]), np.array([1.0, 2.0]))
    assert (sums.figures().snr, sums.figures().cosine) == (-math.inf, 0.0)
    fewer = ErrorSums()
    fewer.add(np.ones((3, 4)), np.ones((2, 4)))
    assert (fewer.figures().snr, fewer.figures().cosine) == (-math.inf, 0.0)
    exact = ErrorSums()
    exact.add(np.zeros(3), np.zeros(3))
    assert (exact.figures().snr, exact.figures().cosine) == (math.inf, 1.0)
