"""Plans of the shared networks beside the suggestions of `compare`, which know nothing of the planner."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atc_py
from atc_py.cost.network import network_time
from atc_py.package.reader import open_model
from tests.networks.page import MODELS
from tests.sampling import alternating, sampled

pytestmark = pytest.mark.skipif(not MODELS.exists(), reason="the shared networks are not there")

SOC = "Ascend910B1"
TRIALS = 12
"""Most compilations of a suggestion; a plan has twice as many, as by default."""

QUICK = ("espcn_opset12", "gru_asr_opset13")
NAMES = sorted(path.parent.name for path in MODELS.glob("*/model.onnx"))


def seconds_of(model: Path, folder: Path, **files: str) -> tuple[float, dict[str, Any]]:
    """Return the estimated time with option files of some text, and the options."""
    options: dict[str, Any] = {}
    for name, text in files.items():
        if text:
            options[name] = folder / f"{name}.txt"
            options[name].write_text(text, encoding="utf-8")
    atc_py.convert(model, folder / "model.om", soc=SOC, **options)
    with open_model(folder / "model.om") as package:
        return network_time(package.description).expected, options


@pytest.mark.parametrize(
    ("name", "decibels"),
    [
        *alternating(QUICK, [6, 12]),
        *sampled([], product([name for name in NAMES if name not in QUICK], [6, 12])),
    ],
)
def test_plan_is_never_slower_than_the_suggestion(name: str, decibels: int, tmp_path: Path) -> None:
    """Check the plan of a target so far above all float16, or of 40 dB where that loses values."""
    model = MODELS / name / "model.onnx"
    with np.load(MODELS / name / "inputs.npz") as given:
        samples = [{key: given[key] for key in given.files}]
    done = atc_py.compare_model(model, samples=samples, soc=SOC)
    least = min(done.layers[at].judged.snr for at in done.outputs.values())
    target = {"snr": max(math.ceil(least + decibels), 40.0) if math.isfinite(least) else 40.0}
    given_ = {"samples": samples, "soc": SOC}
    compared: Any = atc_py.compare_model(
        model,
        suggest=target,
        suggest_trials=TRIALS,
        **given_,  # type: ignore[arg-type]
    )
    found = compared.suggestion
    plan = atc_py.plan_model(model, target=target, trials=2 * TRIALS, **given_)  # type: ignore[arg-type]
    assert plan.trials <= 2 * TRIALS
    assert plan.reached or not found.reached
    if not plan.reached:
        return
    seconds, options = seconds_of(
        model, tmp_path, keep_dtype=plan.keep_text, customize_dtypes=plan.custom_text
    )
    assert seconds == plan.chosen.seconds
    again = atc_py.compare_model(model, **given_, **options)  # type: ignore[arg-type]
    assert all(again.layers[at].judged.snr >= target["snr"] for at in again.outputs.values())
    if found.reached:
        suggested, _ = seconds_of(model, tmp_path, keep_dtype=found.text)
        assert seconds <= suggested
