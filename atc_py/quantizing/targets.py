"""Targets of a quantization: least figures that every output of floats must have."""

import math
from collections.abc import Iterable, Mapping

from atc_py.diag import BAD_OPTION
from atc_py.results.output_error import ErrorFigures
from atc_py.text import Text

FIGURES = ("cosine", "snr", "top1")
"""Figures of an output of which more is better."""

_LEAST = {"cosine": -1.0, "snr": -math.inf, "top1": 0.0}
_MOST = {"cosine": 1.0, "snr": math.inf, "top1": 1.0}


_HINT = Text("write cosine=0.99, snr=20 or top1=0.99")


def read_target(given: Iterable[str]) -> dict[str, float]:
    """Least values by figure, from `figure=number` texts."""
    results: dict[str, float] = {}
    for text in given:
        name, _, number = text.partition("=")
        if name in results:
            raise BAD_OPTION.error(
                Text(
                    "--target gives {name} twice, the second time as {text}",
                    name=name,
                    text=repr(text),
                )
            )
        try:
            results[name] = float(number)
        except ValueError:
            raise BAD_OPTION.error(
                Text("--target {text} has no number", text=repr(text)), help=_HINT
            ) from None
    return checked_target(results)


def checked_target(target: Mapping[str, float]) -> dict[str, float]:
    """A target whose figures exist and can have their least values."""
    for name, least in target.items():
        if name not in FIGURES:
            raise BAD_OPTION.error(
                Text(
                    "the target {name} is not one of {metrics}",
                    name=repr(name),
                    metrics=", ".join(FIGURES),
                ),
                help=_HINT,
            )
        if not math.isfinite(least) or not _LEAST[name] <= least <= _MOST[name]:
            raise BAD_OPTION.error(
                Text(
                    "the target {name}={least} cannot be reached: {name} is a finite number "
                    "from {least_2} to {most}",
                    name=name,
                    least=f"{least:g}",
                    least_2=f"{_LEAST[name]:g}",
                    most=f"{_MOST[name]:g}",
                ),
                help=_HINT,
            )
    return dict(target)


def reaches_target(outputs: Mapping[str, ErrorFigures], target: Mapping[str, float]) -> bool:
    """True if every output has the least figures; one without rows has no top1 to miss."""
    return all(
        value is None or value >= least
        for output in outputs.values()
        for value, least in ((getattr(output, name), least) for name, least in target.items())
    )
