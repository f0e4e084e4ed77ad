"""Switched models that run in parts: the same bits as whole, and of each trial what changed."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atc_py.compare.reference import ReferenceModel
from atc_py.device.sim.execution.kept_results import SparingModel
from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.switched_trials import RunningModel, SwitchedModel
from atc_py.quantizing.trial_model import TrialModel
from tests.quantizing.float_networks import FloatSketch, conv_network, samples_of

SAMPLES = samples_of(3, 1, 3, 16, 16)


def branched_network(path: Path) -> Path:
    """Save layers in branches that are added, one whose weights another reads, and two outputs."""
    net = FloatSketch()
    x = net.input("x", ["batch", 3, 16, 16])
    weight = net.weight("w", 8, 8, 3, 3)
    first = net.add("Conv", [x, net.weight("w1", 8, 3, 3, 3)], "first", pads=[1] * 4)
    left = net.add("Conv", [first, weight], "left", pads=[1] * 4)
    right = net.add("Relu", [net.add("Conv", [first, weight], "right", pads=[1] * 4)], "positive")
    total = net.add("Add", [left, right], "total")
    net.add("Conv", [total, net.weight("w2", 4, 8, 1, 1)], "image")
    mean = net.add("Flatten", [net.add("GlobalAveragePool", [total], "mean")], "flat")
    scores = net.add("MatMul", [mean, net.weight("w3", 8, 5)], "scores")
    net.add("Add", [scores, net.add("Mul", [scores, scores], "squares")], "y")
    return net.save(path, "image", "y")


@contextmanager
def switched(model: Path, executor: str = "ort") -> Iterator[SwitchedModel]:
    with calibrate(model, ArraySamples(SAMPLES), CalibrationOptions()) as found:
        trials = TrialModel(found, SAMPLES, executor)
        yield trials._model
        trials.close()


@pytest.mark.parametrize("network", [conv_network, branched_network])
def test_parts_give_the_bits_of_the_whole(network: Any, tmp_path: Path) -> None:
    with switched(network(tmp_path / "float.onnx")) as model:
        whole, cut = RunningModel(model), RunningModel(model._replace(is_cut=True))
        for places in product([False, True], repeat=len(model.layers)):
            on = [name for name, chosen in zip(model.layers, places, strict=True) if chosen]
            for at, feeds in enumerate(SAMPLES):
                wanted, found = (each.outputs(feeds, on, at) for each in (whole, cut))
                assert wanted.keys() == found.keys()
                for name, array in wanted.items():
                    np.testing.assert_array_equal(found[name], array)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count nodes of the file that onnxruntime runs in parts, and launches of the simulator."""
    counts: Counter[str] = Counter()
    run_piece, observed = ReferenceModel.run_piece, SparingModel._observed

    def counted_piece(model: ReferenceModel, at: int, feeds: Any) -> Any:
        counts["nodes"] += len(model.pieces[at].nodes)
        counts.update(node.op_type for node in model.pieces[at].nodes)
        return run_piece(model, at, feeds)

    def counted_launch(model: SparingModel, *args: Any) -> Any:
        counts["launches"] += 1
        return observed(model, *args)

    monkeypatch.setattr(ReferenceModel, "run_piece", counted_piece)
    monkeypatch.setattr(SparingModel, "_observed", counted_launch)
    return counts


def test_a_trial_runs_what_changed(ran: Counter[str], tmp_path: Path) -> None:
    """Nodes of chosen forms, after the first switch that changed."""
    with (
        switched(conv_network(tmp_path / "float.onnx")) as model,
        closing(RunningModel(model._replace(is_cut=True))) as running,
    ):
        seen = []
        first, last = model.layers[0], model.layers[-1]
        for on in ((), (), (last,), (first,), (first, last), (last,)):
            ran.clear()
            running.outputs(SAMPLES[0], on, 0)
            seen.append((ran["Conv"] + ran["Gemm"], ran["QuantizeLinear"], ran["nodes"] > 0))
    nothing, one = (0, 0, False), (1, 1, True)
    assert seen == [(4, 0, True), nothing, one, (4, 1, True), one, nothing]


def test_samples_of_another_shape_run_whole(ran: Counter[str], tmp_path: Path) -> None:
    with (
        switched(conv_network(tmp_path / "float.onnx")) as model,
        closing(RunningModel(model._replace(is_cut=True))) as running,
    ):
        running.outputs(SAMPLES[0], (), 0)
        ran.clear()
        other = {"x": np.concatenate([each["x"] for each in SAMPLES])}
        found = running.outputs(other, (), 1)
        assert not ran["nodes"]
        assert len(found["y"]) == len(SAMPLES)


@pytest.mark.parametrize("inputs", [("flat",), ("flat", "ratio", "training")])
def test_models_that_draw_are_not_cut(
    inputs: tuple[str, ...], ran: Counter[str], tmp_path: Path
) -> None:
    """Dropout draws only where an input tells it to train."""
    net = FloatSketch()
    x = net.input("x", ["batch", 3, 16, 16])
    net.add("Flatten", [x], "flat")
    net.const("ratio", np.float32(0))
    net.const("training", np.ones((), np.bool_))
    net.add("MatMul", [net.add("Dropout", inputs, "kept"), net.weight("w", 768, 5)], "y")
    with (
        switched(net.save(tmp_path / "float.onnx", "y")) as model,
        closing(RunningModel(model._replace(is_cut=True))) as running,
    ):
        running.outputs(SAMPLES[0], (), 0)
    assert bool(ran["Dropout"]) == (len(inputs) == 1)


def test_long_runs_are_cut(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "float.onnx")
    with calibrate(model, ArraySamples(SAMPLES), CalibrationOptions()) as found:
        trials = TrialModel(found, SAMPLES, "ort")
        figures, cut = [trials.figures(trials.layers)], []
        for runs in (1, 10**9):
            trials.expect(runs)
            cut.append(trials._model.is_cut)
            figures.append(trials.figures(trials.layers))
        trials.close()
    assert cut == [False, True]
    assert figures == figures[:1] * 3


def test_simulator_keeps_what_did_not_change(ran: Counter[str], tmp_path: Path) -> None:
    with (
        switched(conv_network(tmp_path / "float.onnx"), "sim") as model,
        closing(RunningModel(model)) as running,
    ):
        launches = []
        for on in ((), model.layers[-1:], model.layers[:1]):
            ran.clear()
            running.outputs(SAMPLES[0], on, 0)
            launches.append(ran["launches"])
    assert 0 < launches[1] < launches[0] / 4
    assert launches[1] < launches[2] <= launches[0]
