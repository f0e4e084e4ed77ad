"""Measurements of `fix` on one model: verdicts, rules, and errors of float32 and of float16."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

import atc_py
from atc_py.diag import AtcError
from atc_py.fix.rule import Exactness, load_rules
from atc_py.results.fixing import Fixing
from tests.trained.in_float64 import run_in_float64
from tests.trained.subjects import Subject

Arrays = Mapping[str, npt.NDArray[Any]]
Run = Callable[[Arrays], Arrays]


SEEDS = 10
"""Draws of data on which both models run in float32."""

DEVICE_SEEDS = 2
"""Draws of data on which the simulator runs the compiled model."""

WITHIN = 1e-5
"""Largest difference in float32 as a part of the range, unless a rule states another bound."""

COSINE = 0.999
"""Least cosine in float16."""


@dataclass(frozen=True)
class Figures:
    """The result of fixing and compiling one model for one list.

    Attributes:
        errors: findings of level error before and after.
        rules: how many nodes each rule rewrote.
        float32: largest difference of the fixed model, as a part of each output's range.
        bound: the largest that it may be.
        of_class: the widest class of the rules, with its bound; "-" without rules.
        cosine: least cosine of an output of floats on the simulator in force_fp16.
        float16: largest difference there, as a part of each output's range.
        to_float64: the same for the original and for the fixed model, each compared with the original
            in float64; None where `float32` is small, or ONNX's reference cannot run the model.
        regions: where `float32` is large, the largest difference of a rewrite by itself.
        refusal: the code with which fixing or converting ended; "" for a model that converts.
    """

    errors: tuple[int, int]
    rules: Mapping[str, int]
    float32: float
    bound: float
    cosine: float
    float16: float
    of_class: str = "-"
    to_float64: tuple[float, float] | None = None
    regions: float | None = None
    refusal: str = ""


def measure(subject: Subject, operator_list: str) -> Figures:
    """Fix a model, run both in onnxruntime, compile the fixed one and run it on the simulator."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, fixed = subject.path(folder), folder / "fixed.onnx"
        feeds = [subject.feeds(seed) for seed in range(SEEDS)]
        shapes = {name: array.shape for name, array in feeds[0].items()}
        try:
            done = atc_py.fix_model(
                path,
                fixed,
                input_shape=shapes,
                operator_list=operator_list,
                seeds=0,
                **subject.rules,
            )
        except AtcError as error:
            return Figures((0, 0), {}, 0, 0, 0, 0, refusal=error.diagnostics[0].code.id)
        wanted = [session(path)(each) for each in feeds]
        if done.output is None:
            fixed = path
        bound = subject.rules.get("bind") or {}
        fed = [{k: v for k, v in each.items() if k not in bound} for each in feeds]
        found = [session(fixed)(each) for each in fed]
        float32 = largest(found, wanted)
        exact = exact_results(path, feeds) if float32 > WITHIN else None
        to_float64 = (largest(wanted, exact), largest(found, exact)) if exact else None
        regions = _regions(path, shapes, operator_list, subject) if float32 > WITHIN else None
        device = on_device(fixed, fed[:DEVICE_SEEDS], wanted, operator_list, folder)
    return Figures(
        errors=done.errors,
        rules=rules_of(done),
        float32=float32,
        bound=bound_of(done),
        cosine=device[0],
        float16=device[1],
        of_class=_class(done),
        to_float64=to_float64,
        regions=regions,
        refusal=device[2],
    )


def _regions(
    path: Path, shapes: Mapping[str, tuple[int, ...]], operator_list: str, subject: Subject
) -> float:
    """Return the largest difference of a rewrite by itself, on the values that the original has there."""
    done = atc_py.fix_model(
        path,
        dry_run=True,
        input_shape=shapes,
        operator_list=operator_list,
        simulate=False,
        **subject.rules,
    )
    return max(each.difference.error for each in done.rewrites if each.difference is not None)


def _class(done: Fixing) -> str:
    """Return the widest class of the rules and its bound."""
    rules = load_rules()
    used = [rules[name] for each in done.rewrites for name in each.rules]
    widest = max(used, key=lambda rule: rule.limit, default=None)
    return "-" if widest is None else f"{widest.exactness.value} {widest.limit:.0e}"


def exact_results(path: Path, feeds: list[dict[str, Any]]) -> list[Arrays] | None:
    """Return the results of the original in float64; None where the reference cannot run it."""
    found = [run_in_float64(path, each) for each in feeds]
    return [each for each in found if each is not None] if all(found) else None


def on_device(
    path: Path, feeds: list[dict[str, Any]], wanted: list[Arrays], operator_list: str, folder: Path
) -> tuple[float, float, str]:
    """Return the cosine and the largest difference in force_fp16, and the code of a refusal."""
    om = folder / "model.om"
    shapes = {name: array.shape for name, array in feeds[0].items()}
    try:
        atc_py.convert(
            path,
            om,
            input_shape=shapes,
            operator_list=operator_list,
            precision_mode="force_fp16",
        )
    except AtcError as error:
        return 0.0, float("inf"), error.diagnostics[0].code.id
    with atc_py.load(om) as model:
        names = [port.name for port in model.inputs]
        found = [model.run({name: each[name] for name in names}) for each in feeds]
    cosines = [
        _cosine(ours[name], theirs[name])
        for ours, theirs in zip(found, wanted, strict=False)
        for name in theirs
        if theirs[name].dtype.kind == "f"
    ]
    return min(cosines), largest(found, wanted), ""


def session(path: Path) -> Run:
    """Return what runs a model in onnxruntime without its optimizations."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    fed = {each.name for each in session.get_inputs()}

    def run(feeds: Arrays) -> Arrays:
        given = {name: array for name, array in feeds.items() if name in fed}
        return dict(zip(names, session.run(names, given), strict=True))

    return run


def largest(found: Iterable[Arrays], wanted: Iterable[Arrays]) -> float:
    """Return the largest difference as a part of the range that an output has over all runs."""
    gaps: dict[str, float] = {}
    ranges: dict[str, float] = {}
    for ours, theirs in zip(found, wanted, strict=False):
        for name, array in theirs.items():
            reference = array.astype(np.float64)
            gap = np.abs(ours[name].astype(np.float64) - reference).max(initial=0.0)
            gaps[name] = max(gaps.get(name, 0.0), float("inf") if np.isnan(gap) else float(gap))
            reach = float(np.abs(reference).max(initial=0.0))
            ranges[name] = max(ranges.get(name, 0.0), reach)
    return max(gap / (ranges[name] or 1.0) for name, gap in gaps.items())


def _cosine(found: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> float:
    """Return the cosine of two arrays as vectors; 1 of two that are zero."""
    a, b = (each.astype(np.float64).ravel() for each in (found, wanted))
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    cosine = float(a @ b) / norms if norms else float(np.array_equal(a, b))
    return cosine if np.isfinite(cosine) else 0.0


def rules_of(done: Fixing) -> dict[str, int]:
    """Return how many nodes each rule rewrote, by name."""
    return dict(sorted(Counter(rule for each in done.rewrites for rule in each.rules).items()))


def bound_of(done: Fixing) -> float:
    """Return the largest difference that the rules allow."""
    rules = load_rules()
    used = [rules[name] for each in done.rewrites for name in each.rules]
    return max([WITHIN, *(each.limit for each in used if each.exactness is Exactness.BOUNDED)])
