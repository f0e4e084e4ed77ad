"""The verdicts of `check` over ONNX's conformance cases: counts, and the rules that refuse.

`python -m tests.suite_verdicts` prints the table.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from atc_py import api
from atc_py.check.findings import Finding, ModelCheck, Standing

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"
SUITE = SHARED / "onnx_suite"
MODELS = SHARED / "models"


@dataclass(frozen=True)
class Reason:
    """A rule that refuses cases.

    Attributes:
        rule: its name.
        source: where it stands.
        sentence: what it demands.
    """

    rule: str
    source: str
    sentence: str


def cases() -> list[Path]:
    """Return the models of all cases, by name."""
    return sorted(SUITE.glob("*/*/model.onnx"))


def verdict_lines(
    mode: str = "allow_fp32_to_fp16", *, paths: Sequence[Path] | None = None
) -> Iterator[str]:
    """Yield the table: cases by verdict, then each rule that refuses some, with their number."""
    verdicts: Counter[Standing] = Counter()
    refused: dict[Reason, list[str]] = defaultdict(list)
    for path in cases() if paths is None else paths:
        (model,) = api.check_models(path, precision_mode=mode).models
        verdicts[model.standing] += 1
        for reason in dict.fromkeys(_reasons(model)):
            refused[reason].append(path.parent.name)
    yield f"{sum(verdicts.values())} cases at {mode}"
    for standing in Standing:
        if verdicts[standing]:
            yield f"  {standing.value:10} {verdicts[standing]:4}"
    yield "rules that refuse, with the number of cases (a case can break several)"
    for reason, names in sorted(refused.items(), key=lambda item: (item[0].source, item[0].rule)):
        yield f"  {len(names):3}  {reason.sentence}  [{reason.source}]  {names[0]}"


def _reasons(model: ModelCheck) -> Iterator[Reason]:
    """Yield the rules that a model breaks."""
    for finding in model.findings:
        if finding.standing is Standing.ERROR:
            yield _reason(finding)


def _reason(finding: Finding) -> Reason:
    """Return the rule of a finding."""
    return Reason(finding.rule, finding.source, finding.allowed.en)


if __name__ == "__main__":
    for line in verdict_lines(*sys.argv[1:]):
        sys.stdout.write(f"{line}\n")
