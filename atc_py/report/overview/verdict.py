"""The verdict on a model: whether it compiles, and which of its outputs fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from atc_py.check.findings import Standing
from atc_py.diag.words import COLON, SEMICOLON, Words
from atc_py.report.layers.text import number_text
from atc_py.report.overview.words import Both, both, name_text
from atc_py.results.layer_comparison import misses_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.results.layer_comparison import LayerComparison, TargetMiss
    from atc_py.results.overview import Overview

__all__ = [
    "FailingOutput",
    "failing_outputs",
    "is_refused",
    "outputs_json",
    "outputs_word",
    "verdict_line",
]

_NAMED = 3
"""Failing outputs that a line names."""


class FailingOutput(NamedTuple):
    """An output that fails the comparison.

    Attributes:
        name: of the output.
        why: in both languages.
        layer: its position among the layers; None where it was not compared.
        missed: True if it misses a target, False if it fails without any.
    """

    name: str
    why: Both
    layer: int | None
    missed: bool


def is_refused(done: Overview) -> bool:
    """Return True if the model does not compile."""
    broken = done.check is not None and done.check.standing is Standing.ERROR
    return done.compiled is None and (broken or bool(done.refusals))


def failing_outputs(compared: LayerComparison | None) -> list[FailingOutput]:
    """Return the outputs that miss a target or, without targets, that fail; the worst first."""
    if compared is None:
        return []
    missed: dict[str, list[TargetMiss]] = {}
    for miss in misses_of(compared, compared.targets):
        missed.setdefault(miss.output, []).append(miss)
    found = []
    for name in dict.fromkeys((*compared.outputs, *compared.uncompared)):
        at = compared.outputs.get(name)
        own, why = missed.get(name, []), compared.uncompared.get(name)
        if own and why is not None:
            text = both(f"was not compared: {why}", f"未能比较：{why}")
        elif own:
            parts = [(miss.figure, miss.value or 0.0, miss.least or 0.0) for miss in own]
            text = both(
                ", ".join(f"{word} {value:.6g} is below {least:g}" for word, value, least in parts),
                "，".join(f"{word} {value:.6g} 低于 {least:g}" for word, value, least in parts),
            )
        elif not compared.targets and at is not None and compared.layers[at].faults:
            error = number_text(compared.layers[at].judged_error)
            text = both(f"relative error {error}", f"相对误差 {error}")
        else:
            continue
        found.append(FailingOutput(name, text, at, bool(own)))
    return sorted(found, key=lambda each: -_error(compared, each))


def _error(compared: LayerComparison, output: FailingOutput) -> float:
    """Return the error of an output; infinity for one that was not compared or has none."""
    if output.layer is None:
        return float("inf")
    error = compared.layers[output.layer].judged_error
    return error if error == error else float("inf")  # noqa: PLR0124  (NaN is not equal to itself)


def outputs_json(done: Overview) -> dict[str, object] | None:
    """Return which outputs fail, for the page; None where nothing was compared."""
    compared = done.comparison
    if compared is None:
        return None
    failing = failing_outputs(compared)
    return {
        "count": len({*compared.outputs, *compared.uncompared}),
        "failing": [
            {"name": name_text(each.name), "why": each.why, "layer": each.layer} for each in failing
        ],
        "targets": bool(compared.targets),
        "stopped": bool(compared.stopped),
    }


def outputs_word(found: Sequence[Overview]) -> str | None:
    """Return `fail` if an output of any fails, else `pass`; None where nothing was compared."""
    compared = [each.comparison for each in found if each.comparison is not None]
    if not compared:
        return None
    fail = any(each.stopped or failing_outputs(each) for each in compared)
    return "fail" if fail else "pass"


def verdict_line(done: Overview) -> Words:
    """Return a line that says whether it compiles, and which outputs fail."""
    gear = Words(f" (gear {done.gear})", f"（档位 {done.gear}）") if done.gear else Words("", "")
    head = Words.same(done.model.name) + gear + COLON
    compared = done.comparison
    failing = failing_outputs(compared)
    if is_refused(done):
        return head + Words("does not compile", "不可编译")
    if compared is not None and compared.stopped:
        return head + Words("compiles, but the device stopped", "可编译，但设备已停止")
    if compared is None or not failing:
        return head + Words("compiles", "可编译")
    count, goal = len({*compared.outputs, *compared.uncompared}), _goal(compared)
    named = SEMICOLON.join(
        Words.same(each.name) + COLON + Words(*each.why) for each in failing[:_NAMED]
    )
    left = len(failing) - _NAMED
    more = Words(f" and {left} more", f" 等 {len(failing)} 个") if left > 0 else Words("", "")
    fail = Words(
        f"compiles, but {len(failing)} of {count} outputs fail{goal}",
        f"可编译，但 {count} 个输出中 {len(failing)} 个未达标{goal}",
    )
    return head + fail + COLON + named + more


def _goal(compared: LayerComparison) -> str:
    """Return the targets as the command line gives them; empty without any."""
    parts = [f"{name}={least:g}" for name, least in compared.targets.items()]
    return f" --fail-under {' '.join(parts)}" if parts else ""
