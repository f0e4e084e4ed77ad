"""Tests of emulations have many parameters; `make test` tries some of each, `make twin` all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

SHARE = 6
"""Of the cases of one test, one in so many is tried always."""

_FOLDER = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that the whole sweep alone tries."""
    seen: Counter[tuple[Path, str]] = Counter()
    for item in items:
        if _FOLDER not in item.path.parents:
            continue
        test = (item.path, getattr(item, "originalname", None) or item.name)
        if seen[test] % SHARE:
            item.add_marker(pytest.mark.sweep)
        seen[test] += 1
