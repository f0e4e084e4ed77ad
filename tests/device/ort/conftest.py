"""Tests of emulations have many parameters; `make test` tries some of each, `make twin` all."""

from pathlib import Path

import pytest

from tests.sampling import mark_others, with_parameters

SHARE = 6


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases of a test to the sweep; what has no parameters runs always."""
    mark_others(with_parameters(items), Path(__file__).parent, SHARE)
