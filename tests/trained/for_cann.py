"""What `fix --for cann` leaves of trained models: findings of CANN's parser, and differences.

`python -m tests.trained.for_cann [MODEL ...]` prints them, for all models whose files
are at hand; its status is 1 if anything is left.
"""

import sys
import tempfile
from pathlib import Path

import atc_py
from atc_py.check.findings import Standing
from atc_py.options.keywords import RuleKeywords
from tests.trained.fixed_figures import bound_of, exact_results, largest, session
from tests.trained.subjects import SUBJECTS, Subject

RELEASE = "9.1"
"""The release of CANN that most have."""

SEEDS = 2


def left_for_cann(subject: Subject, release: str = RELEASE) -> list[str]:
    """Return what is left: findings of levels parser and accuracy on CANN, and a large difference.

    Data are compared in float32 within the bounds of docs/fixed-models.md. Where a model itself is far
    from what it is in float64, as logarithms of little make it, the fixed one may be as far.
    """
    with tempfile.TemporaryDirectory() as name:
        path, fixed = subject.path(Path(name)), Path(name) / "fixed.onnx"
        feeds = [subject.feeds(seed) for seed in range(SEEDS)]
        shapes = {each: array.shape for each, array in feeds[0].items()}
        rules: RuleKeywords = {**subject.rules, "for_cann": True}
        done = atc_py.fix_model(path, fixed, input_shape=shapes, cann=release, seeds=0, **rules)
        written = path if done.output is None else fixed
        (check,) = atc_py.check_models(written, cann=release).models
        left = [
            f"{each.rule}: {each.message}"
            for each in check.findings
            if each.standing is Standing.PARSER or "/cann/" in each.rule
        ]
        bound = subject.rules.get("bind") or {}
        fed = [{k: v for k, v in each.items() if k not in bound} for each in feeds]
        wanted = [session(path)(each) for each in feeds]
        found = [session(written)(each) for each in fed]
        difference, limit = largest(found, wanted), bound_of(done)
        if difference > limit:
            exact = exact_results(path, feeds)
            if exact:
                difference, limit = largest(found, exact), 2 * largest(wanted, exact)
    return left if difference <= limit else [*left, f"differs by {difference:.2g}"]


if __name__ == "__main__":
    any_left = False
    for each_subject in SUBJECTS:
        if each_subject.is_at_hand and each_subject.name in (sys.argv[1:] or [each_subject.name]):
            rest = left_for_cann(each_subject)
            any_left |= bool(rest)
            sys.stdout.write(f"{each_subject.name}: {', '.join(rest) or 'nothing'}\n")
    sys.exit(any_left)
