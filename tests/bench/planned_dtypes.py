"""Plans of dtypes of the shared networks: estimated times, errors, and `compare --suggest` beside them.

    python -m tests.bench.planned_dtypes [--write] [NETWORK ...]

Times are estimates, and errors are those of the kernels that `tests.blas_kernels` names: with
OPENBLAS_CORETYPE=Haswell the table is the same on every x86-64 machine of today.
"""

import math
import re
import sys
from pathlib import Path

import numpy as np

import atc_py
from atc_py.results.plan import DtypePlan, PlanPoint
from tests.bench.measuring import say
from tests.bench.networks import MODELS

SOC = "Ascend910B1"
TRIALS = 24
DECIBELS = 6.0
"""The target: so much more signal to noise than with all nodes in float16."""

LEAST = 40
"""Decibels of the target where float16 loses the values."""

PAGE = Path(__file__).resolve().parents[2] / "docs" / "planning.md"
_MICRO = 1e6


def planned_dtypes(names: list[str] | None = None, *, write: bool = False) -> None:
    """Print a row for each network; write them into the page if asked to."""
    rows = []
    for folder in sorted(MODELS.iterdir()):
        if not (folder / "model.onnx").is_file() or (names and folder.name not in names):
            continue
        rows.append(_row_of(folder))
        say(rows[-1])
    if write:
        _write(rows)


def _row_of(folder: Path) -> str:
    """Return the row of a network."""
    model, inputs = folder / "model.onnx", folder / "inputs.npz"
    with np.load(inputs) as given:
        samples = [{name: given[name] for name in given.files}]
    done = atc_py.compare_model(model, samples=samples, soc=SOC)
    ratio = min(done.layers[at].judged.snr for at in done.outputs.values())
    lost = any(done.layers[at].figures.lost_share for at in done.outputs.values())
    least = LEAST if lost else max(math.ceil(ratio + DECIBELS), LEAST)
    target = {"snr": float(least)}
    plan = atc_py.plan_model(model, target=target, samples=samples, soc=SOC, trials=TRIALS)
    return _row(folder.name, f"{least:g} dB", plan)


def _row(name: str, target: str, plan: DtypePlan) -> str:
    """Return a row of the table."""
    kept = len(plan.chosen.dtypes)
    verdict = f"{kept} of {plan.candidates}" if plan.reached else "out of reach"
    points = (plan.float16, plan.float32, plan.suggested, plan.chosen)
    cells = (name, target, *map(_figures, points), verdict, str(plan.trials))
    return f"| {' | '.join(cells)} |"


def _figures(point: PlanPoint | None) -> str:
    """Return time and error of a point."""
    if point is None:
        return "-"
    error = f"{point.snr:.1f} dB" if math.isfinite(point.share) else "values lost"
    return f"{point.seconds * _MICRO:.1f} us, {error}"


def _write(rows: list[str]) -> None:
    """Replace the rows of the table in the page."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.sub(
        r"(?<=<!-- networks -->\n)(\|.*\n)(\|.*\n)(?:\|.*\n)*",
        lambda match: "".join([match[1], match[2], *(f"{row}\n" for row in rows)]),
        text,
    )
    PAGE.write_text(found, encoding="utf-8")


if __name__ == "__main__":
    chosen = sys.argv[1:]
    planned_dtypes([each for each in chosen if each != "--write"], write="--write" in chosen)
