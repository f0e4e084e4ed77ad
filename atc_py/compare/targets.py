"""Targets of a comparison, such as `cosine=0.99`, checked on the model's outputs."""

import math
from collections.abc import Iterable, Mapping

from atc_py.diag import BAD_OPTION, BELOW_TARGET, DEVICE_FAILED, Diagnostic, Place
from atc_py.results.layer_comparison import LayerComparison, least_text, misses_of
from atc_py.text import COMMA, Text

METRICS = ("cosine", "snr")
"""Figures of which more is better."""

_RANGES = {"cosine": (-1.0, 1.0), "snr": (-math.inf, math.inf)}
_EXAMPLES = {"cosine": "0.99", "snr": "40"}


def read_targets(given: Iterable[str], option: str = "--fail-under") -> dict[str, float]:
    """Least values by figure, from `figure=number` texts of an option.

    Raises:
        AtcError: BAD_OPTION for a figure that is not among METRICS or comes twice, and for what is
            no finite number that the figure can have.
    """
    found: dict[str, float] = {}
    for text in given:
        name, _, number = text.partition("=")
        if name not in METRICS:
            raise BAD_OPTION.error(
                Text(
                    "{option} {text} does not name one of {metrics}",
                    option=option,
                    text=repr(text),
                    metrics=", ".join(METRICS),
                ),
                help=Text("write {option} cosine=0.99", option=option),
            )
        if name in found:
            raise BAD_OPTION.error(
                Text(
                    "{option} gives {name} twice, the second time as {text}",
                    option=option,
                    name=name,
                    text=repr(text),
                ),
                help=Text("give each figure one number"),
            )
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = math.nan
        _check_range(name, found[name], f"{option} {text!r}", f"{option} {name}=")
    return found


def check_targets(targets: Mapping[str, float]) -> None:
    """Refuse targets that make no sense.

    Raises:
        AtcError: BAD_OPTION for a figure that is not among METRICS, and for what is not a finite
            number that the figure can have.
    """
    for name, least in targets.items():
        if name not in METRICS:
            raise BAD_OPTION.error(
                Text(
                    "the target {name} is not one of {metrics}",
                    name=repr(name),
                    metrics=", ".join(METRICS),
                ),
                help=Text('give targets such as {"cosine": 0.99}'),
            )
        _check_range(
            name, least, Text("the target {name}={least}", name=name, least=least), f"{name}="
        )


def _check_range(name: str, least: float, found: str, start: str) -> None:
    low, high = _RANGES[name]
    if math.isfinite(least) and low <= least <= high:
        return
    bounds = {"low": f"{low:g}", "high": f"{high:g}"}
    allowed = Text(" from {low} to {high}", **bounds) if math.isfinite(high) else ""
    raise BAD_OPTION.error(
        Text(
            "{actual}: {name} must be a finite number{allowed}",
            actual=found,
            name=name,
            allowed=allowed,
        ),
        help=Text("write {start}{examples}", start=start, examples=_EXAMPLES[name]),
    )


def reaches(done: LayerComparison, targets: Mapping[str, float]) -> bool:
    """True if every output meets its targets; without targets, if none is failing.

    A model in which the device computes nothing returns what it is fed, and misses nothing.
    """
    if done.stopped or done.uncompared or (done.layers and not done.outputs):
        return False
    if not targets:
        return not any(done.layers[at].faults for at in done.outputs.values())
    return not misses_of(done, targets)


def targets_text(targets: Mapping[str, float]) -> str:
    if not targets:
        return Text("no output fails")
    return COMMA.join(
        Text("{name} of every output at least {least}", name=name, least=least_text(least))
        for name, least in targets.items()
    )


def missed_targets(done: LayerComparison, targets: Mapping[str, float]) -> list[Diagnostic]:
    """BELOW_TARGET for each output and figure that is below its target.

    A device that stopped is DEVICE_FAILED, whatever the targets. An output with values that are
    NaN or infinite, though the original's are finite, misses every target, and so does one that
    could not be compared.
    """
    findings = []
    if done.stopped:
        findings.append(DEVICE_FAILED.diagnostic(Text(done.stopped)))
    for miss in misses_of(done, targets):
        if done.stopped and not miss.figure:
            continue  # Said already.
        place = Place(field=Text("output {at}", at=miss.output))
        findings.append(BELOW_TARGET.diagnostic(miss.sentence, place=place, help=_hint(done)))
    return findings


def missed_by_all(done: LayerComparison) -> list[Diagnostic]:
    """Report BELOW_TARGET where a search found no nodes with which the target is reached."""
    found = done.suggestion
    if found is None or found.reached:
        return []
    return [
        BELOW_TARGET.diagnostic(
            Text(
                "the target ({target}) cannot be reached by keeping nodes in float32",
                target=found.target,
            )
            if found.out_of_reach
            else Text(
                "no set of nodes was found that reaches the target ({target})", target=found.target
            ),
            help=Text("set a target that the model can reach, or see which layers fail")
            if found.out_of_reach
            else Text("allow the search more compilations with --suggest-trials"),
        )
    ]


def _hint(done: LayerComparison) -> Text:
    if done.suggestion is not None and done.suggestion.reached:
        return Text("keep the nodes of the suggestion in float32")
    hint = Text("try another --precision-mode")
    if done.suggestion is None:
        hint = Text("try --suggest FILE")
    first = done.first_failing
    if first is None:
        return hint
    return Text("the first failing layer is {source}; {hint}", source=first.source, hint=hint)
