"""`fix --for cann` leaves nothing that CANN's parser refuses or takes otherwise of trained models."""

import pytest

from tests.sampling import sampled
from tests.trained.for_cann import left_for_cann
from tests.trained.subjects import SUBJECTS

BY_NAME = {each.name: each for each in SUBJECTS}
SAMPLE = ("whisper80", "resample_8_16")
"""An output without an input after folding, and several domains."""


@pytest.mark.parametrize("name", sampled(SAMPLE, (name for name in BY_NAME if name not in SAMPLE)))
def test_nothing_is_left_for_cann(name: str) -> None:
    subject = BY_NAME[name]
    if not subject.is_at_hand:
        pytest.skip(f"the file of {name} is missing; `make trained` or `make exports` gets it")
    assert left_for_cann(subject) == []
