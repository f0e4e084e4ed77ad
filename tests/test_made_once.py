"""What processes of tests share is made by the first and read by the others."""

from pathlib import Path

import pytest

from atc_py.system import cache_folders
from tests.made_once import made_once


def test_value_is_made_by_the_first_that_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_folders, "_cache_home", lambda: tmp_path)
    made: list[str] = []

    def make() -> int:
        made.append("made")
        return len(made)

    assert [made_once("one-1.0", make), made_once("one-1.0", make)] == [1, 1]
    assert made_once("one-1.1", make) == 2
    monkeypatch.setattr(cache_folders, "_cache_home", lambda: None)
    assert made_once("one-1.1", make) == 3
