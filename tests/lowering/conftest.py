"""Tests of lowering compare many forms with onnxruntime; `make test` tries one in six of those of a test."""

from pathlib import Path

import pytest

from tests.sampling import mark_others, with_parameters

SHARE = 6


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases of a test to the sweep."""
    mark_others(with_parameters(items), Path(__file__).parent, SHARE)
