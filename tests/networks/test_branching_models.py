"""Models of our own that choose at run time what they run."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.end_to_end import run_with_onnxruntime
from tests.networks.builders.agreement import FLOAT16_MODES, expect_agreement
from tests.networks.builders.branching import (
    ROWS,
    build_expert_model,
    build_varied_model,
    rows,
)

Array = npt.NDArray[Any]

MEANS = (0.4, -0.4)
FLAGS = (True, False)
COLUMN_MARGIN = 0.05
"""Many times what float16 moves a score of these models."""


def varied_feeds(mean: float, *, brief: bool) -> dict[str, Array]:
    return {"x": rows(mean, 6), "brief": np.array(brief)}


def test_expert_model_has_three_different_results() -> None:
    """Check that the flag matters where the mean is negative, and only there."""
    model, scores = build_expert_model(), {}
    for mean in MEANS:
        for sharp in FLAGS:
            fed = {"x": rows(mean, 3), "sharp": np.array(sharp)}
            scores[mean, sharp] = run_with_onnxruntime(model, fed)["scores"]
    np.testing.assert_array_equal(scores[0.4, True], scores[0.4, False])
    for other in (scores[-0.4, False], scores[0.4, True]):
        assert np.abs(scores[-0.4, True] - other).max() > 0.5 * np.ptp(other)


@pytest.mark.parametrize("mode", FLOAT16_MODES)
@pytest.mark.parametrize("opset", [11, 12, 13])
def test_expert_model_agrees_with_onnxruntime_in_every_branch(
    opset: int, mode: str, tmp_path: Path
) -> None:
    runs = [
        {"x": rows(mean, seed), "sharp": np.array(sharp)}
        for mean in MEANS
        for sharp in FLAGS
        for seed in (3, 4)
    ]
    expect_agreement(build_expert_model(opset), runs, mode, tmp_path)


@pytest.mark.parametrize(
    ("mean", "brief", "count"),
    [(0.4, True, ROWS), (0.4, False, ROWS), (-0.4, True, 1), (-0.4, False, 2)],
)
def test_varied_model_gives_as_many_rows_as_its_branch(
    mean: float, brief: bool, count: int
) -> None:
    outputs = run_with_onnxruntime(build_varied_model(), varied_feeds(mean, brief=brief))
    assert outputs["scores"].shape == (count, 8)
    assert outputs["columns"].shape == (count,)
    assert outputs["count"] == count
    best = np.sort(outputs["scores"], axis=-1)
    assert (best[:, -1] - best[:, -2]).min() > COLUMN_MARGIN


@pytest.mark.parametrize("mode", FLOAT16_MODES)
@pytest.mark.parametrize("opset", [11, 12, 13])
def test_varied_model_agrees_with_onnxruntime_in_every_branch(
    opset: int, mode: str, tmp_path: Path
) -> None:
    runs = [varied_feeds(mean, brief=brief) for mean in MEANS for brief in FLAGS]
    expect_agreement(build_varied_model(opset), [*runs, *reversed(runs)], mode, tmp_path)
