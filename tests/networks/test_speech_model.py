"""A speech recognizer of our own: sequences of different lengths, states in and out."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.end_to_end import run_with_onnxruntime
from tests.networks.builders.agreement import FLOAT16_MODES, expect_agreement
from tests.networks.builders.speech import FRAMES, build_speech_model, utterances

Array = npt.NDArray[Any]

RUNS = {"full": ((FRAMES, FRAMES), 21), "ragged": ((46, 17), 20), "short": ((1, 5), 4)}
"""Lengths and a seed, chosen so that no token wins narrowly."""

TOKEN_MARGIN = 0.03
"""Many times what float16 moves a log-probability of these models."""


@pytest.mark.parametrize("name", RUNS)
def test_speech_model_has_no_close_tokens(name: str) -> None:
    logs = run_with_onnxruntime(build_speech_model(), utterances(*RUNS[name]))["log_probabilities"]
    best = np.sort(logs, axis=-1)
    assert (best[..., -1] - best[..., -2]).min() > TOKEN_MARGIN


def test_speech_model_heeds_lengths_and_states() -> None:
    model, fed = build_speech_model(), utterances(*RUNS["ragged"])
    full = run_with_onnxruntime(model, fed)["log_probabilities"]
    for name in ("lengths", "h_in", "c_in", "g_in"):
        changed = np.maximum(fed[name] // 2, 1) if name == "lengths" else fed[name] / 2
        other = run_with_onnxruntime(model, {**fed, name: changed})["log_probabilities"]
        assert np.abs(full - other).max() > 0.05 * np.ptp(full), name


@pytest.mark.parametrize("mode", FLOAT16_MODES)
@pytest.mark.parametrize("opset", [11, 12, 13])
def test_speech_model_agrees_with_onnxruntime(opset: int, mode: str, tmp_path: Path) -> None:
    runs = [utterances(*run) for run in RUNS.values()]
    expect_agreement(build_speech_model(opset), runs, mode, tmp_path)


@pytest.mark.parametrize("mode", FLOAT16_MODES)
def test_speech_model_goes_on_from_its_own_states(mode: str, tmp_path: Path) -> None:
    """Check that onnxruntime's states after a first part are those of the second."""
    model = build_speech_model()
    first = utterances(*RUNS["full"])
    outputs = run_with_onnxruntime(model, first)
    states = {f"{name}_in": outputs[f"{name}_out"] for name in ("h", "c", "g")}
    second = {**utterances(*RUNS["ragged"]), **states}
    expect_agreement(model, [first, second], mode, tmp_path)
