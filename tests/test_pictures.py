"""The pictures of terminals show what the commands print."""

from __future__ import annotations

import pytest

from tests.pictures import PICTURES, is_current


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_picture_is_current(name: str) -> None:
    assert is_current(name), "run `make docs`"
