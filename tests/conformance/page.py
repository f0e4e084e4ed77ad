"""docs/conformance.md: what becomes of ONNX's conformance cases, by mode and by rule.

`python -m tests.conformance.page --write` makes it again.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conformance.cases import MODES, Verdict, cases, outcome_of
from tests.conformance.hidden import hidden_outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.conformance.cases import Outcome

__all__ = ["PAGE", "hidden_outcomes", "hidden_section", "outcomes", "section"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"

_HEAD = """\
<!-- Derived from a run over all cases; `make conformance` writes it again. -->

# Conformance

ONNX's conformance cases whose operators are on the operator list, through the whole compiler and
on the simulated device. Right: every output agrees, integers and bools to the bit. Refused: a rule
of the list refuses the model, and `atc-py check` says so. Not yet: the list allows it, and atc-py
does not compile it.
"""

_HIDDEN = """\
## Shapes that only the run knows

The cases that are right in allow_fp32_to_fp16, each with the shapes of its inputs hidden: every
input passes a Reshape whose shape is fed. Not yet: the device would need the dims beforehand.
"""

_EXAMPLES = 3


@cache
def outcomes(mode: str) -> dict[str, Outcome]:
    """Return the outcome of every case in one mode."""
    return {f"{case.parent.name}/{case.name}": outcome_of(case, mode) for case in cases()}


def section(mode: str, found: Mapping[str, Outcome]) -> str:
    """Return the part of the page for one mode."""
    return "\n".join([f"## {mode}", "", *_lines(found), ""])


def hidden_outcomes(right: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Return the outcomes, with hidden input shapes, of the cases that are otherwise right."""
    cases_ = {f"{case.parent.name}/{case.name}": case for case in cases()}
    found = {
        name: hidden_outcome(cases_[name], MODES[0])
        for name, outcome in right.items()
        if outcome.verdict is Verdict.RIGHT
    }
    return {name: outcome for name, outcome in found.items() if outcome is not None}


def hidden_section(found: Mapping[str, Outcome]) -> str:
    """Return the part of the page about them."""
    return "\n".join([_HIDDEN, *_lines(found), ""])


def _lines(found: Mapping[str, Outcome]) -> Iterator[str]:
    """Yield counts, then the reasons of each verdict."""
    counts = Counter(outcome.verdict for outcome in found.values())
    yield "| cases | right | refused | not yet | wrong |"
    yield "| --- | --- | --- | --- | --- |"
    cells = (len(found), *(counts[verdict] for verdict in Verdict))
    yield f"| {' | '.join(map(str, cells))} |"
    for verdict, title in ((Verdict.REFUSED, "Rules that refuse"), (Verdict.NOT_YET, "Not yet")):
        if not counts[verdict]:
            continue
        yield from ("", f"{title} (a case can have several reasons):", "")
        yield "| reason | cases | for example |"
        yield "| --- | --- | --- |"
        for reason, names in sorted(_by_reason(found, verdict).items()):
            more = f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
            yield f"| {reason} | {len(names)} | {', '.join(names[:_EXAMPLES])}{more} |"


def _by_reason(found: Mapping[str, Outcome], verdict: Verdict) -> dict[str, list[str]]:
    """Return cases of a verdict by their reasons."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, outcome in found.items():
        for reason in outcome.reasons if outcome.verdict is verdict else ():
            names[reason.replace("|", "\\|")].append(name.partition("/")[2])
    return names


def main() -> None:
    """Write the page."""
    found = {mode: outcomes(mode) for mode in MODES}
    sections = [section(mode, each) for mode, each in found.items()]
    text = "\n".join([_HEAD, *sections, hidden_section(hidden_outcomes(found[MODES[0]]))])
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
