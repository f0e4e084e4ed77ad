"""docs/fixed-models.md holds what fixing comes to for each model whose file is at hand."""

import os

import pytest

from tests.sampling import WHOLE, sampled
from tests.trained.fixed_page import LISTS, rows_of_page, subject_row
from tests.trained.subjects import SUBJECTS, Subject
from tests.trained.wheels import fetch

BY_NAME = {each.name: each for each in SUBJECTS}
SAMPLE = ("silero_vad_half", "resample_16_8")
ERRORS = (5, 6, 7, 8, 10)
"""Columns of differences, in which the order of additions counts."""

COSINE = 9


def at_hand(name: str) -> Subject:
    """Return a model whose file is available."""
    subject = BY_NAME[name]
    if not subject.is_at_hand and WHOLE in os.environ and isinstance(subject.source, tuple):
        fetch(subject.source[0])
    if not subject.is_at_hand:
        pytest.skip(f"the file of {name} is missing; `make trained` or `make exports` gets it")
    return subject


def cells(row: str) -> list[str]:
    """Return the cells of a row."""
    return row.removeprefix("| ").removesuffix(" |").split(" | ")


def test_page_has_every_model_by_every_list() -> None:
    assert list(rows_of_page()) == [(name, each) for name in BY_NAME for each in LISTS]
    assert len(BY_NAME) == len(SUBJECTS)


def test_every_model_of_the_page_converts_after_fix() -> None:
    for key, row in rows_of_page().items():
        _, _, errors, _, *_, cosine, _ = cells(row)
        assert errors.endswith(" to 0"), key
        assert not cosine.startswith("ATC"), key


@pytest.mark.parametrize("name", sampled(SAMPLE, (name for name in BY_NAME if name not in SAMPLE)))
def test_fixed_model_is_that_of_the_page(name: str) -> None:
    subject = at_hand(name)
    for each in LISTS:
        found, stated = cells(subject_row(subject, each)), cells(rows_of_page()[name, each])
        assert found[: ERRORS[0]] == stated[: ERRORS[0]]
        for column in ERRORS:
            ours, theirs = found[column].split(), stated[column].split()
            assert ours[1:] == theirs[1:]
            if theirs[0] == "-":
                assert ours[0] == "-"
            else:
                assert float(ours[0]) == pytest.approx(float(theirs[0]), rel=0.5, abs=2e-6)
        assert float(found[COSINE].split()[0]) == pytest.approx(
            float(stated[COSINE].split()[0]), abs=1e-4
        )
