"""docs/conformance.md: what becomes of ONNX's conformance cases, by list, by mode and by rule.

`python -m tests.conformance.page --write` makes it again; without `--write`, it is printed, and
`--list cann-9.0` prints the sections of one list.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import onnx

from atc_py.options.compile_options import ANY_LIST, FIRST_LIST
from atc_py.spec.lists import operator_lists
from tests.conformance.cases import MODES, Outcome, Verdict, cases, outcome_of
from tests.conformance.hidden import hidden_outcome
from tests.conformance.node_cases import listed_cases, node_outcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"

_HEAD = """\
<!-- Derived from a run over all cases; `make conformance` writes it again. -->

# Conformance

ONNX's conformance cases whose operators are on the operator list, through the whole compiler and
on the simulated device. Right: every output agrees, integers and bools to the bit. Refused: a rule
of the list refuses the model, and `atc-py check` says so. Not yet: the list allows it, and atc-py
does not compile it.

There are two collections: stored cases, of opsets 6 to 13, and the node cases of the installed onnx
whose operators the list has, most of them of its newest opset. Each is counted by the letter of
each list (`--list NAME --strict-list`), and as commands do by default: any list may take a node, and
rules that boards contradict refuse none. The reasons follow, first those of the stored cases by base.
Of the node cases, if only rules about constants refuse a case, its small inputs are made constants. Left out is
`test_maxunpool_export_with_output_shape`, whose positions count in another shape than the one that
it asks for, unlike those of MaxPool, onnxruntime and CANN (issue 2398 of ONNX).
"""

_HIDDEN = """\
## Shapes that only the run knows

The cases that are right in allow_fp32_to_fp16, each with the shapes of its inputs hidden: every
input passes a Reshape whose shape is fed. Not yet: the device would need the dims beforehand.
"""

_EXAMPLES = 3

WAYS = (*(each.name for each in operator_lists()), ANY_LIST)
"""The lists, each to the letter, and any of them."""


@cache
def outcomes(
    mode: str, operator_list: str = FIRST_LIST, first: int = 0, share: int = 1
) -> dict[str, Outcome]:
    """The outcomes in one mode: of every stored case, or from `first` on of one in `share`."""
    return {
        f"{case.parent.name}/{case.name}": outcome_of(case, mode, operator_list)
        for case in cases()[first::share]
    }


@cache
def node_outcomes(mode: str, operator_list: str) -> dict[str, Outcome]:
    """Return the outcome of every node case of the installed onnx that the list has."""
    return {
        f"{op}/{name}": node_outcome(name, mode, operator_list)
        for op, names in listed_cases(operator_list).items()
        for name in names
    }


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


def list_sections(operator_list: str) -> Iterator[str]:
    """Yield the parts of the page about one list: each collection in both modes."""
    kinds: dict[str, Callable[[str, str], dict[str, Outcome]]] = {
        f"node cases of onnx {onnx.__version__}": node_outcomes
    }
    if operator_list != FIRST_LIST:
        kinds["stored cases"] = outcomes
    for title, of in kinds.items():
        found = {mode: of(mode, operator_list) for mode in MODES}
        yield "\n".join([f"## {operator_list}: {title}", "", *_by_mode(found), ""])


def _by_mode(found: Mapping[str, Mapping[str, Outcome]]) -> Iterator[str]:
    """Yield counts of each mode, the reasons in the first, and what differs in the others."""
    yield "| mode | cases | right | refused | not yet | wrong |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for mode, each in found.items():
        yield f"| {mode} | {row_of_counts(each)} |"
    first, *others = found
    yield from reasons_of(found[first])
    for mode in others:
        changed = {
            name: outcome
            for name, outcome in found[mode].items()
            if outcome.verdict is not found[first][name].verdict
        }
        if changed:
            yield from ("", f"Cases with another result in {mode}:")
            yield from reasons_of(changed)


def _lines(found: Mapping[str, Outcome]) -> Iterator[str]:
    """Yield counts, then the reasons of each verdict."""
    yield "| cases | right | refused | not yet | wrong |"
    yield "| --- | --- | --- | --- | --- |"
    yield f"| {row_of_counts(found)} |"
    yield from reasons_of(found)


def row_of_counts(found: Mapping[str, Outcome]) -> str:
    """Return cells: the number of cases, and of those with each verdict."""
    counts = Counter(outcome.verdict for outcome in found.values())
    return " | ".join(str(each) for each in (len(found), *(counts[verdict] for verdict in Verdict)))


def reasons_of(found: Mapping[str, Outcome]) -> Iterator[str]:
    """Yield the reasons of each verdict that has any."""
    for verdict, title in ((Verdict.REFUSED, "Rules that refuse"), (Verdict.NOT_YET, "Not yet")):
        by_reason = _by_reason(found, verdict)
        if not by_reason:
            continue
        yield from ("", f"{title} (a case can have several reasons):", "")
        yield "| reason | cases | for example |"
        yield "| --- | --- | --- |"
        for reason, names in sorted(by_reason.items()):
            more = f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
            yield f"| {reason} | {len(names)} | {', '.join(names[:_EXAMPLES])}{more} |"


def _by_reason(found: Mapping[str, Outcome], verdict: Verdict) -> dict[str, list[str]]:
    """Return cases of a verdict by their reasons."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, outcome in found.items():
        for reason in outcome.reasons if outcome.verdict is verdict else ():
            names[reason.replace("|", "\\|")].append(name.partition("/")[2])
    return names


def counts_section() -> str:
    """Return the part of the page that counts each collection in each way."""
    kinds = {"stored": outcomes, f"of onnx {onnx.__version__}": node_outcomes}
    lines = ["## Each way", ""]
    lines.append("| cases | list | mode | cases | right | refused | not yet | wrong |")
    lines.append("| --- " * 8 + "|")
    for title, of in kinds.items():
        for way in WAYS:
            name = way if way == ANY_LIST else f"{way}, to the letter"
            cells = ((mode, row_of_counts(of(mode, way))) for mode in MODES)
            lines += [f"| {title} | {name} | {mode} | {counts} |" for mode, counts in cells]
    return "\n".join([*lines, ""])


def _page() -> str:
    """Return the whole page."""
    found = {mode: outcomes(mode) for mode in MODES}
    parts = [counts_section()]
    parts += [section(mode, each) for mode, each in found.items()]
    parts.append(hidden_section(hidden_outcomes(found[MODES[0]])))
    parts += [part for way in WAYS for part in list_sections(way)]
    return "\n".join([_HEAD, *parts])


def main() -> None:
    """Write the page, or print it or the sections of one list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--list", choices=WAYS)
    given = parser.parse_args()
    if given.write:
        PAGE.write_text(_page(), encoding="utf-8")
    else:
        sys.stdout.write("\n".join(list_sections(given.list)) if given.list else _page())


if __name__ == "__main__":
    main()
