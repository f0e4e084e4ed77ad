"""The search for a target in several processes: it finds the same, whatever ends on the way."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atc_py
from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.fall_back import _middles, cost_order
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.prove import _processes
from atc_py.quantizing.switched_trials import SwitchedTrial, run_trial
from atc_py.quantizing.trial_model import TrialModel
from atc_py.results.output_error import ErrorSums
from atc_py.system.jobs import open_executor
from tests.quantizing.float_networks import conv_network, samples_of
from tests.sampling import sampled

MARK = "ATC_PY_TEST_ENDED"
SAMPLES = samples_of(5, 1, 3, 16, 16)


def quantized(model: Path, output: Path, **choice: Any) -> tuple[bytes, Any]:
    """Return the file and the report of a search that has something to do."""
    done = atc_py.quantize(
        model, output, data=SAMPLES, format="qdq", target={"snr": 50.0}, **choice
    )
    assert done.proof is not None
    assert done.proof.fall_back is not None
    assert done.proof.fall_back.floats
    return output.read_bytes(), done.proof


@pytest.mark.parametrize("executor", sampled(["ort"], ["sim"]))
def test_processes_find_the_same(executor: str, tmp_path: Path) -> None:
    model = conv_network(tmp_path / "float.onnx")
    found = [
        quantized(model, tmp_path / "int8.onnx", jobs=jobs, executor=executor) for jobs in (1, 3)
    ]
    assert found[0] == found[1]


def test_processes_are_used_where_they_are_asked_for() -> None:
    with _processes(0.0, 2) as executor:
        assert executor is not None
    for seconds, jobs in ((1e9, 1), (0.0, None)):
        with _processes(seconds, jobs) as executor:
            assert executor is None


def end_once(trial: SwitchedTrial) -> dict[str, ErrorSums]:
    """End this process in the first trial of all, else run the trial."""
    try:
        Path(os.environ[MARK]).touch(exist_ok=False)
    except FileExistsError:
        return run_trial(trial)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def fail(trial: SwitchedTrial) -> dict[str, ErrorSums]:
    """Fail, whatever the trial."""
    raise OSError(trial.on)


@pytest.mark.parametrize("function", [end_once, fail])
def test_trial_whose_process_ends_is_not_lost(
    function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check an order of costs with processes that are killed, or of which none answers."""
    monkeypatch.setenv(MARK, str(tmp_path / "ended"))
    model = conv_network(tmp_path / "float.onnx")
    with calibrate(model, ArraySamples(SAMPLES), CalibrationOptions()) as found:
        trials = TrialModel(found, SAMPLES, "ort")
        alone = cost_order(trials, lambda _: None)
        monkeypatch.setattr("atc_py.quantizing.trial_model.run_trial", function)
        told: list[str] = []
        with open_executor(2) as tasks:
            assert cost_order(trials, told.append, tasks) == alone
        trials.close()
    assert len(told) == len(alone[0])
    assert (tmp_path / "ended").exists() == (function is end_once)


def test_all_samples_judge_unless_fewer_are_asked_for(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "float.onnx")
    many = samples_of(20, 1, 3, 16, 16)
    for choice, count in (
        ({"target": {"snr": 20.0}}, 20),
        ({"target": {"snr": 20.0}, "measure": 7}, 7),
        ({"target": {"snr": 20.0}, "measure": 50}, 20),
        ({}, 10),
    ):
        given: Any = choice
        done = atc_py.quantize(model, tmp_path / "int8.onnx", data=many, **given)
        assert done.proof is not None
        assert done.proof.samples == count, choice


def test_middles_are_those_of_the_bisection() -> None:
    assert [*_middles(1, 2)] == [1]
    assert [*_middles(1, 9)] == [5, 3, 7, 2, 4, 6, 8, 1]
    assert [*_middles(4, 4)] == []


def test_values_in_files_are_those_of_the_samples(tmp_path: Path) -> None:
    """Check that the first of several samples gives what it gives alone."""
    model = conv_network(tmp_path / "float.onnx")
    with calibrate(model, ArraySamples(SAMPLES), CalibrationOptions()) as found:
        trials = TrialModel(found, SAMPLES, "ort")
        whole = trials.errors(trials.layers)
        first = trials.errors(trials.layers, 1)
        again = TrialModel(found, SAMPLES[:1], "ort")
        assert {name: each.figures() for name, each in again.errors(trials.layers).items()} == {
            name: each.figures() for name, each in first.items()
        }
        assert np.isfinite(next(iter(whole.values())).noise)
        for each in (trials, again):
            each.close()
