"""docs/deviations-in-networks.md holds what deviations come to in whole networks."""

import re

import pytest

from tests.deviations.networks_page import (
    COLUMNS,
    GENERATIONS,
    KERAS_LIKE,
    PAGE,
    SUBJECTS,
    row_of,
)
from tests.sampling import sampled

BY_NAME = {subject.name: subject for subject in SUBJECTS}
ALWAYS = (KERAS_LIKE, "espcn_opset12", "gru_asr_opset13", "whisper80")
Key = tuple[str, int]


def stated() -> dict[Key, list[str]]:
    """Return the cells of the table by model and generation."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    assert rows[0] == list(COLUMNS)
    return {(row[0], int(row[1])): row[2:] for row in rows[2:]}


def figures(cells: list[str]) -> list[float]:
    """Return the numbers of the last two cells."""
    return [float(each) for cell in cells[2:] for each in re.findall(r"[\d.]+(?:e[+-]\d+)?", cell)]


def test_every_network_is_on_the_page() -> None:
    assert set(stated()) <= {(name, each) for name in BY_NAME for each in GENERATIONS}
    assert {(KERAS_LIKE, each) for each in GENERATIONS} <= set(stated())
    assert {name for name, _ in stated()} == set(BY_NAME)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_layers_of_keras_show_the_largest_error(generation: int) -> None:
    # The last figure of a row is the share of the output's range, in percent.
    shares = {
        name: figures(cells)[-1]
        for (name, each), cells in stated().items()
        if each == generation and cells[-1] != "-"
    }
    assert max(shares, key=lambda name: shares[name]) == KERAS_LIKE
    assert shares[KERAS_LIKE] > 1


@pytest.mark.parametrize("name", sampled(ALWAYS, (each for each in BY_NAME if each not in ALWAYS)))
def test_rows_are_those_of_the_page(name: str) -> None:
    subject = BY_NAME[name]
    if not subject.is_at_hand():
        pytest.skip(f"{name} is not on this machine")
    for generation in GENERATIONS:
        row, expected = row_of(subject, generation), stated().get((name, generation))
        assert (row is None) == (expected is None)
        if row is None or expected is None:
            continue
        found = row.cells()
        assert found[:2] == expected[:2]
        # A machine may add products up in another order.
        assert figures(found) == pytest.approx(figures(expected), rel=0.1, abs=1e-3)


def test_what_is_inferred_is_called_so() -> None:
    assert "GRU/reset-after-product (proven)" in stated()[KERAS_LIKE, 5][0]
    assert "GRU/reset-after-product (inferred)" in stated()[KERAS_LIKE, 9][0]
