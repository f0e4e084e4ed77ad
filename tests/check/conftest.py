"""Some tests of checking go over every operator of every list; `make test` tries a quarter of those."""

from pathlib import Path

import pytest

from tests.sampling import mark_others, with_parameters

SHARE = 4

LISTED = {"test_listed_dtypes.py", "test_listed_opsets.py"}
"""Files with tests that have a case for each operator of each list."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most operators to the sweep."""
    listed = [item for item in with_parameters(items) if item.path.name in LISTED]
    mark_others(listed, Path(__file__).parent, SHARE)
