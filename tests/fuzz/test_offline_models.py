"""A short round of hostile offline models; `make fuzz` tries more."""

import pytest

from tests.fuzz.offline_models import hostile_model
from tests.fuzz.sweep import Round, sweep
from tests.sampling import sampled

SEED = 1
CHUNKS, CHUNK = 200, 25


@pytest.mark.parametrize("chunk", sampled([3], range(4, CHUNKS + 3)))
def test_every_reader_has_the_same_verdict(chunk: int) -> None:
    worker = "tests.fuzz.offline_models"
    tally = sweep(Round(seed=SEED, first=chunk * CHUNK, count=CHUNK, shared=False, worker=worker))
    assert tally.failures == []
    assert tally.tried == CHUNK
    refused = tally.codes["info", "ATC5004"]
    assert CHUNK // 4 < refused < CHUNK, "a round that is refused as one tries little"


def test_case_is_the_same_whenever_it_is_made() -> None:
    first, again = (hostile_model(3, 14, shared=False) for _ in range(2))
    assert first == again
    assert first != hostile_model(4, 14, shared=False)
