"""Rules for float16: what they write is nearer to float32 on the simulator than what they replace."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.fix.rule import Purpose, load_rules
from tests.end_to_end import run_with_onnxruntime
from tests.fix.cases import write_case

Array = NDArray[np.float32]

RULES = {name: rule for name, rule in load_rules().items() if Purpose.PRECISION in rule.purposes}


def normal(*dims: int) -> Array:
    return np.random.default_rng(5).normal(size=dims).astype(np.float32)


STRESS: dict[str, Callable[[], list[Array]]] = {
    "log-of-clipped": lambda: [np.maximum(normal(3, 64), 0)],
    "log-of-magnified": lambda: [normal(3, 64)],
    "log-of-shifted": lambda: [np.maximum(normal(3, 64), 0)],
    "root-of-squares": lambda: [normal(3, 64) * 900],
    "softmax-of-steps": lambda: [normal(3, 64) + 12],
    "sum-as-mean": lambda: [normal(3, 512) + 200],
    "variance-of-deviations": lambda: [normal(3, 64) + 30],
}
"""Data by rule on which float16 fails; none is unusual in float32."""


def error_of(model: Path, feeds: dict[str, Array], wanted: Array, **options: object) -> float:
    """Return the largest error of a compiled model, as a part of the largest result."""
    om = model.with_suffix(".om")
    atc_py.convert(model, om, **options)  # type: ignore[arg-type]
    (found,) = atc_py.load(om).run(feeds).values()
    with np.errstate(invalid="ignore"):
        gap = np.abs(found.astype(np.float64) - wanted).max() / np.abs(wanted).max()
    return float("inf") if np.isnan(gap) else float(gap)


@pytest.mark.parametrize("name", RULES)
def test_the_new_form_is_nearer_to_float32(name: str, tmp_path: Path) -> None:
    model = write_case(RULES[name].example, tmp_path / "m.onnx")
    feeds = {f"x{at}": each for at, each in enumerate(STRESS[name]())}
    (wanted,) = run_with_onnxruntime(onnx.load(model), feeds).values()
    before = error_of(model, feeds, wanted)
    after = error_of(model, feeds, wanted, fix={})
    assert before > 0.01
    assert after < 0.004


def test_precision_is_on_in_force_fp16_alone_and_can_be_chosen(tmp_path: Path) -> None:
    model = write_case(RULES["sum-as-mean"].example, tmp_path / "m.onnx")

    def rules(**options: object) -> list[tuple[str, ...]]:
        done = atc_py.fix_model(model, dry_run=True, seeds=0, **options)  # type: ignore[arg-type]
        return [each.rules for each in done.rewrites]

    assert rules() == [("sum-as-mean",)]
    assert rules(for_precision=False) == []
    assert rules(skip=["sum-as-mean"]) == []
    assert rules(precision_mode="must_keep_origin_dtype") == []
    assert rules(precision_mode="must_keep_origin_dtype", for_precision=True) == [("sum-as-mean",)]


def test_convert_alone_applies_no_rule(tmp_path: Path) -> None:
    model = write_case(RULES["sum-as-mean"].example, tmp_path / "m.onnx")
    files = []
    for at, options in enumerate(({}, {"fix": {"for_precision": False}}, {"fix": {}})):
        atc_py.convert(model, tmp_path / f"{at}.om", **options)  # type: ignore[arg-type]
        kernels = atc_py.load(tmp_path / f"{at}.om").run({"x0": normal(3, 512) + 200})
        files.append(np.isfinite(next(iter(kernels.values()))).all())
    assert files == [False, False, True]
