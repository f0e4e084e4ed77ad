"""The collector of cycles around the work of a process."""

import gc
from unittest.mock import Mock

import pytest

from atc_py.system.process import gc_paused


@pytest.mark.parametrize(("frozen", "times"), [(0, 1), (5, 0)])
def test_what_was_made_counts_as_old_unless_objects_are_frozen(
    frozen: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Mock()
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    monkeypatch.setattr(gc, "freeze", calls.freeze)
    monkeypatch.setattr(gc, "unfreeze", calls.unfreeze)
    before = gc.get_threshold()
    with gc_paused():
        calls.assert_not_called()
    assert [name for name, *_ in calls.mock_calls] == ["freeze", "unfreeze"] * times
    assert gc.get_threshold() == before
