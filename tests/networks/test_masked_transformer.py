"""A transformer of our own: masks made at run time from what is fed."""

from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end import run_with_onnxruntime
from tests.networks.builders.agreement import FLOAT16_MODES, expect_agreement
from tests.networks.builders.transformer import LENGTH, build_masked_transformer, sentences
from tests.sampling import alternating

RUNS = {"full": ((LENGTH, LENGTH), 43), "ragged": ((LENGTH, 3), 3), "short": ((1, 7), 26)}
"""Lengths and a seed, chosen so that no class wins narrowly."""

CLASS_MARGIN = 0.1
"""Many times what float16 moves a logit of these models."""


@pytest.mark.parametrize("name", RUNS)
def test_transformer_has_no_close_classes(name: str) -> None:
    logits = run_with_onnxruntime(build_masked_transformer(), sentences(*RUNS[name]))["logits"]
    best = np.sort(logits, axis=-1)
    assert (best[:, -1] - best[:, -2]).min() > CLASS_MARGIN


def test_transformer_heeds_no_padding() -> None:
    """Check that other words after the end change nothing before it."""
    model, fed = build_masked_transformer(), sentences(*RUNS["ragged"])
    words = fed["ids"].copy()
    words[1, 3:] = 7
    first, second = (
        run_with_onnxruntime(model, {**fed, "ids": ids}) for ids in (fed["ids"], words)
    )
    np.testing.assert_allclose(first["logits"], second["logits"], rtol=1e-5)
    np.testing.assert_allclose(first["pooled"], second["pooled"], rtol=1e-4, atol=1e-5)
    states = first["states"]
    assert np.abs(states - second["states"])[1, 3:].max() > 0.05 * np.ptp(states)


def test_transformer_heeds_its_mask() -> None:
    """Check that without a mask padding takes part: far beyond what any bound lets pass."""
    model, fed = build_masked_transformer(), sentences(*RUNS["ragged"])
    everywhere = np.ones_like(fed["attention_mask"])
    first, second = (
        run_with_onnxruntime(model, {**fed, "attention_mask": mask})
        for mask in (fed["attention_mask"], everywhere)
    )
    for name in ("states", "pooled", "logits"):
        assert np.abs(first[name] - second[name]).max() > 0.2 * np.ptp(first[name]), name


@pytest.mark.parametrize(("opset", "mode"), alternating([11, 12, 13], FLOAT16_MODES))
def test_masked_transformer_agrees_with_onnxruntime(opset: int, mode: str, tmp_path: Path) -> None:
    runs = [sentences(*run) for run in RUNS.values()]
    expect_agreement(build_masked_transformer(opset), runs, mode, tmp_path)
