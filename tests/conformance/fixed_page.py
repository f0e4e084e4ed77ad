"""docs/fixed-cases.md: ONNX's node cases of operators that no list has, after `fix`.

`python -m tests.conformance.fixed_page --write` makes it again; without `--write`, it is printed.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx

from atc_py.spec.lists import operator_lists
from tests.conformance.cases import Outcome, Verdict
from tests.conformance.fixed_cases import covered_cases, fixed_outcome
from tests.conformance.page import reasons_of, row_of_counts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fixed-cases.md"

MODE = "force_fp16"
"""The precision mode of the page; the whole sweep of the tests has the other one, too."""

_HEAD = f"""\
<!-- Derived from a run over all cases; `make conformance` writes it again. -->

# Conformance after fix

The node cases of onnx {onnx.__version__} with an operator that no list has and that a rule of `atc-py fix` covers. Right: the
fixed model gives the stored results in onnxruntime, or in ONNX's reference where onnxruntime does not take it, and it gives them
compiled in {MODE} on the simulated device. Refused: a finding is left, and no rule fits it; the tables have the operators of
what is left with the rules that do not fit. A case that is refused is tried with its small inputs as constants, too. Wrong: a
result differs, or what was fixed does not convert. Constants are clamped to what float16 holds, as `convert` does by default;
where that is wrong, because a mask of minus infinity is a result, they are not. Cases that draw numbers are left out, and those
whose inputs or outputs are sequences or optional values.

Results of float32 agree within 1e-5 of the element and 1e-6 of the range, and within 4e-3 of each where float16 is on the way.
Results in float16 agree within 2^-10 of the range and those in bfloat16 within 2^-7: one step at 1, since the stored result and
the found one are each rounded by half a step at most. Integers and bools agree to the bit, but codes of 8 bits that float16
computed may be neighbors: rounding moves a quotient of up to 255 by less than one half.
"""


def fixed_outcomes(mode: str, operator_list: str) -> dict[str, Outcome]:
    """Return the outcome of every case."""
    return {
        f"{op}/{name}": fixed_outcome(name, mode, operator_list)
        for op, names in covered_cases().items()
        for name in names
    }


def fixed_section(operator_list: str, found: dict[str, Outcome] | None = None) -> str:
    """Return the part of the page about one list, given the outcomes or not."""
    found = found or fixed_outcomes(MODE, operator_list)
    lines = [f"## {operator_list}", "", "| cases | right | refused | not yet | wrong |"]
    lines += ["| --- | --- | --- | --- | --- |", f"| {row_of_counts(found)} |", ""]
    return "\n".join([*lines, *_operators(found), *reasons_of(found), ""])


def _operators(found: dict[str, Outcome]) -> Iterator[str]:
    """Yield the counts by operator."""
    yield "| operator | cases | right | refused | not yet | wrong |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for op, names in covered_cases().items():
        counts = Counter(found[f"{op}/{name}"].verdict for name in names)
        yield f"| {op} | {len(names)} | {' | '.join(str(counts[each]) for each in Verdict)} |"


def main() -> None:
    """Write the page, or print it."""
    text = "\n".join([_HEAD, *(fixed_section(each.name) for each in operator_lists())])
    if "--write" in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
