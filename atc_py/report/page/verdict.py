"""The verdict on a model: whether it compiles, and which of its outputs fail."""

from collections.abc import Sequence
from typing import NamedTuple

from atc_py.check.findings import Standing
from atc_py.report.page.words import in_both, name_text
from atc_py.report.tables import number_text
from atc_py.results.layer_comparison import LayerComparison, TargetMiss, misses_of
from atc_py.results.summary import ModelSummary
from atc_py.text import COLON, COMMA, SEMICOLON, Text, verbatim

_NAMED = 3
"""Failing outputs that a line names."""


class FailingOutput(NamedTuple):
    """An output that fails the comparison."""

    name: str
    why: Text
    layer: int | None  # its position among the layers; None where it was not compared
    missed: bool  # True if it misses a target, False if it fails without any


def is_refused(done: ModelSummary) -> bool:
    broken = done.check is not None and done.check.standing is Standing.ERROR
    return done.compiled is None and (broken or bool(done.refusals))


def failing_outputs(compared: LayerComparison | None) -> list[FailingOutput]:
    """The outputs that miss a target or, without targets, that fail; the worst first."""
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
            text = Text("was not compared: {why}", why=why)
        elif own:
            text = COMMA.join(map(_miss_text, own))
        elif not compared.targets and at is not None and compared.layers[at].faults:
            layer = compared.layers[at]
            text = Text("relative error {error}", error=number_text(layer.judged_error))
            if layer.figures.lost_share:
                text = Text("infinite or NaN where the original is finite")
        else:
            continue
        found.append(FailingOutput(name, text, at, bool(own)))
    return sorted(found, key=lambda each: -_error(compared, each))


def _miss_text(miss: TargetMiss) -> Text:
    value, least = f"{miss.value or 0.0:.6g}", f"{miss.least or 0.0:g}"
    return Text("{figure} {value} is below {least}", figure=miss.figure, value=value, least=least)


def _error(compared: LayerComparison, output: FailingOutput) -> float:
    """The error of an output; infinity for one that was not compared or has none."""
    if output.layer is None:
        return float("inf")
    error = compared.layers[output.layer].judged_error
    return error if error == error else float("inf")  # noqa: PLR0124  (NaN is not equal to itself)


def outputs_json(done: ModelSummary) -> dict[str, object] | None:
    compared = done.comparison
    if compared is None:
        return None
    failing = failing_outputs(compared)
    return {
        "count": len({*compared.outputs, *compared.uncompared}),
        "failing": [
            {"name": name_text(each.name), "why": in_both(each.why), "layer": each.layer}
            for each in failing
        ],
        "targets": bool(compared.targets),
        "stopped": bool(compared.stopped),
    }


def outputs_word(model_summaries: Sequence[ModelSummary]) -> str | None:
    compared = [done.comparison for done in model_summaries if done.comparison is not None]
    if not compared:
        return None
    fail = any(each.stopped or failing_outputs(each) for each in compared)
    return "fail" if fail else "pass"


def left_out(count: int, shown: int) -> Text:
    """` and 3 more` of so many, of which some are shown."""
    if count <= shown:
        return Text("")
    return Text(" and {left} more", context="of all", left=count - shown, count=count)


def verdict_line(done: ModelSummary) -> Text:
    gear = Text(" (gear {gear})", gear=done.gear) if done.gear else Text("")
    head = verbatim(done.model.name) + gear + COLON
    compared = done.comparison
    failing = failing_outputs(compared)
    if is_refused(done):
        return head + Text("does not compile", context="verdict")
    if compared is not None and compared.stopped:
        return head + Text("compiles, but the device stopped")
    if compared is None or not failing:
        return head + Text("compiles", context="verdict")
    count = len({*compared.outputs, *compared.uncompared})
    targets = " ".join(f"{name}={least:g}" for name, least in compared.targets.items())
    named = SEMICOLON.join(each.name + COLON + each.why for each in failing[:_NAMED])
    more = left_out(len(failing), _NAMED)
    fail = Text(
        "compiles, but {count} of {count_2} outputs fail{goal}",
        count=len(failing),
        count_2=count,
        goal=f" --fail-under {targets}" if targets else "",
    )
    return head + fail + COLON + named + more
