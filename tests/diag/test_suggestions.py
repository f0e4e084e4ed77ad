"""What the writer of a wrong name may have meant."""

from __future__ import annotations

from atc_py.diag.suggestions import nearest


def test_names_that_are_alike_are_found_nearest_first() -> None:
    assert nearest("pad", ["axis", "spade", "pads"], 2) == ["pads", "spade"]
    assert nearest("zzz", ["axis", "pads"], 2) == []


def test_overlong_name_is_like_no_other() -> None:
    assert nearest("pads" * 10**6, ["pads" * 10**6], 1) == []
