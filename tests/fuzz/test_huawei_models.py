"""A short round of damaged files of Huawei's atc; `make fuzz` tries more."""

import pytest

from tests.fuzz.huawei_models import damaged_model
from tests.fuzz.sweep import Round, sweep
from tests.sampling import sampled

SEED = 1
CHUNKS, IMPORT_CHUNKS, CHUNK = 200, 80, 25


@pytest.mark.parametrize("chunk", sampled([3], range(4, CHUNKS + 3)))
def test_damaged_files_are_refused_or_read(chunk: int) -> None:
    worker = "tests.fuzz.huawei_models"
    tally = sweep(Round(seed=SEED, first=chunk * CHUNK, count=CHUNK, shared=False, worker=worker))
    assert tally.failures == []
    assert tally.tried == CHUNK
    refused = tally.codes["diff", "ATC5006"]
    assert CHUNK // 8 < refused < CHUNK, "a round that is refused as one tries little"


@pytest.mark.parametrize("chunk", sampled([1], range(2, IMPORT_CHUNKS)))
def test_damaged_files_are_imported_or_refused(chunk: int) -> None:
    worker = "tests.fuzz.huawei_imports"
    tally = sweep(Round(seed=SEED, first=chunk * CHUNK, count=CHUNK, worker=worker))
    assert tally.failures == []
    assert tally.tried == CHUNK
    assert tally.ends["kernels", 0] > 0, "a round that is refused as one tries little"


def test_case_is_the_same_whenever_it_is_made() -> None:
    first, again = (damaged_model(3, 14, shared=False) for _ in range(2))
    assert first == again
    assert first != damaged_model(4, 14, shared=False)
